import { createHash } from 'node:crypto'
import { TAGS_MAX } from '../../invocations/invocation-schema.js'
import { isContentKey } from '../../text/content-keys.js'
import { hasBytesAtMost, isPlainText } from '../../text/plain-text.js'
import type { Selected } from '../../text/select-json.js'

/** Builds event fields from untrusted values: one that does not fit is absent and costs no other field. */

const NAME_BYTES_MAX = 256
const TAG_KEY_BYTES_MAX = 64
/** Proxies write it where they know nothing. */
const NOTHING = new Set(['', '-', 'none', 'null', 'undefined', 'unknown', 'n/a'])
const NOTHING_MAX = 'undefined'.length

/** The first that is a name. */
export function nameOf(...values: readonly unknown[]): string | undefined {
  for (const value of values) {
    if (typeof value !== 'string') continue
    const name = withoutControls(value.trim())
    const isNothing = name.length <= NOTHING_MAX && NOTHING.has(name.toLowerCase())
    if (!isNothing && isPlainText(name) && hasBytesAtMost(name, NAME_BYTES_MAX)) return name
  }
  return undefined
}

/** Without control characters, of which somebody else's program may leave one: but lines of a text are no name. */
const withoutControls = (name: string): string =>
  isPlainText(name) || /\s/.test(name) ? name : name.replace(CONTROLS, '')
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are taken out
const CONTROLS = /[\u0000-\u001f\u007f-\u009f]+/g

/** Longer text is no id of anything. */
const ID_CHARACTERS_MAX = 16_384

/**
 * The first that is an id, to the letter. One that is too long for an event becomes its SHA-256, so that all who state it still state
 * the same: LiteLLM packs a deployment into ids of responses, some 400 characters.
 */
export function idOf(...values: readonly unknown[]): string | undefined {
  for (const value of values) {
    if (typeof value !== 'string' || value.length > ID_CHARACTERS_MAX) continue
    const id = value.trim()
    if (!isPlainText(id)) continue
    const name = nameOf(id)
    if (name !== undefined) return name
    if (!hasBytesAtMost(id, NAME_BYTES_MAX)) return `sha256:${createHash('sha256').update(id).digest('hex')}`
  }
  return undefined
}

/** The first that is a count; also as text, as logs of proxies have it. */
export function countOf(...values: readonly unknown[]): number | undefined {
  for (const value of values) {
    const count = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value
    if (typeof count === 'number' && Number.isSafeInteger(count) && count >= 0) return count
  }
  return undefined
}

/** Zero of a part says no more than that it is absent. */
export const aboveZero = (count: number | undefined): number | undefined => (count === 0 ? undefined : count)

/** The members of an object; none of anything else. */
export const objectOf = (value: unknown): Selected =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Selected) : {}

/** Seconds since the epoch, or a time as text. @returns milliseconds since the epoch */
export function instantOf(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? wholeMs(value) : undefined
  if (typeof value !== 'string') return undefined
  if (/^\d{1,11}(\.\d+)?$/.test(value)) return wholeMs(Number(value))
  const match = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d(?:\.\d{1,9})?) ?(Z|[+-]\d\d:?\d\d|UTC)?$/.exec(value)
  if (match === null) return undefined
  const [, date, time, zone = 'Z'] = match
  const instant = Date.parse(`${date}T${time}${zone === 'UTC' ? 'Z' : zone.replace(/^([+-]\d\d)(\d\d)$/, '$1:$2')}`)
  return Number.isNaN(instant) ? undefined : instant
}

/** Cut, as tables cut it, after rounding to the microsecond: a double of 0.251 s is a little less. */
const wholeMs = (seconds: number): number => Math.floor(Math.round(seconds * 1_000_000) / 1_000)

/** @returns RFC 3339 in UTC; undefined for an instant that no call can have */
export function timeText(instantMs: number | undefined): string | undefined {
  return instantMs === undefined || !(instantMs > 0 && instantMs < 8e14) ? undefined : new Date(instantMs).toISOString()
}

/** No call takes longer: one of the two instants is wrong. */
const ELAPSED_MS_MAX = 7 * 24 * 60 * 60 * 1_000

/** @returns undefined unless both are known and in order */
export function elapsedMs(startMs: number | undefined, endMs: number | undefined): number | undefined {
  const elapsed = Math.round((endMs ?? Number.NaN) - (startMs ?? Number.NaN))
  return elapsed >= 0 && elapsed <= ELAPSED_MS_MAX ? elapsed : undefined
}

/** Parts of names under which callers send people. */
const PERSONAL =
  /(?:^|[._-])(?:user|user_?id|user_?name|email|mail|name|phone|ip|address|session|account)(?:$|[._-](?!agent))/i

/** What programs and proxies put on a request, in headers or metadata: it says nothing of who or what it was for. */
const NOISE = new Set(
  (
    'accept accept-encoding accept-language api-key authorization baggage cache-control connection content-encoding ' +
    'content-length content-type cookie host traceparent tracestate transfer-encoding via x-api-key x-correlation-id ' +
    'x-real-ip x-request-id'
  ).split(' '),
)
const NOISE_PREFIX = /^(?:x-(?:stainless|forwarded|envoy|b3|amzn?|datadog)|cf|sec)-/

/** How mapping rules know what a client says of itself, by whatever name its sender has for it. */
const USER_AGENT = /^user-?agent(?:-?original)?$/

/**
 * What callers wrote about a call, as tags below `caller.`. Tags are kept as they are, which nobody has asked these
 * callers: what looks like a person is left out, and so is what nobody wrote.
 */
export function* callerTags(pairs: Iterable<readonly [key: string, value: unknown]>): Generator<[string, unknown]> {
  for (const [key, value] of pairs) {
    const header = key.toLowerCase().replace(/[_.\s]/g, '-')
    const isPersonal = PERSONAL.test(key) || (typeof value === 'string' && value.includes('@'))
    if (isPersonal || NOISE.has(header) || NOISE_PREFIX.test(header)) continue
    yield [USER_AGENT.test(header) ? 'caller.user-agent' : `caller.${key}`, value]
  }
}

/** Tags of those pairs that fit; the first ones, as many as an event may have. */
export function tagsOf(pairs: Iterable<readonly [key: string, value: unknown]>): Record<string, string> | undefined {
  const tags = new Map<string, string>()
  for (const [key, raw] of pairs) {
    if (tags.size === TAGS_MAX) break
    const value = nameOf(typeof raw === 'number' || typeof raw === 'boolean' ? String(raw) : raw)
    const isKey = key !== '' && isPlainText(key) && hasBytesAtMost(key, TAG_KEY_BYTES_MAX) && !isContentKey(key)
    if (value !== undefined && isKey && !tags.has(key)) tags.set(key, value)
  }
  return tags.size === 0 ? undefined : Object.fromEntries(tags)
}
