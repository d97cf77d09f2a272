import type { KV } from '@nats-io/kv'
import { isLostRace } from '../../broker/errors.js'
import type { Logger } from '../../telemetry/log.js'
import { HeldRecords } from './held-records.js'

/** What is kept beside a request's key for 24 hours, so that a replay gets the same answer also after a restart. */
export interface KeptRecords<T> {
  /** Undefined when nothing is kept, or nobody can say in time: the sender's traffic goes on. */
  readonly findRecord: (keyHex: string) => Promise<T | undefined>
  /** Resolves when the bucket has it or, while the broker does not answer, this process holds it. */
  readonly keepRecord: (keyHex: string, record: T) => Promise<void>
}

export interface KeptRecordsDeps {
  readonly isBrokerUp: () => boolean
  readonly clock: () => number
  readonly log: Pick<Logger, 'error' | 'info'>
}

/** A broker that stands still must not hold a request for longer. */
const PATIENCE_MS = 500
/** After that nobody waits for it to write, for so long: a request waits for it, for the log and for it again. */
const REST_MS = 2_000
const KEPT_MS = 24 * 60 * 60 * 1000
/** Some 150,000 records of observations, or 18,000 of the largest bulk requests. */
const HELD_BYTES_MAX = 32 * 1024 * 1024
/** Some 37,000 or 4,500. */
const RECENT_BYTES_MAX = 8 * 1024 * 1024
const WRITE_EVERY_MS = 100
/** Written at once. */
const WRITES_MAX = 64

/**
 * Records in the bucket. What cannot be written while the broker is away is held here, answered from here, and written
 * when it is back; a process that is killed before loses it, while the events themselves lie in the spool. The last ones
 * that were written are held too, for the time when the bucket cannot be read.
 *
 * What another gateway has kept nobody can say without the broker.
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

  /** Writes what is held, oldest first, until the broker does not take it. */
  const writeHeld = async (): Promise<void> => {
    let count = 0
    const write = async ([keyHex, text]: readonly [string, string]): Promise<void> => {
      // What stands there came before: from another gateway, or by an attempt that nobody answered in time.
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
    for (let isTaken = true; isTaken && unwritten.size > 0 && isBrokerUp(); ) {
      const results = await Promise.allSettled(unwritten.oldest(WRITES_MAX).map(write))
      isTaken = results.every(({ status }) => status === 'fulfilled')
    }
    if (count > 0) log.info({ kind, count, left: unwritten.size }, 'wrote records that had been held')
    if (unwritten.dropped > lost) log.error({ kind, count: unwritten.dropped - lost }, 'records beside keys are lost')
    lost = unwritten.dropped
  }
  const writeSoon = setInterval(() => {
    if (writing !== undefined || unwritten.size === 0 || !isBrokerUp()) return
    writing = writeHeld().finally(() => {
      writing = undefined
    })
  }, WRITE_EVERY_MS)

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
    },
  }
  return {
    records,
    /** Writes what is held if the broker takes it now. */
    async close(): Promise<void> {
      clearInterval(writeSoon)
      await writing
      await writeHeld()
      if (unwritten.size > 0) log.error({ kind, count: unwritten.size }, 'records beside keys are lost')
    },
  }
}

/** Whether it was done in time. */
const isDone = (work: Promise<unknown>): Promise<boolean> =>
  soon(work).then(
    () => true,
    () => false,
  )

function soon<T>(work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('the broker did not answer in time')), PATIENCE_MS)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
