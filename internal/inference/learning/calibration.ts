import { logSumExp } from './logistic-regression.js'
import type { CalibrationBin } from './model.js'

/** A predicted probability, whether the prediction is correct, and its weight in the traffic. */
export interface Judged {
  readonly probability: number
  readonly isRight: boolean
  readonly weight: number
}

const BINS = 10

/** Ten bins of equal width; empty ones are left out. */
export function calibrationCurve(judged: readonly Judged[]): CalibrationBin[] {
  const bins = Array.from({ length: BINS }, () => ({ n: 0, weight: 0, probability: 0, right: 0 }))
  for (const { probability, isRight, weight } of judged) {
    const bin = bins[Math.min(BINS - 1, Math.floor(probability * BINS))]
    if (bin === undefined || weight === 0) continue
    bin.n++
    bin.weight += weight
    bin.probability += weight * probability
    if (isRight) bin.right += weight
  }
  return bins.flatMap(({ n, weight, probability, right }, i) =>
    weight === 0
      ? []
      : [{ from: i / BINS, to: (i + 1) / BINS, n, meanProbability: probability / weight, accuracy: right / weight }],
  )
}

/**
 * Expected calibration error over ten bins, minus the error that a perfectly calibrated model would show by chance with
 * this number of events (Roelofs et al. 2022: the plain estimate is biased upwards, more so with fewer events).
 *
 * @returns 0 to 1
 */
export function calibrationError(judged: readonly Judged[]): number {
  const bins = Array.from({ length: BINS }, () => ({ weight: 0, gap: 0, variance: 0 }))
  let total = 0
  for (const { probability, isRight, weight } of judged) {
    const bin = bins[Math.min(BINS - 1, Math.floor(probability * BINS))]
    if (bin === undefined) continue
    bin.weight += weight
    bin.gap += weight * (Number(isRight) - probability)
    bin.variance += weight * weight * probability * (1 - probability)
    total += weight
  }
  if (total === 0) return 0
  const plain = bins.reduce((sum, { gap }) => sum + Math.abs(gap), 0) / total
  // The mean absolute value of a normal variable is its standard deviation times sqrt(2 / pi).
  const byChance = bins.reduce((sum, { variance }) => sum + Math.sqrt((2 * variance) / Math.PI), 0) / total
  return Math.max(0, plain - byChance)
}

/** The logits of one event, and the index of its true class among them. */
export interface Scored {
  readonly logits: Float64Array
  readonly truth: number
  readonly weight: number
}

/** Below 1 where the penalty of the weights has left the model too cautious. */
const TEMPERATURE_MIN = 0.3
const TEMPERATURE_MAX = 8
const GOLDEN = (Math.sqrt(5) - 1) / 2
const STEPS = 40

/** The temperature that maximises the likelihood of the scored events (Guo et al. 2017); golden-section search. */
export function bestTemperature(scored: readonly Scored[]): number {
  if (scored.length === 0) return 1
  const loss = (logTemperature: number): number => {
    const temperature = Math.exp(logTemperature)
    let sum = 0
    for (const { logits, truth, weight } of scored) {
      const divided = logits.map((logit) => logit / temperature)
      sum += weight * (logSumExp(divided) - (divided[truth] ?? 0))
    }
    return sum
  }
  let [low, high] = [Math.log(TEMPERATURE_MIN), Math.log(TEMPERATURE_MAX)]
  let [a, b] = [high - GOLDEN * (high - low), low + GOLDEN * (high - low)]
  let [atA, atB] = [loss(a), loss(b)]
  for (let step = 0; step < STEPS; step++) {
    if (atA < atB) {
      high = b
      ;[b, atB] = [a, atA]
      a = high - GOLDEN * (high - low)
      atA = loss(a)
    } else {
      low = a
      ;[a, atA] = [b, atB]
      b = low + GOLDEN * (high - low)
      atB = loss(b)
    }
  }
  return Math.exp((low + high) / 2)
}
