import { randomBytes } from 'node:crypto'
import { GROUP_BYTES_MAX, invocationsSubject, LANE_GROUP_BYTES_MAX } from '../../../streams/invocations.js'
import { entryBytesMax, type ParsedEvent, type TextRange } from '../../invocations/entry-bytes.js'
import type { Admission } from '../../invocations/invocation-group.js'
import { histogram, SECONDS_BUCKETS } from '../../telemetry/metrics.js'
import { SENDER_BYTES } from '../keys/admitted-keys.js'
import { appendEntry, type Group, GroupBuffers, type OpenGroup, payloadOf, type Settler } from './commit-group.js'
import type { Commit, LogWriter } from './log-writer.js'
import { SharedKeys } from './shared-keys.js'

/** Limits on the events waiting for the log; beyond them the caller is refused at once. */
const WAITING_EVENTS_MAX = 50_000
const WAITING_BYTES_MAX = 64 * 1024 * 1024

const GROUP_EVENTS = histogram(
  'log_group_events',
  'Events per message that a gateway writes to the log.',
  [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500],
)
const WRITE_SECONDS = histogram(
  'log_write_duration_seconds',
  'From the write of a message to its acknowledgement by the log, or by the spool while the log does not answer.',
  SECONDS_BUCKETS,
)

/** Called for each message that the log has. */
type OnStored = (partition: number, sequence: number) => void

/** The groups of one partition or of the lane, of which one at a time is written to the log. */
interface PartitionQueue {
  readonly partition: number
  readonly subject: string
  /** Of a group of more than one event. */
  readonly groupBytesMax: number
  /** Full groups, in order, then the one being filled. */
  waiting: OpenGroup[]
  isWriting: boolean
}

/**
 * Group commit: events that arrive together are written together. All events added during one event-loop iteration
 * become one message per partition, with one write in flight per partition, and that write's acknowledgement answers
 * every event of the group, once its keys are on their way. Under load, groups fill while the previous one is in flight.
 */
export class GroupCommit {
  private readonly writer: LogWriter
  private readonly onStored: OnStored
  private readonly queues: readonly PartitionQueue[]
  /** Prefix of message ids, distinct per process start, so that no two gateways' groups are mistaken for each other. */
  private readonly run = randomBytes(9).toString('base64url')
  /** Names this process in the messages of KEYS. */
  readonly sender = randomBytes(SENDER_BYTES)
  private readonly buffers = new GroupBuffers(this.sender)
  private readonly sharedKeys: SharedKeys
  private groupsWritten = 0
  private waitingEvents = 0
  private waitingBytes = 0
  private isFlushScheduled = false
  private idleListeners: (() => void)[] = []
  private readonly flush = (): void => {
    this.isFlushScheduled = false
    this.sharedKeys.flush()
    for (const queue of this.queues) if (!queue.isWriting && queue.waiting.length > 0) void this.commitNext(queue)
  }

  constructor(writer: LogWriter, partitions: number, onStored: OnStored = () => undefined) {
    this.writer = writer
    this.onStored = onStored
    this.sharedKeys = new SharedKeys(
      (keys) => writer.storeKeys(keys),
      () => this.scheduleFlush(),
    )
    this.queues = Array.from({ length: partitions + 1 }, (_, partition) => ({
      partition,
      subject: partition < partitions ? invocationsSubject('a', partition) : invocationsSubject('l', 0),
      groupBytesMax: partition < partitions ? GROUP_BYTES_MAX : LANE_GROUP_BYTES_MAX,
      waiting: [],
      isWriting: false,
    }))
  }

  /**
   * Adds an event, whose text is copied at once.
   *
   * @param partition its destination; their number for the lane
   * @param parsed as for `writeEntry`
   * @param settler called once per group that holds events of it
   * @returns the event's group, or undefined when too much is waiting already
   */
  add(
    partition: number,
    admission: Admission,
    text: TextRange,
    parsed: ParsedEvent | undefined,
    settler: Settler,
  ): Group | undefined {
    if (this.waitingEvents >= WAITING_EVENTS_MAX || this.waitingBytes >= WAITING_BYTES_MAX) return undefined
    const queue = this.queues[partition]
    if (queue === undefined) throw new RangeError(`partition ${partition} does not exist`)
    const group = this.groupFor(queue, entryBytesMax(admission, text) + 1)
    const start = group.length
    appendEntry(group, admission, text, parsed)
    // A bulk request adds many events in a row and is notified once.
    if (group.settlers[group.settlers.length - 1] !== settler) group.settlers.push(settler)
    this.waitingEvents++
    this.waitingBytes += group.length - start
    if (!queue.isWriting) this.scheduleFlush()
    return group
  }

  /** Events that `add` still accepts before it refuses. */
  get eventsAvailable(): number {
    return this.waitingBytes >= WAITING_BYTES_MAX ? 0 : WAITING_EVENTS_MAX - this.waitingEvents
  }

  /** Events that the log has not acknowledged. */
  get waiting(): number {
    return this.waitingEvents
  }

  /** Resolves when no event is waiting, and the keys of all are stored. */
  async idle(): Promise<void> {
    if (this.waitingEvents > 0) await new Promise<void>((resolve) => this.idleListeners.push(resolve))
    await this.sharedKeys.delivered()
  }

  private scheduleFlush(): void {
    if (this.isFlushScheduled) return
    this.isFlushScheduled = true
    setImmediate(this.flush)
  }

  private async commitNext(queue: PartitionQueue): Promise<void> {
    const group = queue.waiting.shift()
    if (group === undefined) return
    queue.isWriting = true
    const end = WRITE_SECONDS.startTimer()
    const messageId = `${this.run}.${this.groupsWritten++}`
    const { payload: keys } = group.keys
    const stored = await this.writer.store(queue.subject, payloadOf(group), messageId, keys)
    end()
    GROUP_EVENTS.observe(group.events)
    if (stored.areBytesHeld !== true) this.buffers.release(group)
    queue.isWriting = false
    if (queue.waiting.length > 0) this.scheduleFlush()
    const isInLog = stored.kind === 'stored' && stored.sequence !== undefined
    const keysSent = isInLog && keys !== undefined ? this.sharedKeys.send(keys) : undefined
    // Behind what schedules the flush: the clock of the turn, which it reads, then lasts until the answers are sent. Else
    // each group costs a turn of the event loop that ends the clock alone.
    if (isInLog) this.onStored(queue.partition, stored.sequence)
    if (keysSent !== undefined) await keysSent
    this.settle(group, stored)
  }

  private settle(group: OpenGroup, result: Commit): void {
    this.waitingEvents -= group.events
    this.waitingBytes -= group.length
    for (const settler of group.settlers) settler.foresee(group)
    for (const settler of group.settlers) settler.settled(result, group)
    if (this.waitingEvents === 0) {
      for (const resolve of this.idleListeners) resolve()
      this.idleListeners = []
    }
  }

  /** The queue's last group if the bytes fit, else a new one. */
  private groupFor(queue: PartitionQueue, bytes: number): OpenGroup {
    const last = queue.waiting.at(-1)
    if (last !== undefined && last.length + bytes <= last.buffer.length) return last
    const group = this.buffers.newGroup(bytes, queue.groupBytesMax)
    this.waitingBytes++
    queue.waiting.push(group)
    return group
  }
}
