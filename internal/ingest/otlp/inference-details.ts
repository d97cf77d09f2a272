import { countOf, idOf } from '../adapters/fields.js'
import { eventIdOf } from '../intake/event-id.js'
import { detailsKey, eventNameOf } from './agent-calls.js'
import { agentOf } from './agents.js'
import { passedOver } from './inference-spans.js'
import type { LogMapper, MappedRecord } from './mapped-record.js'
import { callEvent, hasUsage } from './span-events.js'
import { FACT } from './span-facts.js'
import type { Telemetry } from './telemetry.js'

/** OpenTelemetry's GenAI event of one call, which states what the call's span states and stands within it. */
const DETAILS = 'gen_ai.client.inference.operation.details'

export const inferenceDetails: LogMapper = (record, context) => {
  if (eventNameOf(record) !== DETAILS) return undefined
  const { facts } = record
  const responseId = idOf(facts.get(FACT.responseId))
  if (agentOf(record)?.areDetailsTold === true) {
    if (responseId === undefined) return SAME_CALL
    return { ...SAME_CALL, tells: { detailsKey: detailsKey(record), responseId } }
  }
  const reason = passedOver(record)
  if (reason !== undefined) return { kind: 'passed_over', reason }
  const event = callEvent(record, context, detailsId(record, context.tenantId, responseId))
  if (typeof event === 'string') return { kind: 'missing', what: event }
  if (hasUsage(event)) return { kind: 'call', event: { ...event, outcome: event.outcome ?? 'success' } }
  if (event.outcome === 'error') return { kind: 'passed_over', reason: 'failed_without_usage' }
  // Gemini CLI and its copies also write one before the request, which has no answer yet.
  return responseId === undefined ? SAME_CALL : { kind: 'call', event }
}

const SAME_CALL: MappedRecord & { kind: 'passed_over' } = { kind: 'passed_over', reason: 'same_call' }

/** That of the span around it, which is the same call; else by what the event states. */
function detailsId({ traceId, spanId, startMs, facts }: Telemetry, tenantId: string, responseId: string | undefined) {
  if (traceId !== '' && spanId !== '') return eventIdOf(tenantId, 'span', traceId, ':', spanId)
  if (responseId !== undefined) return eventIdOf(tenantId, 'inference-details', responseId)
  const counts = [FACT.inputTokens, FACT.outputTokens].map((fact) => String(countOf(facts.get(fact))))
  const session = String(facts.get(FACT.session))
  return eventIdOf(tenantId, 'inference-details', session, ':', String(startMs), ':', counts.join(':'))
}
