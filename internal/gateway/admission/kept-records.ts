import type { KV } from '@nats-io/kv'

/** What is kept beside a request's key for 24 hours, so that a replay gets the same answer also after a restart. */
export interface KeptRecords<T> {
  /** Undefined when nothing is kept, or nobody can say in time: the sender's traffic goes on. */
  readonly findRecord: (keyHex: string) => Promise<T | undefined>
  /** Rejects when it cannot be kept. */
  readonly keepRecord: (keyHex: string, record: T) => Promise<void>
}

/** A broker that stands still must not hold a request for longer. */
const PATIENCE_MS = 500

/** @param bucket idempotency */
export function keptRecords<T>(bucket: KV, kind: string, isBrokerUp: () => boolean): KeptRecords<T> {
  return {
    async findRecord(keyHex) {
      if (!isBrokerUp()) return undefined
      const entry = await soon(bucket.get(`${kind}.${keyHex}`)).catch(() => undefined)
      return entry?.json<T>()
    },
    async keepRecord(keyHex, record) {
      if (isBrokerUp()) await soon(bucket.put(`${kind}.${keyHex}`, JSON.stringify(record)))
    },
  }
}

function soon<T>(work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('the broker did not answer in time')), PATIENCE_MS)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
