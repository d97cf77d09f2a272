import { INVOCATIONS, invocationsSubject } from '../../../../streams/invocations.js'
import type { LogRange, StoredEntry } from '../../../broker/log.js'
import { readMessages } from '../../actor/batch.js'
import type { Checkpoint, RecentMessages } from '../../actor/checkpoint.js'
import { firstRecent } from '../../actor/recent-messages.js'
import type { EvidenceDeps } from '../a/evidence.js'
import { decideBatch } from './decide.js'
import { PartitionTraces, type PartitionTracesDeps } from './partition-traces.js'
import { traceName } from './traces.js'

export interface LoadTracesDeps extends EvidenceDeps, PartitionTracesDeps {
  /** Returns nothing only if the log's leader has nothing either. */
  readonly readLog: (range: LogRange) => Promise<StoredEntry[]>
}

/** Small: other partitions of the process go on between two portions. */
const PORTION = { messagesMax: 500, bytesMax: 1024 * 1024 }

/**
 * Rebuilds the traces of a partition from its own mailbox: the checkpoint remembers where the messages begin that its
 * owner did within the window. Those of an unfinished batch are not read: it is repeated first.
 *
 * The directory may have changed meanwhile: what only this decides otherwise is not corrected. After a change of the
 * number of partitions, it knows the traces that were its own before, and not those that are now.
 */
export async function loadTraces(
  partition: number,
  checkpoint: Checkpoint,
  deps: LoadTracesDeps,
): Promise<PartitionTraces> {
  const traces = new PartitionTraces(deps)
  const { done, recent = [] } = checkpoint
  const range = { stream: INVOCATIONS.name, subject: invocationsSubject('t', partition), ...PORTION }
  let from = firstRecent(checkpoint) ?? done + 1
  while (from <= done) {
    const entries = (await deps.readLog({ ...range, from })).filter(({ sequence }) => sequence <= done)
    for (const entry of entries) learn(traces, partition, entry, timeOf(entry, recent), deps)
    from = (entries.at(-1)?.sequence ?? done) + 1
  }
  return traces
}

/** About when its batch was: not before it came, nor before the first of the batches that are remembered with it. */
function timeOf({ sequence, storedAt }: StoredEntry, recent: readonly RecentMessages[]): number {
  const batches = recent.findLast(({ after }) => after < sequence)
  return Math.max(Date.parse(storedAt), batches?.atMs ?? 0)
}

/** Takes a message as its batch did. */
function learn(
  traces: PartitionTraces,
  partition: number,
  entry: StoredEntry,
  atMs: number,
  deps: LoadTracesDeps,
): void {
  const { invocations, facts } = readMessages('t', partition, [entry], { done: 0 })
  for (const fact of facts) traces.learnAll(traceName(fact.tenantId, fact.traceId), fact, atMs)
  decideBatch(invocations, traces, atMs, deps)
  traces.skipCorrections(atMs)
}
