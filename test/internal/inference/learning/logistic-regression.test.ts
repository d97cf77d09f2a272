import fc from 'fast-check'
import { expect, test } from 'vitest'
import { minimise } from '../../../../internal/inference/learning/lbfgs.js'
import {
  fitRegression,
  logitsOf,
  negativeLogLikelihood,
  zeroModel,
} from '../../../../internal/inference/learning/logistic-regression.js'
import { SparseRowsBuilder } from '../../../../internal/inference/learning/sparse-rows.js'
import { drawn } from '../../../support/run/rings.js'

const CLASSES = 3
const FEATURES = 4

const examples = fc
  .array(
    fc.record({
      features: fc.array(fc.tuple(fc.nat(FEATURES - 1), fc.double({ min: -2, max: 2, noNaN: true })), { maxLength: 4 }),
      label: fc.nat(CLASSES - 1),
      weight: fc.double({ min: 0, max: 3, noNaN: true }),
    }),
    { minLength: 1, maxLength: 12 },
  )
  .map((list) => {
    const rows = new SparseRowsBuilder(list.length)
    for (const { features } of list) {
      for (const [column, value] of features) rows.add(column, value)
      rows.endRow()
    }
    return {
      rows: rows.build(),
      row: Uint32Array.from(list.keys()),
      label: Uint16Array.from(list, ({ label }) => label),
      weight: Float64Array.from(list, ({ weight }) => weight),
    }
  })

const parameters = fc
  .array(fc.double({ min: -2, max: 2, noNaN: true }), {
    minLength: CLASSES * (FEATURES + 1),
    maxLength: CLASSES * (FEATURES + 1),
  })
  .map((list) => Float64Array.from(list))

test('the gradient of the likelihood equals its numerical derivative', () => {
  fc.assert(
    fc.property(examples, parameters, (some, point) => {
      const model = { classes: CLASSES, features: FEATURES, parameters: point }
      const gradient = new Float64Array(point.length)
      negativeLogLikelihood(some, model, 0.7, gradient)

      const step = 1e-5
      for (let i = 0; i < point.length; i++) {
        const valueAt = (moved: number): number => {
          const parameters = point.slice()
          parameters[i] = (parameters[i] ?? 0) + moved
          return negativeLogLikelihood(some, { ...model, parameters }, 0.7, new Float64Array(point.length))
        }
        expect(gradient[i]).toBeCloseTo((valueAt(step) - valueAt(-step)) / (2 * step), 4)
      }
    }),
    { numRuns: drawn(50) },
  )
})

test('a fit never ends above its start, and its gradient is zero at the end', () => {
  fc.assert(
    fc.property(examples, (some) => {
      const start = zeroModel(CLASSES, FEATURES)
      const options = { penalty: 0.5, iterationsMax: 200, tolerance: 1e-12 }

      const model = fitRegression(some, start, options)

      const gradient = new Float64Array(model.parameters.length)
      const before = negativeLogLikelihood(some, start, 0.5, gradient)
      const after = negativeLogLikelihood(some, model, 0.5, gradient)
      expect(after).toBeLessThanOrEqual(before)
      for (let i = CLASSES; i < gradient.length; i++) expect(Math.abs(gradient[i] ?? 0)).toBeLessThan(1e-2)
    }),
    { numRuns: drawn(50) },
  )
})

test('an example with twice the weight counts the same as two examples', () => {
  const rows = new SparseRowsBuilder(2)
  rows.add(0, 1)
  rows.endRow()
  rows.add(1, 1)
  rows.endRow()
  const built = rows.build()
  const options = { penalty: 1, iterationsMax: 100, tolerance: 1e-12 }

  const weighted = fitRegression(
    { rows: built, row: Uint32Array.of(0, 1), label: Uint16Array.of(0, 1), weight: Float64Array.of(2, 1) },
    zeroModel(2, 2),
    options,
  )
  const repeated = fitRegression(
    { rows: built, row: Uint32Array.of(0, 0, 1), label: Uint16Array.of(0, 0, 1), weight: Float64Array.of(1, 1, 1) },
    zeroModel(2, 2),
    options,
  )

  for (const [i, logit] of logitsOf(weighted, built).entries()) {
    expect(logit).toBeCloseTo(logitsOf(repeated, built)[i] ?? Number.NaN, 6)
  }
})

test('L-BFGS finds the minimum of the Rosenbrock function', () => {
  const { point, value } = minimise(
    (at, gradient) => {
      const [x = 0, y = 0] = at
      gradient[0] = -2 * (1 - x) - 400 * x * (y - x * x)
      gradient[1] = 200 * (y - x * x)
      return (1 - x) ** 2 + 100 * (y - x * x) ** 2
    },
    Float64Array.of(-1.2, 1),
    { iterationsMax: 200, tolerance: 0 },
  )

  expect(value).toBeLessThan(1e-12)
  expect(point[0]).toBeCloseTo(1, 5)
  expect(point[1]).toBeCloseTo(1, 5)
})
