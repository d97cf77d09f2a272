import { CHARGEBACK_FLOOR, CONFIDENCE_CAP, type Confidence } from '../../../records/interpretation.js'
import { contextsOf, type EventFacts, FEATURE_SLOTS, featuresOf } from './features.js'
import { logSumExp } from './logistic-regression.js'
import { ALTERNATIVES_MAX, type Model, type ModelParameters, type Prediction } from './model.js'
import type { SparseRows } from './sparse-rows.js'

/** One prediction per event, in the order of the events. */
export function predict(model: Model, events: readonly EventFacts[]): Prediction[] {
  const { card, parameters } = model
  const rows = featuresOf(events)
  const logits = new Float64Array(parameters.intercepts.length)
  return events.map((event, row) => {
    writeModelLogits(parameters, rows, row, offsetsOf(parameters, event), logits)
    return predictionOf(model, toProbabilities(logits, parameters.temperature), card.gate.isPassed)
  })
}

/** The prior of the most specific context that the model knows. */
export function offsetsOf({ contextOffsets }: ModelParameters, event: EventFacts): Float32Array | undefined {
  const [layer, principal] = contextsOf(event)
  return contextOffsets.get(principal) ?? contextOffsets.get(layer)
}

/** Writes one logit per class and one for the unknown class, not yet divided by the temperature. */
export function writeModelLogits(
  parameters: ModelParameters,
  rows: SparseRows,
  row: number,
  offsets: Float32Array | undefined,
  logits: Float64Array,
): void {
  const { intercepts, weights } = parameters
  const places = placesOf(parameters)
  const columns = intercepts.length
  for (let c = 0; c < columns; c++) logits[c] = (intercepts[c] as number) + (offsets?.[c] ?? 0)
  for (let k = rows.starts[row] as number; k < (rows.starts[row + 1] as number); k++) {
    const place = places[rows.columns[k] as number] as number
    if (place < 0) continue
    const x = rows.values[k] as number
    for (let c = 0; c < columns; c++) logits[c] = (logits[c] as number) + x * (weights[place * columns + c] as number)
  }
}

/** In place. */
export function toProbabilities(logits: Float64Array, temperature: number): Float64Array {
  for (let c = 0; c < logits.length; c++) logits[c] = (logits[c] as number) / temperature
  const normaliser = logSumExp(logits)
  for (let c = 0; c < logits.length; c++) logits[c] = Math.exp((logits[c] as number) - normaliser)
  return logits
}

function predictionOf({ card: { classes } }: Model, probabilities: Float64Array, isPassed: boolean): Prediction {
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
    confidence: confidenceOf(best.probability, isPassed),
    unknownProbability: probabilities[classes.length] as number,
    alternatives: others,
  }
}

/** Truncated, never rounded up. Below the chargeback floor when the gate has not passed (design section 5, stage B). */
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
