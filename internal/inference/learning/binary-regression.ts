import { minimise } from './lbfgs.js'
import type { FitOptions } from './logistic-regression.js'
import type { SparseRows } from './sparse-rows.js'

/** Logistic regression of one outcome on sparse rows: an intercept, then one weight per feature. */
export interface BinaryExamples {
  readonly rows: SparseRows
  /** Row of each example; a row can occur more than once. */
  readonly row: Uint32Array
  readonly isPositive: Uint8Array
  /** 0 or more. */
  readonly weight: Float64Array
}

export function fitBinary(
  { rows, row, isPositive, weight }: BinaryExamples,
  start: Float64Array,
  options: FitOptions,
): Float64Array {
  const { starts, columns, values } = rows
  const objective = (point: Float64Array, gradient: Float64Array): number => {
    gradient.fill(0)
    let value = 0
    for (let i = 0; i < row.length; i++) {
      const w = weight[i] as number
      if (w === 0) continue
      const from = starts[row[i] as number] as number
      const to = starts[(row[i] as number) + 1] as number
      let logit = point[0] as number
      for (let k = from; k < to; k++) logit += (values[k] as number) * (point[(columns[k] as number) + 1] as number)
      const y = isPositive[i] as number
      value += w * (softplus(logit) - y * logit)
      const residual = w * (sigmoid(logit) - y)
      gradient[0] = (gradient[0] as number) + residual
      for (let k = from; k < to; k++) {
        const at = (columns[k] as number) + 1
        gradient[at] = (gradient[at] as number) + residual * (values[k] as number)
      }
    }
    for (let i = 1; i < point.length; i++) {
      const parameter = point[i] as number
      const penalty = typeof options.penalty === 'number' ? options.penalty : (options.penalty[i - 1] as number)
      value += 0.5 * penalty * parameter * parameter
      gradient[i] = (gradient[i] as number) + penalty * parameter
    }
    return value
  }
  return minimise(objective, start, options).point
}

/** The logit of each row. */
export function binaryLogits(point: Float64Array, { count, starts, columns, values }: SparseRows): Float64Array {
  const logits = new Float64Array(count)
  for (let row = 0; row < count; row++) {
    let logit = point[0] as number
    for (let k = starts[row] as number; k < (starts[row + 1] as number); k++) {
      logit += (values[k] as number) * (point[(columns[k] as number) + 1] as number)
    }
    logits[row] = logit
  }
  return logits
}

const sigmoid = (logit: number): number => 1 / (1 + Math.exp(-logit))

const softplus = (logit: number): number =>
  logit > 0 ? logit + Math.log1p(Math.exp(-logit)) : Math.log1p(Math.exp(logit))
