import type { FieldError } from '../../problems/problem-catalogue.js'
import { compileSchema } from '../../text/compile-schema.js'
import { screenContent } from '../../text/content-keys.js'
import { EVENT_TIME_RANGE, readEventTime } from '../../text/event-time.js'
import { fieldError, firstOfEachPlace } from '../../text/field-errors.js'
import { dataFault } from './data-limits.js'
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
