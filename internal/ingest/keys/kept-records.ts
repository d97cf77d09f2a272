import type { KV } from '@nats-io/kv'
import { within } from '../../broker/deadline.js'
import { isLostRace } from '../../broker/errors.js'
import type { Logger } from '../../telemetry/log.js'
import { HeldRecords } from './held-records.js'

/** Records kept with a request's key for 24 hours, so that a replay gets the same answer even after a restart. */
export interface KeptRecords<T> {
  /** Undefined if there is no record, or the broker does not answer in time: the sender's traffic continues. */
  readonly findRecord: (keyHex: string) => Promise<T | undefined>
  /** Resolves when the bucket has it or, while the broker does not answer, this process holds it. */
  readonly keepRecord: (keyHex: string, record: T) => Promise<void>
}

export interface KeptRecordsDeps {
  readonly isBrokerUp: () => boolean
  readonly clock: () => number
  readonly log: Pick<Logger, 'error' | 'info'>
}

/** An unresponsive broker must not hold up a request for longer, */
const PATIENCE_MS = 500
/** and afterwards no write waits for it for this long: a request waits for it, for the log, and for it again. */
const REST_MS = 2_000
const KEPT_MS = 24 * 60 * 60 * 1000
/** Some 150,000 records of observations, or 18,000 of the largest bulk requests. */
const HELD_BYTES_MAX = 32 * 1024 * 1024
/** Some 37,000 or 4,500. */
const RECENT_BYTES_MAX = 8 * 1024 * 1024
const WRITE_EVERY_MS = 100
/** Concurrent writes. */
const WRITES_MAX = 64

/**
 * Records in the bucket. While the broker is unavailable, records are held in memory, served from memory, and written
 * once it is back; if the process is killed before that they are lost, but the events themselves are in the spool. The
 * latest written records are held too, for times when the bucket cannot be read.
 *
 * Records of other gateways cannot be read without the broker.
 *
 * @param bucket idempotency
 */
export function keptRecords<T>(bucket: KV, kind: string, { isBrokerUp, clock, log }: KeptRecordsDeps) {
  const unwritten = new HeldRecords({ bytesMax: HELD_BYTES_MAX, ageMsMax: KEPT_MS, clock })
  const written = new HeldRecords({ bytesMax: RECENT_BYTES_MAX, ageMsMax: KEPT_MS, clock })
  const parsed = (text: string | undefined): T | undefined => (text === undefined ? undefined : (JSON.parse(text) as T))
  let writing: Promise<void> | undefined
  let lost = 0
  let restsUntilMs = 0
  const rest = (): void => {
    restsUntilMs = clock() + REST_MS
  }

  /** Writes the held records, oldest first, until a write fails. */
  const writeHeld = async (): Promise<void> => {
    let count = 0
    const write = async ([keyHex, text]: readonly [string, string]): Promise<void> => {
      // An existing record is older: from another gateway, or from a write whose answer came too late.
      const isCreated = await soon(bucket.create(`${kind}.${keyHex}`, text)).then(
        () => true,
        (cause: unknown) => {
          if (isLostRace(cause)) return false
          throw cause
        },
      )
      if (isCreated) written.set(keyHex, text)
      unwritten.delete(keyHex)
      count++
    }
    for (let isAccepted = true; isAccepted && unwritten.size > 0 && isBrokerUp(); ) {
      const results = await Promise.allSettled(unwritten.oldest(WRITES_MAX).map(write))
      isAccepted = results.every(({ status }) => status === 'fulfilled')
    }
    if (count > 0) log.info({ kind, count, left: unwritten.size }, 'wrote the idempotency records held in memory')
    if (unwritten.dropped > lost) log.error({ kind, count: unwritten.dropped - lost }, 'idempotency records lost')
    lost = unwritten.dropped
  }
  /** While records are held. */
  let writeSoon: NodeJS.Timeout | undefined
  const stopWriting = (): void => {
    clearInterval(writeSoon)
    writeSoon = undefined
  }
  const writeNext = (): void => {
    if (unwritten.size === 0) return stopWriting()
    if (writing !== undefined || !isBrokerUp()) return
    writing = writeHeld().finally(() => {
      writing = undefined
    })
  }

  const records: KeptRecords<T> = {
    async findRecord(keyHex) {
      const held = unwritten.get(keyHex)
      if (held !== undefined) return parsed(held)
      const inMemory = (): T | undefined => parsed(written.get(keyHex))
      if (!isBrokerUp()) return inMemory()
      return soon(bucket.get(`${kind}.${keyHex}`)).then(
        (entry) => entry?.json<T>(),
        () => {
          rest()
          return inMemory()
        },
      )
    },
    async keepRecord(keyHex, record) {
      const text = JSON.stringify(record)
      const isAsked = isBrokerUp() && clock() >= restsUntilMs
      const isWritten = isAsked && (await isDone(bucket.put(`${kind}.${keyHex}`, text)))
      if (isAsked && !isWritten) rest()
      if (isWritten) unwritten.delete(keyHex)
      const holding = isWritten ? written : unwritten
      holding.set(keyHex, text)
      if (!isWritten) writeSoon ??= setInterval(writeNext, WRITE_EVERY_MS)
    },
  }
  return {
    records,
    /** Tries once more to write the held records. */
    async close(): Promise<void> {
      clearInterval(writeSoon)
      await writing
      await writeHeld()
      if (unwritten.size > 0) log.error({ kind, count: unwritten.size }, 'idempotency records lost')
    },
  }
}

/** Whether the work succeeded in time. */
const isDone = (work: Promise<unknown>): Promise<boolean> =>
  soon(work).then(
    () => true,
    () => false,
  )

const soon = <T>(work: Promise<T>): Promise<T> =>
  within(PATIENCE_MS, work, () => new Error('the broker did not answer in time'))
