/**
 * Recomputes stored energy and carbon values from their details and the numbers of the event, with the ranges that a
 * single value hides.
 */
import type { Invocation } from '../../invocations/invocation.js'
import { parseQuantity, plus, type Quantity, type Unit, zero } from '../../units/quantity.js'
import { add, multiply, NOTHING, type Ratio, ratio } from '../../units/ratio.js'
import {
  BOUNDS,
  type BoundForm,
  boundForm,
  evaluate,
  type Linear,
  latencyTest,
  type Parameters,
  type Range,
  rounded,
  totalCarbon,
} from './closed-form.js'
import { carbonOfEnergy, parametersOf, typicalParametersOf } from './footprint.js'
import type { FootprintDetails, ModelClass } from './footprint-details.js'

/** The fields of an event that the explanation needs; a stored record has all of them. */
export type FootprintFacts = Pick<Invocation, 'outputTokens' | 'latencyMs' | 'energyWh' | 'carbonGco2e'>

/** A modelled value with its bands. Each bound is rounded separately, from the exact value. */
export interface Banded<U extends Unit> {
  /** The stored value. */
  readonly mean: Quantity<U>
  /** Inner band: parameters and data centre only; of a class estimate, the known models of the class. */
  readonly min: Quantity<U>
  readonly max: Quantity<U>
  /** Outer band: error of the method against measurements, within a factor of about 2.5. */
  readonly outerMin: Quantity<U>
  readonly outerMax: Quantity<U>
}

/** The outer band in words. */
const OUTER_BAND_IN_WORDS =
  'within a factor of about 2.5 for a bfloat16 model at batch 64; more if the provider runs smaller batches'

/** How far a computed value may be off, in words; undefined for a measured or unknown one. */
export function uncertaintyInWords({ outer_band: band, model }: FootprintDetails): string | undefined {
  if (band === undefined) return undefined
  if (model?.class === undefined) return OUTER_BAND_IN_WORDS
  return `${estimateInWords(model.class)}; the method itself is ${OUTER_BAND_IN_WORDS}`
}

function estimateInWords({ by, name, vendor, known_models: known, output_usd_per_million: usd }: ModelClass): string {
  const unknown = 'not modelled, since the size of this model is not known: '
  if (by === 'size_in_name') {
    return `${unknown}an estimate for models of the size in its name, ${name} parameters, whatever part of them is active`
  }
  const models = known === 1 ? 'the 1 known model' : `the ${known} known models`
  return (
    `${unknown}an estimate for models of the price class ${name} (it costs USD ${usd} per million output tokens). The ` +
    `value is of the middle one of ${models}${vendor === undefined ? '' : ` of ${vendor}`} in that class, the range ` +
    'of the known models of all vendors in it'
  )
}

export interface FootprintExplanation {
  /** Equal to the stored values; 0 when the basis is unknown. */
  readonly energyWh: Quantity<'Wh'>
  readonly carbonGco2e: Quantity<'gCO2e'>
  /** Present when modelled by the closed form. */
  readonly energy: Banded<'Wh'> | undefined
  readonly carbon: Banded<'gCO2e'> | undefined
  /** The parts of the stored carbon; they sum to it. */
  readonly carbonParts: { readonly usage: Quantity<'gCO2e'>; readonly embodied: Quantity<'gCO2e'> } | undefined
}

export function explainFootprint(details: FootprintDetails, facts: FootprintFacts): FootprintExplanation {
  const energyMeasured = facts.energyWh === undefined ? undefined : parseQuantity<'Wh'>(facts.energyWh)
  const carbonMeasured = facts.carbonGco2e === undefined ? undefined : parseQuantity<'gCO2e'>(facts.carbonGco2e)
  const modelled = modelledBands(details, facts)
  const isEnergyMeasured = details.energy_basis === 'measured' && energyMeasured !== undefined
  const energyWh = isEnergyMeasured ? energyMeasured : (modelled?.energy.mean ?? zero<'Wh'>())
  if (details.carbon_basis === 'measured' && carbonMeasured !== undefined) {
    return {
      energyWh,
      carbonGco2e: carbonMeasured,
      energy: modelled?.energy,
      carbon: undefined,
      carbonParts: undefined,
    }
  }
  if (isEnergyMeasured) {
    const usage = details.grid && carbonOfEnergy(energyMeasured, ratio(details.grid.g_per_kwh))
    return {
      energyWh,
      carbonGco2e: usage ?? zero<'gCO2e'>(),
      energy: undefined,
      carbon: undefined,
      carbonParts: usage && { usage, embodied: zero<'gCO2e'>() },
    }
  }
  return {
    energyWh,
    carbonGco2e: modelled?.carbon?.mean ?? zero<'gCO2e'>(),
    energy: modelled?.energy,
    carbon: modelled?.carbon,
    carbonParts: modelled?.carbonParts,
  }
}

function modelledBands(details: FootprintDetails, { outputTokens, latencyMs }: FootprintFacts) {
  const parameters = parametersOf(details)
  const typical = typicalParametersOf(details)
  if (parameters === undefined || typical === undefined || outputTokens === undefined) return undefined
  const latency = latencyMs === undefined ? undefined : Math.round(latencyMs)
  const outerBand = details.outer_band ?? NO_OUTER_BAND
  const exactly = (of: Parameters): ((quantity: QuantityOfBound) => readonly Ratio[]) => {
    const bounds = BOUNDS.map((bound) => {
      const form = boundForm(of, bound)
      const isLatency = latency !== undefined && latencyTest(form.seconds)(outputTokens, latency)
      return { form, isLatency }
    })
    return (quantity) => bounds.map(({ form, isLatency }) => evaluate(quantity(form, isLatency), outputTokens, latency))
  }
  const [ofRange, ofTypical] = [exactly(parameters), exactly(typical)]
  const bandedBy = <U extends Unit>(quantity: QuantityOfBound): Banded<U> => ({
    mean: middle<U>(ofTypical(quantity)),
    ...bands<U>(ofRange(quantity), outerBand),
  })

  const energy = bandedBy<'Wh'>((form, isLatency) => form.energy(isLatency))
  if (parameters.gramsPerKwh === undefined) return { energy, carbon: undefined, carbonParts: undefined }
  const carbon = bandedBy<'gCO2e'>(totalCarbon)
  const embodied = middle<'gCO2e'>(ofTypical((form, isLatency) => form.embodied(isLatency)))
  // The total is rounded once; usage is the remainder, so that the parts sum to the stored value.
  const usage = (carbon.mean - embodied) as Quantity<'gCO2e'>
  return { energy, carbon: { ...carbon, mean: plus(usage, embodied) }, carbonParts: { usage, embodied } }
}

type QuantityOfBound = (form: BoundForm, isLatency: boolean) => Linear

function middle<U extends Unit>([min = NOTHING, max = NOTHING]: readonly Ratio[]): Quantity<U> {
  return rounded<U>(multiply(add(min, max), ratio('0.5')))
}

function bands<U extends Unit>(
  [min = NOTHING, max = NOTHING]: readonly Ratio[],
  [low, high]: Range,
): Omit<Banded<U>, 'mean'> {
  return {
    min: rounded<U>(min),
    max: rounded<U>(max),
    outerMin: rounded<U>(multiply(min, ratio(low))),
    outerMax: rounded<U>(multiply(max, ratio(high))),
  }
}

const NO_OUTER_BAND: Range = ['1', '1']
