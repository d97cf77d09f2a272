import type { FieldError } from '../problems/problem-catalogue.js'
import { compileSchema } from '../text/compile-schema.js'
import { screenContent } from '../text/content-keys.js'
import { EVENT_TIME_RANGE, PAST_RETENTION, readEventTime } from '../text/event-time.js'
import { fieldError, firstOfEachPlace } from '../text/field-errors.js'
import { type InvocationEvent, invocationEvent } from './invocation-schema.js'
import { withProviderUsage } from './provider-usage.js'

export type Validation =
  | {
      readonly ok: true
      readonly event: InvocationEvent
      readonly eventTimeMs: number
      readonly unknownFields: number
      readonly shape: TextShape
    }
  | { readonly ok: false; readonly errors: readonly FieldError[] }

/** Facts about the text that an event was parsed from, if the text holds only fields that are kept. */
export interface TextShape {
  /** Members, of which each is named once. */
  readonly members: number
  /** Bytes, if it has no blanks and no escapes; NaN when that is not certain. */
  readonly bytesMin: number
}

/** Of a text that does hold more: unknown fields, nulls, a provider's usage object, values in another form. */
export const NO_SHAPE: TextShape = { members: -1, bytesMin: Number.NaN }

const errorsOf = compileSchema(invocationEvent)
const KNOWN_FIELDS = new Set(Object.keys(invocationEvent.shape))

/**
 * Checks one event against schema v1.
 *
 * @param value a parsed JSON value
 * @param retainedFromMs calls before this instant would be deleted at once
 * @returns the event, or its errors: pointers and reasons, never values
 */
export function validateInvocation(value: unknown, nowMs: number, retainedFromMs = 0): Validation {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { ok: false, errors: [{ pointer: '', detail: 'must be a JSON object' }] }
  }
  const { unknownFields, nulls, members, textLengthMin, errors } = screenContent(value, KNOWN_FIELDS)
  for (const error of errorsOf(value)) errors.push(fieldError(error, 'tags'))
  if (errors.length > 0) return { ok: false, errors: firstOfEachPlace(errors) }

  const event = value as InvocationEvent
  const eventTimeMs = readEventTime(event.ingestion_timestamp, nowMs)
  if (eventTimeMs === undefined) {
    return { ok: false, errors: [{ pointer: '/ingestion_timestamp', detail: EVENT_TIME_RANGE }] }
  }
  if (eventTimeMs < retainedFromMs) {
    return { ok: false, errors: [{ pointer: '/ingestion_timestamp', detail: PAST_RETENTION }] }
  }
  if (event.provider_usage != null) {
    return { ok: true, event: withProviderUsage(event), eventTimeMs, unknownFields, shape: NO_SHAPE }
  }
  const shape = unknownFields + nulls === 0 ? { members, bytesMin: textLengthMin } : NO_SHAPE
  return { ok: true, event, eventTimeMs, unknownFields, shape }
}
