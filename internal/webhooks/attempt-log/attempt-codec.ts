import type { AttemptRow } from '../../store/tables/webhook-attempts.js'
import type { AttemptRecord } from '../courier/outcomes.js'

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

export const encodeAttempts = (records: readonly AttemptRecord[]): Buffer =>
  Buffer.from(JSON.stringify(records.map(pack)))

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
export const decodeAttempts = (bytes: Uint8Array, log: number, sequence: number): AttemptRow[] =>
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
