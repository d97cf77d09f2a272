import type { IncomingMessage } from 'node:http'
import { TOO_MANY_BODIES } from '../../http/exchange.js'
import { type Problem, problem } from '../../problems/catalogue.js'
import { type InflatingFor, inflateGzip } from '../bulk/inflate.js'
import { INTAKE_BYTES_MAX } from './route.js'

/**
 * Reads and unpacks the body of a request: with a Content-Length or chunked, plain or gzip.
 *
 * @param holder reserves memory for the bytes as they arrive
 * @returns undefined when the client has gone
 */
export async function readIntakeBody(
  request: IncomingMessage,
  holder: InflatingFor,
): Promise<Buffer | Problem | undefined> {
  const coding = (request.headers['content-encoding'] ?? '').trim().toLowerCase()
  if (coding !== '' && coding !== 'identity' && coding !== 'gzip') return OTHER_CODING
  const body = await readWhole(request, holder)
  if (coding !== 'gzip' || body === undefined || 'code' in body || body.length === 0) return body
  const inflated = await inflateGzip(body, INTAKE_BYTES_MAX, holder)
  return inflated.ok ? inflated.bytes : inflated.problem
}

function readWhole(request: IncomingMessage, holder: InflatingFor): Promise<Buffer | Problem | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > INTAKE_BYTES_MAX) return Promise.resolve(TOO_LARGE)
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let size = 0
    const end = (result: Buffer | Problem | undefined): void => {
      request.off('data', onData)
      resolve(result)
    }
    const onData = (chunk: Buffer): void => {
      size += chunk.length
      if (size > INTAKE_BYTES_MAX) return end(TOO_LARGE)
      if (!holder.hold(chunk.length)) return end(TOO_MANY_BODIES)
      chunks.push(chunk)
    }
    request.on('data', onData)
    request.once('end', () => end(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)))
    // A body that ends too early, or not in time.
    request.once('close', () => end(undefined))
  })
}

const TOO_LARGE = problem('PAYLOAD_TOO_LARGE', `The body exceeds the limit of ${INTAKE_BYTES_MAX} bytes.`)
const OTHER_CODING = problem('UNSUPPORTED_MEDIA_TYPE', 'Send the body uncompressed or with Content-Encoding: gzip.')
