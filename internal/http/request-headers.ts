import type { HttpRequest } from 'uWebSockets.js'

/** The request headers that matter to us, read at once: uWebSockets.js recycles the request after the handler. */
export interface RequestHeaders {
  host: string
  contentLength: string
  contentType: string
  contentEncoding: string
  transferEncoding: string
  authorization: string
  apiKey: string
  idempotencyKey: string
  traceparent: string
  /** All fields of X-Forwarded-For, in their order. */
  forwardedFor: string
}

/** A literal: copying an object costs several times as much, and every request needs one. */
const noHeaders = (): RequestHeaders => ({
  host: '',
  contentLength: '',
  contentType: '',
  contentEncoding: '',
  transferEncoding: '',
  authorization: '',
  apiKey: '',
  idempotencyKey: '',
  traceparent: '',
  forwardedFor: '',
})
export const NO_HEADERS: Readonly<RequestHeaders> = noHeaders()

/** The bit of each header in `seen`. */
const BITS = {
  host: 1 << 0,
  'content-length': 1 << 1,
  'content-type': 1 << 2,
  'content-encoding': 1 << 3,
  'transfer-encoding': 1 << 4,
  authorization: 1 << 5,
  'x-api-key': 1 << 6,
  'idempotency-key': 1 << 7,
  traceparent: 1 << 8,
} as const
export const HEADER_NAMES: readonly string[] = Object.keys(BITS)
const NOT_OURS = 0

type ReadHeaders =
  | { readonly ok: true; readonly headers: RequestHeaders }
  | { readonly ok: false; readonly repeated: string }

/** State of `readHeaders`. uWebSockets.js calls back synchronously, so that one callback serves all requests. */
let reading = noHeaders()
let repeated = ''
let seen = 0
const readHeader = (name: string, value: string): void => {
  const bit = keep(name, value)
  if ((seen & bit) !== 0) repeated = name
  seen |= bit
}

/**
 * Keeps the header if we need it, and returns its bit. By length first, so that few strings are compared; a table of
 * names and fields would cost 60 ns more per request.
 */
function keep(name: string, value: string): number {
  switch (name.length) {
    case 4:
      if (name !== 'host') return NOT_OURS
      reading.host = value
      return BITS.host
    case 9:
      if (name !== 'x-api-key') return NOT_OURS
      reading.apiKey = value
      return BITS['x-api-key']
    case 11:
      if (name !== 'traceparent') return NOT_OURS
      reading.traceparent = value
      return BITS.traceparent
    case 12:
      if (name !== 'content-type') return NOT_OURS
      reading.contentType = value
      return BITS['content-type']
    case 13:
      if (name !== 'authorization') return NOT_OURS
      reading.authorization = value
      return BITS.authorization
    case 14:
      if (name !== 'content-length') return NOT_OURS
      reading.contentLength = value
      return BITS['content-length']
    case 15:
      if (name === 'idempotency-key') {
        reading.idempotencyKey = value
        return BITS['idempotency-key']
      }
      // Each proxy may add a field of its own.
      if (name === 'x-forwarded-for') reading.forwardedFor += reading.forwardedFor === '' ? value : `,${value}`
      return NOT_OURS
    case 16:
      if (name !== 'content-encoding') return NOT_OURS
      reading.contentEncoding = value
      return BITS['content-encoding']
    case 17:
      if (name !== 'transfer-encoding') return NOT_OURS
      reading.transferEncoding = value
      return BITS['transfer-encoding']
    default:
      return NOT_OURS
  }
}

// Two headers of one bit would be refused as one that is repeated, one without a bit never.
for (const [name, bit] of Object.entries(BITS)) {
  if (keep(name, '') !== bit || (seen & bit) !== 0) throw new RangeError(`the header ${name} has no bit of its own`)
  seen |= bit
}

/**
 * Reads the headers in one pass. `getHeader` would show only the first of several equal fields, so
 * duplicates are detected here and refused: two hops could otherwise each use a different one.
 */
export function readHeaders(request: Pick<HttpRequest, 'forEach'>): ReadHeaders {
  reading = noHeaders()
  repeated = ''
  seen = 0
  request.forEach(readHeader)
  return repeated === '' ? { ok: true, headers: reading } : { ok: false, repeated }
}
