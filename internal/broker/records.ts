import type { KV } from '@nats-io/kv'
import { isLostRace } from './errors.js'

/** The records of a bucket for writers: read from the bucket itself, written by compare-and-set. */
export interface Records<T> {
  read(key: string): Promise<T | undefined>
  /**
   * Creates a record unless its key already has one.
   *
   * @returns the created or the existing record
   */
  createOnce(key: string, record: T): Promise<T>
  /**
   * Replaces a record by the result of `change`, safe against concurrent writers.
   *
   * @param change called again with the newer record when another writer came first; returns undefined to leave it
   * unchanged
   * @returns the resulting record; undefined when there is none
   */
  change(key: string, change: (record: T) => T | undefined): Promise<T | undefined>
  /**
   * Deletes a record.
   *
   * @param isMeant whether this record is to be deleted, and not another that was created under the same key
   * @returns false when there was no such record
   */
  delete(key: string, isMeant?: (record: T) => boolean): Promise<boolean>
}

/** @param reached resolves once this process's mirror of the bucket holds a revision */
export function bucketRecords<T>(bucket: KV, reached: (revision: number) => Promise<void>): Records<T> {
  const find = async (key: string): Promise<{ record: T; revision: number } | undefined> => {
    const entry = await bucket.get(key)
    return entry?.operation === 'PUT' ? { record: entry.json<T>(), revision: entry.revision } : undefined
  }
  return {
    read: async (key) => (await find(key))?.record,

    async createOnce(key, record) {
      for (;;) {
        try {
          await reached(await bucket.create(key, JSON.stringify(record)))
          return record
        } catch (cause) {
          if (!isLostRace(cause)) throw cause
        }
        const found = await find(key)
        if (found !== undefined) return found.record
      }
    },

    async change(key, change) {
      for (;;) {
        const found = await find(key)
        if (found === undefined) return undefined
        const changed = change(found.record)
        if (changed === undefined) return found.record
        try {
          await reached(await bucket.update(key, JSON.stringify(changed), found.revision))
          return changed
        } catch (cause) {
          if (!isLostRace(cause)) throw cause
        }
      }
    },

    async delete(key, isMeant = () => true) {
      for (;;) {
        const found = await find(key)
        if (found === undefined || !isMeant(found.record)) return false
        try {
          await bucket.delete(key, { previousSeq: found.revision })
        } catch (cause) {
          if (!isLostRace(cause)) throw cause
          continue
        }
        const mark = await bucket.get(key)
        if (mark !== null) await reached(mark.revision)
        return true
      }
    },
  }
}
