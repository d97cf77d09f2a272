import { allocationPolicy } from '../../internal/attribution/pools/pool-policy.js'
import type { Resolution } from '../../internal/attribution/stages/a/evidence.js'
import { decideBatch } from '../../internal/attribution/stages/t/decide.js'
import { PartitionTraces } from '../../internal/attribution/stages/t/partition-traces.js'
import { DEFAULT_SETTINGS } from '../../internal/auth/tenant.js'
import { WatchedDirectory } from '../../internal/directory/directory.js'
import { NO_RULES } from '../../internal/directory/mapping/mapping-policy.js'
import type { AdmittedInvocation } from '../../internal/invocations/invocation-group.js'
import { FIXED_EVENT_IDS, uuidV5 } from '../../internal/local/replay/trace.js'
import { createLog } from '../../internal/telemetry/log.js'
import { escapeToken } from '../../streams/subjects.js'
import type { Company, CompanyEvent, CompanyWorld } from './companies.js'

const TENANT = 'tnt_planted'
const SETTINGS = { ...DEFAULT_SETTINGS, owner_fallback: 'unassigned' } as const
const BATCH_EVENTS = 100

/** What the product's own stage A makes of an event in the end, when its whole trace is known; undefined: nothing. */
export type Decided = ReadonlyMap<CompanyEvent, Resolution | undefined>

/** Runs stage A on a world's events, in batches, in the order of time. */
export async function decideByStageA({ phases, events }: CompanyWorld): Promise<Decided> {
  const directory = directoryOf(phases.map(({ company }) => company))
  const policyOf = () => allocationPolicy([])
  const traces = new PartitionTraces({
    directory,
    policyOf,
    degradationOf: () => 'none',
    weightsAsOf: async () => undefined,
    log: createLog('bench', 'silent'),
  })
  const deps = { directory, settingsOf: () => SETTINGS, policyOf, mappingOf: () => NO_RULES }
  const decided = new Map<CompanyEvent, Resolution | undefined>()
  const byId = new Map<string, CompanyEvent>()
  for (let from = 0; from < events.length; from += BATCH_EVENTS) {
    const batch = events.slice(from, from + BATCH_EVENTS)
    const admitted = batch.map(admittedOf)
    const atMs = batch.at(-1)?.atMs ?? 0
    const results = decideBatch(admitted, traces, atMs, deps)
    for (const [i, event] of batch.entries()) {
      const one = admitted[i] as AdmittedInvocation
      decided.set(event, results.get(one)?.resolution)
      byId.set(Buffer.from(one.id).toString('hex'), event)
    }
    await traces.deriveCorrections(atMs)
    for (const { id, verdict } of traces.corrections()) {
      const event = byId.get(Buffer.from(id).toString('hex'))
      if (event === undefined) continue
      const isResolved = verdict.stageOrigin === 'stage_a'
      decided.set(event, isResolved ? (verdict as unknown as Resolution) : undefined)
    }
    traces.markSent()
  }
  return decided
}

/** The directories of the phases together: names do not change. */
function directoryOf(companies: readonly Company[]): WatchedDirectory {
  const directory = new WatchedDirectory()
  for (const { services, identities, principals } of companies) {
    for (const { name, owner, isShadow } of services) {
      if (!isShadow) directory.apply(`${TENANT}.services.${escapeToken(name)}`, { name, owner })
    }
    for (const entry of identities) directory.apply(`${TENANT}.identities.${escapeToken(entry.name)}`, entry)
    for (const entry of principals) directory.apply(`${TENANT}.principals.${escapeToken(entry.id)}`, entry)
  }
  return directory
}

function admittedOf(event: CompanyEvent): AdmittedInvocation {
  const invocation = {
    provider: event.provider,
    requestedModel: event.model,
    ingestionLayer: event.layer,
    eventTimeMs: event.atMs,
    attributedService: event.statesService ? event.service : undefined,
    attributedIdentity: event.statesIdentity ? event.caller : undefined,
    traceId: event.traceId,
    attributionConfidence: undefined,
  }
  return {
    tenantId: TENANT,
    principal: event.principal,
    id: Buffer.from(uuidV5(FIXED_EVENT_IDS, event.rowId).replaceAll('-', ''), 'hex'),
    receivedAtMs: event.atMs,
    position: { sequence: 1, index: 0 },
    key: undefined,
    // Stage A reads no other field.
    invocation,
    event: {},
  } as unknown as AdmittedInvocation
}
