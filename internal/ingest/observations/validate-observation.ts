import type { FieldError } from '../../problems/problem-catalogue.js'
import { compileSchema } from '../../text/compile-schema.js'
import { screenContent } from '../../text/content-keys.js'
import { EVENT_TIME_RANGE, readEventTime } from '../../text/event-time.js'
import { fieldError, firstOfEachPlace } from '../../text/field-errors.js'
import { hasBytesAtMost, PLAIN_TEXT } from '../../text/plain-text.js'
import { type ObservationEvent, observationEvent } from './observation-schema.js'

export type ObservationValidation =
  | {
      readonly ok: true
      /** The schema's fields only, the event_id in lower case, without nulls. */
      readonly event: ObservationEvent
      readonly occurredAtMs: number
      readonly unknownFields: number
    }
  | { readonly ok: false; readonly errors: readonly FieldError[] }

const errorsOf = compileSchema(observationEvent)
const KNOWN_FIELDS = new Set(Object.keys(observationEvent.shape))

/**
 * Checks one observability event.
 *
 * @param value a parsed JSON value
 * @returns the event as it may be stored, or what is wrong with it: pointers and reasons, never values
 */
export function validateObservation(value: unknown, nowMs: number): ObservationValidation {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { ok: false, errors: [{ pointer: '', detail: 'must be a JSON object' }] }
  }
  const { unknownFields, errors } = screenContent(value, KNOWN_FIELDS)
  for (const error of errorsOf(value)) errors.push(fieldError(error, 'data'))
  if (errors.length > 0) return { ok: false, errors: firstOfEachPlace(errors) }

  const event = value as ObservationEvent
  const fault = dataFault(event.data)
  if (fault !== undefined) return { ok: false, errors: [{ pointer: '/data', detail: fault }] }
  const occurredAtMs = readEventTime(event.occurred_at, nowMs)
  if (occurredAtMs === undefined) {
    return { ok: false, errors: [{ pointer: '/occurred_at', detail: EVENT_TIME_RANGE }] }
  }
  return { ok: true, event: keptOf(event), occurredAtMs, unknownFields }
}

const keptOf = ({ event_id, type, occurred_at, source, trace_id, data }: ObservationEvent): ObservationEvent => ({
  event_id: event_id.toLowerCase(),
  type,
  occurred_at,
  source,
  ...(trace_id === undefined || trace_id === null ? {} : { trace_id }),
  data,
})

/** `data` itself is the first level. */
export const DATA_DEPTH_MAX = 5
export const DATA_KEYS_MAX = 64
export const DATA_KEY_BYTES_MAX = 64
export const DATA_TEXT_BYTES_MAX = 256
/** As the JSON that is stored, without white space. */
export const DATA_BYTES_MAX = 8 * 1024

/**
 * Checks the limits of an event's `data` that a schema cannot express: its total size, and that nothing in it is long
 * enough to carry a prompt.
 *
 * @param data of a parsed JSON body
 * @returns the first reason against it, which names neither a key nor a value; undefined when there is none
 */
function dataFault(data: object): string | undefined {
  const count = { keys: 0 }
  const fault = faultWithin(data, 1, count)
  if (fault !== undefined) return fault
  return Buffer.byteLength(JSON.stringify(data)) > DATA_BYTES_MAX
    ? `must have at most ${DATA_BYTES_MAX} bytes as JSON`
    : undefined
}

/** Goes no deeper than the limit, and no further than its first finding. */
function faultWithin(value: object, depth: number, count: { keys: number }): string | undefined {
  if (depth > DATA_DEPTH_MAX) return `must not be nested more than ${DATA_DEPTH_MAX} deep`
  const hasKeys = !Array.isArray(value)
  for (const [key, inner] of Object.entries(value) as [string, unknown][]) {
    if (hasKeys) {
      if (++count.keys > DATA_KEYS_MAX) return `must have at most ${DATA_KEYS_MAX} keys in all`
      if (key === '' || !isShort(key, DATA_KEY_BYTES_MAX)) {
        return `must have keys of 1 to ${DATA_KEY_BYTES_MAX} bytes without control characters`
      }
    }
    const fault = valueFault(inner, depth, count)
    if (fault !== undefined) return fault
  }
  return undefined
}

function valueFault(value: unknown, depth: number, count: { keys: number }): string | undefined {
  if (typeof value === 'string' && !isShort(value, DATA_TEXT_BYTES_MAX)) {
    return `must have texts of at most ${DATA_TEXT_BYTES_MAX} bytes without control characters`
  }
  // JSON.parse turns 1e999 into Infinity, which JSON cannot represent.
  if (typeof value === 'number' && !Number.isFinite(value)) return 'must have finite numbers'
  return typeof value === 'object' && value !== null ? faultWithin(value, depth + 1, count) : undefined
}

const isShort = (text: string, bytesMax: number): boolean => hasBytesAtMost(text, bytesMax) && PLAIN_TEXT.test(text)

const SIGNS = [
  /(?:^|[._])(?:model|requested_model|served_model|model_name|model_id)$/i,
  /(?:^|[._])(?:prompt|completion|input|output|total|cached|reasoning)_?tokens?$/i,
  /(?:^|[._])(?:cost|spend|response_cost|total_cost|cost_usd|estimated_cost_usd)$/i,
] as const

/** Two of a model, tokens and a cost make a call of a model. */
const SIGNS_MIN = 2
const DEPTH_MAX = 4

/**
 * Whether an observation looks like a call of a model, of which no record would ever come. It looks at names only, also
 * at those that are not kept: a payload of a gateway's callback has them at the top, or within `data`.
 */
export function looksLikeCall(value: unknown): boolean {
  const seen = new Set<RegExp>()
  look(value, 0, seen)
  return seen.size >= SIGNS_MIN
}

function look(value: unknown, depth: number, seen: Set<RegExp>): void {
  if (typeof value !== 'object' || value === null || depth > DEPTH_MAX) return
  for (const [name, inner] of Object.entries(value)) {
    if (inner !== null) for (const sign of SIGNS) if (sign.test(name)) seen.add(sign)
    if (seen.size >= SIGNS_MIN) return
    look(inner, depth + 1, seen)
  }
}

/** Where to send it instead. */
export const SEND_CALLS_ELSEWHERE =
  'This looks like a model call. Observations never become records: send calls to POST /api/v1/invocations, and ' +
  'payloads of gateways such as LiteLLM unchanged to POST /intake/<source> on the intake port.'
