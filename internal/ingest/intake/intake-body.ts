import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { TOO_MANY_BODIES } from '../../http/exchange.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import type { BodyCopy } from '../bodies/body-copy.js'
import { OTHER_CODING, unpackerOf } from '../bodies/content-coding.js'
import type { Pace } from './paced-bytes.js'

/** Whose memory the body takes, and whose turns, after its first piece. */
export interface BodyHolder {
  /** @returns false where there is no memory for so many bytes */
  hold(bytes: number): boolean
  release(bytes: number): void
  readonly pace: Pace
}

/** A body of which nothing comes for so long, or twice as long, is given up: others need its place. */
const SILENT_MS_MAX = 10_000
/** Of what is kept of one body. */
const KEPT_BYTES_MAX = 32 * 1024 * 1024
/** Of one body, unpacked, for which its sender pays by sending it. */
const BODY_BYTES_MAX = 1024 * 1024 * 1024

/** What a body may cost beside the bytes that were sent, so that one that is packed tightly costs little. */
const UNPACKED = { free: 32 * 1024 * 1024, perByte: 256 }
const STEPS = { free: 200_000, perByte: 16 }

type BodyMessage = Readable & Pick<IncomingMessage, 'headers'>

/**
 * Reads the body of a request into its copy as it comes, with a Content-Length or chunked, unpacked by its
 * Content-Encoding. Memory is taken for what the copy keeps.
 *
 * @returns undefined when the client has gone, or is silent
 */
export function readIntakeBody(
  request: BodyMessage,
  holder: BodyHolder,
  copy: BodyCopy,
): Promise<Buffer | Problem | undefined> {
  // Nothing comes from it any more.
  if (request.destroyed) return Promise.resolve(undefined)
  const unpacker = unpackerOf(request.headers['content-encoding'] ?? '')
  if (unpacker === undefined) return Promise.resolve(OTHER_CODING)
  const unpackingBytes = unpacker === 'plain' ? 0 : unpacker.bytes
  if (unpackingBytes > 0 && !holder.hold(unpackingBytes)) return Promise.resolve(TOO_MANY_BODIES)
  const unpacking = unpacker === 'plain' ? undefined : unpacker.create()
  const source: Readable = unpacking ?? request
  const body = new CopiedBody(holder, copy)
  copy.kept.reserve(Math.min(Number(request.headers['content-length'] ?? 0), ANNOUNCED_BYTES_MAX))
  return new Promise((resolve) => {
    let hasCome = true
    let isDecided = false
    // The first piece comes in the turn of the request itself.
    let pace: Pace = (_, go) => {
      pace = holder.pace
      go()
    }
    /** Of a piece that waits for its turn: what happens after it. */
    let next: (() => void) | undefined
    const looking = setInterval(() => {
      // While a piece waits, its source is paused: nothing can come.
      if (!hasCome && next === undefined) request.destroy()
      hasCome = false
    }, SILENT_MS_MAX)
    const end = (result: Buffer | Problem | undefined): void => {
      if (isDecided) return
      isDecided = true
      clearInterval(looking)
      request.off('data', onSent)
      source.off('data', onData)
      if (unpacking !== undefined) {
        request.unpipe(unpacking)
        unpacking.destroy()
        holder.release(unpackingBytes)
      }
      resolve(result)
    }
    const onSent = (chunk: Buffer): void => {
      body.sentBytes += chunk.length
      hasCome = true
    }
    const onData = (chunk: Buffer): void => {
      source.pause()
      next = () => source.resume()
      pace(chunk.length, () => {
        if (isDecided) return
        hasCome = true
        const refused = body.add(chunk)
        if (refused !== undefined) end(refused)
        next?.()
        next = undefined
      })
    }
    const onEnd = (): void => {
      if (isDecided) return
      copy.end()
      end(copy.kept.written)
    }
    request.on('data', onSent)
    source.on('data', onData)
    // Also of a source that is paused, while its last piece waits.
    source.once('end', () => {
      if (next === undefined) onEnd()
      else next = onEnd
    })
    if (unpacking !== undefined) request.pipe(unpacking).once('error', () => end(BROKEN))
    // A body that ends too early, or not in time.
    request.once('close', () => {
      if (!request.readableEnded) end(undefined)
    })
  })
}

/** What came of a body so far. */
class CopiedBody {
  /** As they came over the wire. */
  sentBytes = 0
  private readonly holder: BodyHolder
  private readonly copy: BodyCopy
  private unpackedBytes = 0
  private heldBytes = 0

  constructor(holder: BodyHolder, copy: BodyCopy) {
    this.holder = holder
    this.copy = copy
  }

  /** @returns why the body is refused */
  add(chunk: Buffer): Problem | undefined {
    const { copy, sentBytes } = this
    this.unpackedBytes += chunk.length
    if (this.unpackedBytes > Math.min(BODY_BYTES_MAX, UNPACKED.free + UNPACKED.perByte * sentBytes)) return TOO_LARGE
    copy.write(chunk, sentBytes)
    const { length } = copy.kept
    if (length > KEPT_BYTES_MAX || copy.steps > STEPS.free + STEPS.perByte * sentBytes) return TOO_LARGE
    if (length > this.heldBytes) {
      if (!this.holder.hold(length - this.heldBytes)) return TOO_MANY_BODIES
      this.heldBytes = length
    }
    return undefined
  }
}

/** Of memory that is taken for bytes that have not come yet. */
const ANNOUNCED_BYTES_MAX = 1024 * 1024

const TOO_LARGE = problem(
  'PAYLOAD_TOO_LARGE',
  `The body holds too much that is read: more than ${KEPT_BYTES_MAX} bytes beside content. Send smaller batches.`,
)
const BROKEN = problem('MALFORMED_REQUEST', 'The body is not what its Content-Encoding says, or is truncated.')
