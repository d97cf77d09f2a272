import type { AdmittedInvocation } from '../../invocations/invocation-group.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import type { Consumption } from '../../valuation/consumption.js'
import { statedCostDoubt } from '../../valuation/cost/cost-details.js'
import { eventOf } from '../records/stated-fields.js'
import type { ResolutionEvidence } from '../stages/a/evidence.js'
import { costOfRow } from './row-eligibility.js'

/**
 * Reconstructs an event from its record, so that the stages can re-attribute it: the event itself is deleted after a
 * day.
 *
 * The row contains everything that matters except the identity, which is stored only as a hash. Its name is known if
 * the record's owner is the identity itself, or if the directory has an identity with that hash. Otherwise a
 * placeholder that no real identity can have shows the stages that an identity was stated (`isUnnamed`).
 *
 * @param nameOf looks up an identity of the tenant's directory by the hex of its hash
 */
export function recall(row: AttributionRow, nameOf: (hash: string) => string | undefined): AdmittedInvocation {
  const evidence = JSON.parse(row.evidence) as Partial<ResolutionEvidence>
  const invocation = eventOf(row, {
    servedModel: row.servedModel,
    attributedIdentity: identityOf(row, evidence, nameOf),
    attributedService: evidence.stated_service,
    attributionConfidence: row.attributionConfidence / 10_000,
  })
  return {
    tenantId: row.tenantId,
    principal: row.principal,
    ...(row.sentByGateway && { isFromGateway: true }),
    ...(row.intake !== '' && { intake: row.intake }),
    id: row.id,
    receivedAtMs: row.receivedAtMs,
    position: { sequence: row.sourceSequence, index: row.sourceIndex },
    key: undefined,
    invocation,
    identityHash: row.identityHash,
    ...(statedCostDoubt(row.costDetails) === 'untrusted' && { isCostUntrusted: true }),
    event: NOT_HANDED_ON,
  }
}

/** Re-attribution never changes cost and consumption; `revalue.ts` does that. */
export const keptConsumption = (row: AttributionRow): Consumption => ({
  costUsd: row.costUsd,
  costBasis: row.costBasis,
  costDetails: row.costDetails,
  ...costOfRow(row),
  isUsageAmbiguous: row.usageBasis === 'ambiguous',
  energyWh: row.energyWh,
  energyBasis: row.energyBasis,
  carbonGco2e: row.carbonGco2e,
  carbonBasis: row.carbonBasis,
  footprintDetails: row.footprintDetails,
})

/** Whether an owner is a placeholder for an identity whose name is unknown. */
export const isUnnamed = (owner: string): boolean => owner.startsWith(UNNAMED)

/** Events cannot contain it, because control characters are rejected. */
const UNNAMED = '\u0000'
const NOBODY = '0'.repeat(32)

function identityOf(
  row: AttributionRow,
  evidence: Partial<ResolutionEvidence>,
  nameOf: (hash: string) => string | undefined,
): string | undefined {
  const hash = Buffer.from(row.identityHash).toString('hex')
  if (hash === NOBODY) return undefined
  if (evidence.owner_from === 'event_identity') return row.owner
  return nameOf(hash) ?? `${UNNAMED}${hash}`
}

/** The wire form is needed only to hand events over, which does not happen here. */
const NOT_HANDED_ON = {} as AdmittedInvocation['event']
