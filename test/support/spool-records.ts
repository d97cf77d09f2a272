import type { SpoolRecord } from '../../internal/ingest/spool/spool-record.js'

/** Payload and subject follow from the number, so that an altered record is found. */
export const recordOf = (number: number, payloadBytes = 5 + ((number * 37) % 400)): SpoolRecord => ({
  messageId: `run.${number}`,
  subject: `invocations.a.${number % 4}`,
  payload: Buffer.alloc(payloadBytes, `${number}-é`),
})

/** Throws when the record differs from `recordOf`. */
export function numberOf(record: SpoolRecord): number {
  const number = Number(record.messageId.split('.')[1])
  const { subject, payload } = recordOf(number, record.payload.length)
  if (record.subject !== subject || !Buffer.from(payload).equals(record.payload))
    throw new Error(`${number} is altered`)
  return number
}
