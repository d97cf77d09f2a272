import { HEURISTIC_CONFIDENCE_MAX } from '../../inference/learning/heuristic.js'
import { CHARGEBACK_FLOOR, CONFIDENCE_CAP, type Confidence } from '../../records/interpretation.js'
import type { ModelExplanation } from './model-explanation.js'
import type { Inference } from './row.js'

/** Caps that can keep the confidence of an inferred record below its probability. */
export const INFERENCE_CAPS = ['policy', 'baseline', 'not_validated', 'producer'] as const
export type InferenceCap = (typeof INFERENCE_CAPS)[number]

/**
 * Explains the confidence of an inferred record: the minimum of its probability and the caps. The producer's cap is listed
 * only if it is the lowest. Members in wire form.
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
