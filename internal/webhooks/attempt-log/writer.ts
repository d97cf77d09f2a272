import { setTimeout as sleep } from 'node:timers/promises'
import { ATTEMPTS_SUBJECT } from '../../../streams/retries.js'
import { type Publisher, publishOrThrow } from '../../broker/publisher.js'
import type { Logger } from '../../telemetry/log.js'
import type { AttemptRecord } from '../courier/outcomes.js'
import { encodeAttempts } from './attempt-codec.js'

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
