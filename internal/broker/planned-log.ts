import { setTimeout as sleep } from 'node:timers/promises'
import type { KV } from '@nats-io/kv'
import { writesRecords } from '../../streams/records.js'
import type { Logger } from '../telemetry/log.js'
import { type Arrival, IdleReader } from './arrivals.js'
import { CheckpointHold, type Extent, OwnershipLost, type Progress } from './checkpoint.js'
import type { LogRange, StoredEntry } from './log.js'
import { BATCH_EVENTS, BATCH_RETRIES, BATCH_SECONDS, BATCHES, TAKEOVERS } from './log-metrics.js'

/**
 * A subject of a stream that one owner at a time reads in batches, each of which takes effect exactly once: the batch
 * is planned in a checkpoint by compare-and-set, applied by effects that are keyed by its name, and then marked as
 * done. After a crash, the next owner forms the same batch from the same messages.
 */
export interface PlannedLog<C extends Progress> {
  /** Key of its checkpoint; also the name under which it is owned. */
  readonly key: string
  readonly stream: string
  readonly subject: string
  /** The checkpoint of a log that nobody has read yet. */
  readonly initial: C
  /** Whether messages of it come from schedules: the broker writes these by itself, and nobody hears them arrive. */
  readonly isScheduled?: boolean
  /** How many of the next messages form a batch, at least one; all of them when absent. */
  readonly cut?: (entries: readonly StoredEntry[]) => number
  /** Maximum messages per batch; the default applies when absent. */
  readonly messagesMax?: number
  /** Maximum bytes per batch; the default applies when absent. */
  readonly batchBytesMax?: number
  /** Pause after every batch that was not full, of a log that nobody waits for; the default applies when absent. */
  readonly paceMs?: number
  /**
   * Whether a message, by its id, can wait for others: a pause follows a batch of such messages alone, which a message
   * that cannot wait ends. None can when absent.
   */
  readonly canWait?: (messageId: string) => boolean
  /**
   * Called with the messages of the next batch while the effects of a full one are under way: what depends on them
   * alone can be done meanwhile. `prepare` gets the same array, unless the effects fail.
   *
   * @param before the checkpoint that the next batch will find
   */
  readonly foresee?: (entries: readonly StoredEntry[], before: C) => void
  /**
   * Called when this process takes over the log, before its first batch, to start with fresh in-memory state. After a
   * failure the state is kept if no other process has been the owner meanwhile.
   *
   * @param checkpoint as the last owner left it
   */
  open(checkpoint: C): Promise<PrepareBatch<C>>
}

/**
 * Prepares a batch of messages. It may read, and must change nothing.
 *
 * @param extent names the batch: the planned one, or that of these messages
 * @param before the checkpoint as it is
 * @param planned set when the batch is prepared again; the result must then have the same effects as far as they have
 *   already been applied
 */
export type PrepareBatch<C extends Progress> = (
  entries: readonly StoredEntry[],
  extent: Extent,
  before: C,
  planned: PlanOf<C> | undefined,
) => Promise<PreparedBatch<C>>

export type PlanOf<C extends Progress> = NonNullable<C['plan']>

export interface PreparedBatch<C extends Progress> {
  /** Written before anything takes effect, unless it is `planned` itself. */
  readonly plan: PlanOf<C>
  /** The checkpoint after all effects: done up to the plan's last message, and without a plan. */
  readonly after: C
  /** Applies all effects of the batch, each keyed by the batch's name, so that a repeat changes nothing. */
  applyEffects(): Promise<void>
  /** Number of events. */
  readonly size: number
  /** Whether applying it inserts into ClickHouse. */
  readonly inserts: boolean
}

export interface PlannedLogDeps {
  readonly checkpoints: KV
  readonly readLog: (range: LogRange) => Promise<StoredEntry[]>
  /** Waits for the next message of a subject (`arrivals.ts`). */
  readonly nextArrival: (subject: string, isAwaited?: (messageId: string) => boolean) => Arrival
  readonly isOwner: (key: string) => boolean
  /** Reads the current fence (`fence.ts`). */
  readonly readFence: () => Promise<number>
  /** Whether readers pause (`pause.ts`); never when absent. */
  readonly isPaused?: () => boolean
  readonly clock: () => number
  readonly log: Logger
}

const BATCH_MESSAGES_MAX = 1_000
export const BATCH_BYTES_MAX = 6 * 1024 * 1024
/** A batch of at least this many events or bytes is full: large enough to insert without a pause. */
const FULL_EVENTS = 5_000
const FULL_BYTES = BATCH_BYTES_MAX / 2
/** Pause before a process that does not own a log looks again whether it does. */
const NOT_OWNED_MS = 50
/**
 * A reader pauses after an insert, unless the batch was full: until `INSERT_EVERY_MS` after the batch began, and for at
 * least `PAUSE_TO_BATCH` times as long as its effects took, up to `PAUSE_MS_MAX`. An insert costs ClickHouse 30 ms of
 * processor time, however few rows it has, and events that arrive during the pause share one insert
 * (`deploy/decisions/partitions-and-pace.md`).
 */
const INSERT_EVERY_MS = 225
const PAUSE_TO_BATCH = 2
const PAUSE_MS_MAX = 500
/** Pause after a batch of messages that can wait: it costs the broker as much as one of events. */
const CAN_WAIT_MS = 500
/**
 * How long the state of a log is kept that this process does not own any more: members may be silent for a moment.
 * State may be hundreds of megabytes.
 */
const KEPT_MS = 30_000
/** How often a paused reader looks whether it may go on. */
const PAUSED_LOOK_MS = 20
/** Pause after a failure of a dependency. */
const RETRY_MS = 500
/**
 * A batch takes effect only when its owner has proved its ownership within this time. An owner that has not, since it
 * was stalled (stopped, swapped out) or took long to prepare, writes its plan again, which proves it.
 */
const PROOF_AGE_MS_MAX = 20_000

/**
 * Reads a log until `signal` aborts, which it checks between batches. It waits for unavailable dependencies. When
 * another owner has written the checkpoint, this process stops and reads the checkpoint again.
 */
export async function runPlannedLog<C extends Progress>(
  planned: PlannedLog<C>,
  deps: PlannedLogDeps,
  signal: AbortSignal,
): Promise<void> {
  const log = deps.log.child({ checkpoint: planned.key })
  let last: { readonly prepare: PrepareBatch<C>; readonly revision: number; readonly leftAt: number } | undefined
  while (!signal.aborted) {
    if (!deps.isOwner(planned.key)) {
      if (last !== undefined && performance.now() - last.leftAt > KEPT_MS) last = undefined
      await pause(NOT_OWNED_MS, signal)
      continue
    }
    const idle = new IdleReader(() => deps.nextArrival(planned.subject), planned.isScheduled === true)
    try {
      const hold = await CheckpointHold.take(deps.checkpoints, planned.key, planned.initial)
      const prepare = last?.revision === hold.revision ? last.prepare : await planned.open(hold.value)
      log.debug({ done: hold.value.done }, 'took over a log')
      TAKEOVERS.inc({ log: planned.key })
      try {
        await work(planned, prepare, hold, idle, deps, signal)
      } finally {
        last = { prepare, revision: hold.revision, leftAt: performance.now() }
      }
    } catch (cause) {
      if (cause instanceof OwnershipLost) log.info('another process owns this log now')
      else {
        BATCH_RETRIES.inc({ log: planned.key })
        log.warn({ err: cause }, 'could not finish a batch; will retry')
      }
      await pause(RETRY_MS, signal)
    } finally {
      idle.wake()
    }
  }
}

/**
 * The batches of one ownership. A batch has five effects, in this order; after a crash the next owner finds:
 *
 * 1. after `reserveInstant`: an instant and no plan. It reserves a later one, or clears it when nothing is left to
 *    read.
 * 2. after `writePlan`: a plan of which nothing has taken effect. It reads the planned messages and applies the batch.
 * 3. after a part of `applyEffects`, or all of it: the same. It applies all effects again, keyed by the batch's name,
 *    so that those that were applied change nothing.
 * 4. after `markDone`, which is in memory: the same, since the next plan writes it.
 * 5. after `saveDone`: a batch that is done. Nothing is repeated.
 */
async function work<C extends Progress>(
  log: PlannedLog<C>,
  prepare: PrepareBatch<C>,
  hold: CheckpointHold<C>,
  idle: IdleReader,
  deps: PlannedLogDeps,
  signal: AbortSignal,
): Promise<void> {
  let planned: PlanOf<C> | undefined = hold.value.plan
  let ahead: Promise<StoredEntry[]> | undefined
  while (!signal.aborted && deps.isOwner(log.key)) {
    if (planned === undefined && deps.isPaused?.() === true) {
      await saveSettled(hold, undefined)
      await pause(PAUSED_LOOK_MS, signal)
      continue
    }
    const readAt = performance.now()
    const before = hold.value
    const entries = await (planned ? readPlanned(log, planned, deps) : (ahead ?? readNext(log, before.done + 1, deps)))
    ahead = undefined
    const extent = planned ?? (await extentOf(entries, log, hold, deps))
    if (extent === undefined || entries.length === 0) {
      await saveSettled(hold, planned)
      planned = undefined
      await idle.pause(signal)
      continue
    }
    idle.wake()

    const preparedFrom = performance.now()
    const batch = await prepare(entries, extent, before, planned)
    const preparedMs = performance.now() - preparedFrom
    await writePlan(hold, before, batch.plan, planned)
    const isFull = isFullBatch(log, entries, batch.size)
    if (isFull) ahead = readAhead(log, batch.after, deps)
    await batch.applyEffects()
    markDone(hold, batch.after, log, extent)
    planned = undefined
    countBatch(log.key, batch.size, performance.now() - readAt)

    if (isFull) continue
    if (!batch.inserts && canAllWait(log, entries)) {
      await saveDone(hold, log)
      await untilAwaited(log, hold.value.done + 1, deps, signal)
    } else if (batch.inserts || log.paceMs !== undefined) {
      await saveDone(hold, log)
      await pause(log.paceMs ?? pauseAfter(performance.now() - readAt, preparedMs), signal)
    }
  }
  if (!hold.isSaved) await hold.save(hold.value)
}

const canAllWait = <C extends Progress>({ canWait }: PlannedLog<C>, entries: readonly StoredEntry[]): boolean =>
  entries.every(({ messageId }) => canWait?.(messageId) === true)

/** The pause after a batch of messages that can wait. @param from the first message behind it */
async function untilAwaited<C extends Progress>(
  log: PlannedLog<C>,
  from: number,
  deps: PlannedLogDeps,
  signal: AbortSignal,
): Promise<void> {
  const arrival = deps.nextArrival(log.subject, (messageId) => log.canWait?.(messageId) !== true)
  try {
    // The read that follows the subscription finds what was published while the batch was applied.
    if (canAllWait(log, await readNext(log, from, deps))) await arrival.within(CAN_WAIT_MS, signal)
  } finally {
    arrival.stop()
  }
}

/** The extent of a new batch, with its instant; undefined when there are no messages. */
async function extentOf<C extends Progress>(
  entries: readonly StoredEntry[],
  log: PlannedLog<C>,
  hold: CheckpointHold<C>,
  deps: PlannedLogDeps,
): Promise<Extent | undefined> {
  const [first, last] = [entries[0], entries.at(-1)]
  if (first === undefined || last === undefined) return undefined
  const atMs = writesRecords(log.key) ? await reserveInstant(hold, deps) : deps.clock()
  return { first: first.sequence, last: last.sequence, atMs }
}

/** Effect 2. A plan that was found is written again only if the ownership needs a new proof. */
async function writePlan<C extends Progress>(
  hold: CheckpointHold<C>,
  before: C,
  plan: PlanOf<C>,
  planned: PlanOf<C> | undefined,
): Promise<void> {
  if (plan !== planned) await hold.save({ ...before, plan })
  while (performance.now() - hold.provenAt > PROOF_AGE_MS_MAX) await hold.save({ ...before, plan })
}

/** Effect 4: kept in memory, since the write of the next plan includes it. */
function markDone<C extends Progress>(
  hold: CheckpointHold<C>,
  after: C,
  { key }: PlannedLog<C>,
  { atMs }: Extent,
): void {
  hold.advance({ ...after, ...(writesRecords(key) && { doneMs: atMs }) })
}

/** Effect 5, before a pause: otherwise the inserted rows would stay invisible during it. */
async function saveDone<C extends Progress>(hold: CheckpointHold<C>, { key }: PlannedLog<C>): Promise<void> {
  if (writesRecords(key)) await hold.save(hold.value)
}

/**
 * Saves the checkpoint without a plan and a reservation, so that no snapshot waits for a batch that was applied.
 *
 * @param applied its plan, of which nothing is left in the log
 */
async function saveSettled<C extends Progress>(hold: CheckpointHold<C>, applied: Extent | undefined): Promise<void> {
  const { plan: _, reservedMs, ...rest } = hold.value
  if (applied === undefined && reservedMs === undefined && hold.isSaved) return
  // Both are optional in every checkpoint.
  await hold.save({ ...rest, ...(applied !== undefined && { doneMs: applied.atMs }) } as C)
}

function isFullBatch<C extends Progress>(
  { batchBytesMax = BATCH_BYTES_MAX }: PlannedLog<C>,
  entries: readonly StoredEntry[],
  size: number,
): boolean {
  const bytes = entries.reduce((sum, { data }) => sum + data.length, 0)
  return (
    entries.length === BATCH_MESSAGES_MAX || size >= FULL_EVENTS || bytes >= Math.min(FULL_BYTES, batchBytesMax / 2)
  )
}

/** Reads the next batch while the effects of a full one are under way. */
function readAhead<C extends Progress>(log: PlannedLog<C>, after: C, deps: PlannedLogDeps): Promise<StoredEntry[]> {
  const ahead = readNext(log, after.done + 1, deps).then((next) => {
    log.foresee?.(next, after)
    return next
  })
  // The code that awaits it gets a failure, unless the effects fail first.
  ahead.catch(() => undefined)
  return ahead
}

/**
 * @param tookMs the whole batch
 * @param preparedMs its preparation: one tenant's slow rules cost ClickHouse nothing, and the events of others wait
 */
export const pauseAfter = (tookMs: number, preparedMs: number): number =>
  Math.max(INSERT_EVERY_MS - tookMs, Math.min(PAUSE_TO_BATCH * (tookMs - preparedMs), PAUSE_MS_MAX))

function countBatch(log: string, events: number, ms: number): void {
  BATCHES.inc({ log })
  BATCH_EVENTS.inc({ log }, events)
  BATCH_SECONDS.observe({ log }, ms / 1_000)
}

/**
 * Effect 1: reserves the instant of the next batch, later than every snapshot that was read. Until the batch is done,
 * no snapshot at or after that instant is used (`watermark.ts`).
 */
async function reserveInstant<C extends Progress>(hold: CheckpointHold<C>, deps: PlannedLogDeps): Promise<number> {
  let atMs = deps.clock()
  for (let fencedMs = 0; ; atMs = Math.max(deps.clock(), fencedMs + 1)) {
    atMs = Math.max(atMs, (hold.value.doneMs ?? 0) + 1)
    await hold.save({ ...hold.value, reservedMs: atMs })
    // Read after the reservation: a reader that sets a later fence sees the reservation.
    fencedMs = await deps.readFence()
    if (fencedMs < atMs) return atMs
  }
}

async function readNext<C extends Progress>(
  { stream, subject, cut, messagesMax = BATCH_MESSAGES_MAX, batchBytesMax = BATCH_BYTES_MAX }: PlannedLog<C>,
  from: number,
  deps: PlannedLogDeps,
): Promise<StoredEntry[]> {
  const limits = { messagesMax, bytesMax: batchBytesMax }
  const entries = await deps.readLog({ stream, subject, from, ...limits })
  return cut === undefined || entries.length === 0 ? entries : entries.slice(0, cut(entries))
}

/** All planned messages that the stream still holds, in as many reads as needed. */
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
