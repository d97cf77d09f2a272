import { assumptionsOf } from '../adapters/assumptions.js'
import { eventIdOf } from '../intake/event-id.js'
import { agentCall } from './agent-calls.js'
import type { Agent } from './agents.js'
import { namesModel, type PassedOver, passedOver, statesUsage } from './inference-spans.js'
import type { MappedRecord } from './mapped-record.js'
import { payerOf } from './payer.js'
import { hasUsage, type MappingContext, NO_PROVIDER, spanEvent } from './span-events.js'
import { FACT, type Facts } from './span-facts.js'
import type { Telemetry } from './telemetry.js'

/** What a span of a coding agent is. */
export function agentSpan(span: Telemetry, agent: Agent, context: MappingContext): MappedRecord {
  const { facts } = span
  if (agent.spans === 'own' && isOwnCall(facts)) return agentCall(span, agent, context)
  const reason = passedOver(span)
  if (agent.spans === 'in_logs' && (reason === undefined || !OUTER.has(reason))) {
    const isCall = reason === undefined || namesModel(facts) || statesUsage(facts)
    return { kind: 'passed_over', reason: isCall ? 'in_logs' : reason }
  }
  return reason === undefined ? inferenceSpan(span, agent, context) : { kind: 'passed_over', reason }
}

/** Spans around calls. */
const OUTER: ReadonlySet<PassedOver> = new Set(['agent', 'workflow', 'tool', 'chain'])

const isOwnCall = (facts: Facts): boolean =>
  (facts.get(FACT.model) !== undefined || namesModel(facts)) &&
  (facts.get(FACT.logInput) !== undefined || facts.get(FACT.logOutput) !== undefined)

/** A call in OpenTelemetry's keys, and who pays for it. */
function inferenceSpan(span: Telemetry, agent: Agent, context: MappingContext): MappedRecord {
  const event = spanEvent(span, context)
  if (typeof event === 'string') return { kind: 'missing', what: event }
  if (event.outcome === 'error' && !hasUsage(event)) return { kind: 'passed_over', reason: 'failed_without_usage' }
  const { payer, assumption } = payerOf(agent, event.provider ?? NO_PROVIDER, span.facts, context.billing)
  const responseId = agent.hasResponseIds ? event.response_id : undefined
  return {
    kind: 'call',
    event: {
      ...event,
      // As its log events have it.
      ...(responseId != null && { event_id: eventIdOf(context.tenantId, agent.name, responseId) }),
      response_id: responseId,
      is_cost_notional: payer === 'seat',
      assumptions: assumptionsOf(event.assumptions ?? undefined, assumption),
    },
  }
}
