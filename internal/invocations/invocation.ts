import type { CamelCase } from '../text/straight-line.js'
import type { InvocationEvent } from './invocation-schema.js'

/**
 * One AI model call as the pipeline sees it: the fields of the event's schema in camelCase, checked at admission, and
 * nothing else. No field could hold a prompt or a completion. Absent means unknown, never zero.
 */
export type Invocation = {
  readonly [Field in keyof InvocationEvent as Field extends 'ingestion_timestamp' ? never : CamelCase<Field>]: Exclude<
    InvocationEvent[Field],
    null
  >
} & {
  /** The call's own time, milliseconds since the epoch, UTC (`ingestion_timestamp` on the wire). */
  readonly eventTimeMs: number
}
