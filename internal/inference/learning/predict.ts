import { CHARGEBACK_FLOOR, CONFIDENCE_CAP, type Confidence } from '../../records/interpretation.js'
import { type EventFacts, FEATURE_SLOTS, type FeatureGroup, featuresOf, identitySlot } from './features.js'
import { logSumExp } from './logistic-regression.js'
import { ALTERNATIVES_MAX, type Model, type ModelParameters, type Prediction } from './model.js'
import type { SparseRows } from './sparse-rows.js'
import { contextsOf, patternOf } from './views.js'

/** One prediction per event, in the order of the events. */
export function predict(model: Model, events: readonly EventFacts[]): Prediction[] {
  const { card, parameters } = model
  const rows = featuresOf(events)
  const logits = new Float64Array(parameters.intercepts.length)
  return events.map((event, row) => {
    writeModelLogits(parameters, rows, row, event, offsetsOf(parameters, event), logits)
    const mayBeSure = card.gate.isPassed && !isUnlikeAll(parameters, rows, row, event)
    return predictionOf(model, toProbabilities(logits, parameters.temperature), mayBeSure)
  })
}

/** Share of an event's features that may be new to the model; above it, no prediction counts as sure. */
const NEW_FEATURES_MAX = 0.3

/**
 * Whether most of what the event shows is new to the model: another provider's model, or sizes far from all others. Its
 * remaining features may still favour one class clearly, but prove little.
 */
function isUnlikeAll(parameters: ModelParameters, rows: SparseRows, row: number, event: EventFacts): boolean {
  if (parameters.slots.length === 0) return false
  const { all, unseen } = seenOf(parameters, rows, row)
  if (unseen <= NEW_FEATURES_MAX * all) return false
  // Names that senders choose freely: a call may have any number of new ones.
  const free = seenOf(parameters, featuresOf([event], { leftOut: (group) => !FREE.has(group) }), 0)
  return unseen - free.unseen > NEW_FEATURES_MAX * (all - free.all)
}

const FREE: ReadonlySet<FeatureGroup> = new Set(['tags', 'kubernetes'])

/** The number of an event's features, and of those that are new to the model. */
function seenOf(parameters: ModelParameters, rows: SparseRows, row: number) {
  const places = placesOf(parameters)
  const [from, to] = [rows.starts[row] as number, rows.starts[row + 1] as number]
  let unseen = 0
  for (let k = from; k < to; k++) if ((places[rows.columns[k] as number] as number) < 0) unseen++
  return { all: to - from, unseen }
}

/** The prior of the most specific context that the model knows. */
export function offsetsOf(parameters: ModelParameters, event: EventFacts): Float32Array | undefined {
  const { contextOffsets } = parameters
  const [pattern, layer, principal] = contextsOf(event, patternOf(event, familiarOf(parameters)))
  return contextOffsets.get(principal) ?? contextOffsets.get(layer) ?? contextOffsets.get(pattern)
}

/** Whether the model knows an identity from labelled events. */
export const familiarOf = (parameters: ModelParameters) => {
  const places = placesOf(parameters)
  return (identityHash: string): boolean => (places[identitySlot(identityHash)] as number) >= 0
}

/** Writes one logit per class and one for the unknown class, not yet divided by the temperature. */
export function writeModelLogits(
  parameters: ModelParameters,
  rows: SparseRows,
  row: number,
  { identityHash }: EventFacts,
  offsets: Float32Array | undefined,
  logits: Float64Array,
): void {
  const { intercepts, weights } = parameters
  const columns = intercepts.length
  const identityAt = identityHash ? (placesOf(parameters)[identitySlot(identityHash)] as number) : -1
  for (let c = 0; c < columns; c++) logits[c] = intercepts[c] as number
  const isStated = writeSlotLogits(parameters, rows, row, logits, identityAt)
  nest(parameters.openClasses, logits)
  // What an identity says holds for the unknown class as for the known ones.
  if (isStated) add(logits, weights, identityAt * columns)
  if (offsets !== undefined) add(logits, offsets, 0)
}

function add(logits: Float64Array, terms: Float32Array, from: number): void {
  for (let c = 0; c < logits.length; c++) logits[c] = (logits[c] as number) + (terms[from + c] as number)
}

/**
 * Adds the contributions of one row's features to the logits.
 *
 * @param leftOutAt place of a feature that is not added
 * @returns whether the row has that feature
 */
export function writeSlotLogits(
  parameters: ModelParameters,
  rows: SparseRows,
  row: number,
  logits: Float64Array,
  leftOutAt = -1,
): boolean {
  const { intercepts, weights } = parameters
  let isLeftOut = false
  const places = placesOf(parameters)
  const columns = intercepts.length
  for (let k = rows.starts[row] as number; k < (rows.starts[row + 1] as number); k++) {
    const place = places[rows.columns[k] as number] as number
    if (place < 0) continue
    if (place === leftOutAt) {
      isLeftOut = true
      continue
    }
    const x = rows.values[k] as number
    for (let c = 0; c < columns; c++) logits[c] = (logits[c] as number) + x * (weights[place * columns + c] as number)
  }
  return isLeftOut
}

/** Turns the logit of "none of the known classes" into one beside those of the classes; open classes share it. */
function nest(openClasses: readonly number[], logits: Float64Array): void {
  const last = logits.length - 1
  const open = openClasses.map((c) => logits[c] as number)
  for (const c of openClasses) logits[c] = Number.NEGATIVE_INFINITY
  const other = logits[last] as number
  logits[last] = Number.NEGATIVE_INFINITY
  const ofOther = logSumExp(logits) + other - (open.length === 0 ? 0 : logSumExp(Float64Array.from([0, ...open])))
  for (const [i, c] of openClasses.entries()) logits[c] = ofOther + (open[i] as number)
  logits[last] = ofOther
}

/** In place. */
export function toProbabilities(logits: Float64Array, temperature: number): Float64Array {
  for (let c = 0; c < logits.length; c++) logits[c] = (logits[c] as number) / temperature
  const normaliser = logSumExp(logits)
  for (let c = 0; c < logits.length; c++) logits[c] = Math.exp((logits[c] as number) - normaliser)
  return logits
}

function predictionOf({ card: { classes } }: Model, probabilities: Float64Array, mayBeSure: boolean): Prediction {
  const ranked: number[] = []
  for (let c = 0; c < classes.length; c++) {
    let place = ranked.length
    while (place > 0 && (probabilities[ranked[place - 1] as number] as number) < (probabilities[c] as number)) place--
    if (place > ALTERNATIVES_MAX) continue
    ranked.splice(place, 0, c)
    if (ranked.length > ALTERNATIVES_MAX + 1) ranked.pop()
  }
  const [best, ...others] = ranked.map((c) => {
    const { service, owner } = classes[c] as (typeof classes)[number]
    return { label: { service, owner }, probability: probabilities[c] as number }
  }) as [Prediction['alternatives'][number], ...Prediction['alternatives']]
  return {
    ...best,
    confidence: confidenceOf(best.probability, mayBeSure),
    unknownProbability: probabilities[classes.length] as number,
    alternatives: others,
  }
}

/** Truncated, never rounded up. Below the chargeback floor when the gate has not passed. */
export const confidenceOf = (probability: number, isPassed: boolean): Confidence =>
  Math.min(Math.floor(probability * 10_000), isPassed ? CONFIDENCE_CAP : CHARGEBACK_FLOOR - 1)

/** Index of each feature slot among the slots of the model; -1 when the slot has no weights. */
function placesOf(parameters: ModelParameters): Int32Array {
  const known = PLACES.get(parameters)
  if (known !== undefined) return known
  const places = new Int32Array(FEATURE_SLOTS).fill(-1)
  for (const [place, slot] of parameters.slots.entries()) places[slot] = place
  PLACES.set(parameters, places)
  return places
}

const PLACES = new WeakMap<ModelParameters, Int32Array>()
