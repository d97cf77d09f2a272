import type { IncomingMessage } from 'node:http'
import { TOO_MANY_BODIES } from '../../http/exchange.js'
import { type Problem, problem } from '../../problems/catalogue.js'
import { type InflatingFor, inflateGzip } from '../bulk/inflate.js'
import type { BodyBuffers } from './body-buffers.js'
import { INTAKE_BYTES_MAX } from './route.js'

/** Who reads a body: reserves memory for its bytes as they arrive, and gives the buffer back once nobody reads it any more. */
export interface BodyHolder extends InflatingFor {
  readonly buffers: BodyBuffers
  /** The current one; the body is at its beginning. */
  buffer: Buffer | undefined
}

/**
 * Reads and unpacks the body of a request: with a Content-Length or chunked, plain or gzip.
 *
 * @returns undefined when the client has gone
 */
export async function readIntakeBody(
  request: IncomingMessage,
  holder: BodyHolder,
): Promise<Buffer | Problem | undefined> {
  const coding = (request.headers['content-encoding'] ?? '').trim().toLowerCase()
  if (coding !== '' && coding !== 'identity' && coding !== 'gzip') return OTHER_CODING
  const body = await readWhole(request, holder)
  if (coding !== 'gzip' || body === undefined || 'code' in body || body.length === 0) return body
  const inflated = await inflateGzip(body, INTAKE_BYTES_MAX, holder)
  return inflated.ok ? inflated.bytes : inflated.problem
}

function readWhole(request: IncomingMessage, holder: BodyHolder): Promise<Buffer | Problem | undefined> {
  const announced = Number(request.headers['content-length'] ?? 0)
  if (announced > INTAKE_BYTES_MAX) return Promise.resolve(TOO_LARGE)
  return new Promise((resolve) => {
    let size = 0
    const end = (result: Buffer | Problem | undefined): void => {
      request.off('data', onData)
      resolve(result)
    }
    const onData = (chunk: Buffer): void => {
      if (size + chunk.length > INTAKE_BYTES_MAX) return end(TOO_LARGE)
      if (!holder.hold(chunk.length)) return end(TOO_MANY_BODIES)
      roomFor(size, Math.max(size + chunk.length, Math.min(announced, ANNOUNCED_BYTES_MAX)), holder).set(chunk, size)
      size += chunk.length
    }
    request.on('data', onData)
    request.once('end', () => end(holder.buffer?.subarray(0, size) ?? NO_BODY))
    // A body that ends too early, or not in time.
    request.once('close', () => end(undefined))
  })
}

/** @returns the holder's buffer, or a longer one with the same beginning */
function roomFor(size: number, needed: number, holder: BodyHolder): Buffer {
  const { buffer, buffers } = holder
  if (buffer !== undefined && buffer.length >= needed) return buffer
  const longer = buffers.take(needed)
  if (buffer !== undefined) {
    buffer.copy(longer, 0, 0, size)
    buffers.give(buffer)
  }
  holder.buffer = longer
  return longer
}

/** Of memory that is taken for bytes that have not come yet. */
const ANNOUNCED_BYTES_MAX = 1024 * 1024

const NO_BODY = Buffer.alloc(0)
const TOO_LARGE = problem('PAYLOAD_TOO_LARGE', `The body exceeds the limit of ${INTAKE_BYTES_MAX} bytes.`)
const OTHER_CODING = problem('UNSUPPORTED_MEDIA_TYPE', 'Send the body uncompressed or with Content-Encoding: gzip.')
