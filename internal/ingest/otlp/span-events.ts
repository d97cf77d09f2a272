import type { Billing } from '../../auth/billing.js'
import { isCancellation, type Outcome } from '../../text/call-words.js'
import { formatInstant } from '../../units/instant.js'
import { amountStepsOf, amountText } from '../adapters/amount.js'
import { assumptionsOf } from '../adapters/assumptions.js'
import { claimedBy } from '../adapters/claims.js'
import { elapsedMs, idOf, nameOf } from '../adapters/fields.js'
import { eventIdOf } from '../intake/event-id.js'
import type { SourceEvent } from '../intake/intake-route.js'
import { labelsOf, membersOf } from './labels.js'
import { isLiteLlm, isOfProxy, litellmFacts, litellmLabels } from './litellm-spans.js'
import { FACT, type Facts } from './span-facts.js'
import { modelsOf, providerOf, servedModelOf, termsOf } from './span-names.js'
import { spanUsage } from './span-usage.js'
import type { Telemetry } from './telemetry.js'

export type SpanEvent = SourceEvent['event']

/** What a call of a model lacks to become a record. */
export type Missing = 'trace_or_span_id' | 'start_time' | 'model'

export interface MappingContext {
  readonly tenantId: string
  /** Whether the sender's word on who called counts. */
  readonly isGateway: boolean
  /** What the tenant trusts its gateways with that callers could write. Absent: nothing. */
  readonly trustedFields?: readonly string[] | undefined
  /** Who pays for calls that do not say it. */
  readonly billing?: Billing | undefined
}

/**
 * Gateways by the name of their instrumentation scope: the service that sends their spans is their own, not the
 * caller's.
 */
const GATEWAY_LAYERS: readonly (readonly [scope: RegExp, layer: string])[] = [
  [/^litellm\b/, 'gateway'],
  [/^envoyproxy\//, 'gateway'],
  [/^kong\b/, 'gateway'],
]
/** The spans of one scope come one after the other. */
export function gatewayLayerOf(scope: string): string | undefined {
  if (scope !== lastScope) {
    lastScope = scope
    lastLayer = GATEWAY_LAYERS.find(([form]) => form.test(scope))?.[1]
  }
  return lastLayer
}
let lastScope = ''
let lastLayer: string | undefined

/** LiteLLM is a gateway where its proxy made the span; else it is the application's own library. */
function layerOf(span: Telemetry, isOwnSpan: boolean): string | undefined {
  if (isOwnSpan || span.scope === 'litellm') return isOfProxy(span) ? 'gateway' : undefined
  return gatewayLayerOf(span.scope)
}

/** In the year 27,321: what has more digits is not written as a time any more. */
const START_MS_MAX = 8e14

/** What SDKs and tools say of themselves when nobody has named the service: they send the span, and call nobody. */
const UNNAMED_SERVICE = /^(?:unknown_service(?:$|:)|litellm(?:-proxy)?$|claude-platform$)/

/**
 * The event of a span that is one call of a model.
 *
 * @returns what it lacks, if it cannot become one
 */
export function spanEvent(span: Telemetry, context: MappingContext): SpanEvent | Missing {
  const { traceId, spanId } = span
  if (traceId === '' || spanId === '') return 'trace_or_span_id'
  return callEvent(span, context, eventIdOf(context.tenantId, 'span', traceId, ':', spanId))
}

/** The same of a span or log record that is known by this id. */
export function callEvent(span: Telemetry, context: MappingContext, eventId: string): SpanEvent | Missing {
  const { traceId, spanId, facts } = span
  if (!(span.startMs > 0 && span.startMs < START_MS_MAX)) return 'start_time'
  const models = modelsOf(facts, isLiteLlm(span))
  const model = models.requested ?? models.served
  if (model === undefined) return 'model'

  const ofLiteLlm = isLiteLlm(span) ? litellmFacts(span) : undefined
  const layer = layerOf(span, ofLiteLlm !== undefined)
  const usage = spanUsage(span)
  const labels =
    ofLiteLlm !== undefined && layer !== undefined ? litellmLabels(span, context) : statedLabels(span, layer, context)
  const served = providerOf(facts, models)
  const terms = termsOf(facts, served.region)
  // Each field by its name: an object that is spread into another one costs as much as reading the span.
  return {
    event_id: eventId,
    ingestion_layer: layer ?? 'application',
    ingestion_timestamp: formatInstant(span.startMs),
    provider: served.provider ?? NO_PROVIDER,
    requested_model: model,
    served_model: servedModelOf(models, served.provider),
    region: terms.region,
    input_tokens: usage.input_tokens,
    output_tokens: usage.output_tokens,
    cached_input_tokens: usage.cached_input_tokens,
    cache_write_tokens: usage.cache_write_tokens,
    cache_write_5m_tokens: usage.cache_write_5m_tokens,
    cache_write_1h_tokens: usage.cache_write_1h_tokens,
    reasoning_tokens: usage.reasoning_tokens,
    audio_input_tokens: usage.audio_input_tokens,
    audio_output_tokens: usage.audio_output_tokens,
    image_input_tokens: usage.image_input_tokens,
    image_output_tokens: usage.image_output_tokens,
    cached_audio_input_tokens: usage.cached_audio_input_tokens,
    cached_image_input_tokens: usage.cached_image_input_tokens,
    web_search_calls: usage.web_search_calls,
    code_execution_calls: usage.code_execution_calls,
    usage_basis: usage.usage_basis,
    alternative_input_tokens: usage.alternative_input_tokens,
    alternative_output_tokens: usage.alternative_output_tokens,
    assumptions: assumptionsOf(usage.assumptions, served.assumption, terms.isTierRequested && 'tier_from_request'),
    service_tier: terms.tier,
    speed: terms.speed,
    served_from_cache: ofLiteLlm?.isFromCache === true || undefined,
    estimated_cost_usd: ofLiteLlm?.isFromCache === true ? undefined : (costOf(facts) ?? ofLiteLlm?.cost),
    latency_ms: elapsedMs(span.startMs, span.endMs === 0 ? undefined : span.endMs),
    response_id: ofLiteLlm === undefined ? idOf(facts.get(FACT.responseId)) : ofLiteLlm.responseId,
    request_id: ofLiteLlm?.requestId,
    operation_id: ofLiteLlm?.operationId,
    outcome: outcomeOf(span),
    attributed_identity: labels.attributed_identity,
    attributed_service: labels.attributed_service,
    attribution_confidence: labels.attribution_confidence,
    tags: labels.tags,
    trace_id: traceId === '' ? undefined : traceId,
    span_id: spanId === '' ? undefined : spanId,
    parent_span_id: span.parentSpanId === '' ? undefined : span.parentSpanId,
    instrumentation: nameOf(span.scope),
    k8s_namespace: nameOf(span.resource.get(FACT.namespace)),
    k8s_workload: nameOf(span.resource.get(FACT.workload)),
  }
}

/** Whether an event says what the call used or cost. */
export const hasUsage = ({ input_tokens, output_tokens, estimated_cost_usd }: SpanEvent): boolean =>
  input_tokens !== undefined || output_tokens !== undefined || estimated_cost_usd !== undefined

/** The provider of a call whose span names none: its record is visible, and unpriced unless it states a cost. */
export const NO_PROVIDER = 'unknown'

/** Who called, and the tags: of a gateway's span, its resource names the gateway and not the calling service. */
function statedLabels(span: Telemetry, gatewayLayer: string | undefined, context: MappingContext) {
  const { person, tags } = labelsOf(span)
  // An application knows its users; a gateway's free attributes are what its callers wrote.
  if (gatewayLayer !== undefined) return { ...claimedBy({ identity: person }, context), tags }
  return {
    attributed_identity: person,
    attributed_service: serviceOf(span),
    attribution_confidence: undefined,
    tags,
  }
}

function outcomeOf({ isError, endMs, facts }: Telemetry): Outcome | undefined {
  const error = facts.get(FACT.errorType)
  if (isCancellation(error)) return 'cancelled'
  if (isError || error !== undefined) return 'error'
  return endMs === 0 ? undefined : 'success'
}

function serviceOf({ facts, resource }: Telemetry): string | undefined {
  const service = nameOf(facts.get(FACT.service), resource.get(FACT.service))
  if (service !== undefined && isNamed(service)) return service
  return nameOf(facts.get(FACT.workflow), facts.get(FACT.agent))
}

/** The spans of one service come one after the other. */
function isNamed(service: string): boolean {
  if (service !== lastService) {
    lastService = service
    isLastNamed = !UNNAMED_SERVICE.test(service)
  }
  return isLastNamed
}
let lastService = ''
let isLastNamed = true

/**
 * The cost that a span states, in USD. Zero is none: instrumentations state it when they do not know a price. LiteLLM's
 * margin, which the provider does not charge, is taken off.
 */
function costOf(facts: Facts): string | undefined {
  const currency = facts.get(FACT.costCurrency)
  if (typeof currency === 'string' && currency.toUpperCase() !== 'USD') return undefined
  const total = amountStepsOf(facts.get(FACT.cost)) ?? langfuseCost(facts)
  return amountText(total === undefined ? undefined : total - (amountStepsOf(facts.get(FACT.costMargin)) ?? 0n))
}

/** Langfuse's `cost_details`: a JSON object of amounts by kind of token, with or without their total. */
function langfuseCost(facts: Facts): bigint | undefined {
  const stated = facts.get(FACT.langfuseCost)
  if (stated === undefined) return undefined
  const amounts = membersOf(stated).map(([kind, amount]) => [kind, amountStepsOf(amount)] as const)
  const total = amounts.find(([kind]) => kind === 'total')?.[1]
  if (total !== undefined || amounts.length === 0) return total
  return amounts.reduce((sum, [, amount]) => sum + (amount ?? 0n), 0n)
}
