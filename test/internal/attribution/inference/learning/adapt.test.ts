import { expect, test } from 'vitest'
import { type AdaptInput, adapt } from '../../../../../internal/attribution/inference/learning/adapt.js'

/**
 * Two classes with resolved events and some that are known only from overrides, each with its own feature. Every class
 * has four unlabelled events, two of them with an override.
 */
function withOpenClasses(openClasses: number): AdaptInput {
  const classes = 2 + openClasses
  const resolved = Array.from({ length: 40 }, (_, i) => i % 2)
  const unlabelled = Array.from({ length: classes * 4 }, (_, i) => i % classes)
  const columns = [...resolved, ...unlabelled]
  return {
    rows: {
      count: columns.length,
      starts: Uint32Array.from({ length: columns.length + 1 }, (_, i) => i),
      columns: Uint32Array.from(columns),
      values: new Float32Array(columns.length).fill(1),
    },
    features: classes,
    classes,
    resolved: { row: Uint32Array.from(resolved.keys()), label: Uint16Array.from(resolved) },
    unlabelled: {
      row: Uint32Array.from(unlabelled, (_, i) => resolved.length + i),
      contexts: [new Int32Array(unlabelled.length)],
      known: Int16Array.from(unlabelled, (label, i) => (i < 2 * classes ? label : -1)),
      excluded: new Int16Array(unlabelled.length).fill(-1),
    },
    contexts: 1,
  }
}

test.each([1, 33, 40])('%i classes known only from overrides leave a share for the other classes', (openClasses) => {
  const { model, shares } = adapt(withOpenClasses(openClasses))

  expect(model.parameters.every(Number.isFinite)).toBe(true)
  expect(shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1)
  expect(Math.min(...shares.subarray(0, 2))).toBeGreaterThan(0)
})

test('adapt fails when the parameters are not finite', () => {
  const input = withOpenClasses(1)
  input.rows.values.fill(Number.NaN)

  expect(() => adapt(input)).toThrow('non-finite parameters')
})
