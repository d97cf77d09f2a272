import { readUsage } from '../../usage/read-usage.js'
import type { StatedUsage } from '../../usage/stated-usage.js'
import { modelName, resolveProvider } from '../../valuation/names/resolve-provider.js'
import { amountStepsOf, amountText } from '../adapters/amount.js'
import { assumptionsOf } from '../adapters/assumptions.js'
import { countOf, elapsedMs, idOf, instantOf, nameOf, timeText } from '../adapters/fields.js'
import { eventIdOf } from '../intake/event-id.js'
import { type Agent, agentEvent } from './agents.js'
import { labelsOf } from './labels.js'
import type { LogMapper, MappedRecord } from './mapped-record.js'
import { payerOf } from './payer.js'
import { type MappingContext, NO_PROVIDER, type SpanEvent } from './span-events.js'
import { FACT, type Facts } from './span-facts.js'
import type { Telemetry } from './telemetry.js'

/** Calls that coding agents log. */
export const agentLog: LogMapper = (record, context) => {
  const { facts } = record
  const event = agentEvent(eventNameOf(record), record)
  if (event === undefined) return undefined
  const { agent, isCall } = event
  const { steps } = agent
  if (steps !== undefined) {
    const step = facts.get(FACT.eventKind)
    if (step === steps.failure) return FAILED
    // Of the two that Codex logs of a finished call, one states tokens.
    if (step !== steps.call || facts.get(FACT.logInput) === undefined) return STEP
  }
  return isCall ? agentCall(record, agent, context) : FAILED
}

const FAILED: MappedRecord = { kind: 'passed_over', reason: 'failed_without_usage' }
const STEP: MappedRecord = { kind: 'passed_over', reason: 'unrelated' }

/** The name of a log record's event: in a field of its own, in the body or in an attribute, by version of its SDK. */
export function eventNameOf({ eventName, facts }: Telemetry): string {
  const stated = eventName === '' ? facts.get(FACT.eventName) : eventName
  return typeof stated === 'string' ? stated : ''
}

const IDENTITIES = [FACT.userEmail, FACT.accountId, FACT.identity]

/** The event of a call that an agent states in its own words: in a log record, or Claude Code in a span. */
export function agentCall(record: Telemetry, agent: Agent, { tenantId, billing }: MappingContext): MappedRecord {
  const { facts } = record
  const stated = nameOf(facts.get(FACT.model), facts.get(FACT.requestedModel))
  if (stated === undefined) return { kind: 'missing', what: 'model' }
  const when = timesOf(record)
  if (when === undefined) return { kind: 'missing', what: 'start_time' }
  const model = modelName(stated)
  const names = resolveProvider({ providers: [accountProvider(agent, facts)], models: [model] })
  const provider = names.provider ?? NO_PROVIDER
  const usage = readUsage(statedUsage(facts, agent), { surface: 'agent', name: agent.name, provider, model })
  const { payer, assumption } = payerOf(agent, provider, facts, billing)
  const cost = costOf(facts)
  const isCostPartial = payer === 'api' && cost !== undefined && provider === 'aws.bedrock'
  const session = nameOf(facts.get(FACT.session))
  const { person, tags } = labelsOf(record, IDENTITIES)
  const isSpan = record.endMs !== 0
  const event: SpanEvent = {
    ...usage,
    event_id: callId(record, agent, tenantId, when.endMs),
    ingestion_layer: 'application',
    ingestion_timestamp: when.startedAt,
    provider,
    requested_model: model,
    estimated_cost_usd: cost,
    is_cost_notional: payer === 'seat',
    speed: speedOf(facts),
    region: names.region,
    latency_ms: when.latencyMs,
    outcome: record.isError ? 'error' : 'success',
    attributed_identity: person,
    attributed_service: nameOf(record.resource.get(FACT.service)) ?? agent.name,
    trace_id: record.traceId === '' ? session : record.traceId,
    span_id: isSpan && record.spanId !== '' ? record.spanId : undefined,
    parent_span_id: isSpan && record.parentSpanId !== '' ? record.parentSpanId : undefined,
    request_id: idOf(facts.get(FACT.requestId)),
    response_id: idOf(facts.get(FACT.responseId)),
    tags,
    assumptions: assumptionsOf(
      usage.assumptions,
      names.assumption,
      assumption,
      isCostPartial ? 'stated_cost_without_cache' : undefined,
    ),
  }
  return { kind: 'call', event, isCostUntrusted: isCostPartial, detailsKey: detailsKey(record) }
}

/**
 * By the provider's id of a call, else by what tells the calls of a session apart. A span is an event of its own, which
 * is merged with the log event by that id: were it the same event, the one that comes first would be all that is known.
 */
function callId(record: Telemetry, { name }: Agent, tenantId: string, endMs: number): string {
  const { facts, traceId, spanId } = record
  if (record.endMs !== 0 && spanId !== '') return eventIdOf(tenantId, 'span', traceId, ':', spanId)
  const id = idOf(facts.get(FACT.requestId)) ?? idOf(facts.get(FACT.responseId))
  if (id !== undefined) return eventIdOf(tenantId, name, id)
  const parts = [FACT.session, FACT.eventSequence, FACT.model, FACT.logInput, FACT.logOutput].map((fact) =>
    String(facts.get(fact)),
  )
  return eventIdOf(tenantId, name, ...parts.flatMap((part) => [part, ':']), String(endMs))
}

/** What Gemini CLI's two log events of one call both state; neither has an id of it. */
export function detailsKey({ facts }: Telemetry): string {
  const [input, output] = [facts.get(FACT.logInput), facts.get(FACT.logOutput)]
  return [
    facts.get(FACT.session),
    facts.get(FACT.eventTime),
    countOf(input, facts.get(FACT.inputTokens)),
    countOf(output, facts.get(FACT.outputTokens)),
  ].join('\n')
}

interface Times {
  readonly startedAt: string
  readonly endMs: number
  readonly latencyMs: number | undefined
}

/** Of a span its own; a log record is written at the end of a call, and states how long it took. */
function timesOf({ facts, startMs, endMs }: Telemetry): Times | undefined {
  const duration = countOf(facts.get(FACT.durationMs))
  const isSpan = endMs !== 0
  const stated = isSpan ? endMs : (instantOf(facts.get(FACT.eventTime)) ?? startMs)
  const startedAt = timeText(isSpan ? startMs : stated - (duration ?? 0))
  if (stated === 0 || startedAt === undefined) return undefined
  return { startedAt, endMs: stated, latencyMs: isSpan ? elapsedMs(startMs, endMs) : duration }
}

function accountProvider({ providers }: Agent, facts: Facts): string | undefined {
  for (const fact of [FACT.anthropicProvider, FACT.authType]) {
    const said = facts.get(fact)
    const provider = typeof said === 'string' ? providers[said.toLowerCase()] : undefined
    if (provider !== undefined) return provider
  }
  return providers['else'] ?? nameOf(facts.get(FACT.provider), facts.get(FACT.system))
}

const statedUsage = (facts: Facts, { isToolCountTotal = false }: Agent): StatedUsage => ({
  input: countOf(facts.get(FACT.logInput)),
  output: countOf(facts.get(FACT.logOutput)),
  total: countOf(facts.get(isToolCountTotal ? FACT.logToolUse : FACT.logTotal)),
  cacheRead: countOf(facts.get(FACT.logCacheRead)),
  cacheWrite: countOf(facts.get(FACT.logCacheWrite)),
  cacheWrite5m: countOf(facts.get(FACT.logCacheWrite5m)),
  cacheWrite1h: countOf(facts.get(FACT.logCacheWrite1h)),
  reasoning: countOf(facts.get(FACT.logReasoning)),
  toolUseInput: isToolCountTotal ? undefined : countOf(facts.get(FACT.logToolUse)),
})

/** Claude Code calls the standard speed normal. */
function speedOf(facts: Facts): SpanEvent['speed'] {
  const speed = facts.get(FACT.speed)
  if (speed === 'fast') return 'fast'
  return speed === 'normal' || speed === 'standard' ? 'standard' : undefined
}

function costOf(facts: Facts): string | undefined {
  const micros = countOf(facts.get(FACT.costUsdMicros))
  if (micros !== undefined) return amountText(BigInt(micros) * STEPS_PER_MICRO)
  return amountText(amountStepsOf(facts.get(FACT.costUsd)))
}
/** Steps of an amount are 10^-18. */
const STEPS_PER_MICRO = 10n ** 12n
