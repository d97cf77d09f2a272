import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { ConfigError } from '../../config/settings.js'
import type { BlobStore } from '../../exports/blobs/blob-store.js'
import { formatInstant } from '../../units/instant.js'
import { once } from './repository.js'

/** Who works on a place of backups. */
interface Holder {
  readonly token: string
  readonly host: string
  readonly pid: number
  /** RFC 3339. */
  readonly since: string
  readonly renewed_at: string
}

const LOCK = 'backup-lock/holder.json'
const RENEWED_EVERY_MS = 10_000
/**
 * A holder that has not renewed it for this long has ended, however far apart the clocks of two machines usually are.
 */
const ABANDONED_MS = 120_000

/**
 * Does work that no other process does meanwhile, on a place of backups or for the instance that is backed up. Of two
 * on one place, each would write an index without the other's backup, or remove parts that the other's needs; of two of
 * one instance, one would remove the links of the other.
 *
 * @param work gets a function that throws when another process has taken the place over, which takes a pause of two
 * minutes
 * @throws ConfigError with the process that works on it
 */
export async function withLock<T>(blobs: BlobStore, work: (assertHeld: () => Promise<void>) => Promise<T>): Promise<T> {
  const since = formatInstant(Date.now())
  const holder = { token: randomBytes(12).toString('hex'), host: hostname(), pid: process.pid, since }
  const bytes = () => Buffer.from(JSON.stringify({ ...holder, renewed_at: formatInstant(Date.now()) } satisfies Holder))
  // Looked at first: a store without conditional writes replaces the lock that is there.
  const isFree = (await requireNoHolder(blobs)) === undefined
  if (!isFree || !(await blobs.create(LOCK, bytes()))) {
    await requireNoHolder(blobs)
    await blobs.removeUnder(FOLDER)
    if (!(await blobs.create(LOCK, bytes())))
      throw new ConfigError('another backup has begun meanwhile: make one at a time')
  }
  const assertHeld = async (): Promise<void> => {
    const now = await holderOf(blobs)
    if (now?.token !== holder.token) throw new Error('another process has taken over this place of backups')
  }
  const renewing = setInterval(() => {
    assertHeld()
      .then(() => blobs.write(LOCK, once(bytes())))
      .catch(() => undefined)
  }, RENEWED_EVERY_MS)
  try {
    return await work(assertHeld)
  } finally {
    clearInterval(renewing)
    if ((await holderOf(blobs).catch(() => undefined))?.token === holder.token) await blobs.removeUnder(FOLDER)
  }
}

const FOLDER = LOCK.slice(0, LOCK.indexOf('/') + 1)

/** @returns one that has ended without freeing the lock @throws ConfigError with one that works on the place */
async function requireNoHolder(blobs: BlobStore): Promise<Holder | undefined> {
  const holder = await holderOf(blobs)
  if (holder !== undefined && !isAbandoned(holder)) throw new ConfigError(inUse(holder))
  return holder
}

/** @returns undefined when nobody does, or what is there is no lock */
async function holderOf(blobs: BlobStore): Promise<Holder | undefined> {
  if ((await blobs.size(LOCK)) === undefined) return undefined
  const parts: Uint8Array[] = []
  for await (const part of blobs.read(LOCK)) parts.push(part)
  try {
    return JSON.parse(Buffer.concat(parts).toString('utf8')) as Holder
  } catch {
    return undefined
  }
}

function isAbandoned({ host, pid, renewed_at }: Holder): boolean {
  if (Date.now() - Date.parse(renewed_at) > ABANDONED_MS) return true
  return host === hostname() && !isRunning(pid)
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (cause) {
    // It is another user's.
    return (cause as NodeJS.ErrnoException).code === 'EPERM'
  }
}

const inUse = ({ host, pid, since }: Holder): string =>
  `process ${pid} on ${host} has made a backup since ${since}: make one at a time`
