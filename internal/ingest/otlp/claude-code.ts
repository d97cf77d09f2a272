import { amountStepsOf, amountText } from '../adapters/amount.js'
import { countOf, instantOf, nameOf, timeText } from '../adapters/fields.js'
import { eventIdOf } from '../intake/event-id.js'
import { labelsOf } from './labels.js'
import type { MappingContext, Missing, SpanEvent } from './span-events.js'
import { FACT, type Facts } from './span-facts.js'
import { usageOfParts } from './span-usage.js'
import type { Telemetry } from './telemetry.js'

const NAME = 'claude_code.api_request'
const IDENTITIES = [FACT.userEmail, FACT.accountId, FACT.identity]

/** Whether a log record is Claude Code's word on one request to a model. */
export const isClaudeCodeRequest = ({ eventName, facts, scope, resource }: Telemetry): boolean =>
  eventName === NAME ||
  (facts.get(FACT.eventName) === 'api_request' &&
    (scope.startsWith('com.anthropic.claude_code') || resource.get(FACT.service) === 'claude-code'))

/**
 * The event of a request that Claude Code logs. Its counts are Anthropic's: input excludes cache reads and writes. Its
 * dollars are its own estimate at list price, and a subscription is not billed by them.
 *
 * @returns what it lacks, if it cannot become one
 */
export function claudeCodeEvent(record: Telemetry, { tenantId }: MappingContext): SpanEvent | Missing {
  const { facts } = record
  const model = nameOf(facts.get(FACT.model))
  if (model === undefined) return 'model'
  const endMs = instantOf(facts.get(FACT.eventTime)) ?? (record.startMs === 0 ? undefined : record.startMs)
  const latencyMs = countOf(facts.get(FACT.durationMs))
  const startedAt = timeText(endMs === undefined ? undefined : endMs - (latencyMs ?? 0))
  if (endMs === undefined || startedAt === undefined) return 'start_time'
  const session = nameOf(facts.get(FACT.session))
  const { person, tags } = labelsOf(record, IDENTITIES)
  // Without a request id, the place in the session tells requests apart.
  const id = nameOf(facts.get(FACT.requestId)) ?? `${session}:${countOf(facts.get(FACT.eventSequence))}:${endMs}`
  return {
    event_id: eventIdOf(tenantId, 'claude-code', id),
    ingestion_layer: 'application',
    ingestion_timestamp: startedAt,
    provider: providerOf(model),
    requested_model: model,
    ...usageOfParts(
      countOf(facts.get(FACT.uncachedInputTokens)),
      countOf(facts.get(FACT.cacheReadOfLog)),
      countOf(facts.get(FACT.cacheCreationOfLog)),
      countOf(facts.get(FACT.outputTokensOfLog)),
    ),
    estimated_cost_usd: costOf(facts),
    is_cost_notional: true,
    latency_ms: latencyMs,
    outcome: 'success',
    attributed_identity: person,
    attributed_service: nameOf(record.resource.get(FACT.service)) ?? 'claude-code',
    trace_id: record.traceId === '' ? session : record.traceId,
    tags,
  } as SpanEvent
}

/** Anthropic names these models alone, Bedrock with a vendor or a profile, Vertex AI with a date. */
function providerOf(model: string): string {
  if (/(?:^|[./])anthropic\./.test(model)) return 'aws.bedrock'
  return /@\d{8}$/.test(model) ? 'gcp.vertex_ai' : 'anthropic'
}

function costOf(facts: Facts): string | undefined {
  const micros = countOf(facts.get(FACT.costUsdMicros))
  if (micros !== undefined) return amountText(BigInt(micros) * STEPS_PER_MICRO)
  const cost = facts.get(FACT.costUsd)
  return amountText(amountStepsOf(cost))
}
/** Steps of an amount are 10^-18. */
const STEPS_PER_MICRO = 10n ** 12n
