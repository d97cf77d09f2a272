import { isAscii, isUtf8 } from 'node:buffer'
import { BULK_BYTES_MAX, BULK_EVENTS_MAX, EVENT_BYTES_MAX } from '../../invocations/limits.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import { OPEN_ARRAY, OPEN_OBJECT } from '../../text/json-scanner.js'
import type { EventText } from '../admission/check-event.js'
import { OTHER_CODING, unpackerOf } from '../bodies/content-coding.js'
import { findElements, holdsSeveral } from './body-elements.js'
import { EventRanges, skipBlanks, skipBlanksInTurns } from './event-ranges.js'
import { type UnpackingFor, unpack } from './unpack.js'

/** One event of a bulk body. */
export interface BulkItem extends EventText {
  readonly index: number
  /** PAYLOAD_TOO_LARGE; it then has no value. */
  readonly problem: Problem | undefined
  /** False: the cost that it states does not count, also of a sender that is trusted. */
  readonly trustsCost?: false | undefined
}

export interface BulkItems extends Iterable<BulkItem> {
  readonly count: number
}

export type BulkBody =
  /** At least one event. Use an item before requesting the next one. */
  | { readonly kind: 'bulk'; readonly items: BulkItems }
  /** `application/json` that is one object: one event, unpacked but not parsed, at most `EVENT_BYTES_MAX`. */
  | { readonly kind: 'event'; readonly bytes: Buffer }
  | { readonly kind: 'refused'; readonly problem: Problem }

/** Begins a pass over a body, and then reads each value that is no event as the line of a shipper, in their order. */
export type ShippedRows = () => (value: unknown) => unknown

export interface SentBody {
  readonly headers: BodyHeaders
  /** Must not change any more: a chunk that uWebSockets.js lent has to be copied first. */
  readonly bytes: Buffer
  readonly shippedRows: ShippedRows
}

export interface BodyHeaders {
  readonly contentType: string
  readonly contentEncoding: string
}

type MediaType = 'json' | 'ndjson'

export const isReadable = (contentType: string): boolean => mediaTypeOf(contentType) !== undefined

/**
 * Whether a body must go through `openBulkBody`. False is the hot path: plain JSON that is no array, of an event's
 * length. Unsupported header values count as bulk, which refuses them.
 */
export function isBulk({ contentType, contentEncoding }: BodyHeaders, bytes: Buffer): boolean {
  if (bytes.length > EVENT_BYTES_MAX || contentEncoding !== '' || mediaTypeOf(contentType) !== 'json') return true
  return bytes[skipBlanks(bytes, 0, bytes.length)] === OPEN_ARRAY
}

/**
 * How the headers have the body read, as part of its fingerprint: the same bytes read differently are another body.
 * Plain JSON is 0, whose fingerprint is that of its bytes.
 */
export function readingOf({ contentType, contentEncoding }: BodyHeaders): number {
  const unpacker = unpackerOf(contentEncoding)
  const coding = unpacker === undefined || unpacker === 'plain' ? 0 : READING_OF[unpacker.coding]
  return (mediaTypeOf(contentType) === 'ndjson' ? 1 : 0) + coding
}
const READING_OF = { gzip: 2, deflate: 4, zstd: 8 } as const

/**
 * Reads the body of a bulk request: NDJSON, a JSON array or concatenated JSON, plain or packed.
 *
 * Finds where each event begins and ends and parses none, so that the caller can process the events in slices. What is
 * wrong with one event rejects that event, wherever it stands; an exceeded limit refuses the request:
 * PAYLOAD_TOO_LARGE, MALFORMED_REQUEST (packed), UNSUPPORTED_MEDIA_TYPE, and VALIDATION_FAILED when there is no event.
 *
 * Besides the body and its unpacked form it holds 8 bytes per event. Unpacking and the search yield to the event loop.
 *
 * @param request holds the unpacked form; without memory for it: RATE_LIMITED
 */
export async function openBulkBody(sent: SentBody, request: UnpackingFor): Promise<BulkBody> {
  const { headers, bytes, shippedRows } = sent
  const mediaType = mediaTypeOf(headers.contentType)
  if (mediaType === undefined) {
    return refused('UNSUPPORTED_MEDIA_TYPE', 'Send application/json or application/x-ndjson.')
  }
  const unpacker = unpackerOf(headers.contentEncoding)
  if (unpacker === undefined) return { kind: 'refused', problem: OTHER_CODING }
  if (bytes.length > BULK_BYTES_MAX) {
    return refused('PAYLOAD_TOO_LARGE', `The body may have at most ${BULK_BYTES_MAX} bytes.`)
  }
  if (unpacker === 'plain' || bytes.length === 0) return findEvents(mediaType, bytes, shippedRows)
  const unpacked = await unpack(bytes, unpacker, BULK_BYTES_MAX, request)
  if (!unpacked.ok) return { kind: 'refused', problem: unpacked.problem }
  return findEvents(mediaType, unpacked.bytes, shippedRows)
}

function mediaTypeOf(contentType: string): MediaType | undefined {
  if (contentType === 'application/json' || /^application\/json\s*(;|$)/i.test(contentType)) return 'json'
  if (LINES.test(contentType)) return 'ndjson'
  return undefined
}

/** The names that senders have for NDJSON. */
const LINES = /^application\/(x-)?(ndjson|jsonl|jsonlines|json-lines)\s*(;|$)/i

/** Whether JSON without an Idempotency-Key is NDJSON all the same: several objects, or one whose line ends. */
export function holdsLines(bytes: Buffer): boolean {
  const begin = skipBlanks(bytes, 0, bytes.length)
  const isLine = bytes[begin] === OPEN_OBJECT && bytes[bytes.length - 1] === LINE_FEED
  return isLine || holdsSeveral(bytes)
}
const LINE_FEED = 0x0a

/** The body of a bulk request, whose events are one per line or one behind the other. */
export const linesIn = (bytes: Buffer, shippedRows: ShippedRows): Promise<BulkBody> =>
  findEvents('ndjson', bytes, shippedRows)

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])

async function findEvents(mediaType: MediaType, bytes: Buffer, shippedRows: ShippedRows): Promise<BulkBody> {
  // Some programs put a mark before a text in UTF-8.
  const begin = await skipBlanksInTurns(bytes, bytes.indexOf(BYTE_ORDER_MARK) === 0 ? 3 : 0, bytes.length)
  if (begin === bytes.length) return noEvents()
  const isLines = mediaType === 'ndjson'
  const mayBeOne = !isLines && bytes[begin] !== OPEN_ARRAY
  const isShort = bytes.length <= EVENT_BYTES_MAX
  if (mayBeOne && isShort && !holdsSeveral(bytes)) return { kind: 'event', bytes }
  const ranges = new EventRanges()
  if (!(await findElements(bytes, begin, isLines, ranges))) return tooMany()
  if (mayBeOne && !isShort && ranges.count === 1) return { kind: 'refused', problem: EVENT_TOO_LARGE }
  return ranges.count === 0 ? noEvents() : bulk(bytes, ranges, shippedRows)
}

const bulk = (bytes: Buffer, ranges: EventRanges, shippedRows: ShippedRows): BulkBody => ({
  kind: 'bulk',
  items: { count: ranges.count, [Symbol.iterator]: () => itemsOf(ranges, new Item(bytes, shippedRows())) },
})

function* itemsOf(ranges: EventRanges, item: Item): Generator<BulkItem, void> {
  for (let index = 0; index < ranges.count; index++) {
    item.index = index
    item.start = ranges.start(index)
    item.end = ranges.end(index)
    yield item
  }
}

/** The current item, reused: one object less per event. */
class Item implements BulkItem {
  readonly bytes: Buffer
  index = 0
  start = 0
  end = 0
  private texts: Texts | undefined
  readonly shipped: (value: unknown) => unknown

  constructor(bytes: Buffer, shipped: (value: unknown) => unknown) {
    this.bytes = bytes
    this.shipped = shipped
  }

  get problem(): Problem | undefined {
    return this.end - this.start > EVENT_BYTES_MAX ? EVENT_TOO_LARGE : undefined
  }

  value(): unknown {
    if (this.problem !== undefined) return undefined
    this.texts ??= new Texts(this.bytes)
    const text = this.texts.text(this.start, this.end)
    if (text === undefined) return undefined
    try {
      return JSON.parse(text) as unknown
    } catch {
      return undefined
    }
  }
}

/** Substrings of a body, read in order. */
class Texts {
  private readonly bytes: Buffer
  private readonly isAllUtf8: boolean
  /** Characters of ASCII stand where their bytes do: many events become one string, of which each is a part. */
  private readonly ascii: AsciiWindow | undefined

  constructor(bytes: Buffer) {
    this.bytes = bytes
    this.isAllUtf8 = isUtf8(bytes)
    this.ascii = isAscii(bytes) ? new AsciiWindow(bytes) : undefined
  }

  /** @returns undefined for invalid UTF-8 */
  text(start: number, end: number): string | undefined {
    if (this.ascii !== undefined) return this.ascii.text(start, end)
    if (!this.isAllUtf8 && !isUtf8(this.bytes.subarray(start, end))) return undefined
    return this.bytes.toString('utf8', start, end)
  }
}

/** Substrings of an ASCII body, in order. One string of it all would be a large object: slower than decoding. */
class AsciiWindow {
  private readonly bytes: Buffer
  private start = 0
  private window = ''

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  text(start: number, end: number): string {
    if (end > this.start + this.window.length) {
      this.start = start
      this.window = this.bytes.toString('latin1', start, Math.max(end, start + WINDOW_BYTES))
    }
    return this.window.slice(start - this.start, end - this.start)
  }
}
const WINDOW_BYTES = 32 * 1024

const EVENT_TOO_LARGE = problem('PAYLOAD_TOO_LARGE', `An event may have at most ${EVENT_BYTES_MAX} bytes.`)

const refused = (code: Problem['code'], detail: string, errors?: Problem['errors']): BulkBody => ({
  kind: 'refused',
  problem: problem(code, detail, { errors }),
})

const noEvents = (): BulkBody =>
  refused('VALIDATION_FAILED', 'The body holds no event.', [{ pointer: '', detail: 'must hold at least one event' }])

const tooMany = (): BulkBody => refused('PAYLOAD_TOO_LARGE', `The body may hold at most ${BULK_EVENTS_MAX} events.`)
