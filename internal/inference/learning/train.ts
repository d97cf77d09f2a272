import { calibrationCurve, type Judged } from './calibration.js'
import { type Examples, type Split, splitByTime, type TrainingRecord } from './examples.js'
import { FEATURE_GROUPS } from './features.js'
import { type Heuristic, learnHeuristic } from './heuristic.js'
import { type Learned, learn } from './learn.js'
import type { ClassLabel, Model, ModelCard, ModelParameters } from './model.js'
import {
  accuracyOf,
  answersOf,
  auditedEvents,
  calibrate,
  type Evidence,
  effectiveCount,
  findingsAgainst,
  gateFrom,
  gateOf,
  judge,
  lossesOf,
  prefersCandidate,
  qualityOf,
  servedTraffic,
  type ValidationEvent,
  weightedEvents,
} from './validation.js'
import { type DirectoryFacts, NO_DIRECTORY } from './views.js'

export interface TrainingOptions {
  /** The same records, options and seed give the same bytes. */
  readonly seed: number
  /** Default: no identity or credential resolves an event. */
  readonly directory?: DirectoryFacts
  /** The version that serves; the gate compares the candidate with it. */
  readonly serving?: Model | undefined
}

export type TrainingResult =
  | { readonly kind: 'trained'; readonly model: Model }
  /** Fewer than two classes have enough examples in the training part, or there is no traffic to serve. */
  | { readonly kind: 'too_few_examples'; readonly classes: number; readonly examples: number }

const CLASSES_MIN = 2
/** Minimum of unresolved events: fewer do not represent the traffic that the model will serve. */
const UNRESOLVED_MIN = 50

/**
 * Trains, calibrates and validates a version on the window of one tenant. `card.gate` holds whether validation passed.
 * Pure; takes seconds of processor time on 100,000 records.
 */
export function train(
  records: readonly TrainingRecord[],
  { seed, directory = NO_DIRECTORY, serving }: TrainingOptions,
): TrainingResult {
  const split = splitByTime(records)
  const { classes, training, validation, all } = split
  // One known class is enough if there are events of others that are too rare for a class: one service may have nearly
  // all calls.
  const isAlone = classes.length < CLASSES_MIN && all.resolved.every(({ label }) => label >= 0)
  const hasKnown = classes.some(({ isOpen }) => !isOpen)
  if (!hasKnown || isAlone || training.unlabelled.length < UNRESOLVED_MIN) {
    return { kind: 'too_few_examples', classes: classes.length, examples: training.resolved.length }
  }
  const learned = learn(training, classes, { seed, directory, later: validation.resolved })
  const served = servedTraffic(learned.parameters, learned.shares)
  const weighted = weightedEvents(validation, served, learned.parameters, directory, seed)
  const audited = auditedEvents(validation, classes.length)
  const temperature = calibrate(learned.parameters, weighted, audited)
  const held = { ...learned, parameters: { ...learned.parameters, temperature } }
  const compared = cardOf(split, seed, held, weighted, audited)
  const card =
    serving === undefined
      ? compared
      : withServing(compared, { card: compared, parameters: held.parameters }, serving, split)
  const whole = learn(all, classes, { seed, directory, choices: learned.choices, start: learned.known })
  return {
    kind: 'trained',
    model: { card: withShares(card, whole), parameters: { ...whole.parameters, temperature } },
  }
}

function cardOf(
  split: Split,
  seed: number,
  { parameters, shares, patterns, labelGain }: Learned,
  weighted: readonly ValidationEvent[],
  audited: readonly ValidationEvent[],
): ModelCard {
  const { classes, training, validation } = split
  const known = shares.subarray(0, classes.length)
  const baselines = {
    heuristic: heuristicOf(training, classes),
    classes,
    majority: known.indexOf(Math.max(...known)),
  }
  const judged = judge(parameters, weighted)
  const evidenceOf = (events: readonly ValidationEvent[], on?: readonly Judged[]): Evidence => {
    const losses = lossesOf(parameters, shares, events)
    return {
      quality: qualityOf(parameters, events, baselines, losses, on),
      gainInErrors: losses?.gainInErrors ?? 0,
    }
  }
  const onWeighted = evidenceOf(weighted, judged)
  const onAudited = audited.length === 0 ? undefined : evidenceOf(audited)
  const unlabelled = [...training.unlabelled, ...validation.unlabelled]
  const overrides = unlabelled.filter(({ override }) => override !== undefined).length
  const disputes = unlabelled.filter(({ dispute }) => dispute !== undefined).length
  return {
    format: 2,
    seed,
    classes: classes.map(({ service, owner, resolved, overrides }, c) => ({
      service,
      owner,
      examples: resolved + overrides,
      servedShare: shares[c] ?? 0,
    })),
    dataWindow: { fromMs: split.fromMs, toMs: split.toMs, validationFromMs: split.validationFromMs },
    examples: {
      resolved: training.resolved.length + validation.resolved.length,
      unresolved: unlabelled.length - overrides - disputes,
      overrides,
      disputes,
    },
    unknownShare: shares[classes.length] ?? 0,
    patterns,
    weighted: onWeighted.quality,
    audited: onAudited?.quality,
    gate: gateOf(onWeighted, effectiveCount(weighted), onAudited, labelGain),
    calibrationCurve: calibrationCurve(judged),
    featureImportance: importanceOf(parameters, weighted, judged),
  }
}

/** The card, with the shares of the model that serves. */
const withShares = (card: ModelCard, { shares, patterns }: Learned): ModelCard => ({
  ...card,
  classes: card.classes.map((one, c) => ({ ...one, servedShare: shares[c] ?? 0 })),
  unknownShare: shares[card.classes.length] ?? 0,
  patterns,
})

/** The card, with the gate's reasons from comparing the candidate with the serving version. */
function withServing(card: ModelCard, candidate: Model, serving: Model, { validation, classes }: Split): ModelCard {
  const unjudged = validation.unlabelled.filter(({ override }) => override === undefined).map(({ facts }) => facts)
  const audits = validation.unlabelled.flatMap(({ facts, override }) => {
    const label = override === undefined ? undefined : classes[override]
    return label === undefined ? [] : [{ facts, label }]
  })
  const findings = findingsAgainst({
    candidate: answersOf(candidate, unjudged),
    serving: answersOf(serving, unjudged),
    auditsPreferCandidate: prefersCandidate(candidate, serving, audits),
  })
  return { ...card, gate: gateFrom([...(card.gate.findings ?? []), ...findings]) }
}

function heuristicOf({ resolved, unlabelled }: Examples, classes: readonly ClassLabel[]): Heuristic {
  return learnHeuristic(
    [...resolved, ...unlabelled.map(({ facts, override }) => ({ facts, label: override ?? -1 }))].flatMap(
      ({ facts: { traceId, principal }, label }) => {
        const named = classes[label]
        return named === undefined ? [] : [{ traceId, principal, label: named }]
      },
    ),
  )
}

function importanceOf(parameters: ModelParameters, weighted: readonly ValidationEvent[], judged: readonly Judged[]) {
  const whole = accuracyOf(judged)
  return [...FEATURE_GROUPS, 'capture_context' as const]
    .map((feature) => ({ feature, accuracyLost: whole - accuracyOf(judge(parameters, weighted, feature)) }))
    .sort((one, other) => other.accuracyLost - one.accuracyLost)
}
