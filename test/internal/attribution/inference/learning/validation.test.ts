import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Quality } from '../../../../../internal/attribution/inference/learning/model.js'
import { effectiveCount, gateOf } from '../../../../../internal/attribution/inference/learning/validation.js'

const GOOD: Quality = {
  n: 1_000,
  accuracy: 0.8,
  heuristicAccuracy: 0.5,
  majorityAccuracy: 0.4,
  calibrationError: 0.05,
  precisionAtFloor: 0.95,
  shareAtFloor: 0.5,
}

const reasonsOf = (weighted: Partial<Quality>, n = 1_000, audited?: Partial<Quality>): readonly string[] =>
  gateOf({ ...GOOD, ...weighted }, n, audited && { ...GOOD, ...audited }).reasons

test('a calibrated model that beats both baselines passes the gate', () => {
  expect(gateOf(GOOD, 1_000, undefined)).toEqual({ isPassed: true, reasons: [] })
  expect(gateOf(GOOD, 1_000, { ...GOOD, n: 60 })).toEqual({ isPassed: true, reasons: [] })
})

test('a calibration error of 0.05 passes the gate, and a greater one does not', () => {
  expect(reasonsOf({ calibrationError: 0.05 })).toEqual([])
  expect(reasonsOf({ calibrationError: 0.0501 })).toEqual(['miscalibrated'])
})

test('the gate requires that a model beats each baseline by more than chance', () => {
  expect(reasonsOf({ heuristicAccuracy: 0.79 })).toEqual(['beats_no_baseline'])
  expect(reasonsOf({ majorityAccuracy: 0.79 })).toEqual(['beats_no_baseline'])
  // The same difference with a hundred times as many events is significant.
  expect(reasonsOf({ majorityAccuracy: 0.79 }, 100_000)).toEqual([])
})

test('the gate checks audits only when there are enough of them, and then as strictly as the weighted events', () => {
  const wrong = { accuracy: 0.3, calibrationError: 0.4 }

  expect(reasonsOf({}, 1_000, { ...wrong, n: 49 })).toEqual([])
  expect(reasonsOf({}, 1_000, { ...wrong, n: 50 })).toEqual(['beats_no_baseline_on_audits', 'miscalibrated_on_audits'])
})

test('the gate does not pass with too few validation events', () => {
  expect(reasonsOf({}, 99)).toEqual(['too_few_validation_examples'])
  expect(reasonsOf({}, 100)).toEqual([])
})

test('the effective count of n events of equal weight is n, and one of a single event with all the weight is 1', () => {
  const events = (weights: readonly number[]) =>
    weights.map((weight) => ({
      facts: { eventTimeMs: 0, provider: '', model: '', ingestionLayer: '', principal: '' },
      truth: 0,
      weight,
    }))

  expect(effectiveCount(events([2, 2, 2]))).toBeCloseTo(3)
  expect(effectiveCount(events([1, 0, 0]))).toBeCloseTo(1)
  expect(effectiveCount([])).toBe(0)
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0.01, max: 10, noNaN: true }), { minLength: 1 }), (weights) => {
      const count = effectiveCount(events(weights))

      expect(count).toBeGreaterThanOrEqual(1 - 1e-9)
      expect(count).toBeLessThanOrEqual(weights.length + 1e-9)
    }),
  )
})
