import type { AdmittedInvocation } from '../../invocations/group.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import type { Consumption } from '../records/row.js'
import { eventOf } from '../records/stated-fields.js'
import type { ResolutionEvidence } from '../stages/a/evidence.js'

/**
 * An event as its record remembers it, so that the stages can attribute it again: the event itself is gone after a day.
 *
 * Everything that decides is in the row but one: an identity is kept as a hash only. Its text is known where the
 * record's owner is the identity itself, or where the directory knows an identity with that hash. Else there is a name
 * in its place that nobody has, by which the stages still see that an identity was stated (`isUnnamed`).
 *
 * @param nameOf the identity of the tenant's directory that has a hash, by its hex
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
    id: row.id,
    receivedAtMs: row.receivedAtMs,
    position: { sequence: row.sourceSequence, index: row.sourceIndex },
    key: undefined,
    invocation,
    identityHash: row.identityHash,
    event: NOT_HANDED_ON,
  }
}

/** What a call cost and consumed is what it was: to attribute it again never reprices it (`value-again.ts` does). */
export const keptConsumption = (row: AttributionRow): Consumption => ({
  costUsd: row.costUsd,
  costBasis: row.costBasis,
  costDetails: row.costDetails,
  energyWh: row.energyWh,
  energyBasis: row.energyBasis,
  carbonGco2e: row.carbonGco2e,
  carbonBasis: row.carbonBasis,
  footprintDetails: row.footprintDetails,
})

/** Whether an owner is an identity whose name nobody knows any more. */
export const isUnnamed = (owner: string): boolean => owner.startsWith(UNNAMED)

/** No event can state it: it has a control character. */
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

/** The stages pass events on in their wire form; these stay where they are. */
const NOT_HANDED_ON = {} as AdmittedInvocation['event']
