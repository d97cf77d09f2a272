import { minimise } from './lbfgs.js'
import type { SparseRows } from './sparse-rows.js'

/**
 * Multinomial logistic regression on sparse rows, with one weight per example and a quadratic penalty on all weights
 * except the intercepts.
 */
export interface LinearModel {
  readonly classes: number
  readonly features: number
  /** Intercepts, one per class; then weights, row-major: one row per feature, one column per class. */
  readonly parameters: Float64Array
}

export interface WeightedExamples {
  readonly rows: SparseRows
  /** Row of each example; a row can occur more than once, as an example of several classes. */
  readonly row: Uint32Array
  readonly label: Uint16Array
  /** 0 or more. */
  readonly weight: Float64Array
  /** Row-major, one row per example, one column per class: added to the logits and not fitted. */
  readonly offsets?: Float32Array
  /** Whether the intercepts stay as they are. */
  readonly hasFixedIntercepts?: boolean
}

export interface FitOptions {
  /** Inverse variance of the weights' normal prior: of all, or of each feature. */
  readonly penalty: number | Float64Array
  readonly iterationsMax: number
  readonly tolerance: number
}

export const zeroModel = (classes: number, features: number): LinearModel => ({
  classes,
  features,
  parameters: new Float64Array(classes * (features + 1)),
})

export function fitRegression(examples: WeightedExamples, start: LinearModel, options: FitOptions): LinearModel {
  const { classes, features } = start
  const objective = (point: Float64Array, gradient: Float64Array): number =>
    negativeLogLikelihood(examples, { classes, features, parameters: point }, options.penalty, gradient)
  return { classes, features, parameters: minimise(objective, start.parameters, options).point }
}

/** Includes the penalty; writes the gradient. Exported so that a test can check the gradient against the value. */
export function negativeLogLikelihood(
  { rows, row, label, weight, offsets, hasFixedIntercepts = false }: WeightedExamples,
  model: LinearModel,
  penalty: number | Float64Array,
  gradient: Float64Array,
): number {
  const { classes, parameters } = model
  const { starts, columns, values } = rows
  const logits = new Float64Array(classes)
  gradient.fill(0)
  let value = 0
  for (let i = 0; i < row.length; i++) {
    const ofExample = weight[i] as number
    if (ofExample === 0) continue
    const at = row[i] as number
    const from = starts[at] as number
    const to = starts[at + 1] as number
    writeLogits(model, rows, at, logits)
    if (offsets !== undefined) {
      for (let c = 0; c < classes; c++) logits[c] = (logits[c] as number) + (offsets[i * classes + c] as number)
    }
    const normaliser = logSumExp(logits)
    const own = label[i] as number
    value += ofExample * (normaliser - (logits[own] as number))
    for (let c = 0; c < classes; c++) {
      const residual = ofExample * (Math.exp((logits[c] as number) - normaliser) - (c === own ? 1 : 0))
      logits[c] = residual
      gradient[c] = (gradient[c] as number) + residual
    }
    for (let k = from; k < to; k++) {
      const base = classes * ((columns[k] as number) + 1)
      const x = values[k] as number
      for (let c = 0; c < classes; c++) gradient[base + c] = (gradient[base + c] as number) + x * (logits[c] as number)
    }
  }
  if (hasFixedIntercepts) gradient.fill(0, 0, classes)
  for (let i = classes; i < parameters.length; i++) {
    const parameter = parameters[i] as number
    const ofFeature = typeof penalty === 'number' ? penalty : (penalty[Math.floor(i / classes) - 1] as number)
    value += 0.5 * ofFeature * parameter * parameter
    gradient[i] = (gradient[i] as number) + ofFeature * parameter
  }
  return value
}

/** Writes one logit per class, for one row. */
function writeLogits(model: LinearModel, rows: SparseRows, row: number, logits: Float64Array): void {
  const { classes, parameters } = model
  const { starts, columns, values } = rows
  for (let c = 0; c < classes; c++) logits[c] = parameters[c] as number
  for (let k = starts[row] as number; k < (starts[row + 1] as number); k++) {
    const base = classes * ((columns[k] as number) + 1)
    const x = values[k] as number
    for (let c = 0; c < classes; c++) logits[c] = (logits[c] as number) + x * (parameters[base + c] as number)
  }
}

/** The logits of all rows, row-major. */
export function logitsOf(model: LinearModel, rows: SparseRows): Float32Array {
  const all = new Float32Array(rows.count * model.classes)
  const logits = new Float64Array(model.classes)
  for (let row = 0; row < rows.count; row++) {
    writeLogits(model, rows, row, logits)
    all.set(logits, row * model.classes)
  }
  return all
}

export function logSumExp(logits: Float64Array): number {
  let most = Number.NEGATIVE_INFINITY
  for (const logit of logits) if (logit > most) most = logit
  if (most === Number.NEGATIVE_INFINITY) return most
  let sum = 0
  for (const logit of logits) sum += Math.exp(logit - most)
  return most + Math.log(sum)
}
