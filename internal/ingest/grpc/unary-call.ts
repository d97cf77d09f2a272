import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import { HEAD_MS_MAX } from '../../http/node-settings.js'
import { CODINGS } from '../bodies/content-coding.js'
import type { IntakeMessage, IntakeResponse } from '../intake/intake-requests.js'
import { RPC, refusalTrailers, TRAILER } from './grpc-answers.js'
import { framed, type MessageHead, UnaryMessage } from './unary-message.js'

/** A call has come and is answered, or is given up, within this: as a request of HTTP. */
const CALL_MS_MAX = 60_000

/**
 * A unary call as a request of the intake: what comes after the prefix is its body.
 *
 * @returns the answer to it if it holds exactly one message; another is refused here
 */
export function readUnaryCall(
  stream: ServerHttp2Stream,
  { path, ...rest }: CallHead,
  onRequest: (message: IntakeMessage, response: IntakeResponse) => void,
): void {
  const body = new UnaryMessage()
  const giveUp = (): void => stream.close(constants.NGHTTP2_CANCEL)
  // Its credential is known once its message begins.
  let late = setTimeout(giveUp, HEAD_MS_MAX)
  stream.once('close', () => {
    clearTimeout(late)
    body.destroy()
  })
  // The intake gives up a message that has stopped.
  body.once('close', () => {
    if (!body.readableEnded && body.errored === null) giveUp()
  })
  body.once('error', ({ message }) => refuse(stream, RPC.invalidArgument, `Not a unary call: ${message}.`))
  body.once('head', (head: MessageHead) => {
    clearTimeout(late)
    late = setTimeout(giveUp, CALL_MS_MAX)
    const message = Object.assign(body, { url: path, method: 'POST', ...requestHeaders(rest, head) })
    onRequest(Object.assign(message, { socket: rest.peer }), new UnaryResponse(stream))
  })
  stream.pipe(body)
}

export interface CallHead {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** Names and values in turn, as they were sent. */
  readonly rawHeaders: readonly string[]
  readonly peer: IntakeMessage['socket']
}

/** Metadata as headers of a request; those of gRPC become those of HTTP. */
function requestHeaders({ headers, rawHeaders }: Omit<CallHead, 'path'>, { isCompressed, bytes }: MessageHead) {
  // Without a prototype: a caller may name its metadata `constructor`.
  const headersDistinct: Record<string, string[]> = Object.create(null)
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = [rawHeaders[at]?.toLowerCase(), rawHeaders[at + 1]]
    const others = headersDistinct[name]
    if (others === undefined) headersDistinct[name] = [value]
    else others.push(value)
  }
  const coding = String(headers['grpc-encoding'] ?? 'identity')
  return {
    headersDistinct,
    headers: {
      ...headers,
      'content-type': 'application/x-protobuf',
      'content-encoding': isCompressed ? coding : 'identity',
      'content-length': String(bytes),
    },
  }
}

class UnaryResponse implements IntakeResponse {
  writableEnded = false
  private readonly stream: ServerHttp2Stream
  private status = 0
  private headers: Readonly<Record<string, unknown>> = {}

  constructor(stream: ServerHttp2Stream) {
    this.stream = stream
  }

  get destroyed(): boolean {
    return this.stream.destroyed
  }

  writeHead(status: number, headers: Readonly<Record<string, unknown>>): void {
    this.status = status
    this.headers = headers
  }

  end(message: Uint8Array): void {
    this.writableEnded = true
    if (this.status === 200) return answer(this.stream, message)
    const trailers = Object.values(TRAILER).flatMap((name) => {
      const value = this.headers[name]
      return typeof value === 'string' ? [[name, value] as const] : []
    })
    if (trailers.length > 0) endWith(this.stream, Object.fromEntries(trailers))
    else refuse(this.stream, RPC.unimplemented, NO_SUCH_METHOD)
  }
}

const NO_SUCH_METHOD = 'No such method: this port takes Export of OTLP, and Check of grpc.health.v1.'

/** Ends a call with its message. */
export function answer(stream: ServerHttp2Stream, message: Uint8Array): void {
  if (stream.destroyed || stream.closed) return
  stream.respond(HEAD, { waitForTrailers: true })
  stream.once('wantTrailers', () => stream.sendTrailers({ [TRAILER.status]: String(RPC.ok) }))
  stream.end(framed(message))
}

/** Ends a call without a message. */
export function refuse(stream: ServerHttp2Stream, code: number, message: string, retryAfterSeconds?: number): void {
  endWith(stream, refusalTrailers(code, message, retryAfterSeconds))
}

function endWith(stream: ServerHttp2Stream, trailers: Readonly<Record<string, string>>): void {
  if (stream.destroyed || stream.closed || stream.headersSent) return
  stream.respond({ ...HEAD, ...trailers }, { endStream: true })
  // The rest of a message that nobody reads: its sender is asked to stop, after the answer. Not now: within an event of
  // the stream, Node's parser still holds what this frees (Node 20, 22: a crash).
  if (!stream.readableEnded) setImmediate(() => stream.close(constants.NGHTTP2_NO_ERROR))
}

const HEAD = {
  [constants.HTTP2_HEADER_STATUS]: 200,
  'content-type': 'application/grpc',
  'grpc-accept-encoding': `identity, ${CODINGS}`,
}
