import { randomBytes } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { link, mkdir, open, rename, rm, stat, statfs, writeFile } from 'node:fs/promises'
import { dirname, join, resolve, sep } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { thisInstance } from '../../residency/residency.js'
import type { BlobStore } from './blob-store.js'

const READ_BYTES = 256 * 1024

/**
 * A blob store in a directory, on one machine or on a volume shared by gateways and exporters.
 *
 * @param region of the instance, since the disk belongs to it
 */
export function directoryBlobs(folder: string, region: string | null): BlobStore {
  const root = resolve(folder)
  const pathOf = (key: string): string => {
    const path = join(root, ...key.split('/'))
    // Keys consist of generated ids, so a key outside the root is a bug.
    if (!path.startsWith(root + sep)) throw new Error('the blob key is outside of the store')
    return path
  }
  return {
    place: thisInstance(region),

    async write(key, parts) {
      const path = pathOf(key)
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      // The blob gets its name only after it is complete and flushed to disk.
      const partial = `${path}.${randomBytes(6).toString('hex')}.partial`
      try {
        await pipeline(
          Readable.from(parts, { objectMode: false }),
          createWriteStream(partial, { mode: 0o600, flush: true }),
        )
        await rename(partial, path)
      } catch (cause) {
        await rm(partial, { force: true })
        throw cause
      }
      const folderHandle = await open(dirname(path))
      await folderHandle.sync().finally(() => folderHandle.close())
      return (await stat(path)).size
    },

    async create(key, bytes) {
      const path = pathOf(key)
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      const partial = `${path}.${randomBytes(6).toString('hex')}.partial`
      try {
        await writeFile(partial, bytes, { mode: 0o600, flush: true })
        // Unlike a rename, a link does not replace what is there.
        await link(partial, path)
        return true
      } catch (cause) {
        if ((cause as NodeJS.ErrnoException).code === 'EEXIST') return false
        throw cause
      } finally {
        await rm(partial, { force: true })
      }
    },

    async size(key) {
      try {
        return (await stat(pathOf(key))).size
      } catch (cause) {
        if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined
        throw cause
      }
    },

    read: (key, range, signal) =>
      createReadStream(pathOf(key), {
        highWaterMark: READ_BYTES,
        ...(signal && { signal }),
        ...(range && { start: range.first, end: range.last }),
      }),

    async usedShare() {
      // The first export makes the folder.
      await mkdir(root, { recursive: true, mode: 0o700 })
      const { blocks, bfree, bavail } = await statfs(root)
      // As df counts: what is reserved for root is no space, and nothing in use.
      const used = blocks - bfree
      return used / (used + bavail)
    },

    removeUnder: (prefix) => rm(pathOf(prefix.replace(/\/$/, '')), { recursive: true, force: true }),
  }
}
