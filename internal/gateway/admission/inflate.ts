import { createGunzip } from 'node:zlib'
import { type Problem, problem } from '../../problems/catalogue.js'

export type Inflated = { readonly ok: true; readonly bytes: Buffer } | { readonly ok: false; readonly problem: Problem }

/** Inflated bytes that come at once; with zlib's window of 32 KiB all that can be held beyond the limit. */
const CHUNK_BYTES = 64 * 1024

/** Header and trailer of a gzip member, and the shortest content. */
const GZIP_BYTES_MIN = 20

/**
 * Inflates a gzip body, off the event loop. Stops at the limit: a bomb costs no more than a body that is allowed.
 *
 * Exactly one member is taken (an empty one before it changes nothing and is not noticed): where bodies of several
 * were allowed, two readers could take different ends of one.
 *
 * @param bytes must not change until this has settled
 * @param bytesMax of the inflated body
 * @returns MALFORMED_REQUEST or PAYLOAD_TOO_LARGE when it is not to be taken
 */
export function inflateGzip(bytes: Buffer, bytesMax: number): Promise<Inflated> {
  return new Promise((resolve) => {
    if (bytes.length < GZIP_BYTES_MIN) return resolve(malformed('The body is not valid gzip, or is cut short.'))
    const gunzip = createGunzip({ chunkSize: CHUNK_BYTES })
    const chunks: Buffer[] = []
    let size = 0
    gunzip.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= bytesMax) {
        chunks.push(chunk)
        return
      }
      gunzip.destroy()
      const detail = `The inflated body may have at most ${bytesMax} bytes.`
      resolve({ ok: false, problem: problem('PAYLOAD_TOO_LARGE', detail) })
    })
    gunzip.on('error', () => resolve(malformed('The body is not valid gzip, or is cut short.')))
    gunzip.on('end', () => {
      // Zlib passes over what follows a zero byte, and goes on with what looks like a further member; the trailer of
      // the last one then states another length than that of the whole.
      const isOneMember = gunzip.bytesWritten === bytes.length && bytes.readUInt32LE(bytes.length - 4) === size
      if (isOneMember) resolve({ ok: true, bytes: Buffer.concat(chunks, size) })
      else resolve(malformed('The body must be one gzip member with nothing behind it.'))
    })
    gunzip.end(bytes)
  })
}

const malformed = (detail: string): Inflated => ({ ok: false, problem: problem('MALFORMED_REQUEST', detail) })
