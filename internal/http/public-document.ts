import { createHash } from 'node:crypto'
import type { Exchange } from './exchange.js'

/** A public, cacheable document without tenant data. */
export interface PublicDocument {
  readonly body: string
  readonly etag: string
  /** Header lines except the caching ones. */
  readonly headers: readonly string[]
  readonly cacheControl: string
}

/** Default: five minutes without asking again. */
const CACHE_CONTROL = 'public, max-age=300'

export const publicDocument = (
  body: string,
  headers: readonly string[],
  cacheControl = CACHE_CONTROL,
): PublicDocument => ({
  body,
  etag: `"${createHash('sha256').update(body).digest('base64url')}"`,
  headers,
  cacheControl,
})

/**
 * Replies with the document, or 304 if If-None-Match has its ETag (RFC 9110 section 13.1.2).
 *
 * @param ifNoneMatch the header, which can be read only before the first `await` of a handler
 */
export function replyDocument(
  exchange: Exchange,
  { body, etag, headers, cacheControl }: PublicDocument,
  ifNoneMatch = exchange.header('if-none-match'),
): void {
  const lines = [...headers, `Cache-Control: ${cacheControl}`, `ETag: ${etag}`].join('\r\n')
  const held = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  if (held.includes(etag) || held.includes('*')) exchange.replyEmpty(`304 Not Modified\r\n${lines}`)
  else exchange.reply(`200 OK\r\n${lines}`, body)
}
