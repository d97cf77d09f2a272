import { TAGS_MAX } from '../../invocations/invocation-schema.js'
import { isSameModel } from '../../valuation/names/same-model.js'
import { hasUsage, type SpanEvent } from './span-events.js'

/** A call of a request, as one of its spans or log records shows it. */
export interface ShownCall {
  readonly event: SpanEvent
  /** '' of a log record. */
  readonly spanId: string
  readonly isLiteLlm: boolean
}

/**
 * Spans that show the call of another span once more: where one inference is directly around another one, two
 * instrumentations have seen the same request. The inner one counts, which is nearer to the provider, unless it states
 * no usage. Of LiteLLM's own spans the outer one counts, on which LiteLLM writes what it charges. What counts gets the
 * facts that only the other one states. Another model with other tokens is a tool that ran within the call: both count.
 *
 * @returns those that do not count; the calls that stay with what they get, by the call
 */
export function sameCalls<Call extends ShownCall>(calls: readonly Call[]): SameCalls<Call> {
  if (!calls.some(({ event }) => event.parent_span_id !== undefined)) return NOTHING
  const bySpan = new Map(calls.map((call) => [call.spanId, call]))
  const doubles = new Set<Call>()
  const united = new Map<Call, SpanEvent>()
  const unite = (call: Call, other: Call, isOnly: boolean): void =>
    void united.set(call, withFactsOf(united.get(call) ?? call.event, united.get(other) ?? other.event, isOnly))

  const nested = nestedIn(calls, bySpan)
  const innerOf = new Map<Call, number>()
  for (const [, outer] of nested) innerOf.set(outer, (innerOf.get(outer) ?? 0) + 1)
  for (const [inner, outer] of nested) {
    const isOuterBilled = (inner.isLiteLlm && outer.isLiteLlm) || !hasUsage(inner.event)
    doubles.add(isOuterBilled ? inner : outer)
    const isOnly = innerOf.get(outer) === 1
    if (isOuterBilled) unite(outer, inner, isOnly)
    else unite(inner, outer, isOnly)
  }
  return { doubles, united }
}

export interface SameCalls<Call> {
  readonly doubles: ReadonlySet<Call>
  readonly united: ReadonlyMap<Call, SpanEvent>
}

const NOTHING: SameCalls<never> = { doubles: new Set<never>(), united: new Map<never, SpanEvent>() }

/** Pairs of a call and the one directly around it, the outermost first: what is around that is united with it already. */
function nestedIn<Call extends ShownCall>(
  calls: readonly Call[],
  bySpan: ReadonlyMap<string, Call>,
): (readonly [inner: Call, outer: Call])[] {
  const outerOf = new Map<Call, Call>()
  for (const inner of calls) {
    const { trace_id: traceId, parent_span_id: parentId } = inner.event
    const outer = parentId == null ? undefined : bySpan.get(parentId)
    if (outer === undefined || outer === inner || outer.event.trace_id !== traceId) continue
    if (isCallOfItsOwn(inner.event, outer.event)) continue
    outerOf.set(inner, outer)
  }
  return [...outerOf].sort(([one], [other]) => depthOf(one, outerOf) - depthOf(other, outerOf))
}

/** A made-up trace may be a circle. */
const DEPTH_MAX = 8

function depthOf<Call>(call: Call, outerOf: ReadonlyMap<Call, Call>): number {
  let depth = 0
  for (let outer = outerOf.get(call); outer !== undefined && depth < DEPTH_MAX; outer = outerOf.get(outer)) depth++
  return depth
}

const isCallOfItsOwn = (inner: SpanEvent, outer: SpanEvent): boolean =>
  hasTokens(inner) &&
  hasTokens(outer) &&
  (inner.input_tokens !== outer.input_tokens || inner.output_tokens !== outer.output_tokens) &&
  !isSameModel(modelOf(inner), modelOf(outer))

const modelOf = ({ provider = '', requested_model: requestedModel = '', served_model: served }: SpanEvent) => ({
  provider,
  requestedModel,
  servedModel: served ?? requestedModel,
})

const hasTokens = ({ input_tokens, output_tokens }: SpanEvent): boolean =>
  (input_tokens ?? 0) + (output_tokens ?? 0) > 0

/** What anybody may state of a call beside its usage. */
const FACTS = [
  'served_model',
  'response_id',
  'request_id',
  'operation_id',
  'attempt',
  'attributed_service',
  'k8s_namespace',
  'k8s_workload',
  'service_tier',
  'region',
  'outcome',
] as const
const INPUT_PARTS = [
  'cached_input_tokens',
  'cached_audio_input_tokens',
  'cached_image_input_tokens',
  'cache_write_tokens',
  'cache_write_5m_tokens',
  'cache_write_1h_tokens',
  'cache_write_ttl_seconds',
  'audio_input_tokens',
  'image_input_tokens',
] as const
const OUTPUT_PARTS = ['reasoning_tokens', 'audio_output_tokens', 'image_output_tokens'] as const

/** An event with what another one states of the same call. @param isOnly whether the other one shows no further call */
function withFactsOf(event: SpanEvent, other: SpanEvent, isOnly: boolean): SpanEvent {
  const fields: Record<string, unknown> = { ...event }
  const take = (names: readonly (keyof SpanEvent)[]): void => {
    for (const name of names) fields[name] ??= other[name]
  }
  // Who called is stated together with how sure that is.
  if (event.attributed_identity == null) {
    if (event.attributed_service == null) take(['attribution_confidence'])
    take(['attributed_identity'])
  }
  take(isOnly ? FACTS : ['attributed_service', 'k8s_namespace', 'k8s_workload'])
  if (isOnly && event.input_tokens !== undefined && event.input_tokens === other.input_tokens) take(INPUT_PARTS)
  if (isOnly && event.output_tokens !== undefined && event.output_tokens === other.output_tokens) take(OUTPUT_PARTS)
  if (other.tags != null) {
    const tags = [...Object.entries(event.tags ?? {})]
    const known = new Set(tags.map(([key]) => key))
    tags.push(...Object.entries(other.tags).filter(([key]) => !known.has(key)))
    fields['tags'] = Object.fromEntries(tags.slice(0, TAGS_MAX))
  }
  return fields as unknown as SpanEvent
}
