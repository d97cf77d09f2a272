import { setTimeout as sleep } from 'node:timers/promises'
import type { StoredMsg } from '@nats-io/jetstream'
import { AUDIT, AUDIT_CHECKPOINT, AUDIT_OF_ALL } from '../../../streams/audit.js'
import { CHECKPOINTS } from '../../../streams/buckets.js'
import { CHANGES, CHANGES_OF_ALL } from '../../../streams/changes.js'
import { INVOCATIONS } from '../../../streams/invocations.js'
import { KEYS } from '../../../streams/keys.js'
import { OBSERVATIONS, OBSERVATIONS_CHECKPOINT, OBSERVATIONS_OF_ALL } from '../../../streams/observations.js'
import { CHANGES_CHECKPOINT } from '../../../streams/records.js'
import { parseHandOverId } from '../../attribution/actor/batch.js'
import { decodeChange, isRequested } from '../../attribution/changes/change.js'
import { isSliceMessage } from '../../attribution/changes/reattribution-job.js'
import { type Progress, readCheckpoint } from '../../broker/checkpoint.js'
import type { Broker } from '../../broker/connect.js'
import { partitionsOf, readLayout } from '../../broker/layout.js'
import { nextAtLeader, readLog } from '../../broker/log.js'
import type { ReadLogOf } from '../../broker/log-lag.js'
import { admittableBytes } from '../../broker/stream-capacity.js'
import { messagesAfter, pairsOf, publishAgain, type TailMessage } from '../../broker/stream-tail.js'
import { invocationLogs } from '../../broker/unprocessed.js'
import { decodeGroup, encodeEntry, encodeGroup } from '../../invocations/invocation-group.js'
import type { BackedUpStream } from './backup-manifest.js'

/** A log of which the restored broker gets what the old one has behind the backup. */
interface LaterLog {
  readonly stream: string
  /** What is published again of a message; undefined: nothing, since it is made again from others. */
  readonly again: (message: StoredMsg, old: OldLog) => Message | undefined | Promise<Message | undefined>
}

type Message = Pick<StoredMsg, 'subject' | 'data'> & Pick<TailMessage, 'headers'>

/** The log of the old broker. */
interface OldLog {
  /** Sequence of the backup's last message. */
  readonly after: number
  /** Sequence of the first message behind it that a subject still has; infinite when there is none. */
  readonly firstKept: (subject: string) => Promise<number>
}

const whole = ({ subject, header, data }: StoredMsg): Message => ({ subject, headers: pairsOf(header), data })

const EVENTS_AND_MORE: readonly LaterLog[] = [
  { stream: KEYS.name, again: whole },
  { stream: INVOCATIONS.name, again: newEvents },
  { stream: OBSERVATIONS.name, again: whole },
  { stream: AUDIT.name, again: whole },
]

/**
 * Events as gateways sent them. What a stage has handed on is handed on again, under the new sequences: beside that,
 * stage A would take a copy for something older, or for the same event.
 *
 * The lane and other partitions hand on to stage A. The old log may have purged the messages that they had it from:
 * such events are sent as a gateway sends them.
 */
async function newEvents(message: StoredMsg, { after, firstKept }: OldLog): Promise<Message | undefined> {
  const { subject, header, seq, data } = message
  if (!/^invocations\.[al]\./.test(subject)) return undefined
  const source = parseHandOverId(header.get('Nats-Msg-Id'))?.source
  if (source === undefined) return whole(message)
  const kept = await firstKept(`invocations.${source.slice(0, 1)}.${source.slice(1)}`)
  const events = decodeGroup(data, seq).filter(({ position: { sequence } }) => sequence > after && sequence < kept)
  if (events.length === 0) return undefined
  return { subject, headers: [], data: encodeGroup(events.map((each) => encodeEntry(each, each.event))) }
}

/**
 * When the records are there of which they are changes. Corrections are found again; the jobs of slices are not known.
 */
const DECISIONS: LaterLog = {
  stream: CHANGES.name,
  again(message) {
    const { header, data } = message
    return !isSliceMessage(header.get('Nats-Msg-Id')) && isDecision(data) ? whole(message) : undefined
  },
}

function isDecision(data: Uint8Array): boolean {
  try {
    return isRequested(decodeChange(data))
  } catch {
    return false // poison: the old instance has quarantined it
  }
}

export interface Replayed {
  /** Messages that were taken over, by stream. */
  readonly messages: ReadonlyMap<string, number>
  /** Messages behind the backup that the old log had purged, by stream. */
  readonly purged: ReadonlyMap<string, number>
  /** Why nothing was taken over. */
  readonly refusal?: string
}

const OTHER_PARTITIONS = 'the number of partitions has changed since the backup'

export interface ReplayDeps {
  /** The restored one, which an attributor reads. */
  readonly broker: Broker
  readonly old: Broker
  /** Of the backup. */
  readonly streams: readonly Pick<BackedUpStream, 'config' | 'last_sequence'>[]
  readonly say: (line: string) => void
}

/**
 * Takes over what the old log got after the backup, and waits until the attributor has worked it off: calls first, then
 * what people decided about them. In the order of the old log, so that the same calls are attributed with the same
 * neighbours.
 *
 * @throws Error when the attributor makes no progress
 */
export async function replayLaterLog(deps: ReplayDeps): Promise<Replayed> {
  const { broker, say } = deps
  const [messages, purged] = [new Map<string, number>(), new Map<string, number>()]
  const partitions = await samePartitions(deps)
  if (partitions === undefined) return { messages, purged, refusal: OTHER_PARTITIONS }
  const take = async (log: LaterLog): Promise<void> => {
    const taken = await takeOver(log, deps)
    if (taken.messages > 0) messages.set(log.stream, taken.messages)
    if (taken.purged > 0) purged.set(log.stream, taken.purged)
  }
  for (const log of EVENTS_AND_MORE) await take(log)
  say(`the later log: ${messages.get(INVOCATIONS.name) ?? 0} messages with calls; attributing them`)
  await untilDone(broker, await invocationLogs(broker.manager, partitions), say)
  await take(DECISIONS)
  await untilDone(broker, OTHER_LOGS, say)
  return { messages, purged }
}

const OTHER_LOGS: readonly ReadLogOf[] = [
  { key: CHANGES_CHECKPOINT, stream: CHANGES.name, subject: CHANGES_OF_ALL },
  { key: OBSERVATIONS_CHECKPOINT, stream: OBSERVATIONS.name, subject: OBSERVATIONS_OF_ALL },
  { key: AUDIT_CHECKPOINT, stream: AUDIT.name, subject: AUDIT_OF_ALL },
]

/**
 * Undefined when they are not the same: the calls of a partition that the backup does not have would be read by nobody.
 */
async function samePartitions({ broker, old }: ReplayDeps): Promise<number | undefined> {
  const [now, later] = await Promise.all([readLayout(broker), readLayout(old)])
  if (now === undefined || later === undefined) return undefined
  const partitions = partitionsOf(now.layout)
  return partitions === partitionsOf(later.layout) ? partitions : undefined
}

async function takeOver({ stream, again }: LaterLog, { broker, old, streams }: ReplayDeps) {
  const backedUp = streams.find(({ config }) => config.name === stream)
  // The backup of an older version does not have every stream; nor does the folder of one.
  const later = await old.manager.streams.info(stream).catch(() => undefined)
  if (backedUp === undefined || later === undefined) return { messages: 0, purged: 0 }
  const after = backedUp.last_sequence
  const { last_seq: last } = later.state
  const firstKept = memoized(async (subject: string) => {
    const first = await nextAtLeader(old.manager, { stream, subject, from: after + 1 })
    return first?.sequence ?? Number.POSITIVE_INFINITY
  })
  let [seen, messages] = [0, 0]
  for await (const batch of messagesAfter(old.manager, { stream, subject: '>' }, after, last)) {
    seen += batch.length
    await untilThereIsRoom(broker, stream)
    const wanted: Message[] = []
    for (const message of batch) {
      const taken = await again(message, { after, firstKept })
      if (taken !== undefined) wanted.push(taken)
    }
    // Sent over one connection in this order, in which the broker stores them.
    await Promise.all(
      wanted.map(({ subject, headers, data }) => publishAgain(broker.connection, subject, headers, data)),
    )
    messages += wanted.length
  }
  return { messages, purged: Math.max(0, last - after) - seen }
}

function memoized<T>(read: (name: string) => Promise<T>): (name: string) => Promise<T> {
  const known = new Map<string, Promise<T>>()
  return (name) => {
    const found = known.get(name) ?? read(name)
    known.set(name, found)
    return found
  }
}

/** The attributor purges what is done, and needs the rest of the stream for its own messages. */
async function untilThereIsRoom({ manager }: Broker, stream: string): Promise<void> {
  for (const since = performance.now(); ; await sleep(500)) {
    const { config, state } = await manager.streams.info(stream)
    if (config.max_bytes <= 0 || state.bytes < admittableBytes(config.max_bytes)) return
    if (performance.now() - since > STUCK_MS) throw stuck(stream)
  }
}

const stuck = (what: string): Error => new Error(`nothing moves in ${what}: see logs/attributor.log of the folder`)

const LOOK_EVERY_MS = 100
const SAY_EVERY_MS = 10_000
const STUCK_MS = 120_000

/** Waits until nothing waits in any of the logs, each of which only those before it write to. */
async function untilDone(broker: Broker, logs: readonly ReadLogOf[], say: (line: string) => void): Promise<void> {
  const checkpoints = await broker.bucket(CHECKPOINTS)
  let [moved, movedAt, saidAt] = ['', performance.now(), performance.now()]
  for (const log of logs) {
    for (;;) {
      const checkpoint = await readCheckpoint<Progress>(checkpoints, log.key)
      const done = checkpoint?.done ?? 0
      const [next] = await readLog(broker.manager, { ...log, from: done + 1, messagesMax: 1, bytesMax: 8 * 1024 ** 2 })
      if (next === undefined) break
      const now = performance.now()
      if (moved !== `${log.key} ${done}`) [moved, movedAt] = [`${log.key} ${done}`, now]
      if (now - movedAt > STUCK_MS) throw stuck(log.key)
      if (now - saidAt > SAY_EVERY_MS) {
        saidAt = now
        say(`  ${log.key}: at message ${done}`)
      }
      await sleep(LOOK_EVERY_MS)
    }
  }
}
