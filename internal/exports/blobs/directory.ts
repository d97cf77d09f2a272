import { randomBytes } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve, sep } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { thisInstance } from '../../residency/residency.js'
import type { BlobStore } from './blob-store.js'

const READ_BYTES = 256 * 1024

/**
 * Blobs as files below a folder: of one machine, or of a volume that gateways and exporters share.
 *
 * @param region of the instance, whose disk it is
 */
export function directoryBlobs(folder: string, region: string | null): BlobStore {
  const root = resolve(folder)
  const pathOf = (key: string): string => {
    const path = join(root, ...key.split('/'))
    // Keys are made of our own ids; whatever else comes here is a defect.
    if (!path.startsWith(root + sep)) throw new Error('a blob has a key outside of its store')
    return path
  }
  return {
    place: thisInstance(region),

    async write(key, parts) {
      const path = pathOf(key)
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      // Seen under its name only when it is whole and on the disk.
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

    async size(key) {
      try {
        return (await stat(pathOf(key))).size
      } catch (cause) {
        if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined
        throw cause
      }
    },

    read: (key, range) =>
      createReadStream(pathOf(key), {
        highWaterMark: READ_BYTES,
        ...(range && { start: range.first, end: range.last }),
      }),

    removeUnder: (prefix) => rm(pathOf(prefix.replace(/\/$/, '')), { recursive: true, force: true }),
  }
}
