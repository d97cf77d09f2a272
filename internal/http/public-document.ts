import { createHash } from 'node:crypto'
import type { Exchange } from './exchange.js'

/** A public, cacheable document without tenant data. */
export interface PublicDocument {
  readonly body: string
  readonly etag: string
  /** Header lines except the caching ones. */
  readonly headers: readonly string[]
}

const MAX_AGE_S = 300

export const publicDocument = (body: string, headers: readonly string[]): PublicDocument => ({
  body,
  etag: `"${createHash('sha256').update(body).digest('base64url')}"`,
  headers,
})

/**
 * Replies with the document, or 304 if If-None-Match has its ETag (RFC 9110 section 13.1.2).
 *
 * @param ifNoneMatch the header, which can be read only before the first `await` of a handler
 */
export function replyDocument(
  exchange: Exchange,
  { body, etag, headers }: PublicDocument,
  ifNoneMatch = exchange.header('if-none-match'),
): void {
  const lines = [...headers, `Cache-Control: public, max-age=${MAX_AGE_S}`, `ETag: ${etag}`].join('\r\n')
  const held = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  if (held.includes(etag) || held.includes('*')) exchange.replyEmpty(`304 Not Modified\r\n${lines}`)
  else exchange.reply(`200 OK\r\n${lines}`, body)
}
