import { Ajv, type ErrorObject, str } from 'ajv'
import { z } from 'zod'
import type { FieldError } from '../problems/catalogue.js'
import { parseInstant } from '../units/instant.js'
import { type InvocationEvent, invocationEvent, isContentKey } from './schema.js'

export type Validation =
  | { readonly ok: true; readonly event: InvocationEvent; readonly eventTimeMs: number; readonly unknownFields: number }
  | { readonly ok: false; readonly errors: readonly FieldError[] }

/** An event's time may lie this far ahead of the clock that receives it. Old times are stale, not wrong. */
const FUTURE_MS_MAX = 24 * 60 * 60 * 1000
/** Before it a time is a producer's mistake, and the read model's columns begin there. */
const EARLIEST_MS = Date.UTC(1970, 0, 1)
const DEPTH_MAX = 16
const ERRORS_MAX = 20

const ajv = new Ajv({
  allErrors: true,
  // Counting UTF-16 units is three times as fast as code points; `bytesMax` counts exactly.
  unicode: false,
  // It says on the console that the option above is deprecated.
  logger: false,
  strict: true,
  allowUnionTypes: true,
})
ajv.addKeyword({
  keyword: 'bytesMax',
  type: 'string',
  validate: (bytesMax: number, text: string) => text.length * 3 <= bytesMax || Buffer.byteLength(text) <= bytesMax,
  error: { message: ({ schemaCode }) => str`must have at most ${schemaCode} bytes` },
})
ajv.addKeyword({
  keyword: 'instant',
  type: 'string',
  validate: (_: boolean, text: string) => parseInstant(text) !== undefined,
})

// `io: input` leaves unknown properties allowed: they are ignored, never stored (design section 7).
const isInvocationEvent = ajv.compile<InvocationEvent>(
  z.toJSONSchema(invocationEvent, { io: 'input', target: 'draft-7' }) as object,
)
const KNOWN_FIELDS = new Set(Object.keys(invocationEvent.shape))

/**
 * Checks one event against schema v1.
 *
 * @param value a parsed JSON value
 * @returns the event, or what is wrong with it: pointers and reasons, never values
 */
export function validateInvocation(value: unknown, nowMs: number): Validation {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { ok: false, errors: [{ pointer: '', detail: 'must be a JSON object' }] }
  }
  const errors: FieldError[] = []
  let unknownFields = 0
  for (const key in value) {
    const isKnown = KNOWN_FIELDS.has(key)
    if (!isKnown) unknownFields++
    const field = (value as Record<string, unknown>)[key]
    if (!isKnown && isContentKey(key)) errors.push(contentError(key))
    else if (typeof field === 'object' && field !== null) collectContentKeys(field, pointerTo('', key), 1, errors)
  }

  if (!isInvocationEvent(value)) errors.push(...(isInvocationEvent.errors ?? []).map(fieldError))
  if (errors.length > 0) return { ok: false, errors: withoutRepeats(errors).slice(0, ERRORS_MAX) }

  const event = value as InvocationEvent
  const eventTimeMs = parseInstant(event.ingestion_timestamp) ?? 0
  if (eventTimeMs > nowMs + FUTURE_MS_MAX || eventTimeMs < EARLIEST_MS) {
    const detail = 'must lie between 1970 and 24 hours from now'
    return { ok: false, errors: [{ pointer: '/ingestion_timestamp', detail }] }
  }
  return { ok: true, event, eventTimeMs, unknownFields }
}

const contentError = (key: string, parent = ''): FieldError => ({
  pointer: pointerTo(parent, key),
  detail: 'prompt and completion content is not accepted',
})

function collectContentKeys(value: object, pointer: string, depth: number, errors: FieldError[]): void {
  if (depth > DEPTH_MAX) {
    errors.push({ pointer, detail: `must not be nested more than ${DEPTH_MAX} deep` })
    return
  }
  for (const [key, inner] of Object.entries(value)) {
    if (errors.length >= ERRORS_MAX) return
    if (!Array.isArray(value) && isContentKey(key)) errors.push(contentError(key, pointer))
    else if (typeof inner === 'object' && inner !== null)
      collectContentKeys(inner, pointerTo(pointer, key), depth + 1, errors)
  }
}

/** A key that the sender chose could hold content itself, so that only a short plain one is named. */
const pointerTo = (parent: string, key: string): string => `${parent}/${/^[\w.-]{1,64}$/.test(key) ? key : '(unnamed)'}`

function fieldError(error: ErrorObject): FieldError {
  const pointer = safePointer(error.instancePath)
  switch (error.keyword) {
    case 'required':
      return { pointer: `${pointer}/${String(error.params['missingProperty'])}`, detail: 'is required' }
    case 'instant':
      return { pointer, detail: 'must be an RFC 3339 time in UTC' }
    case 'pattern':
      return { pointer, detail: 'does not have the required form' }
    default:
      return { pointer, detail: error.message ?? 'is not valid' }
  }
}

/** `tags` has keys that the sender chose, and that could hold content as well as a value could. */
const safePointer = (pointer: string): string => (pointer.startsWith('/tags/') ? '/tags' : pointer)

/** A nullable field fails as a whole and in each of its alternatives; the first reason per place is enough. */
function withoutRepeats(errors: readonly FieldError[]): FieldError[] {
  const seen = new Set<string>()
  return errors.filter(({ pointer }) => !seen.has(pointer) && seen.add(pointer))
}
