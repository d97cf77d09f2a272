import { randomBytes } from 'node:crypto'
import { GROUP_BYTES_MAX, invocationsSubject } from '../../../streams/invocations.js'
import { encodeGroup } from '../../invocations/group.js'
import type { Commit, LogWriter } from './log-writer.js'

export interface GroupCommit {
  /** Takes an encoded entry; `settle` is called once, when it is decided. False when too much waits already. */
  add(partition: number, entry: string, settle: (commit: Commit) => void): boolean
  /** Events that can still be taken before `add` says false. */
  readonly room: number
  /** Resolves when nothing waits any more. */
  idle(): Promise<void>
}

/** Events that wait for the log at most; beyond them the caller is told at once. */
const WAITING_EVENTS_MAX = 50_000
const WAITING_BYTES_MAX = 64 * 1024 * 1024

interface Waiting {
  readonly entry: string
  readonly settle: (commit: Commit) => void
}

interface Lane {
  readonly subject: string
  waiting: Waiting[]
  isBusy: boolean
}

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
  let groups = 0
  let waitingEvents = 0
  let waitingBytes = 0
  let turnScheduled = false
  let whenIdle: (() => void)[] = []

  const endTurn = (): void => {
    turnScheduled = false
    for (const lane of lanes) if (!lane.isBusy && lane.waiting.length > 0) void commit(lane)
  }

  const commit = async (lane: Lane): Promise<void> => {
    lane.isBusy = true
    while (lane.waiting.length > 0) {
      const group = takeGroup(lane)
      const result = await writer.store(
        lane.subject,
        encodeGroup(group.map(({ entry }) => entry)),
        `${run}.${groups++}`,
      )
      for (const { entry, settle } of group) {
        waitingEvents--
        waitingBytes -= entry.length
        settle(result)
      }
    }
    lane.isBusy = false
    if (waitingEvents === 0) {
      for (const resolve of whenIdle) resolve()
      whenIdle = []
    }
  }

  return {
    add(partition, entry, settle) {
      if (waitingEvents >= WAITING_EVENTS_MAX || waitingBytes >= WAITING_BYTES_MAX) return false
      const lane = lanes[partition]
      if (lane === undefined) throw new RangeError(`there is no partition ${partition}`)
      waitingEvents++
      waitingBytes += entry.length
      lane.waiting.push({ entry, settle })
      if (!turnScheduled && !lane.isBusy) {
        turnScheduled = true
        setImmediate(endTurn)
      }
      return true
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

function takeGroup(lane: Lane): Waiting[] {
  let bytes = 0
  let count = 0
  for (const { entry } of lane.waiting) {
    // A character is at most three bytes of UTF-8.
    bytes += entry.length * 3
    if (bytes > GROUP_BYTES_MAX && count > 0) break
    count++
  }
  if (count === lane.waiting.length) {
    const group = lane.waiting
    lane.waiting = []
    return group
  }
  return lane.waiting.splice(0, count)
}
