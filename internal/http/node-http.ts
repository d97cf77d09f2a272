/**
 * The part of uWebSockets.js that the server uses, on Node's own HTTP server: slower, and complete. It speaks HTTP/1.0,
 * takes every legal header name, decodes chunked bodies strictly, and keeps idle connections for longer than load
 * balancers do (`deploy/decisions/http-parser.md`).
 */
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { closeSocket } from './close-listener.js'
import { refuseUnreadable, SILENT_MS_MAX, TIMEOUTS } from './node-settings.js'
import { PathTable } from './path-table.js'
import type { TlsFiles } from './tls.js'

type Handler = (response: NodeResponse, request: NodeRequest) => void

const METHODS = ['get', 'post', 'put', 'patch', 'del', 'options', 'head', 'any'] as const
/** As the server registers them; HTTP calls one otherwise. */
const keyOf = (method: string): string => (method === 'DELETE' ? 'del' : method.toLowerCase())

const HEAD_BYTES_MAX = 16_384

export class NodeApp {
  readonly server: Server | TlsServer
  private readonly paths = new PathTable<Map<string, Handler>>()

  constructor(tls?: TlsFiles) {
    const options = { ...TIMEOUTS, maxHeaderSize: HEAD_BYTES_MAX }
    const answer = (message: IncomingMessage, response: ServerResponse): void => this.answer(message, response)
    this.server =
      tls === undefined ? createServer(options, answer) : createTlsServer({ ...options, ...pemOf(tls) }, answer)
    this.server.setTimeout(SILENT_MS_MAX)
    this.server.on('clientError', refuseUnreadable)
    this.server.on('connect', (_, socket) => refuseConnect(socket as Socket))
    // It would be answered 417; a client that waits for 100 gets it when the body is read.
    this.server.on('checkExpectation', answer)
    for (const method of METHODS) Object.assign(this, { [method]: this.register.bind(this, method) })
  }

  listen(host: string, port: number, then: (socket: Server | false) => void): void {
    const failed = (): void => then(false)
    this.server.once('error', failed)
    this.server.listen({ host, port, exclusive: true }, () => {
      this.server.off('error', failed)
      then(this.server)
    })
  }

  private register(method: (typeof METHODS)[number], path: string, handler: Handler): void {
    this.paths.at(path, () => new Map()).set(method, handler)
  }

  private answer(message: IncomingMessage, response: ServerResponse): void {
    const request = new NodeRequest(message)
    const method = keyOf(message.method ?? '')
    const found = this.paths.find(request.getUrl(), (handlers) => handlers.get(method) ?? handlers.get('any'))
    request.parameter = found?.parameter ?? ''
    found?.value(new NodeResponse(message, response), request)
  }
}

/** Node has let go of the connection: its errors and its end are ours, also while the client keeps its side open. */
function refuseConnect(socket: Socket): void {
  socket.on('error', () => socket.destroy())
  refuseUnreadable({ name: '', message: '', code: 'HPE_INVALID_METHOD' }, socket)
  socket.destroySoon()
}

const pemOf = ({ certFile, keyFile }: TlsFiles) => ({ cert: readFileSync(certFile), key: readFileSync(keyFile) })

/** @param close as of `us_listen_socket_close` */
export const nodeHttp = {
  App: () => new NodeApp(),
  SSLApp: ({ cert_file_name: certFile, key_file_name: keyFile }: { cert_file_name: string; key_file_name: string }) =>
    new NodeApp({ certFile, keyFile }),
  us_listen_socket_close: closeSocket,
  us_socket_local_port: (server: Server): number => (server.address() as AddressInfo).port,
}

/** For connections from now on. */
export const reloadTls = ({ server }: NodeApp, tls: TlsFiles): void =>
  (server as TlsServer).setSecureContext(pemOf(tls))

class NodeRequest {
  parameter = ''
  private readonly message: IncomingMessage
  private readonly path: string
  private readonly query: string

  constructor(message: IncomingMessage) {
    this.message = message
    const { url = '' } = message
    // RFC 9112 section 3.2.2: a server takes the absolute form of the target, too.
    // `*` asks about the server itself (section 3.2.4), as `/` does here.
    const target = url.startsWith('/')
      ? url
      : url.replace(/^[a-z]+:\/\/[^/?]*(?=[/?]|$)/i, '').replace(/^\*$/, '') || '/'
    const queryAt = target.indexOf('?')
    this.path = queryAt < 0 ? target : target.slice(0, queryAt)
    this.query = queryAt < 0 ? '' : target.slice(queryAt + 1)
  }

  getUrl(): string {
    return this.path
  }

  getQuery(): string {
    return this.query
  }

  getParameter(): string {
    return this.parameter
  }

  getMethod(): string {
    return (this.message.method ?? '').toLowerCase()
  }

  getHeader(name: string): string {
    return this.message.headersDistinct[name]?.[0] ?? ''
  }

  /** With what follows from the absence of a field: no body without a length (RFC 9112 section 6.3), no Host in HTTP/1.0. */
  forEach(onField: (name: string, value: string) => void): void {
    const { httpVersion, rawHeaders, socket } = this.message
    let isFramed = false
    let hasHost = false
    // Not `headers`, which are made when first asked for.
    for (let i = 0; i < rawHeaders.length; i += 2) {
      const name = (rawHeaders[i] as string).toLowerCase()
      if (name === 'content-length' || name === 'transfer-encoding') isFramed = true
      else if (name === 'host') hasHost = true
      onField(name, rawHeaders[i + 1] as string)
    }
    if (!isFramed) onField('content-length', '0')
    if (!hasHost && httpVersion === '1.0') onField('host', `localhost:${socket.localPort}`)
  }
}

/** A head as the server writes it, parsed: answers of one batch share it. */
let lastHead: string | Buffer = ''
let lastStatus = 0
let lastFields: readonly string[] = []
function parseHead(head: string | Buffer): void {
  if (head === lastHead) return
  const [line = '', ...fields] = head.toString('latin1').split('\r\n')
  lastHead = head
  lastStatus = Number.parseInt(line, 10)
  lastFields = fields.flatMap((field) => {
    const at = field.indexOf(':')
    return [field.slice(0, at), field.slice(at + 1).trim()]
  })
}

class NodeResponse {
  private readonly message: IncomingMessage
  private readonly response: ServerResponse
  private head: string | Buffer = ''
  private written = 0

  constructor(message: IncomingMessage, response: ServerResponse) {
    this.message = message
    this.response = response
  }

  onAborted(handler: () => void): this {
    this.response.on('close', () => {
      if (!this.response.writableEnded) handler()
    })
    return this
  }

  /** The last part comes with the end of the body, as the server expects. */
  onData(handler: (chunk: ArrayBuffer, isLast: boolean) => void): this {
    let held: Buffer = EMPTY
    this.message.on('data', (chunk: Buffer) => {
      if (held !== EMPTY) handler(arrayBufferOf(held), false)
      held = chunk
    })
    this.message.on('end', () => handler(arrayBufferOf(held), true))
    return this
  }

  cork(write: () => void): this {
    write()
    return this
  }

  writeStatus(head: string | Buffer): this {
    this.head = head
    return this
  }

  end(body: string | Uint8Array = '', isLast = false): this {
    this.writeHead(isLast, typeof body === 'string' ? Buffer.byteLength(body) : body.length)
    if (typeof body === 'string') this.response.end(body)
    // As a text: Node keeps bytes while an earlier answer, or the client, holds them up, and they may be used again.
    // A text also goes into one write with the head.
    else this.response.end(Buffer.from(body.buffer, body.byteOffset, body.length).toString('latin1'), 'latin1')
    return this.discardRest()
  }

  endWithoutBody(length?: number, isLast = false): this {
    this.writeHead(isLast, length)
    this.response.end()
    return this.discardRest()
  }

  /** @returns whether the client reads as fast as it is written, and whether that was all */
  tryEnd(part: Uint8Array, size: number): readonly [boolean, boolean] {
    if (!this.response.headersSent) this.writeHead(false, size)
    // Its bytes may be used again.
    const isTaken = part.length === 0 || this.response.write(Uint8Array.from(part))
    this.written += part.length
    const isDone = this.written >= size
    if (isDone) this.response.end()
    return [isTaken, isDone]
  }

  onWritable(handler: (offset: number) => boolean): this {
    this.response.once('drain', () => handler(this.written))
    return this
  }

  getWriteOffset(): number {
    return this.written
  }

  close(): void {
    this.response.destroy()
  }

  getRemoteAddressAsText(): string {
    return this.message.socket.remoteAddress ?? ''
  }

  private writeHead(isLast: boolean, length: number | undefined): void {
    parseHead(this.head)
    const fields = [...lastFields]
    if (length !== undefined) fields.push('Content-Length', String(length))
    if (isLast) fields.push('Connection', 'close')
    this.response.writeHead(lastStatus, fields)
  }

  /** Of a body that nobody reads: unread, it would keep the connection from its next request. */
  private discardRest(): this {
    if (!this.message.readableEnded && this.message.listenerCount('data') === 0) this.message.resume()
    return this
  }
}

const EMPTY = Buffer.alloc(0)

/** Node's parser gives each part of a body memory of its own, which then need not be copied. */
const arrayBufferOf = ({ buffer, byteOffset, length }: Buffer): ArrayBuffer =>
  (length === buffer.byteLength ? buffer : buffer.slice(byteOffset, byteOffset + length)) as ArrayBuffer
