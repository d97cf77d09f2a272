/** What Node's own HTTP servers have in common. */
import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { HTTP_1_ONLY } from './http2-refusal.js'

/** Of what a client says first: the head of a request, or the handshake of TLS. */
export const HEAD_MS_MAX = 10_000

/**
 * A slow or silent client costs a connection for no longer than this. Load balancers keep idle connections for up to a
 * minute: we must not end one first: it may have a request on its way.
 */
export const TIMEOUTS = {
  headersTimeout: HEAD_MS_MAX,
  handshakeTimeout: HEAD_MS_MAX,
  requestTimeout: 60_000,
  keepAliveTimeout: 75_000,
  // By default, Node looks at the others every half minute.
  connectionsCheckingInterval: 1_000,
} as const

/** A connection on which nothing moves, also because its client does not read, ends. */
export const SILENT_MS_MAX = 90_000

const STATUS_OF: Readonly<Record<string, string>> = {
  HPE_INVALID_METHOD: '501 Not Implemented',
  HPE_INVALID_VERSION: '505 HTTP Version Not Supported',
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
}

/** The client has gone, or an answer would wait for its handshake for ever. */
const UNANSWERABLE = new Set(['ECONNRESET', 'ERR_TLS_HANDSHAKE_TIMEOUT'])

/** The event `clientError`: the answer to what the parser cannot read. */
export function refuseUnreadable(
  { code = '' }: NodeJS.ErrnoException,
  socket: Duplex & { readonly _httpMessage?: ServerResponse | null },
): void {
  // Node's own field. While the answer to an earlier request is under way, this one would be taken for it.
  const answer = socket._httpMessage
  const isAnswering = answer != null && (answer.headersSent || answer.req.complete)
  if (!socket.writable || isAnswering || UNANSWERABLE.has(code)) socket.destroy()
  else if (code === 'HPE_PAUSED_H2_UPGRADE') socket.end(HTTP_1_ONLY)
  else {
    const status = STATUS_OF[code] ?? '400 Bad Request'
    socket.end(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`)
  }
}
