import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  bestTemperature,
  calibrationCurve,
  calibrationError,
  type Judged,
  type Scored,
} from '../../../../internal/inference/learning/calibration.js'
import { seededRandom } from '../../../../internal/local/sandbox/random.js'

const judged = fc.array(
  fc.record({
    probability: fc.double({ min: 0, max: 1, noNaN: true }),
    isRight: fc.boolean(),
    weight: fc.double({ min: 0.01, max: 5, noNaN: true }),
  }),
)

test('the bins of a calibration curve ascend, contain each event once, and show the events in them', () => {
  fc.assert(
    fc.property(judged, (events) => {
      const curve = calibrationCurve(events)

      expect(curve.reduce((sum, { n }) => sum + n, 0)).toBe(events.length)
      for (const [i, bin] of curve.entries()) {
        expect(bin.from).toBeGreaterThanOrEqual(curve[i - 1]?.to ?? 0)
        expect(bin.meanProbability).toBeGreaterThanOrEqual(bin.from - 1e-9)
        expect(bin.meanProbability).toBeLessThanOrEqual(bin.to + 1e-9)
      }
    }),
  )
})

const draws = (count: number, probability: (p: number) => number): Judged[] => {
  const random = seededRandom('calibration')
  return Array.from({ length: count }, () => {
    const p = random.share()
    return { probability: p, isRight: random.happens(probability(p)), weight: 1 }
  })
}

test('probabilities that come true as often as predicted have no calibration error, with few or many events', () => {
  expect(calibrationError(draws(10_000, (p) => p))).toBeLessThan(0.01)
  expect(calibrationError(draws(100, (p) => p))).toBeLessThan(0.05)
})

test('the calibration error of overconfident probabilities is the difference to the observed rate', () => {
  const error = calibrationError(draws(10_000, (p) => Math.max(0, p - 0.2)))

  expect(error).toBeGreaterThan(0.15)
  expect(error).toBeLessThan(0.2)
})

const scoredWith = (factor: number): Scored[] => {
  const random = seededRandom('temperature')
  return Array.from({ length: 5_000 }, () => {
    const logit = 4 * random.share() - 2
    const truth = random.happens(1 / (1 + Math.exp(-logit))) ? 0 : 1
    return { logits: Float64Array.of(factor * logit, 0), truth, weight: 1 }
  })
}

test('the temperature of logits that are too large by a factor is that factor', () => {
  const temperature = bestTemperature(scoredWith(3))

  expect(temperature).toBeGreaterThan(2.7)
  expect(temperature).toBeLessThan(3.3)
})

test('the temperature of logits that are too small is below 1', () => {
  const temperature = bestTemperature(scoredWith(0.5))

  expect(temperature).toBeGreaterThan(0.4)
  expect(temperature).toBeLessThan(0.6)
})
