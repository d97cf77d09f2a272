import { setTimeout as sleep } from 'node:timers/promises'
import type { KV } from '@nats-io/kv'
import { writesRecords } from '../../streams/records.js'
import type { Logger } from '../telemetry/log.js'
import { CheckpointHold, type Extent, OwnershipLost, type Progress } from './checkpoint.js'
import type { LogRange, StoredEntry } from './log.js'

/**
 * A part of a stream that one owner at a time reads in batches, each of which takes effect exactly once: it is planned
 * in a checkpoint by compare-and-set, carried out by effects that know its name, and then done. After a crash the same
 * messages are formed into the same batch, by whoever owns it then.
 */
export interface PlannedLog<C extends Progress> {
  /** Of its checkpoint, and what it is owned by. */
  readonly key: string
  readonly stream: string
  readonly subject: string
  /** The checkpoint of a log that nobody has read yet. */
  readonly initial: C
  /** How many of the messages that come next are a batch, at least one; all of them where it is absent. */
  readonly cut?: (entries: readonly StoredEntry[]) => number
  /** How many messages are read for a batch at most; as many as for any other where it is absent. */
  readonly messagesMax?: number
  /**
   * Called when the log is taken over, before its first batch: what it keeps in memory starts afresh. After a failure
   * it stays, if no other process has been the owner meanwhile.
   */
  open(): Promise<PrepareBatch<C>>
}

/**
 * Makes a batch of messages. It may look things up and must change nothing.
 *
 * @param extent names the batch: the planned one, or that of these messages
 * @param before the checkpoint as it is
 * @param planned set when the batch is formed again; it must then come to the same effects, as far as they have happened
 */
export type PrepareBatch<C extends Progress> = (
  entries: readonly StoredEntry[],
  extent: Extent,
  before: C,
  planned: PlanOf<C> | undefined,
) => Promise<PreparedBatch<C>>

export type PlanOf<C extends Progress> = NonNullable<C['plan']>

export interface PreparedBatch<C extends Progress> {
  /** To be written before anything takes effect, unless it is `planned` itself. */
  readonly plan: PlanOf<C>
  /** The checkpoint once all has taken effect: done up to the plan's last message, and without a plan. */
  readonly after: C
  /** Every effect of the batch, each recognisable by the batch's name, so that a repeat changes nothing. */
  applyEffects(): Promise<void>
  /** Events in it. */
  readonly size: number
  /** Whether carrying it out costs an insert. */
  readonly inserts: boolean
}

export interface PlannedLogDeps {
  readonly checkpoints: KV
  readonly readLog: (range: LogRange) => Promise<StoredEntry[]>
  readonly isOwner: (key: string) => boolean
  /** The fence (`fence.ts`) as it is now. */
  readonly readFence: () => Promise<number>
  readonly clock: () => number
  readonly log: Logger
}

const BATCH_MESSAGES_MAX = 1_000
const BATCH_BYTES_MAX = 6 * 1024 * 1024
/** A batch of so many events, or bytes, is worth its insert. */
const FULL_EVENTS = 5_000
const FULL_BYTES = BATCH_BYTES_MAX / 2
/** How long a log that was found empty is left alone. */
const IDLE_MS = 50
/**
 * Whoever has inserted waits, unless the batch was full: until so long after its beginning, and so many times as long as it
 * took, up to a limit. An insert costs the engine a tenth of a second of a processor and more, however few rows it has, and
 * what arrives meanwhile travels as one (`deploy/decisions/two-partitions-and-paced-inserts.md`).
 */
const INSERT_EVERY_MS = 250
const PAUSE_TO_BATCH = 2
const PAUSE_MS_MAX = 500
/** After a failure of a dependency. */
const RETRY_MS = 500
/**
 * Before a batch takes effect its owner has shown within this time that it still owns. One that has not, since it stood
 * still (stopped, swapped out) or was long in preparing, writes its plan once more, which shows it.
 */
const PROOF_AGE_MS_MAX = 20_000

/**
 * Reads a log until `signal` aborts, which it obeys between batches. A dependency that is away is waited for; another
 * owner's write ends the hold, and the checkpoint is read anew.
 */
export async function runPlannedLog<C extends Progress>(
  planned: PlannedLog<C>,
  deps: PlannedLogDeps,
  signal: AbortSignal,
): Promise<void> {
  const log = deps.log.child({ checkpoint: planned.key })
  let last: { readonly prepare: PrepareBatch<C>; readonly revision: number } | undefined
  while (!signal.aborted) {
    if (!deps.isOwner(planned.key)) {
      await pause(IDLE_MS, signal)
      continue
    }
    try {
      const hold = await CheckpointHold.take(deps.checkpoints, planned.key, planned.initial)
      const prepare = last?.revision === hold.revision ? last.prepare : await planned.open()
      log.debug({ done: hold.value.done }, 'took over a log')
      try {
        await work(planned, prepare, hold, deps, signal)
      } finally {
        last = { prepare, revision: hold.revision }
      }
    } catch (cause) {
      if (cause instanceof OwnershipLost) log.info('another process owns this log now')
      else log.warn({ err: cause }, 'a batch could not be finished; it will be formed again')
      await pause(RETRY_MS, signal)
    }
  }
}

async function work<C extends Progress>(
  log: PlannedLog<C>,
  prepare: PrepareBatch<C>,
  hold: CheckpointHold<C>,
  deps: PlannedLogDeps,
  signal: AbortSignal,
): Promise<void> {
  const range = { stream: log.stream, subject: log.subject }
  let planned: PlanOf<C> | undefined = hold.value.plan
  while (!signal.aborted && deps.isOwner(log.key)) {
    const before = hold.value
    const readAt = performance.now()
    const entries = planned ? await readPlanned(range, planned, deps) : await readNext(log, before.done + 1, deps)

    const [first, last] = [entries[0], entries.at(-1)]
    if (first === undefined || last === undefined) {
      // All is done: says so, that nobody waits for a plan that has been carried out.
      const isOpen = planned !== undefined || before.reservedMs !== undefined
      if (isOpen || !hold.isSaved) await hold.save(settled(before, planned))
      planned = undefined
      await pause(IDLE_MS, signal)
      continue
    }

    const atMs = planned?.atMs ?? (writesRecords(log.key) ? await reserve(hold, deps) : deps.clock())
    const extent = planned ?? { first: first.sequence, last: last.sequence, atMs }
    const batch = await prepare(entries, extent, before, planned)
    if (batch.plan !== planned) await hold.save({ ...before, plan: batch.plan })
    while (performance.now() - hold.provenAt > PROOF_AGE_MS_MAX) await hold.save({ ...before, plan: batch.plan })
    await batch.applyEffects()
    // Kept in memory until the next plan is written, which says both in one write.
    hold.advance({ ...batch.after, ...(writesRecords(log.key) && { doneMs: extent.atMs }) })
    planned = undefined
    if (!batch.inserts) continue
    const bytes = entries.reduce((sum, { data }) => sum + data.length, 0)
    const isFull = entries.length === BATCH_MESSAGES_MAX || batch.size >= FULL_EVENTS || bytes >= FULL_BYTES
    if (isFull) continue
    // Else what was inserted would stay unseen through the pause.
    if (writesRecords(log.key)) await hold.save(hold.value)
    const tookMs = performance.now() - readAt
    await pause(Math.max(INSERT_EVERY_MS - tookMs, Math.min(PAUSE_TO_BATCH * tookMs, PAUSE_MS_MAX)), signal)
  }
  if (!hold.isSaved) await hold.save(hold.value)
}

/**
 * Reserves the instant of the next batch: behind every snapshot that anybody has read. Until the batch is done, none is
 * given out that reaches it (`watermark.ts`).
 */
async function reserve<C extends Progress>(hold: CheckpointHold<C>, deps: PlannedLogDeps): Promise<number> {
  let atMs = deps.clock()
  for (let fencedMs = 0; ; atMs = Math.max(deps.clock(), fencedMs + 1)) {
    atMs = Math.max(atMs, (hold.value.doneMs ?? 0) + 1)
    await hold.save({ ...hold.value, reservedMs: atMs })
    // Asked after the reservation: a fence that comes still later is set by one who sees it.
    fencedMs = await deps.readFence()
    if (fencedMs < atMs) return atMs
  }
}

/** A checkpoint with nothing under way. @param carriedOut its plan, which was found done */
function settled<C extends Progress>(checkpoint: C, carriedOut: Extent | undefined): C {
  const { plan: _, reservedMs: __, ...rest } = checkpoint
  // Both are optional in every checkpoint.
  return { ...rest, ...(carriedOut !== undefined && { doneMs: carriedOut.atMs }) } as C
}

async function readNext<C extends Progress>(
  { stream, subject, cut, messagesMax = BATCH_MESSAGES_MAX }: PlannedLog<C>,
  from: number,
  deps: PlannedLogDeps,
): Promise<StoredEntry[]> {
  const limits = { messagesMax, bytesMax: BATCH_BYTES_MAX }
  const entries = await deps.readLog({ stream, subject, from, ...limits })
  return cut === undefined || entries.length === 0 ? entries : entries.slice(0, cut(entries))
}

/** The planned messages, all of them that the stream still holds, in as many reads as it takes. */
async function readPlanned(
  range: Pick<LogRange, 'stream' | 'subject'>,
  plan: Extent,
  deps: PlannedLogDeps,
): Promise<StoredEntry[]> {
  const entries: StoredEntry[] = []
  let from = plan.first
  while (from <= plan.last) {
    const read = await deps.readLog({ ...range, from, messagesMax: BATCH_MESSAGES_MAX, bytesMax: BATCH_BYTES_MAX })
    const last = read.at(-1)
    if (last === undefined) throw new Error(`planned messages up to ${plan.last} are not in the log`)
    entries.push(...read.filter(({ sequence }) => sequence <= plan.last))
    from = last.sequence + 1
  }
  return entries
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  ms <= 0 ? Promise.resolve() : sleep(ms, undefined, { signal }).catch(() => undefined)
