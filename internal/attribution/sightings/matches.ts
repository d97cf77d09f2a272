import { canonicalProvider, providerName } from '../../records/provider-names.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import { isSameModel } from '../../valuation/names/same-model.js'
import { type MatchedBy, observerOf, SAME_CALL_MS } from './seen-by.js'

/** What the event of a record says about the call that it shows. */
export type View = Pick<
  AttributionRow,
  | 'provider'
  | 'requestedModel'
  | 'servedModel'
  | 'responseId'
  | 'requestId'
  | 'traceId'
  | 'spanId'
  | 'parentSpanId'
  | 'instrumentation'
  | 'intake'
  | 'principal'
  | 'service'
  | 'attempt'
  | 'eventTimeMs'
  | 'latencyMs'
  | 'usageBasis'
  | (typeof COUNTS)[number]
>

/** Why two events show the same call. */
export interface Match {
  readonly by: MatchedBy
  /** Else nothing proves it: the records say so, and both are counted. */
  readonly isSure: boolean
  /** Of a span around another one: which of the two is nearer to the provider. */
  readonly inner?: 'one' | 'other'
}

/** Counts that two views of one call state alike. */
const COUNTS = [
  'inputTokens',
  'outputTokens',
  'cachedInputTokens',
  'cacheWriteTokens',
  'cacheWrite5mTokens',
  'cacheWrite1hTokens',
  'reasoningTokens',
  'audioInputTokens',
  'audioOutputTokens',
  'imageInputTokens',
  'imageOutputTokens',
] as const

/**
 * Whether two events show the same call, by the strongest of what they have in common. Pure and symmetric.
 *
 * Two events of one observer never do, whatever they share (a provider that repeats ids, a cache that replays an
 * answer, retries under one id), unless one is the span directly around the other.
 */
export function matchOf(one: View, other: View): Match | undefined {
  if (Math.abs(one.eventTimeMs - other.eventTimeMs) > SAME_CALL_MS) return undefined
  const inner = innerOf(one, other)
  const isOneObserver = observerOf(one) === observerOf(other)
  if (!isOneObserver) {
    if (isSameSpan(one, other)) return { by: 'trace_and_span', isSure: true }
    if (isSameAnswer(one, other)) return { by: 'response_id', isSure: true, ...inner }
  }
  if (inner !== undefined && isNested(one, other)) return { by: 'parent_span', isSure: true, ...inner }
  if (isOneObserver) return undefined
  if (isSameAttempt(one, other)) return { by: 'request_id', isSure: true }
  return twinsOf(one, other)
}

const isSameSpan = (one: View, other: View): boolean =>
  one.spanId !== '' && one.traceId !== '' && one.spanId === other.spanId && one.traceId === other.traceId

/** Whose events a provider's name says nothing of: their response ids may be those of any provider. */
const NO_PROVIDER = 'unknown'

function isSameAnswer(one: View, other: View): boolean {
  if (one.responseId === '' || one.responseId !== other.responseId) return false
  const provider = providerName(one.provider)
  return provider !== NO_PROVIDER && provider === providerName(other.provider) && mayBeAtOnce(one, other)
}

/** Which of two spans is directly inside the other. */
function innerOf(one: View, other: View): Pick<Match, 'inner'> | undefined {
  if (one.traceId === '' || one.traceId !== other.traceId || one.spanId === other.spanId) return undefined
  if (one.parentSpanId !== '' && one.parentSpanId === other.spanId) return { inner: 'one' }
  if (other.parentSpanId !== '' && other.parentSpanId === one.spanId) return { inner: 'other' }
  return undefined
}

/**
 * A model does not call a model: two inferences of which one is the span directly around the other are one, seen by two
 * layers. But what our own event calls its parent may be an agent that was recorded as a call, and a tool may have been
 * run within the call: then both count, of another model with other tokens.
 */
function isNested(one: View, other: View): boolean {
  if (one.intake === '' && observerOf(one) === observerOf(other)) return false
  if (hasUsage(one) && hasUsage(other) && !haveEqualTotals(one, other) && !isSameModel(one, other)) return false
  return overlapMs(one, other) >= -CLOCK_SLACK_MS
}

const hasUsage = ({ inputTokens, outputTokens }: View): boolean => (inputTokens ?? 0) + (outputTokens ?? 0) > 0

const haveEqualTotals = (one: View, other: View): boolean =>
  one.inputTokens === other.inputTokens && one.outputTokens === other.outputTokens

/**
 * A request under one id may be several attempts, of which each is billed: of another provider or model, with another
 * answer, or numbered.
 */
function isSameAttempt(one: View, other: View): boolean {
  if (!sharesRequestId(one, other)) return false
  if (one.attempt !== undefined && other.attempt !== undefined && one.attempt !== other.attempt) return false
  return (
    isSameProvider(one, other) && isSameModel(one, other) && !areOtherAnswers(one, other) && mayBeAtOnce(one, other)
  )
}

/**
 * What one knows as the id of the request may be what the other knows as that of the answer: Bedrock has one for both.
 */
const sharesRequestId = (one: View, other: View): boolean =>
  (one.requestId !== '' && (one.requestId === other.requestId || one.requestId === other.responseId)) ||
  (other.requestId !== '' && other.requestId === one.responseId)

const isSameProvider = (one: View, other: View): boolean =>
  canonicalProvider(one.provider) === undefined ||
  canonicalProvider(other.provider) === undefined ||
  providerName(one.provider) === providerName(other.provider)

/**
 * Two ids of one form (`chatcmpl-...`, `msg_...`) that differ. A gateway has ids of its own form, or hides the other.
 */
const areOtherAnswers = (one: View, other: View): boolean =>
  one.responseId !== '' &&
  other.responseId !== '' &&
  one.responseId !== other.responseId &&
  formOf(one.responseId) === formOf(other.responseId) &&
  !one.responseId.startsWith(HASHED) &&
  !other.responseId.startsWith(HASHED)

const formOf = (id: string): string => /^[a-z]+[-_]/i.exec(id)?.[0].toLowerCase() ?? ''
/** An id that was too long. */
const HASHED = 'sha256:'

/**
 * Two instrumentations of one process that share no id: they show the same call if they agree on the model and on every
 * count that both know, and their spans overlap. Within one trace that is sure, and across traces (a framework's span
 * and the client's, each a root) where the counts are no common ones; of a stream of which one knows the output only,
 * if its span is around the other. Else it is only likely.
 */
function twinsOf(one: View, other: View): Match | undefined {
  if (one.instrumentation === '' || other.instrumentation === '' || one.intake !== other.intake) return undefined
  if (one.instrumentation === other.instrumentation) return undefined
  const isOneTrace = one.traceId !== '' && one.traceId === other.traceId
  if (!isOneTrace && (one.principal !== other.principal || one.service !== other.service)) return undefined
  if (!isSameModel(one, other) || areOtherAnswers(one, other)) return undefined
  // Without both durations, that the spans overlap is not known.
  const isTimed = one.latencyMs !== undefined && other.latencyMs !== undefined
  const leastMs = isTimed ? Math.min(lengthOf(one), lengthOf(other)) / 2 : -CLOCK_SLACK_MS
  if (overlapMs(one, other) < leastMs || COUNTS.some((name) => differ(one[name], other[name]))) return undefined
  const known = (['inputTokens', 'outputTokens'] as const).filter((name) => isKnown(one[name]) && isKnown(other[name]))
  if (known.length === 0) return undefined
  const isRare = (one.outputTokens ?? 0) >= RARE_OUTPUT_TOKENS && !haveOtherIds(one, other)
  const isOneCall = known.includes('inputTokens')
    ? isOneTrace || (isRare && known.length === 2)
    : isRare && !isUsualLimit(one.outputTokens) && (isAround(one, other) || isAround(other, one))
  return { by: 'equal_counts', isSure: isTimed && isOneCall }
}

/**
 * Whether the one, which does not know its input, lasts as long as the other: a framework around its client's stream.
 */
const isAround = (one: View, other: View): boolean =>
  !isKnown(one.inputTokens) &&
  isKnown(other.inputTokens) &&
  isWithin(other.eventTimeMs - one.eventTimeMs) &&
  isWithin(endOf(one) - endOf(other))
/** Calls that are cut at the same limit are alike: 1,024, 4,000. */
const isUsualLimit = (tokens = 0): boolean => tokens % 256 === 0 || tokens % 500 === 0
/** A client may end its span when its stream is closed, shortly after the framework has read its end. */
const AROUND_SLACK_MS = 50
/** What a framework does before and after the call of its client. */
const AROUND_MS_MAX = 1_000
const isWithin = (ms: number): boolean => ms >= -AROUND_SLACK_MS && ms <= AROUND_MS_MAX

/** Whatever their form: a layer's own id beside the provider's, or two calls that are alike. */
const haveOtherIds = (one: View, other: View): boolean =>
  one.responseId !== '' && other.responseId !== '' && one.responseId !== other.responseId

/** Below it, parallel calls of one prompt often have as many: a class, a yes, an empty answer. */
const RARE_OUTPUT_TOKENS = 10

/** Zero is what senders write who do not know: of the input of a stream, and beside other counts. */
const isKnown = (count: number | undefined): boolean => count !== undefined && count > 0
const differ = (one: number | undefined, other: number | undefined): boolean =>
  isKnown(one) && isKnown(other) && one !== other

/** Of clocks in one process: between the start that one states and the end that another does. */
const CLOCK_SLACK_MS = 1_000

/** One process shows a call to all its instrumentations at once: later, an answer under the same id is a replay. */
const mayBeAtOnce = (one: View, other: View): boolean =>
  one.principal !== other.principal ||
  one.intake !== other.intake ||
  one.latencyMs === undefined ||
  other.latencyMs === undefined ||
  overlapMs(one, other) >= -CLOCK_SLACK_MS

const lengthOf = ({ latencyMs }: View): number => latencyMs ?? 0
const endOf = (view: View): number => view.eventTimeMs + lengthOf(view)
/** How long both lasted; negative: the time between them. */
const overlapMs = (one: View, other: View): number =>
  Math.min(endOf(one), endOf(other)) - Math.max(one.eventTimeMs, other.eventTimeMs)
