import type { IncomingMessage } from 'node:http'
import { TOO_MANY_BODIES } from '../../http/exchange.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import { type InflatingFor, inflateGzip } from '../bulk/inflate.js'
import type { TakenBuffers } from './body-buffers.js'
import { INTAKE_BYTES_MAX } from './intake-route.js'

/** A reader of bodies: reserves memory as bytes arrive, and gives the buffers back once nobody reads them. */
export interface BodyHolder extends InflatingFor {
  readonly buffers: TakenBuffers
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
  const inflated = await inflateGzip(body, INTAKE_BYTES_MAX, holder, (bytes) => holder.buffers.take(bytes))
  return inflated.ok ? inflated.bytes : inflated.problem
}

function readWhole(request: IncomingMessage, holder: BodyHolder): Promise<Buffer | Problem | undefined> {
  const announced = Number(request.headers['content-length'] ?? 0)
  if (announced > INTAKE_BYTES_MAX) return Promise.resolve(TOO_LARGE)
  return new Promise((resolve) => {
    let buffer = NO_BODY
    let size = 0
    const end = (result: Buffer | Problem | undefined): void => {
      request.off('data', onData)
      resolve(result)
    }
    const onData = (chunk: Buffer): void => {
      const needed = size + chunk.length
      if (needed > INTAKE_BYTES_MAX) return end(TOO_LARGE)
      if (!holder.hold(chunk.length)) return end(TOO_MANY_BODIES)
      if (needed > buffer.length) {
        const bytes = Math.max(needed, Math.min(announced, ANNOUNCED_BYTES_MAX))
        buffer = holder.buffers.longer(buffer, size, bytes)
      }
      buffer.set(chunk, size)
      size = needed
    }
    request.on('data', onData)
    request.once('end', () => end(buffer.subarray(0, size)))
    // A body that ends too early, or not in time.
    request.once('close', () => end(undefined))
  })
}

/** Of memory that is taken for bytes that have not come yet. */
const ANNOUNCED_BYTES_MAX = 1024 * 1024

const NO_BODY: Buffer = Buffer.alloc(0)
const TOO_LARGE = problem('PAYLOAD_TOO_LARGE', `The body exceeds the limit of ${INTAKE_BYTES_MAX} bytes.`)
const OTHER_CODING = problem('UNSUPPORTED_MEDIA_TYPE', 'Send the body uncompressed or with Content-Encoding: gzip.')
