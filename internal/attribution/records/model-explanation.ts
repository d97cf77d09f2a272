import { type Contribution, contributionsTo } from '../../inference/learning/contributions.js'
import type { EventFacts } from '../../inference/learning/features.js'
import { HEURISTIC_CONFIDENCE_MAX } from '../../inference/learning/heuristic.js'
import type { Model, Prediction } from '../../inference/learning/model.js'
import { familiarOf, predict } from '../../inference/learning/predict.js'
import { type Pattern, patternOf } from '../../inference/learning/views.js'
import { CHARGEBACK_FLOOR, CONFIDENCE_CAP, type Confidence } from '../../records/interpretation.js'
import type { Inference } from './row.js'

/**
 * What a model says about a record beyond its stored probabilities; computed when a record is shown. Members in wire
 * form.
 */
export interface ModelExplanation {
  /** Of an inferred record: the facts that spoke most for its service and owner, the strongest first. */
  readonly reasons?: readonly Reason[]
  readonly compared_with?: ComparedWith
  /** Of a record that no stage could name: what the model that served then found likeliest. */
  readonly best_guess?: BestGuess
}

export interface Reason {
  readonly fact: Contribution['fact']
  /** How many times likelier the fact is with this service and owner than with the others. */
  readonly times_likelier: string
  readonly text: string
}

export interface ComparedWith {
  readonly classes: number
  /** What the call shows of its caller. */
  readonly caller: Pattern
  /** Share of held-out calls like this one that the model named right at 0.80 or more; null if it was not measured. */
  readonly precision_at_floor: number | null
}

export interface BestGuess {
  readonly model: string
  readonly service: string
  readonly owner: string
  readonly probability: string
  readonly unknown_probability: string
}

const REASONS_MAX = 3
/** A fact that is as likely with the others says nothing. */
const TIMES_MIN = 1.1

/** Why a model chose a class for an event. */
export function explainChoice(model: Model, event: EventFacts, label: Prediction['label']): ModelExplanation {
  const { card, parameters } = model
  const caller = patternOf(event, familiarOf(parameters))
  const quality = card.patterns?.find(({ pattern }) => pattern === caller)?.quality ?? card.weighted
  return {
    reasons: contributionsTo(model, event, label)
      .filter(({ times }) => times >= TIMES_MIN)
      .slice(0, REASONS_MAX)
      .map(({ fact, times }) => ({
        fact,
        times_likelier: timesText(times),
        text:
          `${WORDS[fact](event)} ${fact === 'size' ? 'are' : 'is'} ${timesText(times)} times likelier in calls ` +
          'of this service than in others',
      })),
    compared_with: {
      classes: card.classes.length - 1,
      caller,
      precision_at_floor: quality.precisionAtFloor === undefined ? null : Number(quality.precisionAtFloor.toFixed(4)),
    },
  }
}

/** What a model finds likeliest for an event that it did not name. */
export function guessOf(id: string, model: Model, event: EventFacts): ModelExplanation {
  const [prediction] = predict(model, [event])
  if (prediction === undefined) return {}
  const { label, probability, unknownProbability } = prediction
  return {
    best_guess: {
      model: id,
      service: label.service,
      owner: label.owner,
      probability: probability.toFixed(4),
      unknown_probability: unknownProbability.toFixed(4),
    },
  }
}

const TIMES_SHOWN_MAX = 1_000
/** To one decimal below ten; a larger ratio says no more than "far likelier". */
const timesText = (times: number): string =>
  times >= TIMES_SHOWN_MAX ? `over ${grouped(TIMES_SHOWN_MAX)}` : times < 10 ? times.toFixed(1) : times.toFixed(0)

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'] as const

/** The facts of an event in words. Names from outside are quoted. */
const WORDS: Readonly<Record<Contribution['fact'], (event: EventFacts) => string>> = {
  model: ({ model }) => `the model ${JSON.stringify(model)}`,
  size: ({ inputTokens, outputTokens }) =>
    [
      ...(inputTokens === undefined ? [] : [`${grouped(inputTokens)} input tokens`]),
      ...(outputTokens === undefined ? [] : [`${grouped(outputTokens)} output tokens`]),
    ].join(' with '),
  hour: ({ eventTimeMs }) => {
    const at = new Date(eventTimeMs)
    return `a call on a ${DAYS[at.getUTCDay()] ?? ''} at ${at.getUTCHours()} h UTC`
  },
  cached_share: ({ cachedInputTokens, inputTokens }) =>
    `a cached input of ${shareText(cachedInputTokens, inputTokens)}`,
  reasoning_share: ({ reasoningTokens, outputTokens }) =>
    `an output with ${shareText(reasoningTokens, outputTokens)} of reasoning`,
  latency: ({ latencyMs }) => `an answer after ${grouped(latencyMs ?? 0)} ms`,
  service_tier: ({ serviceTier }) => `the service tier ${JSON.stringify(serviceTier)}`,
  region: ({ region }) => `the region ${JSON.stringify(region)}`,
  identity: ({ isIdentityOfTrace }) =>
    isIdentityOfTrace ? 'the identity that other calls of its trace state' : 'the identity that the call states',
  tags: ({ tags = {} }) =>
    `what its tags say (${Object.entries(tags)
      .map(([key, value]) => JSON.stringify(`${key}=${value}`))
      .join(', ')})`,
  kubernetes: ({ k8sNamespace, k8sWorkload, workloadIdentity }) =>
    `where it ran (${[k8sNamespace, k8sWorkload, workloadIdentity]
      .filter((name) => name !== undefined)
      .map((name) => JSON.stringify(name))
      .join(', ')})`,
  trace: () => 'the company of the other calls of its trace',
}

const grouped = (count: number): string => count.toLocaleString('en-US')
const shareText = (part = 0, whole = 0): string => `${whole === 0 ? 0 : Math.round((100 * part) / whole)} %`

/** Caps that can keep the confidence of an inferred record below its probability. */
export const INFERENCE_CAPS = ['policy', 'baseline', 'not_validated', 'producer'] as const
export type InferenceCap = (typeof INFERENCE_CAPS)[number]

/**
 * Explains the confidence of an inferred record: the minimum of its probability and the caps. The producer's cap is
 * listed only if it is the lowest. Members in wire form.
 *
 * @returns null for a record that was not inferred
 */
export function explainInference(
  stored: {
    readonly inference: string
    readonly evidence: string
    readonly evidence_basis: string
    readonly confidence: string
  },
  { reasons, compared_with }: Pick<ModelExplanation, 'reasons' | 'compared_with'> = {},
): object | null {
  if (stored.inference === '') return null
  const { probability, unknown_probability } = JSON.parse(stored.inference) as Inference
  const { passed_validation: isPassed } = JSON.parse(stored.evidence) as { readonly passed_validation?: boolean }
  const caps: [InferenceCap, Confidence][] = [['policy', CONFIDENCE_CAP]]
  if (stored.evidence_basis === 'heuristic_baseline') caps.push(['baseline', HEURISTIC_CONFIDENCE_MAX])
  if (isPassed === false) caps.push(['not_validated', CHARGEBACK_FLOOR - 1])
  const confidence = Math.round(Number(stored.confidence) * 10_000)
  const least = Math.min(Math.round(Number(probability) * 10_000), ...caps.map(([, at]) => at))
  if (confidence < least) caps.push(['producer', confidence])
  return {
    probability,
    unknown_probability: unknown_probability ?? null,
    caps: caps.map(([cap, at]) => ({ cap, at: (at / 10_000).toFixed(4) })),
    reasons: reasons ?? [],
    compared_with: compared_with ?? null,
  }
}
