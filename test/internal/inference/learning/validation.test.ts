import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Quality } from '../../../../internal/inference/learning/model.js'
import { effectiveCount, findingsAgainst, gateOf } from '../../../../internal/inference/learning/validation.js'

const GOOD: Quality = {
  n: 1_000,
  accuracy: 0.8,
  heuristicAccuracy: 0.5,
  majorityAccuracy: 0.4,
  calibrationError: 0.05,
  precisionAtFloor: 0.95,
  shareAtFloor: 0.5,
}

const evidence = (quality: Partial<Quality> = {}, gainInErrors = 5) => ({
  quality: { ...GOOD, ...quality },
  gainInErrors,
})

test('a calibrated model whose features tell more than chance passes the gate', () => {
  expect(gateOf(evidence(), 1_000, undefined)).toEqual({ isPassed: true, reasons: [] })
  expect(gateOf(evidence(), 1_000, evidence({ n: 60 }))).toEqual({ isPassed: true, reasons: [] })
})

test('a model whose labels gain nothing from features fails, however well it separates them from the rest', () => {
  expect(gateOf(evidence(), 1_000, undefined, 1.9).reasons).toEqual(['beats_no_baseline'])
  expect(gateOf(evidence(), 1_000, undefined, 2.1).isPassed).toBe(true)
})

test('a model that is right as often as the most frequent class passes when its probabilities say more', () => {
  expect(gateOf(evidence({ accuracy: 0.97, majorityAccuracy: 0.97 }), 1_000, undefined).isPassed).toBe(true)
})

test('the gate says what a version fails', () => {
  const reasonsOf = (of: ReturnType<typeof evidence>, n = 1_000) => gateOf(of, n, undefined).reasons

  expect(reasonsOf(evidence({}, 2))).toEqual(['beats_no_baseline'])
  expect(reasonsOf(evidence({ calibrationError: 0.0501 }))).toEqual(['miscalibrated'])
  expect(reasonsOf(evidence({ precisionAtFloor: 0.79 }))).toEqual(['imprecise'])
  expect(reasonsOf(evidence({ precisionAtFloor: undefined }))).toEqual([])
  expect(reasonsOf(evidence(), 99)).toEqual(['too_few_validation_examples'])
})

test('the gate says the figure that failed, and what it had to be', () => {
  const failed = evidence({ precisionAtFloor: 0.79, calibrationError: 0.08 })

  expect(gateOf(failed, 1_000, evidence({ n: 60 }, 1.5)).findings).toEqual([
    { reason: 'imprecise', figure: 0.79, mustBe: 'at_least', bound: 0.8 },
    { reason: 'miscalibrated', figure: 0.08, mustBe: 'at_most', bound: 0.05 },
    { reason: 'beats_no_baseline_on_audits', figure: 1.5, mustBe: 'above', bound: 2 },
  ])
})

test('the gate checks audits only when there are enough of them, and then as strictly as the weighted events', () => {
  const wrong = { precisionAtFloor: 0.3, calibrationError: 0.4 }

  expect(gateOf(evidence(), 1_000, evidence({ ...wrong, n: 49 }, 0)).reasons).toEqual([])
  expect(gateOf(evidence(), 1_000, evidence({ ...wrong, n: 50 }, 0)).reasons).toEqual([
    'beats_no_baseline_on_audits',
    'imprecise_on_audits',
    'miscalibrated_on_audits',
  ])
})

test('a candidate that names far less or calls far more unknown than the serving version needs audits', () => {
  const serving = { named: 0.9, unknown: 0.05 }
  const against = (named: number, unknown: number, auditsPreferCandidate = false) =>
    findingsAgainst({ serving, candidate: { named, unknown }, auditsPreferCandidate }).map(({ reason }) => reason)

  expect(against(0.6, 0.15)).toEqual([])
  expect(against(0.59, 0.05)).toEqual(['names_fewer_than_serving'])
  expect(against(0.9, 0.16)).toEqual(['more_unknown_than_serving'])
  expect(against(0.1, 0.8, true)).toEqual([])
})

test('the effective count of n events of equal weight is n, and one of a single event with all the weight is 1', () => {
  const events = (weights: readonly number[]) => weights.map((weight) => ({ weight }))

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
