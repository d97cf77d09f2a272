import { randomBytes } from 'node:crypto'
import { GROUP_BYTES_MAX, invocationsSubject } from '../../../streams/invocations.js'
import { entryBytesMax, type ParsedEvent, type TextRange, writeEntry } from '../../invocations/entry-bytes.js'
import type { Admission } from '../../invocations/group.js'
import { EventsUnderWay } from '../keys/events-under-way.js'
import type { Commit, LogWriter } from './log-writer.js'

export interface GroupCommit {
  /**
   * Takes an event, whose text is copied at once.
   *
   * @param partition where it goes, unless the same event is on its way to another
   * @param parsed as of `writeEntry`
   * @param settler told once for each group that holds events of it
   * @returns the group it is in, or undefined when too much waits already
   */
  add(
    partition: number,
    admission: Admission,
    text: TextRange,
    parsed: ParsedEvent | undefined,
    settler: Settler,
  ): Group | undefined
  /** Events that can still be taken before `add` takes no more. */
  readonly room: number
  /** Resolves when nothing waits any more. */
  idle(): Promise<void>
}

/** One who waits for the log. */
export interface Settler {
  /** Called for all of a group before the first one is settled: has what `settled` needs of large tables brought near. */
  foresee(group: Group): void
  settled(commit: Commit, group: Group): void
}

/** Events that go to the log in one message. */
export interface Group {
  readonly events: number
}

/** Events that wait for the log at most; beyond them the caller is told at once. */
const WAITING_EVENTS_MAX = 50_000
const WAITING_BYTES_MAX = 64 * 1024 * 1024
/** Buffers that are kept for the groups to come. */
const SPARE_BUFFERS_MAX = 8

interface OpenGroup extends Group {
  events: number
  length: number
  readonly settlers: Settler[]
  /** Of its events in `EventsUnderWay`. */
  readonly slots: number[]
  readonly buffer: Buffer
}

interface Lane {
  readonly subject: string
  /** Groups that are full, in order, then the one that fills. */
  waiting: OpenGroup[]
  isBusy: boolean
}

const NONE = -1
const OPEN_ARRAY = 0x5b
const COMMA = 0x2c
const CLOSE_ARRAY = 0x5d

/**
 * Group commit: events that arrive together travel together. What has come in by the end of an event-loop turn
 * goes to the log as one message a partition, one write in flight a partition, and every event of the group is
 * answered by that one acknowledgement. Under load groups fill while the one before is in flight.
 */
export function createGroupCommit(writer: LogWriter, partitions: number): GroupCommit {
  const lanes: Lane[] = Array.from({ length: partitions }, (_, partition) => ({
    subject: invocationsSubject('a', partition),
    waiting: [],
    isBusy: false,
  }))
  // Distinct for each start of the process, so that no two gateways' groups are taken for one another.
  const run = randomBytes(9).toString('base64url')
  const spareBuffers: Buffer[] = []
  // Those that wait, and those of a group that is being settled, whose settlers may bring as many again.
  const underWay = partitions > 1 ? new EventsUnderWay(2 * WAITING_EVENTS_MAX) : undefined
  let groups = 0
  let waitingEvents = 0
  let waitingBytes = 0
  let turnScheduled = false
  let whenIdle: (() => void)[] = []

  const endTurn = (): void => {
    turnScheduled = false
    for (const lane of lanes) if (!lane.isBusy && lane.waiting.length > 0) void commit(lane)
  }
  const scheduleTurn = (): void => {
    if (turnScheduled) return
    turnScheduled = true
    setImmediate(endTurn)
  }

  const commit = async (lane: Lane): Promise<void> => {
    const group = lane.waiting.shift()
    if (group === undefined) return
    lane.isBusy = true
    const result = await writer.store(lane.subject, payloadOf(group), `${run}.${groups++}`)
    lane.isBusy = false
    waitingEvents -= group.events
    waitingBytes -= group.length
    if (result.areBytesHeld !== true) release(group)
    for (const settler of group.settlers) settler.foresee(group)
    for (const settler of group.settlers) settler.settled(result, group)
    // Only now does the index know all events of the group: a settler may have brought one of them again.
    if (underWay !== undefined) for (const slot of group.slots) underWay.end(slot)
    // At the end of the turn in which it was acknowledged: what comes in until then goes along.
    if (lane.waiting.length > 0) scheduleTurn()
    if (waitingEvents === 0) {
      for (const resolve of whenIdle) resolve()
      whenIdle = []
    }
  }

  /** The message of a group. Each entry left a comma behind it; the last one gives way to the bracket. */
  const payloadOf = ({ buffer, length }: OpenGroup): Uint8Array => {
    buffer[length - 1] = CLOSE_ARRAY
    return buffer.subarray(0, length)
  }

  const release = ({ buffer }: OpenGroup): void => {
    if (spareBuffers.length < SPARE_BUFFERS_MAX && buffer.length === GROUP_BYTES_MAX) spareBuffers.push(buffer)
  }

  /** The group of a lane that has room for so many bytes. */
  const groupFor = (lane: Lane, bytes: number): OpenGroup => {
    const last = lane.waiting.at(-1)
    if (last !== undefined && last.length + bytes <= last.buffer.length) return last
    const buffer =
      bytes < GROUP_BYTES_MAX
        ? (spareBuffers.pop() ?? Buffer.allocUnsafeSlow(GROUP_BYTES_MAX))
        : Buffer.alloc(bytes + 1)
    const group: OpenGroup = { events: 0, length: 1, settlers: [], slots: [], buffer }
    buffer[0] = OPEN_ARRAY
    waitingBytes++
    lane.waiting.push(group)
    return group
  }

  return {
    add(partition, admission, text, parsed, settler) {
      if (waitingEvents >= WAITING_EVENTS_MAX || waitingBytes >= WAITING_BYTES_MAX) return undefined
      const own = lanes[partition]
      if (own === undefined) throw new RangeError(`there is no partition ${partition}`)
      const slot = underWay === undefined ? NONE : underWay.begin(admission.id, partition)
      const lane = underWay === undefined ? own : (lanes[underWay.partitionOf(slot)] as Lane)
      const group = groupFor(lane, entryBytesMax(admission, text) + 1)
      if (slot !== NONE) group.slots.push(slot)
      const start = group.length
      const end = writeEntry(group.buffer, start, admission, text, parsed)
      group.buffer[end] = COMMA
      group.length = end + 1
      group.events++
      // One who brings many events is told once.
      if (group.settlers[group.settlers.length - 1] !== settler) group.settlers.push(settler)
      waitingEvents++
      waitingBytes += group.length - start
      if (!lane.isBusy) scheduleTurn()
      return group
    },

    get room() {
      return waitingBytes >= WAITING_BYTES_MAX ? 0 : WAITING_EVENTS_MAX - waitingEvents
    },

    idle: () =>
      waitingEvents === 0
        ? Promise.resolve()
        : new Promise((resolve) => {
            whenIdle.push(resolve)
          }),
  }
}
