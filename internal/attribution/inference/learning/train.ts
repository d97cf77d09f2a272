import { type Adapted, adapt, logRatio } from './adapt.js'
import { calibrationCurve, type Judged } from './calibration.js'
import { Contexts, type CountedClass, type Examples, type Split, seededShare, splitByTime } from './examples.js'
import { type EventFacts, FEATURE_GROUPS, featuresOf } from './features.js'
import { type Heuristic, learnHeuristic } from './heuristic.js'
import type { ClassLabel, Model, ModelCard, ModelParameters } from './model.js'
import { compact } from './sparse-rows.js'
import {
  accuracyOf,
  auditedEvents,
  calibrate,
  effectiveCount,
  gateOf,
  judge,
  qualityOf,
  type ServedTraffic,
  type ValidationEvent,
  weightedEvents,
} from './validation.js'

/** An event of the training window of a tenant, with its attribution outcome. */
export interface TrainingRecord {
  readonly facts: EventFacts
  readonly outcome: Outcome
}

export type Outcome =
  /** Stage A attributed it from facts. */
  | { readonly kind: 'resolved'; readonly label: ClassLabel }
  /** It reached stage B and has no override or dispute. */
  | { readonly kind: 'unresolved' }
  /** It reached stage B, and an override assigns it to this label. */
  | { readonly kind: 'override'; readonly label: ClassLabel }
  /** It reached stage B, and a dispute rules out this label. */
  | { readonly kind: 'dispute'; readonly against: ClassLabel }

export interface TrainingOptions {
  /** The same records, options and seed give the same bytes. */
  readonly seed: number
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
export function train(records: readonly TrainingRecord[], { seed }: TrainingOptions): TrainingResult {
  const split = splitByTime(records)
  const { classes, training, validation } = split
  if (classes.length < CLASSES_MIN || training.unlabelled.length < UNRESOLVED_MIN) {
    return { kind: 'too_few_examples', classes: classes.length, examples: training.resolved.length }
  }
  const isMasked = identityMask(training, seed)
  const { parameters: uncalibrated, served } = learn(training, classes, isMasked)
  const masked: Examples = {
    ...validation,
    resolved: validation.resolved.map((example, i) =>
      isMasked(i + training.resolved.length) ? { ...example, facts: withoutIdentity(example.facts) } : example,
    ),
  }
  const weighted = weightedEvents(masked, served, uncalibrated, seed)
  const audited = auditedEvents(validation, classes.length)
  const parameters = { ...uncalibrated, temperature: calibrate(uncalibrated, weighted, audited) }
  const card = cardOf(split, seed, parameters, served, weighted, audited)
  return { kind: 'trained', model: { card, parameters } }
}

/**
 * Resolved events have an identity far more often than events that reach stage B. The identity of some resolved events
 * is therefore ignored, so that both have the same rate: a model must not rely on a fact that the served traffic lacks.
 */
function identityMask({ resolved, unlabelled }: Examples, seed: number): (index: number) => boolean {
  const stating = (events: readonly { readonly facts: EventFacts }[]): number =>
    events.filter(({ facts }) => facts.identityHash !== undefined).length / Math.max(1, events.length)
  const [there, here] = [stating(resolved), stating(unlabelled)]
  const dropped = there <= here ? 0 : 1 - here / there
  return (index) => seededShare(seed, index) < dropped
}

const withoutIdentity = ({ identityHash: _, ...facts }: EventFacts): EventFacts => facts

function learn(
  { resolved, unlabelled }: Examples,
  classes: readonly CountedClass[],
  isMasked: (index: number) => boolean,
): { parameters: ModelParameters; served: ServedTraffic } {
  const known = resolved.filter(({ label }) => label >= 0)
  const { columns: slots, rows } = compact(
    featuresOf(
      [...known, ...unlabelled].map(({ facts }) => facts),
      (group, index) => group === 'identity' && index < known.length && isMasked(index),
    ),
  )
  const contexts = new Contexts()
  const contextNumbers = contexts.of(unlabelled)
  const adapted = adapt({
    rows,
    features: slots.length,
    classes: classes.length,
    resolved: { row: Uint32Array.from(known.keys()), label: Uint16Array.from(known, ({ label }) => label) },
    unlabelled: {
      row: Uint32Array.from(unlabelled, (_, i) => known.length + i),
      contexts: contextNumbers,
      known: Int16Array.from(unlabelled, ({ override }) => (override === -1 ? classes.length : (override ?? -1))),
      excluded: Int16Array.from(unlabelled, ({ dispute }) => dispute ?? -1),
    },
    contexts: contexts.names.length,
  })
  const counted = new Map<number, { number: number; facts: EventFacts; count: number }>()
  for (const [i, { facts }] of unlabelled.entries()) {
    const number = contextNumbers[1][i] ?? 0
    const entry = counted.get(number)
    if (entry === undefined) counted.set(number, { number, facts, count: 1 })
    else entry.count++
  }
  return {
    parameters: parametersOf(adapted, slots, contexts.names),
    served: { shares: adapted.shares, mixes: adapted.mixes, contexts: [...counted.values()] },
  }
}

function parametersOf(
  { model, shares, mixes }: Adapted,
  slots: Uint32Array,
  contexts: readonly string[],
): ModelParameters {
  const columns = model.classes
  return {
    slots,
    weights: Float32Array.from(model.parameters.subarray(columns)),
    intercepts: Float32Array.from(model.parameters.subarray(0, columns)),
    contextOffsets: new Map(
      contexts.map((name, number) => [
        name,
        Float32Array.from(shares, (share, c) => logRatio(mixes[number * columns + c] ?? 0, share)),
      ]),
    ),
    temperature: 1,
  }
}

function cardOf(
  split: Split,
  seed: number,
  parameters: ModelParameters,
  served: ServedTraffic,
  weighted: readonly ValidationEvent[],
  audited: readonly ValidationEvent[],
): ModelCard {
  const { classes, training, validation } = split
  const known = served.shares.subarray(0, classes.length)
  const baselines = {
    heuristic: heuristicOf(training, classes),
    classes,
    majority: known.indexOf(Math.max(...known)),
  }
  const judged = judge(parameters, weighted)
  const weightedQuality = qualityOf(parameters, weighted, baselines, judged)
  const auditedQuality = audited.length === 0 ? undefined : qualityOf(parameters, audited, baselines)
  const unlabelled = [...training.unlabelled, ...validation.unlabelled]
  const overrides = unlabelled.filter(({ override }) => override !== undefined).length
  const disputes = unlabelled.filter(({ dispute }) => dispute !== undefined).length
  return {
    format: 1,
    seed,
    classes: classes.map(({ service, owner, resolved, overrides }, c) => ({
      service,
      owner,
      examples: resolved + overrides,
      servedShare: served.shares[c] ?? 0,
    })),
    dataWindow: { fromMs: split.fromMs, toMs: split.toMs, validationFromMs: split.validationFromMs },
    examples: {
      resolved: training.resolved.length + validation.resolved.length,
      unresolved: unlabelled.length - overrides - disputes,
      overrides,
      disputes,
    },
    unknownShare: served.shares[classes.length] ?? 0,
    weighted: weightedQuality,
    audited: auditedQuality,
    gate: gateOf(weightedQuality, effectiveCount(weighted), auditedQuality),
    calibrationCurve: calibrationCurve(judged),
    featureImportance: importanceOf(parameters, weighted, judged),
  }
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
