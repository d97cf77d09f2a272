import { setTimeout as sleep } from 'node:timers/promises'
import { ATTEMPTS, ATTEMPTS_CHECKPOINT, ATTEMPTS_SUBJECT } from '../../../streams/retries.js'
import type { Progress } from '../../broker/checkpoint.js'
import type { PlannedLog } from '../../broker/planned-log.js'
import { type Publisher, publishOrThrow } from '../../broker/publisher.js'
import type { AttemptRow } from '../../store/tables/webhook-attempts.js'
import type { Logger } from '../../telemetry/log.js'
import type { AttemptRecord } from './outcomes.js'

/**
 * Moves attempt records from the stream ATTEMPTS to the delivery log in the read model, each once.
 *
 * @param insert inserts rows; a repeat with the same token changes nothing
 * @param logId when the stream was created, seconds since the epoch: identifies this incarnation of the log
 */
export const attemptLog = (
  insert: (rows: readonly AttemptRow[], token: string) => Promise<void>,
  logId: number,
  log: Logger,
): PlannedLog<Progress> => ({
  key: ATTEMPTS_CHECKPOINT,
  stream: ATTEMPTS.name,
  subject: ATTEMPTS_SUBJECT,
  initial: { done: 0 },
  async open() {
    return async (entries, extent, _before, planned) => {
      const rows = entries.flatMap(({ data, sequence }) => {
        try {
          return decodeAttempts(data, logId, sequence)
        } catch (cause) {
          log.error({ err: cause, sequence }, 'dropped undecodable attempt records')
          return []
        }
      })
      return {
        plan: planned ?? extent,
        after: { done: extent.last },
        size: rows.length,
        inserts: rows.length > 0,
        applyEffects: () => insert(rows, `attempts.${extent.first}-${extent.last}`),
      }
    }
  },
})

/** Resolves once the records are stored in ATTEMPTS; waits for a broker that is unavailable. */
export type LogAttempts = (records: readonly AttemptRecord[]) => Promise<void>

/** Maximum records per message of ATTEMPTS. */
const RECORDS_MAX = 1_000
const RETRY_MS = 300

/**
 * Publishes the records of all partitions in one turn of the event loop as one message. A message is repeated unchanged
 * until it is stored, and its message id deduplicates the repeats.
 */
export function attemptWriter(publish: Publisher['publish'], log: Logger): LogAttempts {
  const store = async (records: readonly AttemptRecord[]): Promise<void> => {
    const [first] = records
    if (first === undefined) return
    // No other message starts with this attempt.
    const id = `${first.delivery.id}.${first.attempt}.${first.attemptedAtMs}`
    const message = encodeAttempts(records)
    for (;;) {
      try {
        return await publishOrThrow(publish, ATTEMPTS_SUBJECT, message, id)
      } catch (cause) {
        log.warn({ err: cause }, 'attempt records not stored yet; will retry')
        await sleep(RETRY_MS)
      }
    }
  }
  let pending: AttemptRecord[] = []
  let storing: Promise<void> | undefined
  const storeAll = async (): Promise<void> => {
    await new Promise(setImmediate)
    const all = pending
    pending = []
    storing = undefined
    const messages = Array.from({ length: Math.ceil(all.length / RECORDS_MAX) }, (_, i) =>
      store(all.slice(i * RECORDS_MAX, (i + 1) * RECORDS_MAX)),
    )
    await Promise.all(messages)
  }
  return async (records) => {
    if (records.length === 0) return
    pending.push(...records)
    storing ??= storeAll()
    await storing
  }
}

/** A record in a message of ATTEMPTS, in the order of the table's columns. */
type Packed = readonly [
  tenantId: string,
  endpointId: string,
  deliveryId: string,
  eventId: string,
  eventType: string,
  eventSequence: number,
  attempt: number,
  attemptedAtMs: number,
  latencyMs: number,
  status: number,
  outcome: string,
  reason: string,
  nextAttemptAtMs: number,
  isReplayed: 0 | 1,
]

const encodeAttempts = (records: readonly AttemptRecord[]): Buffer => Buffer.from(JSON.stringify(records.map(pack)))

const pack = ({ delivery, attempt, attemptedAtMs, latencyMs, ...result }: AttemptRecord): Packed => [
  delivery.tenantId,
  delivery.endpointId,
  delivery.id,
  delivery.eventId,
  delivery.type,
  delivery.sequence,
  attempt,
  attemptedAtMs,
  latencyMs,
  result.status ?? 0,
  result.outcome,
  result.reason ?? '',
  result.nextAttemptAtMs ?? 0,
  delivery.isReplayed ? 1 : 0,
]

/**
 * @param log when the stream was created, seconds since the epoch
 * @param sequence of the message
 * @throws Error when the bytes are not such a message
 */
const decodeAttempts = (bytes: Uint8Array, log: number, sequence: number): AttemptRow[] =>
  (JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString()) as Packed[]).map(
    (packed, index) => ({
      tenantId: packed[0],
      endpointId: packed[1],
      deliveryId: packed[2],
      eventId: packed[3],
      eventType: packed[4],
      eventSequence: packed[5],
      attempt: packed[6],
      attemptedAtMs: packed[7],
      latencyMs: packed[8],
      responseStatus: packed[9],
      outcome: packed[10],
      reason: packed[11],
      nextAttemptAtMs: packed[12],
      isReplayed: packed[13] === 1,
      sourceLog: log,
      sourceSequence: sequence,
      sourceIndex: index,
    }),
  )
