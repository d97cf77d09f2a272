import type { PassedOver } from './inference-spans.js'
import type { MappingContext, Missing, SpanEvent } from './span-events.js'
import type { Telemetry } from './telemetry.js'

/** What a log record is, or a span of an agent. */
export type MappedRecord =
  | {
      readonly kind: 'call'
      readonly event: SpanEvent
      /** Whether its stated cost is known to leave a part out: it is shown, and the price counts. */
      readonly isCostUntrusted?: boolean
      /** By which another record of the request may add to it. */
      readonly detailsKey?: string
    }
  | { readonly kind: 'missing'; readonly what: Missing }
  | {
      readonly kind: 'passed_over'
      readonly reason: PassedOver
      /** An id of the call that another record of the request states. */
      readonly tells?: { readonly detailsKey: string; readonly responseId: string }
    }

/** @returns undefined for a record of another kind */
export type LogMapper = (record: Telemetry, context: MappingContext) => MappedRecord | undefined
