import type { Directory } from '../../../directory/directory.js'
import { datedLabel } from '../../../directory/labels.js'
import type { Prediction } from '../../../inference/learning/model.js'
import type { StoredModel } from '../../../inference/models/model-version.js'
import type { ServingBoard } from '../../../inference/models/serving-board.js'
import type { AdmittedInvocation } from '../../../invocations/invocation-group.js'
import { capConfidence, type DegradationState } from '../../../records/interpretation.js'
import { probabilityText, type Verdict } from '../../records/row.js'
import type { Baseline, CountedAsOf } from './baseline.js'
import { type FactsDeps, factsOfAll } from './inference-facts.js'
import type { Inferences, Shadow } from './inferences.js'
import type { Lookups } from './lookups.js'

/** The model or baseline that answered for a tenant in a batch; stored in the batch's plan. */
export interface Served {
  readonly state: DegradationState
  readonly model?: string
  /** The instants as of which records were read, if any were. */
  readonly asOf?: CountedAsOf
}

export interface AnswerDeps extends FactsDeps {
  readonly board: Pick<ServingBoard, 'of' | 'version'>
  readonly inference: Pick<Inferences, 'predict' | 'probe' | 'evaluateCandidate'>
  readonly baseline: Pick<Baseline, 'guess'>
  readonly directory: Pick<Directory, 'service' | 'serviceEntry' | 'identity'>
}

export interface Answered {
  readonly served: Served
  /** One entry per call; undefined for a call without a verdict. */
  readonly verdicts: readonly (Verdict | undefined)[]
  readonly shadow?: Shadow
}

/** Identifies the rules of the baseline. */
const BASELINE_VERSION = 'baseline-1'

/**
 * Attributes a tenant's calls with its serving model or, if there is none or it fails, with the baseline.
 *
 * @param planned the result of `served` when the batch was planned; the same model or baseline is then used again
 */
export async function answer(
  tenantId: string,
  calls: readonly AdmittedInvocation[],
  planned: Served | undefined,
  lookups: Lookups,
  deps: AnswerDeps,
): Promise<Answered> {
  const { state, model } = servingNow(tenantId, planned, deps)
  if (state === 'disabled') return { served: { state }, verdicts: [] }
  const asOf = planned?.asOf ?? {}
  if (model !== undefined) {
    const { facts, tracesMs } = await factsOfAll(tenantId, calls, asOf.tracesMs, lookups, deps)
    const predictions = await deps.inference.predict(model, facts)
    if (predictions !== undefined) {
      const shadow =
        planned === undefined ? await deps.inference.evaluateCandidate(model, facts, predictions) : undefined
      return {
        served: { state, model: model.id, ...(tracesMs !== undefined && { asOf: { tracesMs } }) },
        verdicts: predictions.map((prediction, i) =>
          verdictOf(named(prediction, calls[i], deps), calls[i], model, state),
        ),
        ...(shadow && { shadow }),
      }
    }
  } else if (planned === undefined) {
    await deps.inference.probe(tenantId, () =>
      factsOfAll(tenantId, calls, undefined, lookups, deps).then(({ facts }) => facts),
    )
  }
  return byBaseline(tenantId, calls, asOf, lookups, deps)
}

function servingNow(
  tenantId: string,
  planned: Served | undefined,
  { board }: AnswerDeps,
): ReturnType<ServingBoard['of']> {
  if (planned === undefined) return board.of(tenantId)
  return { state: planned.state, model: planned.model === undefined ? undefined : board.version(planned.model) }
}

/** With services as they were called at the time of the call. */
function named(
  prediction: Prediction,
  admitted: AdmittedInvocation | undefined,
  { directory }: AnswerDeps,
): Prediction {
  if (admitted === undefined) return prediction
  const { tenantId, invocation } = admitted
  const labelOf = (label: Prediction['label']) => datedLabel(label, tenantId, invocation.eventTimeMs, directory)
  return {
    ...prediction,
    label: labelOf(prediction.label),
    alternatives: prediction.alternatives.map((other) => ({ ...other, label: labelOf(other.label) })),
  }
}

function verdictOf(
  { label, probability, confidence, unknownProbability, alternatives }: Prediction,
  admitted: AdmittedInvocation | undefined,
  { id, card }: StoredModel,
  degradationState: DegradationState,
): Verdict {
  return {
    service: label.service,
    owner: label.owner,
    stageOrigin: 'stage_b',
    evidenceBasis: 'trained_inference',
    // Below the floor the call goes to allocation, also if only its producer has low confidence.
    confidence: capConfidence(confidence, admitted?.invocation.attributionConfidence),
    outputState: 'inferred',
    modelVersion: id,
    degradationState,
    evidence: { model: id, passed_validation: card.gate.isPassed },
    inference: {
      probability: probabilityText(probability),
      unknown_probability: probabilityText(unknownProbability),
      alternatives: alternatives.map(({ label: { service, owner }, probability: alternative }) => ({
        service,
        owner,
        probability: probabilityText(alternative),
      })),
    },
  }
}

async function byBaseline(
  tenantId: string,
  calls: readonly AdmittedInvocation[],
  plannedAsOf: CountedAsOf,
  lookups: Lookups,
  { baseline, directory }: AnswerDeps,
): Promise<Answered> {
  const state = 'degraded_serving'
  const baselineCalls = calls.map(({ principal, invocation: { attributedIdentity, traceId, eventTimeMs } }) => ({
    principal,
    statesIdentity: attributedIdentity !== undefined,
    traceId,
    eventTimeMs,
  }))
  const { guesses, asOf } = await baseline.guess(tenantId, baselineCalls, plannedAsOf, lookups)
  const verdicts = guesses.map((guess, i): Verdict | undefined => {
    const call = calls[i]
    if (guess === undefined || call === undefined) return undefined
    return {
      ...datedLabel(guess, tenantId, call.invocation.eventTimeMs, directory),
      stageOrigin: 'stage_b',
      evidenceBasis: 'heuristic_baseline',
      confidence: capConfidence(guess.confidence, call.invocation.attributionConfidence),
      outputState: 'inferred',
      modelVersion: BASELINE_VERSION,
      degradationState: state,
      evidence: guess.evidence,
      inference: { probability: guess.share, alternatives: guess.alternatives },
    }
  })
  return { served: { state, asOf }, verdicts }
}
