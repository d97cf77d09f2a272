import { readCheckpoint } from '../../../broker/checkpoint.js'
import { type EvidenceBasis, isReplaceableByTrace } from '../../../records/interpretation.js'
import type { TracedRecord } from '../../../store/queries/attribution/traced-records.js'
import type { Checkpoint } from '../../actor/checkpoint.js'
import { type HeldDeps, heldInvocations } from '../../actor/held-invocations.js'
import { pooledCall } from '../../pools/allocate.js'
import {
  type EvidenceDeps,
  inheritedOwner,
  isFact,
  type OwnerFacts,
  ownerFacts,
  type ResolutionEvidence,
  STRENGTH,
  strongestEvidence,
  undatedName,
} from './evidence.js'
import { decidedByTrace, PartitionTraces, type PartitionTracesDeps, TRACE_WINDOW_MS } from './partition-traces.js'
import { traceName } from './traces.js'

export interface LoadTracesDeps extends HeldDeps, EvidenceDeps, PartitionTracesDeps {
  /** The currently valid records of a partition that have a trace and became valid since an instant, youngest first. */
  readonly tracedRecordsSince: (partition: number, sinceMs: number, limit: number) => Promise<readonly TracedRecord[]>
  readonly clock: () => number
}

/** Maximum number of records read when a partition is taken over; at 300 bytes each, about the capacity of `Traces`. */
const RECORDS_MAX = 200_000

/**
 * Rebuilds the traces of a partition of the facts stage from the records of the window and from the events that
 * inference and pools still hold. A record no longer contains the stated identity: only where its owner is the
 * identity's team does it tell one. Else, if its service has no owner in the directory, the owner of the trace applies.
 */
export async function loadTraces(partition: number, deps: LoadTracesDeps): Promise<PartitionTraces> {
  const { directory, settingsOf, checkpoints, clock } = deps
  const traces = new PartitionTraces(deps)
  // The time of the unfinished batch, if there is one: it is repeated first.
  const nowMs = (await readCheckpoint<Checkpoint>(checkpoints, `a.${partition}`))?.plan?.atMs ?? clock()

  for await (const held of heldInvocations(partition, deps)) {
    const { invocation, tenantId, principal, id, receivedAtMs, traceServices } = held
    if (invocation.traceId === undefined) continue
    const owners = ownerFacts(invocation, tenantId, directory, settingsOf(tenantId))
    const call = pooledCall(invocation, principal)
    const byTrace = decidedByTrace(undefined, traceServices !== undefined)
    const event = { tenantId, id, own: undefined, owners, call, byTrace }
    traces.keepOpen(traceName(tenantId, invocation.traceId), event, {
      atMs: receivedAtMs,
      eventTimeMs: invocation.eventTimeMs,
    })
  }
  const records = await deps.tracedRecordsSince(partition, nowMs - TRACE_WINDOW_MS, RECORDS_MAX)
  for (const record of records.toReversed()) {
    const { tenant_id: tenantId, service, principal, stage_origin: stage } = record
    const basis: EvidenceBasis = record.evidence_basis
    const trace = traceName(tenantId, record.trace_id)
    const time = { atMs: Number(record.valid_from_ms), eventTimeMs: Number(record.event_time_ms) }
    const confidence = Math.round(Number(record.confidence) * 10_000)
    if (stage === 'stage_a' && isFact(basis)) {
      const owner = inheritedOwner(record.owner, record.owner_from)
      const learned = undatedName(service, tenantId, directory)
      traces.learn(trace, { service: learned, owner, confidence, strength: STRENGTH[basis] }, time)
    }
    if (!isReplaceableByTrace(basis)) continue
    const event = {
      tenantId,
      id: Buffer.from(record.id_hex, 'hex'),
      own: strongestEvidence({ eventTimeMs: time.eventTimeMs }, tenantId, { principal }, deps),
      owners: ownersOf(record),
      call: pooledCall({ provider: record.provider, ingestionLayer: record.ingestion_layer }, principal),
      byTrace:
        record.contested === 'trace'
          ? decidedByTrace(undefined, true)
          : decidedByTrace({ evidenceBasis: basis, service, confidence }, false),
    }
    traces.keepOpen(trace, event, time)
  }
  return traces
}

/** Of what a record still tells. */
const ownersOf = ({ owner, owner_from: from }: TracedRecord): OwnerFacts => ({
  team: from === ('directory_identity' satisfies ResolutionEvidence['owner_from']) ? owner : undefined,
  identity: undefined,
})
