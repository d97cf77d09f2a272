import { createGunzip } from 'node:zlib'
import { type Exchange, TOO_MANY_BODIES } from '../../http/exchange.js'
import { type Problem, problem } from '../../problems/catalogue.js'

export type Inflated = { readonly ok: true; readonly bytes: Buffer } | { readonly ok: false; readonly problem: Problem }

/** Whose body it is. */
export type InflatingFor = Pick<Exchange, 'hold' | 'isSettled'>

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
 * @param request holds what the body is inflated to; nothing is inflated any more once its sender has gone
 * @returns MALFORMED_REQUEST or PAYLOAD_TOO_LARGE when it is not to be taken, RATE_LIMITED when there is no room
 */
export function inflateGzip(bytes: Buffer, bytesMax: number, request: InflatingFor): Promise<Inflated> {
  return new Promise((resolve) => {
    if (bytes.length < GZIP_BYTES_MIN) return resolve(malformed(BROKEN))
    // A body that says another length than it has is not taken. One that says too much is inflated only to tell whether it
    // is too long or broken, and not kept.
    const announced = bytes.readUInt32LE(bytes.length - 4)
    const keptBytes = announced <= bytesMax ? announced : 0
    if (!request.hold(keptBytes)) return resolve({ ok: false, problem: TOO_MANY_BODIES })
    const inflated = Buffer.allocUnsafeSlow(keptBytes)
    const gunzip = createGunzip({ chunkSize: CHUNK_BYTES })
    let size = 0
    gunzip.on('data', (chunk: Buffer) => {
      if (size + chunk.length <= keptBytes) inflated.set(chunk, size)
      size += chunk.length
      if (size <= bytesMax && !request.isSettled) return
      gunzip.destroy()
      const detail = `The inflated body may have at most ${bytesMax} bytes.`
      resolve({ ok: false, problem: problem('PAYLOAD_TOO_LARGE', detail) })
    })
    gunzip.on('error', () => resolve(malformed(BROKEN)))
    gunzip.on('end', () => {
      // Zlib passes over what follows a zero byte, and goes on with what looks like a further member; the trailer of
      // the last one then states another length than that of the whole.
      const isOneMember = gunzip.bytesWritten === bytes.length && announced === size
      if (isOneMember) resolve({ ok: true, bytes: inflated })
      else resolve(malformed('The body must be one gzip member with nothing behind it.'))
    })
    gunzip.end(bytes)
  })
}

const BROKEN = 'The body is not valid gzip, or is cut short.'

const malformed = (detail: string): Inflated => ({ ok: false, problem: problem('MALFORMED_REQUEST', detail) })
