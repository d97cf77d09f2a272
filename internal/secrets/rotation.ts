import { closeSync, fsyncSync, openSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs'
import type { KV } from '@nats-io/kv'
import type { Bucket } from '../../streams/buckets.js'
import type { Broker } from '../broker/connect.js'
import { isLostRace } from '../broker/errors.js'
import { ConfigError } from '../config/settings.js'
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
 * How long a master key that was replaced still opens: for what a process that was cut off from everything sealed
 * meanwhile, or an operator puts back.
 */
export const REPLACED_KEY_OPENS_MS = 24 * 60 * 60 * 1000

/**
 * Puts a new key in front of those of a file: it seals from now on, and the others still open. Processes that use the
 * file see it at once.
 *
 * @returns the ids of the key that sealed before and of the one that seals now
 * @throws ConfigError when the file cannot be read or written, or another rotation is under way
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

/** Removes the keys of a file that open nothing any more at an instant; with Infinity all but the one that seals. */
export function dropMasterKeys(file: string, nowMs: number): void {
  const hasDropped = ({ untilMs }: MasterKeyEntry) => untilMs <= nowMs
  if (!parseMasterKeys(readFileSync(file, 'utf8'), file).some((entry, i) => i > 0 && hasDropped(entry))) return
  changeMasterKeys(file, (entries) => entries.filter((entry, i) => i === 0 || !hasDropped(entry)))
}

/** Reads and replaces a file as one: of two that do so at once the other one is refused. @returns what was in it */
function changeMasterKeys(
  file: string,
  change: (entries: readonly MasterKeyEntry[]) => readonly MasterKeyEntry[],
): readonly MasterKeyEntry[] {
  const unfinished = `${file}.new`
  let descriptor: number
  try {
    descriptor = openSync(unfinished, 'wx', 0o600)
  } catch (cause) {
    const isTaken = (cause as NodeJS.ErrnoException).code === 'EEXIST'
    const reason = isTaken
      ? 'is there: another rotation is under way, or was cut off; then remove it'
      : 'cannot be made'
    throw new ConfigError(`${unfinished} ${reason}`, { cause })
  }
  try {
    const entries = parseMasterKeys(readFileSync(file, 'utf8'), `the master key file ${file}`)
    writeFileSync(descriptor, writeMasterKeys(change(entries)))
    // A new key must be on disk before anything is sealed by it.
    fsyncSync(descriptor)
    renameSync(unfinished, file)
    return entries
  } catch (cause) {
    unlinkSync(unfinished)
    throw cause
  } finally {
    closeSync(descriptor)
  }
}

const READ_AT_ONCE = 256

export interface Resealed {
  /** Values that were sealed anew. */
  readonly replaced: number
  /** Values that no key opens; they stay as they are. */
  readonly unopened: number
}

/**
 * Seals anew whatever another master key than the current one has sealed in these buckets, by compare-and-set, so that
 * a value that somebody changes meanwhile is taken as it has become.
 *
 * The value that was there is overwritten on disk: else it would lie in the stream's file until that is compacted, for
 * one who has the old key. To be repeated when it was cut off.
 */
export async function resealBuckets(broker: Broker, buckets: readonly Bucket[], keys: MasterKeys): Promise<Resealed> {
  const sum = { replaced: 0, unopened: 0 }
  for (const declared of buckets) {
    const bucket = await broker.bucket(declared)
    const names: string[] = []
    for await (const name of await bucket.keys()) names.push(name)
    const stale: string[] = []
    for (let from = 0; from < names.length; from += READ_AT_ONCE) {
      const some = names.slice(from, from + READ_AT_ONCE)
      const entries = await Promise.all(some.map((name) => bucket.get(name)))
      for (const [i, entry] of entries.entries()) {
        const { replaced, unopened } = resealed(keys, entry?.string() ?? '')
        if (replaced > 0) stale.push(some[i] as string)
        sum.unopened += unopened
      }
    }
    if (stale.length === 0) continue

    // What is overwritten stays a message until it is erased.
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
