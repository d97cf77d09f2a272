import { setTimeout as sleep } from 'node:timers/promises'
import { ATTEMPTS_SUBJECT } from '../../../streams/retries.js'
import { type Publisher, publishOrThrow } from '../../broker/publisher.js'
import type { Logger } from '../../telemetry/log.js'
import type { AttemptRecord } from '../courier/outcomes.js'
import { encodeAttempts } from './codec.js'

/** Resolves once the records are stored on their way to the delivery log; waits for a broker that is away. */
export type LogAttempts = (records: readonly AttemptRecord[]) => Promise<void>

/** Records of a message of ATTEMPTS at most. */
const RECORDS_MAX = 1_000
const RETRY_MS = 300

/**
 * Writes what all parts of a process tell in one turn of its event loop as one message. A message is repeated as it is
 * until it is stored, so that its name tells it from its repeat.
 */
export function attemptWriter(publish: Publisher['publish'], log: Logger): LogAttempts {
  const store = async (records: readonly AttemptRecord[]): Promise<void> => {
    const [first] = records
    if (first === undefined) return
    // The first attempt of a message is in no other.
    const id = `${first.delivery.id}.${first.attempt}.${first.attemptedAtMs}`
    const message = encodeAttempts(records)
    for (;;) {
      try {
        return await publishOrThrow(publish, ATTEMPTS_SUBJECT, message, id)
      } catch (cause) {
        log.warn({ err: cause }, 'attempts could not be written down; they will be')
        await sleep(RETRY_MS)
      }
    }
  }
  let told: AttemptRecord[] = []
  let storing: Promise<void> | undefined
  const storeAll = async (): Promise<void> => {
    await new Promise(setImmediate)
    const all = told
    told = []
    storing = undefined
    const messages = Array.from({ length: Math.ceil(all.length / RECORDS_MAX) }, (_, i) =>
      store(all.slice(i * RECORDS_MAX, (i + 1) * RECORDS_MAX)),
    )
    await Promise.all(messages)
  }
  return async (records) => {
    if (records.length === 0) return
    told.push(...records)
    storing ??= storeAll()
    await storing
  }
}
