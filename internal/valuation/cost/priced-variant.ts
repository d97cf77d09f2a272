/** What calls of one kind cost at a price that was chosen, and how that is explained. */
import type { BilledUnit } from '../../text/call-words.js'
import { type MatchStep, STEP_CONFIDENCE_PERCENT } from '../names/model-names.js'
import { assumedFrom, flagsOfAssumed, usedOf } from './assumed-from.js'
import type { UnitRatesOfCall } from './billed-units.js'
import { type AppliedPrice, type AssumedFrom, COST_FLAGS, type CostFlag } from './cost-details.js'
import { type StepsOfPart, stepsOfParts } from './cost-of-parts.js'
import { type BookName, type OutcomeDetails, outcomeDetails } from './outcome-details.js'
import type { PriceEntry, PricePeriod } from './price-book.js'
import {
  type BilledTool,
  type Fees,
  RATE_PARTS,
  type RateSelection,
  type SheetTier,
  type UnitRates,
} from './rate-sheet.js'
import { flagsOfRates, HAS_TOOL_CALLS, ratesBilled, ratesUsed } from './usage-facts.js'

/** A price that was chosen for a model. */
export interface ChosenPrice {
  readonly book: BookName
  readonly entry: PriceEntry
  readonly match: readonly MatchStep[]
  readonly region: string | undefined
  readonly modelFrom: 'served' | 'requested'
  /** What was assumed where the price is not that of the served name. */
  readonly nameFlags: readonly CostFlag[]
  /** Fees of the price book, where the entry is a price of the tenant. */
  readonly bookFees: Fees
  /** Likewise the prices of units besides tokens. */
  readonly bookUnits: UnitRates
}

export interface PricedVariant {
  readonly details: OutcomeDetails
  readonly steps: StepsOfPart
  readonly fees: Fees
  readonly units: UnitRates
}

export interface Selected {
  readonly pricing: ChosenPrice
  readonly period: PricePeriod
  /** Index of the daily window; -1 outside all. */
  readonly window: number
  readonly serviceTier: SheetTier
  readonly cliff: number
  readonly selected: Extract<RateSelection, { kind: 'rates' }>
  /** `usageFacts` */
  readonly usage: number
  readonly isFast: boolean
  readonly isBeforeFirst: boolean
  readonly fees: FeesOfCall
  readonly unitRates: UnitRatesOfCall
}

export function newVariant(call: Selected): PricedVariant {
  const { pricing, period, serviceTier, selected, usage, fees, unitRates } = call
  const { entry } = pricing
  const rates = ratesBilled(selected.rates, usage)
  const hasUnits = Object.keys(unitRates.rates).length > 0
  const multipliers = [...ofResidency(entry, call.pricing.region), ...ofSpeed(entry, call.isFast)]
  const assumed = assumedFrom(
    RATE_PARTS.map((part) => [part, selected.assumed[part]]),
    [...Object.keys({ ...fees.fees, ...unitRates.rates }), ...multipliers.map(({ name }) => name)].map((name) => [
      name,
      entry.ofRelative.get(name),
    ]),
  )
  const applied = appliedPrice(call, { rates, multipliers, assumed }, [
    ...pricing.nameFlags,
    ...(call.isBeforeFirst ? (['before_first_period'] as const) : []),
    ...(period.isScheduled ? (['scheduled_price'] as const) : []),
    ...(selected.tier === serviceTier ? [] : (['service_tier_assumed'] as const)),
    ...(selected.isCliffUnlisted ? (['long_context_rate_unlisted'] as const) : []),
    ...(entry.otherBooks === undefined ? [] : (['price_books_disagree'] as const)),
    ...(call.isFast && entry.fastFactor === undefined ? (['fast_rate_unlisted'] as const) : []),
    ...flagsOfRates(selected.rates, usage, selected.tier),
    ...((usage & HAS_TOOL_CALLS) !== 0 && selected.tier !== 'standard' ? (['tool_fee_of_standard_tier'] as const) : []),
    ...(fees.isFromBook ? (['tool_fee_of_book'] as const) : []),
    ...(hasUnits && selected.tier !== 'standard' ? (['unit_price_of_standard_tier'] as const) : []),
    ...(unitRates.isFromBook ? (['unit_price_of_book'] as const) : []),
    ...flagsOfAssumed(usedOf(assumed, ratesUsed(rates, usage))),
  ])
  const factors = (applied.multipliers ?? []).map(({ factor }) => factor)
  return {
    details:
      unitRates.missing.length === 0
        ? outcomeDetails(pricing.book, entry.source, { price: applied })
        : outcomeDetails(pricing.book, 'unpriced', { ...noPriceOf(unitRates.missing), price: applied }),
    steps: stepsOfParts(rates, factors),
    fees: fees.fees,
    units: unitRates.rates,
  }
}

interface FeesOfCall {
  readonly fees: Fees
  /** Whether one of them is the book's although the price is the tenant's. */
  readonly isFromBook: boolean
}

/** A fee for each tool; undefined when one has none. */
export function feesFor(
  tools: readonly BilledTool[],
  period: PricePeriod,
  { entry, bookFees }: ChosenPrice,
): FeesOfCall | undefined {
  const own: Fees = { ...entry.fees, ...period.sheet.fees }
  const all: Fees = { ...bookFees, ...own }
  if (tools.some((tool) => all[tool] === undefined)) return undefined
  return {
    fees: Object.fromEntries(tools.map((tool) => [tool, all[tool]])),
    isFromBook: tools.some((tool) => own[tool] === undefined),
  }
}

function appliedPrice(
  { pricing, period, window: windowIndex, serviceTier, cliff, selected, fees: { fees }, unitRates }: Selected,
  { rates, multipliers, assumed }: Pick<AppliedPrice, 'rates'> & Factors,
  flags: readonly CostFlag[],
): AppliedPrice {
  const { entry, match, modelFrom } = pricing
  const window = period.windows[windowIndex]
  const sheet = window?.sheet ?? period.sheet
  const tier = sheet.tiers?.[cliff]
  const band = sheet.bands?.[cliff]
  return {
    source: entry.source,
    provider: entry.provider,
    model: entry.model,
    ...(entry.region !== undefined && { region: entry.region }),
    model_from: modelFrom,
    match,
    confidence: confidenceOf(match, flags, entry.rowFlags),
    ...(Number.isFinite(period.fromMs) && {
      period: {
        from: new Date(period.fromMs).toISOString(),
        ...(Number.isFinite(period.toMs) && { to: new Date(period.toMs).toISOString() }),
      },
    }),
    ...(window && { window: { from: clock(window.fromMinute), to: clock(window.toMinute), days: window.days } }),
    service_tier: serviceTier,
    ...(selected.tier !== serviceTier && { rates_of_tier: selected.tier }),
    ...(tier && {
      threshold: {
        rule: entry.isTierInclusive ? ('at_or_above' as const) : ('above' as const),
        input_tokens: tier.above,
      },
    }),
    ...(band && { threshold: { rule: 'band' as const, over: band.over, up_to: band.up_to } }),
    rate_unit: 'USD per 1000000 tokens',
    rates,
    ...(assumed.length > 0 && { assumed }),
    ...(Object.keys(fees).length > 0 && { fees }),
    ...(Object.keys(unitRates.rates).length > 0 && { units: unitRates.rates }),
    ...(multipliers.length > 0 && { multipliers }),
    ...(flags.length > 0 && { flags }),
    ...(entry.rowFlags.length > 0 && { row_flags: entry.rowFlags }),
    ...(entry.otherBooks !== undefined && { other_books: entry.otherBooks }),
  }
}

interface Factors {
  readonly multipliers: readonly Multiplier[]
  readonly assumed: readonly AssumedFrom[]
}

type Multiplier = NonNullable<AppliedPrice['multipliers']>[number]

/** The factor of the region itself, else that of every region but the global one. */
function ofResidency({ residencyFactors }: PriceEntry, region: string | undefined): readonly Multiplier[] {
  if (region === undefined) return []
  const place = [region, ...(region === 'global' ? [] : ['regional'])].find((each) =>
    Object.hasOwn(residencyFactors, each),
  )
  const factor = place === undefined ? undefined : residencyFactors[place]
  return factor === undefined ? [] : [{ name: `residency_${place}`, factor }]
}

const ofSpeed = ({ fastFactor }: PriceEntry, isFast: boolean): readonly Multiplier[] =>
  isFast && fastFactor !== undefined ? [{ name: 'speed_fast', factor: fastFactor }] : []

/** The minimum of the confidences of name match steps, flags and doubts about the row. */
function confidenceOf(match: readonly MatchStep[], flags: readonly CostFlag[], rowFlags: readonly string[]): number {
  const percents = [
    95,
    ...match.map((step) => STEP_CONFIDENCE_PERCENT[step]),
    ...flags.map((flag) => COST_FLAGS[flag]),
    ...rowFlags.map(() => 60),
  ]
  return Math.min(...percents) / 100
}

const noPriceOf = (units: readonly BilledUnit[]) => ({ reason: 'no_unit_price', unpriced_units: units }) as const

function clock(minute: number): string {
  return `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`
}
