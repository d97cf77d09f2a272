import { countOf, idOf } from '../adapters/fields.js'
import { eventIdOf } from '../intake/event-id.js'
import { detailsKey, eventNameOf } from './agent-calls.js'
import { agentOf } from './agents.js'
import { namesModel, passedOver, statesUsage } from './inference-spans.js'
import type { LogMapper, MappedRecord } from './mapped-record.js'
import { callEvent, hasUsage, type SpanEvent } from './span-events.js'
import { FACT } from './span-facts.js'
import type { Telemetry } from './telemetry.js'

/** OpenTelemetry's GenAI event of one call, which states what the call's span states and stands within it. */
const DETAILS = 'gen_ai.client.inference.operation.details'

/** That event, or any other record that states a model and its usage in OpenTelemetry's words. */
export const inferenceDetails: LogMapper = (record, context) => {
  const { facts } = record
  const isDetails = eventNameOf(record) === DETAILS
  if (!isDetails && !(namesModel(facts) && statesUsage(facts))) return undefined
  const responseId = idOf(facts.get(FACT.responseId))
  if (agentOf(record)?.areDetailsTold === true) {
    if (responseId === undefined) return SAME_CALL
    return { ...SAME_CALL, tells: { detailsKey: detailsKey(record), responseId } }
  }
  const reason = passedOver(record)
  if (reason !== undefined) return { kind: 'passed_over', reason }
  const isOfSpan = isDetails && record.traceId !== '' && record.spanId !== ''
  const id = isOfSpan ? spanEventId(record, context.tenantId) : statedId(record, context.tenantId, responseId)
  const event = callEvent(record, context, id)
  if (typeof event === 'string') return { kind: 'missing', what: event }
  if (hasUsage(event)) {
    const call = { ...event, outcome: event.outcome ?? 'success' }
    return { kind: 'call', event: isDetails ? call : withinSpan(call) }
  }
  if (event.outcome === 'error') return { kind: 'passed_over', reason: 'failed_without_usage' }
  // Gemini CLI and its copies also write one before the request, which has no answer yet.
  return responseId === undefined ? SAME_CALL : { kind: 'call', event }
}

/** A span may hold several records of an application's own: each is a call beside the span, not that of the span. */
const withinSpan = (call: SpanEvent): SpanEvent => ({ ...call, span_id: undefined, parent_span_id: call.span_id })

const SAME_CALL: MappedRecord & { kind: 'passed_over' } = { kind: 'passed_over', reason: 'same_call' }

/** That of the span around it, which is the same call. */
const spanEventId = ({ traceId, spanId }: Telemetry, tenantId: string): string =>
  eventIdOf(tenantId, 'span', traceId, ':', spanId)

/** By the response, else by what the record states. */
function statedId({ traceId, spanId, startMs, facts }: Telemetry, tenantId: string, responseId: string | undefined) {
  if (responseId !== undefined) return eventIdOf(tenantId, 'inference-details', responseId)
  const counts = [FACT.inputTokens, FACT.outputTokens].map((fact) => String(countOf(facts.get(fact))))
  const session = String(facts.get(FACT.session))
  const within = spanId === '' ? [] : [traceId, ':', spanId, ':']
  return eventIdOf(tenantId, 'inference-details', ...within, session, ':', String(startMs), ':', counts.join(':'))
}
