import { createGunzip, createInflate } from 'node:zlib'
import { type Exchange, TOO_MANY_BODIES } from '../../http/exchange.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'

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
 * Accepts exactly one member (an empty one before it has no effect and is not noticed): with several, two readers could
 * disagree on where the body ends.
 *
 * @param bytes must not change until this has settled
 * @param bytesMax of the inflated body
 * @param request holds what the body is inflated to; inflation stops once its sender has disconnected
 * @returns MALFORMED_REQUEST or PAYLOAD_TOO_LARGE when it is refused, RATE_LIMITED without memory for it
 */
export function inflateGzip(bytes: Buffer, bytesMax: number, request: InflatingFor): Promise<Inflated> {
  return new Promise((resolve) => {
    if (bytes.length < GZIP_BYTES_MIN) return resolve(malformed(BROKEN))
    // A body whose stated length is wrong is refused. One that states too much is inflated only to find out whether it
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
      resolve({ ok: false, problem: tooLong(bytesMax) })
    })
    gunzip.on('error', () => resolve(malformed(BROKEN)))
    gunzip.on('end', () => {
      // zlib ignores bytes after a zero byte, and continues with anything like a further member; the trailer of
      // the last one then states another length than that of the whole.
      const isOneMember = gunzip.bytesWritten === bytes.length && announced === size
      if (isOneMember) resolve({ ok: true, bytes: inflated })
      else resolve(malformed('The body must be exactly one gzip member without trailing bytes.'))
    })
    gunzip.end(bytes)
  })
}

/**
 * Inflates a body of Content-Encoding `deflate`, likewise. It does not say how long it will be: memory is held as it
 * comes.
 */
export function inflateDeflate(bytes: Buffer, bytesMax: number, request: InflatingFor): Promise<Inflated> {
  return new Promise((resolve) => {
    const inflate = createInflate({ chunkSize: CHUNK_BYTES })
    const parts: Buffer[] = []
    let size = 0
    const refuse = (what: Problem): void => {
      inflate.destroy()
      resolve({ ok: false, problem: what })
    }
    inflate.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > bytesMax || request.isSettled) return refuse(tooLong(bytesMax))
      if (!request.hold(chunk.length)) return refuse(TOO_MANY_BODIES)
      parts.push(chunk)
    })
    inflate.on('error', () => resolve(malformed('The body is not valid deflate, or is truncated.')))
    inflate.on('end', () => resolve({ ok: true, bytes: Buffer.concat(parts, size) }))
    inflate.end(bytes)
  })
}

const BROKEN = 'The body is not valid gzip, or is truncated.'

const tooLong = (bytesMax: number): Problem =>
  problem('PAYLOAD_TOO_LARGE', `The inflated body may have at most ${bytesMax} bytes.`)

const malformed = (detail: string): Inflated => ({ ok: false, problem: problem('MALFORMED_REQUEST', detail) })
