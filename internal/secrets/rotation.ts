import { readFileSync } from 'node:fs'
import type { KV } from '@nats-io/kv'
import type { Bucket } from '../../streams/buckets.js'
import type { Broker } from '../broker/connect.js'
import { isLostRace } from '../broker/errors.js'
import { ConfigError } from '../config/settings.js'
import { changeDurably, unfinishedOf } from '../process/durable-files.js'
import {
  type MasterKeyEntry,
  type MasterKeys,
  masterKeyOf,
  newMasterKey,
  parseMasterKeys,
  writeMasterKeys,
} from './master-keys.js'
import { resealed } from './seal.js'

/**
 * How long a replaced master key can still open values: those that a disconnected process has sealed meanwhile, or that
 * an operator restores from a backup.
 */
const REPLACED_KEY_OPENS_MS = 24 * 60 * 60 * 1000

/**
 * Adds a new key at the top of a master key file: it seals from then on, and the others can still open. Processes that
 * use the file see it at once.
 *
 * @returns the ids of the previous and the new sealing key
 * @throws ConfigError when the file cannot be read or written, or another rotation is in progress
 */
export function addMasterKey(file: string, nowMs: number): { readonly before: string; readonly after: string } {
  const added = newMasterKey()
  const before = changeMasterKeys(file, (entries) => [
    added,
    ...entries
      .filter(({ untilMs }) => untilMs > nowMs)
      .map(({ text, untilMs }) => ({ text, untilMs: Math.min(untilMs, nowMs + REPLACED_KEY_OPENS_MS) })),
  ])
  return { before: masterKeyOf(before[0] as MasterKeyEntry).id, after: masterKeyOf(added).id }
}

/** Removes the keys that have expired at an instant; with Infinity, all except the sealing key. */
export function dropMasterKeys(file: string, nowMs: number): void {
  const hasDropped = ({ untilMs }: MasterKeyEntry) => untilMs <= nowMs
  if (!parseMasterKeys(readFileSync(file, 'utf8'), file).some((entry, i) => i > 0 && hasDropped(entry))) return
  changeMasterKeys(file, (entries) => entries.filter((entry, i) => i === 0 || !hasDropped(entry)))
}

/** Reads and replaces a file exclusively: of two concurrent changes, one is refused. @returns the previous entries */
function changeMasterKeys(
  file: string,
  change: (entries: readonly MasterKeyEntry[]) => readonly MasterKeyEntry[],
): readonly MasterKeyEntry[] {
  let before: readonly MasterKeyEntry[] = []
  try {
    // A new key must be on disk before anything is sealed with it.
    changeDurably(file, (text) => {
      before = parseMasterKeys(text, `the master key file ${file}`)
      return writeMasterKeys(change(before))
    })
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause
    const isTaken = (cause as NodeJS.ErrnoException).code === 'EEXIST'
    const reason = isTaken
      ? 'exists: another rotation is in progress, or was interrupted; in the latter case remove the file'
      : 'cannot be written'
    throw new ConfigError(`${unfinishedOf(file)} ${reason}`, { cause })
  }
  return before
}

const CONCURRENT_READS = 256

export interface Resealed {
  /** Number of resealed values. */
  readonly replaced: number
  /** Number of values that no key opens; they are unchanged. */
  readonly unopened: number
}

/**
 * Reseals all values in these buckets that a master key other than the current one has sealed. Writes are
 * compare-and-set: a value that changes meanwhile is read again.
 *
 * The previous value is erased on disk; otherwise a holder of the old key could read it in the stream's file until that
 * is compacted. Repeat it after an interruption.
 */
export async function resealBuckets(broker: Broker, buckets: readonly Bucket[], keys: MasterKeys): Promise<Resealed> {
  const sum = { replaced: 0, unopened: 0 }
  for (const declared of buckets) {
    const bucket = await broker.bucket(declared)
    const names: string[] = []
    for await (const name of await bucket.keys()) names.push(name)
    const stale: string[] = []
    for (let from = 0; from < names.length; from += CONCURRENT_READS) {
      const some = names.slice(from, from + CONCURRENT_READS)
      const entries = await Promise.all(some.map((name) => bucket.get(name)))
      for (const [i, entry] of entries.entries()) {
        const { replaced, unopened } = resealed(keys, entry?.string() ?? '')
        if (replaced > 0) stale.push(some[i] as string)
        sum.unopened += unopened
      }
    }
    if (stale.length === 0) continue

    // Keep one more version per key, so that the overwritten message still exists to be erased.
    await keepVersions(broker, declared, declared.history + 1)
    try {
      for (const name of stale) sum.replaced += await resealValue(broker, declared, bucket, name, keys)
    } finally {
      await keepVersions(broker, declared, declared.history)
    }
  }
  return sum
}

async function resealValue(broker: Broker, { name }: Bucket, bucket: KV, key: string, keys: MasterKeys) {
  for (;;) {
    const entry = await bucket.get(key)
    if (entry?.operation !== 'PUT') return 0
    const value = resealed(keys, entry.string())
    if (value.replaced === 0) return 0
    try {
      await bucket.update(key, value.text, entry.revision)
    } catch (cause) {
      if (isLostRace(cause)) continue
      throw cause
    }
    await broker.manager.streams.deleteMessage(streamOf(name), entry.revision, true)
    return value.replaced
  }
}

async function keepVersions(broker: Broker, { name }: Bucket, versions: number): Promise<void> {
  const { config } = await broker.manager.streams.info(streamOf(name))
  await broker.manager.streams.update(config.name, { ...config, max_msgs_per_subject: versions })
}

/** A bucket is a stream (ADR-8). */
const streamOf = (bucket: string): string => `KV_${bucket}`

const HOUR_MS = 60 * 60 * 1000

/**
 * Removes from the file, now and every hour, the keys that a rotation has replaced and that no secret is sealed with.
 */
export function dropMasterKeysHourly(file: string, print: (line: string) => void): void {
  const drop = (): void => {
    try {
      dropMasterKeys(file, Date.now())
    } catch (cause) {
      print((cause as Error).message)
    }
  }
  drop()
  setInterval(drop, HOUR_MS).unref()
}
