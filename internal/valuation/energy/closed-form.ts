/**
 * Energy and carbon of one text generation: the closed form of EcoLogits 0.11 (doi 10.21105/joss.07471, method id
 * `ecologits-0.11`), as exact fractions.
 *
 * It is a fit of GPU energy per output token (ML.ENERGY Benchmark v3, H100, 64 requests per batch) plus the energy of
 * the server around the GPUs, times the overhead of the data centre, plus a share of the hardware's embodied carbon.
 * All of it is linear in output tokens and latency, so the coefficients of a model are computed once and an event costs
 * a few multiplications.
 *
 * It is computed twice, with all lower and with all upper parameters; the published value is the mean of the two.
 */
import { divideHalfEven } from '../../units/half-even.js'
import { type Quantity, quantityOfSteps, type Unit } from '../../units/quantity.js'
import { add, ceiling, divide, multiply, NOTHING, overCommonDenominator, type Ratio, ratio } from '../../units/ratio.js'

/** The method's constants. EcoLogits 0.11, `impacts/llm.py`, unless noted. */
export const CONSTANTS = {
  /** Wh per output token and GPU per 1e9 active parameters at batch 64: alpha e^(64 beta), so no exp() at run time. */
  gpuWhPerTokenPerBillion: '0.000000569413887073411954668524434215',
  /** Wh per output token and GPU. */
  gpuWhPerToken: '0.00004052928146734005',
  /** Seconds per output token per 1e9 active parameters, for models without a measured speed. */
  secondsPerTokenPerBillion: '0.0006785088094353663',
  /** Seconds per output token at batch 64, for models without a measured speed. */
  secondsPerToken: '0.0394373035742782446',
  /** Requests that share a server at the same time; the least certain constant of the method. */
  batchRequests: '64',
  weightBits: '16',
  memoryOverhead: '1.2',
  /** NVIDIA H100 80GB. */
  gpuMemoryGb: '80',
  /** AWS p5.48xlarge. */
  gpusPerServer: '8',
  /** Power of the server without its GPUs, W. */
  serverW: '1200',
  /** kgCO2e to make one GPU: Lees-Perasso et al. 2026 (ADEME). */
  gpuEmbodiedKg: '273',
  /** kgCO2e to make one server without GPUs: BoaviztAPI, p5.48xlarge. */
  serverEmbodiedKg: '5700',
  /** 3 years of 365 days. */
  hardwareLifeS: '94608000',
} as const

/** Wh and gCO2e are rounded to this many decimals, half-even, once, at the end. */
const FOOTPRINT_DECIMALS = 12

/** [lower, upper], plain decimals. */
export type Range = readonly [string, string]

export interface Parameters {
  /** Active parameters per token, in 1e9. */
  readonly activeB: Range
  /** Parameters in memory, in 1e9. */
  readonly totalB: Range
  readonly tokensPerSecond?: string | undefined
  readonly firstTokenS?: string | undefined
  /** Power usage effectiveness of the operator's data centres. */
  readonly pue: Range
  /** gCO2e per kWh; without it only energy is modelled, not carbon. */
  readonly gramsPerKwh?: string | undefined
}

export type Bound = 0 | 1
export const BOUNDS: readonly Bound[] = [0, 1]

/** perToken * output tokens + constant + perMs * latency in ms. */
export interface Linear {
  readonly perToken: Ratio
  readonly constant: Ratio
  readonly perMs: Ratio
}

/** One bound of the form. The same three quantities as in the explanation, exact. */
export interface BoundForm {
  /** Modelled seconds of the request. */
  readonly seconds: Linear
  /** Wh; with the duration of the event if `isLatency`, else with the modelled duration. */
  energy(isLatency: boolean): Linear
  /** gCO2e of that energy; undefined without a grid factor. */
  usage(isLatency: boolean): Linear | undefined
  /** Embodied gCO2e of the hardware. */
  embodied(isLatency: boolean): Linear
}

/** Number of GPUs that hold the weights: the smallest sufficient power of two. */
export function gpusFor(totalB: string): number {
  const bytesPerParameter = divide(ratio(CONSTANTS.weightBits), ratio('8'))
  const memory = multiply(ratio(CONSTANTS.memoryOverhead), ratio(totalB), bytesPerParameter)
  const needed = ceiling(divide(memory, ratio(CONSTANTS.gpuMemoryGb)))
  let gpus = 1
  while (BigInt(gpus) < needed) gpus *= 2
  return gpus
}

export function boundForm(parameters: Parameters, bound: Bound): BoundForm {
  const active = ratio(parameters.activeB[bound])
  const pue = ratio(parameters.pue[bound])
  const gpus = ratio(String(gpusFor(parameters.totalB[bound])))
  const batch = ratio(CONSTANTS.batchRequests)
  const shareOfServer = divide(gpus, ratio(CONSTANTS.gpusPerServer))

  const gpuWhPerToken = add(multiply(ratio(CONSTANTS.gpuWhPerTokenPerBillion), active), ratio(CONSTANTS.gpuWhPerToken))
  const serverWhPerSecond = divide(
    multiply(ratio(CONSTANTS.serverW), shareOfServer),
    multiply(ratio(SECONDS_PER_HOUR), batch),
  )
  const embodiedKg = add(
    multiply(shareOfServer, ratio(CONSTANTS.serverEmbodiedKg)),
    multiply(gpus, ratio(CONSTANTS.gpuEmbodiedKg)),
  )
  const embodiedGPerSecond = divide(
    multiply(embodiedKg, ratio(GRAMS_PER_KG)),
    multiply(batch, ratio(CONSTANTS.hardwareLifeS)),
  )
  const secondsPerToken =
    parameters.tokensPerSecond === undefined
      ? add(multiply(ratio(CONSTANTS.secondsPerTokenPerBillion), active), ratio(CONSTANTS.secondsPerToken))
      : divide(ratio('1'), ratio(parameters.tokensPerSecond))
  const seconds: Linear = {
    perToken: secondsPerToken,
    constant: ratio(parameters.firstTokenS ?? '0'),
    perMs: NOTHING,
  }
  const duration = (isLatency: boolean): Linear => (isLatency ? STATED_SECONDS : seconds)
  const energy = (isLatency: boolean): Linear => {
    const server = scaled(duration(isLatency), serverWhPerSecond)
    const perToken = add(server.perToken, multiply(gpus, gpuWhPerToken))
    return scaled({ ...server, perToken }, pue)
  }
  const { gramsPerKwh } = parameters
  return {
    seconds,
    energy,
    usage: (isLatency) =>
      gramsPerKwh === undefined ? undefined : scaled(energy(isLatency), divide(ratio(gramsPerKwh), ratio(WH_PER_KWH))),
    embodied: (isLatency) => scaled(duration(isLatency), embodiedGPerSecond),
  }
}

/** The closed form of one model at one operator in one zone, ready to evaluate for events. */
export interface MeanForm {
  /**
   * @param outputTokens integer above 0, reasoning included
   * @param latencyMs integer, 0 or more; undefined when unknown. A latency can only lower the result
   */
  energyWh(outputTokens: number, latencyMs: number | undefined): Quantity<'Wh'>
  /** Undefined without a grid factor. */
  carbonGco2e(outputTokens: number, latencyMs: number | undefined): Quantity<'gCO2e'> | undefined
}

export function meanForm(parameters: Parameters): MeanForm {
  const lower = boundForm(parameters, 0)
  const upper = boundForm(parameters, 1)
  const isLatencyShorter = [latencyTest(lower.seconds), latencyTest(upper.seconds)] as const
  const hasCarbon = parameters.gramsPerKwh !== undefined

  // Each bound uses the shorter of the event's and the modelled duration, so there are four combinations.
  const cases = CASES.map(([low, high]) => ({
    energy: integerForm(halved(sumOf([lower.energy(low), upper.energy(high)]))),
    carbon: hasCarbon ? integerForm(halved(sumOf([totalCarbon(lower, low), totalCarbon(upper, high)]))) : undefined,
  }))
  const caseOf = (outputTokens: number, latencyMs: number | undefined) => {
    if (latencyMs === undefined) return cases[0]
    const low = isLatencyShorter[0](outputTokens, latencyMs) ? 1 : 0
    const high = isLatencyShorter[1](outputTokens, latencyMs) ? 2 : 0
    return cases[low + high]
  }
  return {
    energyWh: (outputTokens, latencyMs) =>
      quantityOfSteps((caseOf(outputTokens, latencyMs)?.energy ?? NO_FORM)(outputTokens, latencyMs)),
    carbonGco2e(outputTokens, latencyMs) {
      const form = caseOf(outputTokens, latencyMs)?.carbon
      return form && quantityOfSteps<'gCO2e'>(form(outputTokens, latencyMs))
    },
  }
}

/** Tests exactly whether the latency of the event is shorter than the modelled duration. */
export function latencyTest(seconds: Linear): (outputTokens: number, latencyMs: number) => boolean {
  const { numerators } = overCommonDenominator([seconds.perToken, seconds.constant, ratio(SECONDS_PER_MS)])
  const [perToken = 0n, constant = 0n, perMs = 0n] = numerators
  return (outputTokens, latencyMs) => BigInt(latencyMs) * perMs < BigInt(outputTokens) * perToken + constant
}

/** Usage and embodied carbon of one bound. Throws without a grid factor. */
export function totalCarbon(form: BoundForm, isLatency: boolean): Linear {
  const usage = form.usage(isLatency)
  if (usage === undefined) throw new TypeError('carbon needs a grid factor')
  return sumOf([usage, form.embodied(isLatency)])
}

export function evaluate(form: Linear, outputTokens: number, latencyMs: number | undefined): Ratio {
  return add(
    multiply(form.perToken, ratio(String(outputTokens))),
    form.constant,
    multiply(form.perMs, ratio(String(latencyMs ?? 0))),
  )
}

/** The only place where Wh and gCO2e are rounded. */
export function rounded<U extends Unit>({ numerator, denominator }: Ratio): Quantity<U> {
  return quantityOfSteps<U>(divideHalfEven(numerator * PLACES, denominator) * STEPS_PER_PLACE)
}

function sumOf(forms: readonly Linear[]): Linear {
  return {
    perToken: add(NOTHING, ...forms.map(({ perToken }) => perToken)),
    constant: add(NOTHING, ...forms.map(({ constant }) => constant)),
    perMs: add(NOTHING, ...forms.map(({ perMs }) => perMs)),
  }
}

function halved(form: Linear): Linear {
  return scaled(form, HALF)
}

function scaled(form: Linear, factor: Ratio): Linear {
  return {
    perToken: multiply(form.perToken, factor),
    constant: multiply(form.constant, factor),
    perMs: multiply(form.perMs, factor),
  }
}

/** The form over one common denominator, in steps of a quantity, for the hot path. */
function integerForm(form: Linear): (outputTokens: number, latencyMs: number | undefined) => bigint {
  const { numerators, denominator } = overCommonDenominator([form.perToken, form.constant, form.perMs])
  const [perToken = 0n, constant = 0n, perMs = 0n] = numerators.map((numerator) => numerator * PLACES)
  if (perMs === 0n) {
    return (outputTokens) => divideHalfEven(BigInt(outputTokens) * perToken + constant, denominator) * STEPS_PER_PLACE
  }
  return (outputTokens, latencyMs) =>
    divideHalfEven(BigInt(outputTokens) * perToken + constant + BigInt(latencyMs ?? 0) * perMs, denominator) *
    STEPS_PER_PLACE
}

const CASES = [
  [false, false],
  [true, false],
  [false, true],
  [true, true],
] as const
const PLACES = 10n ** BigInt(FOOTPRINT_DECIMALS)
const STEPS_PER_PLACE = 10n ** BigInt(18 - FOOTPRINT_DECIMALS)
const SECONDS_PER_HOUR = '3600'
const SECONDS_PER_MS = '0.001'
const WH_PER_KWH = '1000'
const GRAMS_PER_KG = '1000'
const HALF = ratio('0.5')
const STATED_SECONDS: Linear = { perToken: NOTHING, constant: NOTHING, perMs: ratio(SECONDS_PER_MS) }
const NO_FORM = (): bigint => 0n
