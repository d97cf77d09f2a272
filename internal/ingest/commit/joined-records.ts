import { createHash } from 'node:crypto'
import {
  invocationsSubject,
  isInvocations,
  LANE_GROUP_BYTES_MAX,
  partitionOfSubject,
} from '../../../streams/invocations.js'
import { KEYS_SUBJECT } from '../../../streams/keys.js'
import { isObservations } from '../../../streams/observations.js'
import { isOfSender, SENDER_BYTES } from '../keys/admitted-keys.js'
import type { SpoolRecord } from '../spool/spool-record.js'

/** Of a joined message: so large that its sync is cheap per event, so small that a slow broker takes it in one attempt. */
const JOINED_BYTES_MAX = 128 * 1024

const [OPEN_ARRAY, COMMA, CLOSE_ARRAY] = [Buffer.from('['), Buffer.from(','), Buffer.from(']')]

/** A message with the records that it has, in their order. */
export interface JoinedMessage extends SpoolRecord {
  readonly parts: Parts
}
type Parts = readonly [SpoolRecord, ...SpoolRecord[]]

/**
 * The messages of spooled records, fewer than these: a broker that syncs each message takes some hundreds of groups per
 * second, fewer than come meanwhile. Those of one mailbox share messages, in their order, as do a tenant's observations.
 * Messages are in the order of their first records. But keys come last, behind the events that had them, except those
 * before all events: while these are not taken, what follows shall not be sent again and again.
 *
 * @param partitions of the layout: what is for another one goes to one that it has
 */
export function joined(records: readonly SpoolRecord[], partitions: number): readonly JoinedMessage[] {
  const leading = records.findIndex((record) => !isOfKeys(record))
  if (leading > 0)
    return [records.slice(0, leading), records.slice(leading)].flatMap((some) => joined(some, partitions))
  const messages: Joined[] = []
  const lastOf = new Map<string, Joined>()
  for (const record of records) {
    const subject = mailboxIn(partitions, record.subject)
    const last = lastOf.get(subject)
    if (last !== undefined && joins(last, record)) {
      last.parts.push(record)
      last.bytes += record.payload.length
      continue
    }
    const next: Joined = { subject, parts: [record], bytes: record.payload.length }
    messages.push(next)
    lastOf.set(subject, next)
  }
  const [events, keys] = [messages.filter((each) => !isOfKeys(each)), messages.filter(isOfKeys)]
  return [...events, ...keys].map(({ parts, subject }) => ({ ...messageOf(parts), subject, parts }))
}

export const isOfKeys = ({ subject }: Pick<SpoolRecord, 'subject'>): boolean => subject === KEYS_SUBJECT

interface Joined {
  readonly subject: string
  readonly parts: [SpoolRecord, ...SpoolRecord[]]
  bytes: number
}

function joins({ parts, bytes }: Joined, { subject, payload }: SpoolRecord): boolean {
  const [first] = parts
  const bytesMax = subject === invocationsSubject('l', 0) ? LANE_GROUP_BYTES_MAX : JOINED_BYTES_MAX
  if (bytes + payload.length > bytesMax) return false
  if (subject === KEYS_SUBJECT) return isOfSender(payload, first.payload.subarray(0, SENDER_BYTES))
  return (isInvocations(subject) || isObservations(subject)) && isArray(payload) && isArray(first.payload)
}

/** With an entry at least, as all are that we write. */
const isArray = (payload: Uint8Array): boolean =>
  payload.length > 2 && payload[0] === OPEN_ARRAY[0] && payload.at(-1) === CLOSE_ARRAY[0]

/**
 * Each event and key once, as in the records. One that repeats a joined message after a crash may have other parts, more
 * of them or, in another layout, as many: the id follows from the content, so that the broker never takes it for that
 * one. What the log has twice then, stage A tells by the events' ids.
 */
function messageOf(parts: Parts): SpoolRecord {
  const [first] = parts
  if (parts.length === 1) return first
  if (isOfKeys(first)) {
    const rest = parts.slice(1).map(({ payload }) => payload.subarray(SENDER_BYTES))
    return { ...first, payload: Buffer.concat([first.payload, ...rest]) }
  }
  const entries = parts.flatMap(({ payload }, i) => [...(i === 0 ? [] : [COMMA]), payload.subarray(1, -1)])
  const payload = Buffer.concat([OPEN_ARRAY, ...entries, CLOSE_ARRAY])
  const digest = createHash('sha256').update(payload).digest('base64url')
  return { ...first, payload, messageId: `${first.messageId}+${digest}` }
}

/** The subject that is read in the place of this one. */
export function mailboxIn(partitions: number, subject: string): string {
  if (!isInvocations(subject) || partitionOfSubject(subject) < partitions) return subject
  return invocationsSubject('a', partitionOfSubject(subject) % partitions)
}
