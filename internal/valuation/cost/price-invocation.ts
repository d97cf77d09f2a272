/**
 * The cost of one AI call and its evidence: 0 for a hit in the caller's own cache or a call that nobody is billed for,
 * else the client's estimate, else the tenant's price, else the price book, else unpriced.
 *
 * Exact: a rate per million tokens times a number of tokens is a finite decimal, so nothing is rounded anywhere.
 * Fast: everything except the token counts is computed once per model, service tier and period, then cached.
 */
import type { Invocation } from '../../invocations/invocation.js'
import type { CostBasis } from '../../records/bases.js'
import type { BilledUnit } from '../../text/call-words.js'
import {
  AMOUNT_STEPS_MAX,
  parseQuantity,
  plus,
  QUANTITY_STEPS_MAX,
  type Quantity,
  quantityOfSteps,
  zero,
} from '../../units/quantity.js'
import { type MatchStep, STEP_CONFIDENCE_PERCENT } from '../names/model-names.js'
import { assumedFrom, flagsOfAssumed, usedOf } from './assumed-from.js'
import { costOfUnits, type UnitRatesOfCall, unitRatesFor, unitsBilled } from './billed-units.js'
import {
  type AppliedPrice,
  type AssumedFrom,
  COST_FLAGS,
  type CostDetails,
  type CostFlag,
  type StatedCostDoubt,
  type UnpricedReason,
} from './cost-details.js'
import { type CostLimits, isImplausible } from './plausible-cost.js'
import type { PriceBook, PriceEntry, PricePeriod } from './price-book.js'
import { pricedName } from './priced-name.js'
import {
  type BilledTool,
  billedAs,
  cliffOf,
  type Fees,
  noTokenRates,
  RATE_PARTS,
  type RatePart,
  type RateSelection,
  type Rates,
  ratesOf,
  type SheetTier,
  sheetTierOf,
  stepsPerToken,
  type UnitRates,
} from './rate-sheet.js'
import type { TenantPrices } from './tenant-prices.js'
import { type TokenParts, tokenParts } from './token-parts.js'
import { costOfTools, toolsCalled } from './tool-fees.js'
import {
  flagsOfRates,
  HAS_TOOL_CALLS,
  isModalityUnlisted,
  ratesBilled,
  ratesUsed,
  unitFacts,
  usageFacts,
} from './usage-facts.js'

export interface CostResult {
  /** 0 with basis `unpriced` means unknown, not free; any other cost with it lacks what `unpriced_units` names. */
  readonly costUsd: Quantity<'USD'>
  readonly basis: CostBasis
  /** Frozen and shared by all events with the same price. */
  readonly details: CostDetails
  /** `details` as JSON, serialised once. */
  readonly detailsJson: string
}

/** Maximum of cached models per book and tenant; above it the cache is cleared and filled again. */
export const KEPT_MODELS_MAX = 20_000

/** How much a cost is worth that the caller states. */
export interface StatedCostRule {
  /** Absent: any cost is plausible. */
  readonly limits?: CostLimits | undefined
  /** Whether the credential that brought the call is trusted to state costs. Default: it is. */
  readonly isTrusted?: boolean | undefined
}

export function priceInvocation(
  invocation: Invocation,
  book: PriceBook,
  tenant?: TenantPrices,
  { limits, isTrusted = true }: StatedCostRule = {},
): CostResult {
  const kept = keptFor(book, tenant)
  if (invocation.servedFromCache === true) return kept.localCache

  const { estimatedCostUsd, isCostNotional = false } = invocation
  const estimate = estimatedCostUsd === undefined ? undefined : parseQuantity<'USD'>(estimatedCostUsd)
  const pricing = pricingAt(invocation, kept, book, tenant)
  const outcome = pricing.kind === 'none' ? withoutPrice(invocation, pricing) : outcomeOf(invocation, pricing)
  if (isCostNotional) return { costUsd: zero<'USD'>(), ...outcome.details.notional }
  if (estimate === undefined) return { costUsd: outcome.costUsd, ...outcome.details.alone }
  if (!isTrusted) return { costUsd: outcome.costUsd, ...doubtedDetails(outcome.details, 'untrusted') }
  const isPriced = outcome.details.alone.basis !== 'unpriced'
  if (limits !== undefined && isImplausible(estimate, isPriced ? outcome.costUsd : undefined, limits)) {
    return { costUsd: estimate, ...doubtedDetails(outcome.details, 'implausible') }
  }
  return { costUsd: estimate, ...outcome.details.besideEstimate }
}

/**
 * The cost of these parts at these rates; the explanation uses the same formula.
 *
 * @throws RangeError when the cost exceeds the maximum quantity of a record
 */
export function costOfParts(parts: TokenParts, stepsOfPart: StepsOfPart): Quantity<'USD'> {
  let steps = 0n
  if (parts.input !== 0) steps += BigInt(parts.input) * stepsOfPart.input
  if (parts.output !== 0) steps += BigInt(parts.output) * stepsOfPart.output
  if (parts.cache_read !== 0) steps += BigInt(parts.cache_read) * stepsOfPart.cache_read
  if (parts.cache_write !== 0) steps += BigInt(parts.cache_write) * stepsOfPart.cache_write
  if (parts.cache_write_1h !== 0) steps += BigInt(parts.cache_write_1h) * stepsOfPart.cache_write_1h
  if (parts.reasoning !== 0) steps += BigInt(parts.reasoning) * stepsOfPart.reasoning
  if (parts.audio_input !== 0) steps += BigInt(parts.audio_input) * stepsOfPart.audio_input
  if (parts.audio_output !== 0) steps += BigInt(parts.audio_output) * stepsOfPart.audio_output
  if (parts.audio_cache_read !== 0) steps += BigInt(parts.audio_cache_read) * stepsOfPart.audio_cache_read
  if (parts.image_input !== 0) steps += BigInt(parts.image_input) * stepsOfPart.image_input
  if (parts.image_output !== 0) steps += BigInt(parts.image_output) * stepsOfPart.image_output
  if (parts.image_cache_read !== 0) steps += BigInt(parts.image_cache_read) * stepsOfPart.image_cache_read
  if (steps > QUANTITY_STEPS_MAX) throw new RangeError('the cost exceeds the maximum quantity of a record')
  return quantityOfSteps<'USD'>(steps)
}

/** Price of each part in steps of 1e-18 USD per token, including factors. */
export type StepsOfPart = Readonly<Record<RatePart, bigint>>

/** Throws when a rate times its factors has more decimals than a step holds; books are checked when they are built. */
export function stepsOfParts(rates: Rates, factors: readonly string[]): StepsOfPart {
  const steps: Partial<Record<RatePart, bigint>> = {}
  for (const part of RATE_PARTS) {
    const rate = rates[billedAs(part, rates)] ?? '0'
    const perToken = stepsPerToken(rate, factors)
    if (perToken === undefined) throw new RangeError(`${rate} USD x ${factors.join(' x ')} cannot be held exactly`)
    steps[part] = perToken
  }
  return steps as StepsOfPart
}

/** A price for the tokens of an event, and its details. Shared by all events when no price applies. */
interface Outcome {
  readonly costUsd: Quantity<'USD'>
  readonly details: OutcomeDetails
}

interface OutcomeDetails {
  readonly alone: SerialisedDetails
  /** The details when the client's estimate applies and this price is for comparison. */
  readonly besideEstimate: SerialisedDetails
  /** The details when nobody is billed for the call and this price is for comparison. */
  readonly notional: SerialisedDetails
  /** The details when the client's estimate is doubted; made on first use. */
  readonly doubted: Map<StatedCostDoubt, SerialisedDetails>
}

interface SerialisedDetails {
  readonly basis: CostBasis
  readonly details: CostDetails
  readonly detailsJson: string
}

interface Pricing {
  readonly kind: 'entry'
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
  /** By service tier, speed, cliff and period, then by kinds of usage: a few dozen in all. */
  readonly priced: Map<number, Map<number, PricedVariant>>
  /** By reason and unpriced units. */
  readonly unpriced: Map<string, Outcome>
}

type NoPricing = Pick<Pricing, 'book' | 'unpriced'> & { readonly kind: 'none'; readonly reason: UnpricedReason }

interface PricedVariant {
  readonly details: OutcomeDetails
  readonly steps: StepsOfPart
  readonly fees: Fees
  readonly units: UnitRates
}

interface KeptModel {
  readonly ofTenant: readonly Pricing[]
  readonly ofBook: Pricing | NoPricing
}

interface Kept {
  readonly localCache: CostResult
  readonly models: Map<string, KeptModel>
}

type BookName = Pick<CostDetails, 'book_as_of' | 'book_id'>

const bookName = ({ asOf, id }: PriceBook): BookName => ({ book_as_of: asOf, ...(id !== undefined && { book_id: id }) })

const NO_TENANT = {}
const KEPT = new WeakMap<PriceBook, WeakMap<object, Kept>>()

function keptFor(book: PriceBook, tenant: TenantPrices | undefined): Kept {
  let ofBook = KEPT.get(book)
  if (ofBook === undefined) {
    ofBook = new WeakMap()
    KEPT.set(book, ofBook)
  }
  const owner = tenant ?? NO_TENANT
  let kept = ofBook.get(owner)
  if (kept === undefined) {
    const details: CostDetails = { basis: 'local_cache', ...bookName(book) }
    kept = { localCache: Object.freeze({ costUsd: zero<'USD'>(), ...serialised(details) }), models: new Map() }
    ofBook.set(owner, kept)
  }
  return kept
}

/** The price list that applies to this event: the tenant's price when one is in force, else that of the book. */
function pricingAt(
  invocation: Invocation,
  kept: Kept,
  book: PriceBook,
  tenant: TenantPrices | undefined,
): Pricing | NoPricing {
  const { provider, servedModel, requestedModel, region } = invocation
  const id = `${provider}\n${servedModel ?? ''}\n${requestedModel}\n${region ?? ''}`
  let model = kept.models.get(id)
  if (model === undefined) {
    if (kept.models.size >= KEPT_MODELS_MAX) kept.models.clear()
    model = findModel(invocation, book, tenant)
    kept.models.set(id, model)
  }
  for (const pricing of model.ofTenant) {
    const period = pricing.entry.periods[0]
    if (period !== undefined && invocation.eventTimeMs >= period.fromMs && invocation.eventTimeMs < period.toMs) {
      return pricing
    }
  }
  return model.ofBook
}

function findModel(invocation: Invocation, book: PriceBook, tenant: TenantPrices | undefined): KeptModel {
  const { modelFrom, how, ofTenant: negotiated, ofBook: found, flags } = pricedName(invocation, book, tenant)
  const pricing = (entry: PriceEntry, match: readonly MatchStep[], scope: string | undefined): Pricing => ({
    kind: 'entry',
    book: bookName(book),
    entry,
    match: [...how, ...match],
    region: scope,
    modelFrom,
    nameFlags: flags,
    bookFees: entry.source === 'tenant_price' && found.kind === 'entry' ? found.entry.fees : {},
    bookUnits: entry.source === 'tenant_price' && found.kind === 'entry' ? found.entry.units : {},
    priced: new Map(),
    unpriced: new Map(),
  })
  // A negotiated price does not include the kind of model; the book does.
  const isEmbedding = found.kind === 'entry' && found.entry.isEmbedding
  const ofTenant = negotiated.map(({ entry, match }) =>
    pricing(isEmbedding ? { ...entry, isEmbedding } : entry, match, invocation.region),
  )
  const ofBook: Pricing | NoPricing =
    found.kind === 'entry'
      ? pricing(found.entry, found.match, found.region)
      : { kind: 'none', book: bookName(book), reason: found.reason, unpriced: new Map() }
  return { ofTenant, ofBook }
}

/** Without a price list nothing of a call has a price; where only units besides tokens are billed, it is they. */
function withoutPrice(invocation: Invocation, pricing: NoPricing): Outcome {
  const units = unitsBilled(invocation)
  return unpriced(pricing, isUncounted(invocation, units) ? 'no_unit_price' : pricing.reason, units)
}

/** Whether a call is billed by units besides tokens, and states no tokens: 0 and 0 say no more than that. */
const isUncounted = ({ inputTokens = 0, outputTokens = 0 }: Invocation, units: readonly BilledUnit[]): boolean =>
  units.length > 0 && inputTokens + outputTokens === 0

function outcomeOf(invocation: Invocation, pricing: Pricing): Outcome {
  const { entry } = pricing
  const units = unitsBilled(invocation)
  const isWithoutTokens = isUncounted(invocation, units)
  const inputTokens = isWithoutTokens ? 0 : invocation.inputTokens
  // An embedding has no output that costs anything; for all other models a missing count is unknown, not zero.
  const isOutputKnown = isWithoutTokens || entry.isEmbedding
  const outputTokens = invocation.outputTokens ?? (isOutputKnown ? 0 : undefined)
  if (inputTokens === undefined || outputTokens === undefined) return unpriced(pricing, 'no_tokens')
  const parts = tokenParts(invocation, inputTokens, outputTokens)
  if (parts === undefined) return unpriced(pricing, 'inconsistent_tokens')

  const at = periodAt(entry.periods, invocation.eventTimeMs)
  const period = entry.periods[at]
  if (period === undefined) return unpriced(pricing, 'no_price_in_force')
  const window = windowAt(period, invocation.eventTimeMs)
  const sheet = period.windows[window]?.sheet ?? period.sheet
  // A model without rates of tokens is billed by other units only, whatever tokens the call states.
  const isByUnits = isWithoutTokens || (units.length > 0 && sheet.input === undefined)
  if (sheet.input === undefined && !isByUnits) return unpriced(pricing, 'incomplete_price')
  const cliff = cliffOf(sheet, inputTokens, entry.isTierInclusive)
  const serviceTier = sheetTierOf(invocation.serviceTier)
  const isBeforeFirst = invocation.eventTimeMs < period.fromMs
  const usage = usageFacts(invocation, parts) | unitFacts(units, isByUnits)
  const isFast = invocation.speed === 'fast'
  const slot =
    TIER_BITS[serviceTier] |
    ((cliff + 1) << 3) |
    ((window + 1) << 7) |
    (at << 11) |
    (isFast ? 1 << 29 : 0) |
    (isBeforeFirst ? 1 << 30 : 0)

  let ofUsage = pricing.priced.get(slot)
  if (ofUsage === undefined) {
    ofUsage = new Map()
    pricing.priced.set(slot, ofUsage)
  }
  let variant = ofUsage.get(usage)
  if (variant === undefined) {
    const selected = isByUnits ? noTokenRates(serviceTier) : ratesOf(sheet, serviceTier, cliff)
    if (selected.kind === 'none') return unpriced(pricing, NO_RATE[selected.tier])
    if (isModalityUnlisted(selected.rates, sheet, usage)) return unpriced(pricing, NO_RATE[selected.tier])
    const fees = feesFor(toolsCalled(invocation), period, pricing)
    if (fees === undefined) return unpriced(pricing, 'no_tool_fee')
    const unitRates = unitRatesFor(units, { ...entry.units, ...period.sheet.units }, pricing.bookUnits)
    if (isByUnits && unitRates.missing.length === units.length) return unpriced(pricing, 'no_unit_price', units)
    variant = newVariant({
      ...{ pricing, period, window, serviceTier, cliff, selected, usage, isFast, isBeforeFirst, fees, unitRates },
    })
    ofUsage.set(usage, variant)
  }
  return costOf(invocation, parts, usage, variant) ?? unpriced(pricing, 'beyond_range')
}

/** @returns undefined beyond what one call may cost */
function costOf(
  invocation: Invocation,
  parts: TokenParts,
  usage: number,
  { steps, fees, units, details }: PricedVariant,
): Outcome | undefined {
  let costUsd = costOfParts(parts, steps)
  if ((usage & HAS_TOOL_CALLS) !== 0) costUsd = plus(costUsd, costOfTools(invocation, fees))
  if (invocation.billedUnits !== undefined) costUsd = plus(costUsd, costOfUnits(invocation, units))
  return costUsd > AMOUNT_STEPS_MAX ? undefined : { costUsd, details }
}

interface Selected {
  readonly pricing: Pricing
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

function newVariant(call: Selected): PricedVariant {
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
function feesFor(
  tools: readonly BilledTool[],
  period: PricePeriod,
  { entry, bookFees }: Pricing,
): FeesOfCall | undefined {
  const own: Fees = { ...entry.fees, ...period.sheet.fees }
  const all: Fees = { ...bookFees, ...own }
  if (tools.some((tool) => all[tool] === undefined)) return undefined
  return {
    fees: Object.fromEntries(tools.map((tool) => [tool, all[tool]])),
    isFromBook: tools.some((tool) => own[tool] === undefined),
  }
}

/** The last period that has started, or the first when none has. A last period that has ended prices nothing. */
function periodAt(periods: readonly PricePeriod[], timeMs: number): number {
  let at = 0
  for (let next = 1; next < periods.length; next++) {
    if (timeMs >= (periods[next]?.fromMs ?? 0)) at = next
  }
  return timeMs < (periods[at]?.toMs ?? 0) ? at : -1
}

function windowAt({ windows }: PricePeriod, timeMs: number): number {
  if (windows.length === 0) return -1
  const minutes = Math.floor(timeMs / 60_000)
  const days = Math.floor(minutes / 1440)
  // 1 January 1970 was a Thursday, ISO weekday 4.
  const weekday = ((((days + 3) % 7) + 7) % 7) + 1
  const minute = minutes - days * 1440
  return windows.findIndex(
    (window) => minute >= window.fromMinute && minute < window.toMinute && window.days.includes(weekday),
  )
}

const TIER_BITS: Readonly<Record<SheetTier, number>> = {
  standard: 0,
  batch: 1,
  flex: 2,
  priority: 3,
  scale: 4,
  priority_on_demand: 5,
  flex_discount: 6,
}
/** Standard: the price list has no rate for the call's modality or service tier at all. */
const NO_RATE: Readonly<Record<SheetTier, UnpricedReason>> = {
  standard: 'no_price_in_force',
  batch: 'no_batch_rate',
  flex: 'no_flex_rate',
  priority: 'no_priority_rate',
  scale: 'no_price_in_force',
  priority_on_demand: 'no_priority_rate',
  flex_discount: 'no_flex_rate',
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

/** @param units billed units without a price */
function unpriced(
  { book, unpriced: kept }: Pick<Pricing, 'book' | 'unpriced'>,
  reason: UnpricedReason,
  units: readonly BilledUnit[] = [],
): Outcome {
  const id = units.length === 0 ? reason : `${reason} ${units.join(' ')}`
  let outcome = kept.get(id)
  if (outcome === undefined) {
    const named = units.length > 0 && { unpriced_units: units }
    outcome = { costUsd: zero<'USD'>(), details: outcomeDetails(book, 'unpriced', { reason, ...named }) }
    kept.set(id, outcome)
  }
  return outcome
}

const noPriceOf = (units: readonly BilledUnit[]) => ({ reason: 'no_unit_price', unpriced_units: units }) as const

function outcomeDetails(
  book: BookName,
  basis: CostBasis,
  rest: Pick<CostDetails, 'price' | 'reason' | 'unpriced_units'>,
): OutcomeDetails {
  return {
    alone: serialised({ basis, ...book, ...rest }),
    besideEstimate: serialised({ basis: 'client_estimate', ...book, ...rest }),
    notional: serialised({ basis: 'notional', ...book, ...rest }),
    doubted: new Map(),
  }
}

/** An implausible cost still counts, one that is not trusted does not. */
function doubtedDetails({ alone, besideEstimate, doubted }: OutcomeDetails, doubt: StatedCostDoubt): SerialisedDetails {
  let kept = doubted.get(doubt)
  if (kept === undefined) {
    kept = serialised({ ...(doubt === 'untrusted' ? alone : besideEstimate).details, stated_cost: doubt })
    doubted.set(doubt, kept)
  }
  return kept
}

function serialised(details: CostDetails): SerialisedDetails {
  return { basis: details.basis, details: deepFrozen(details), detailsJson: JSON.stringify(details) }
}

function deepFrozen<T extends object>(value: T): T {
  for (const inner of Object.values(value)) {
    if (typeof inner === 'object' && inner !== null && !Object.isFrozen(inner)) deepFrozen(inner)
  }
  return Object.freeze(value)
}

function clock(minute: number): string {
  return `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`
}
