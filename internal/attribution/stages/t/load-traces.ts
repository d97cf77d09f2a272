import { INVOCATIONS, invocationsSubject } from '../../../../streams/invocations.js'
import { readCheckpoint } from '../../../broker/checkpoint.js'
import type { StoredEntry } from '../../../broker/log.js'
import { readMessages } from '../../actor/batch.js'
import type { Checkpoint } from '../../actor/checkpoint.js'
import type { HeldDeps } from '../../actor/held-invocations.js'
import type { EvidenceDeps } from '../a/evidence.js'
import { decideBatch } from './decide.js'
import { PartitionTraces, type PartitionTracesDeps, TRACE_WINDOW_MS } from './partition-traces.js'
import { traceName } from './traces.js'

export interface LoadTracesDeps extends Omit<HeldDeps, 'readLog'>, EvidenceDeps, PartitionTracesDeps {
  readonly readLog: (range: Parameters<HeldDeps['readLog']>[0]) => Promise<StoredEntry[]>
  /** The sequence of the log's first message since an instant. */
  readonly firstSequenceSince: (sinceMs: number) => Promise<number>
  readonly clock: () => number
}

const PORTION = { messagesMax: 500, bytesMax: 8 * 1024 * 1024 }

/**
 * Rebuilds the traces of a partition from its own mailbox: processed messages are kept for a day, and those of the
 * window tell all that a trace knew. The messages of an unfinished batch are not read: it is repeated first.
 */
export async function loadTraces(partition: number, deps: LoadTracesDeps): Promise<PartitionTraces> {
  const traces = new PartitionTraces(deps)
  const checkpoint = await readCheckpoint<Checkpoint>(deps.checkpoints, `t.${partition}`)
  if (checkpoint === undefined) return traces
  const range = { stream: INVOCATIONS.name, subject: invocationsSubject('t', partition), ...PORTION }
  const nowMs = checkpoint.plan?.atMs ?? deps.clock()
  let from = await deps.firstSequenceSince(nowMs - TRACE_WINDOW_MS)
  while (from <= checkpoint.done) {
    const entries = (await deps.readLog({ ...range, from })).filter(({ sequence }) => sequence <= checkpoint.done)
    const last = entries.at(-1)
    if (last === undefined) break
    for (const entry of entries) await learn(traces, partition, entry, deps)
    from = last.sequence + 1
  }
  return traces
}

/** Takes a message as its batch did, at the time at which it came. Its corrections have been sent. */
async function learn(
  traces: PartitionTraces,
  partition: number,
  entry: StoredEntry,
  deps: LoadTracesDeps,
): Promise<void> {
  const atMs = Date.parse(entry.storedAt)
  const { invocations, facts } = readMessages('t', partition, [entry], { done: 0 })
  for (const fact of facts) traces.learnAll(traceName(fact.tenantId, fact.traceId), fact, atMs)
  decideBatch(invocations, traces, atMs, deps)
  await traces.deriveCorrections(atMs)
  traces.markSent()
}
