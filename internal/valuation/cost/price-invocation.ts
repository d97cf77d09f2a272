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
import { AMOUNT_STEPS_MAX, parseQuantity, plus, type Quantity, zero } from '../../units/quantity.js'
import type { MatchStep } from '../names/model-names.js'
import { costOfUnits, unitRatesFor, unitsBilled } from './billed-units.js'
import type { CostDetails, UnpricedReason } from './cost-details.js'
import { costOfParts } from './cost-of-parts.js'
import { bookName, doubtedDetails, type OutcomeDetails, outcomeDetails, serialised } from './outcome-details.js'
import { type CostLimits, isImplausible } from './plausible-cost.js'
import type { PriceBook, PriceEntry, PricePeriod } from './price-book.js'
import { pricedName } from './priced-name.js'
import { type ChosenPrice, feesFor, newVariant, type PricedVariant } from './priced-variant.js'
import { cliffOf, noTokenRates, ratesOf, type SheetTier, sheetTierOf } from './rate-sheet.js'
import type { TenantPrices } from './tenant-prices.js'
import { type TokenParts, tokenParts } from './token-parts.js'
import { costOfTools, toolsCalled } from './tool-fees.js'
import { HAS_TOOL_CALLS, isModalityUnlisted, unitFacts, usageFacts } from './usage-facts.js'

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
const KEPT_MODELS_MAX = 20_000

/** How much a cost is worth that the caller states. */
export interface StatedCostRule {
  /** Absent: any cost is plausible. */
  readonly limits?: CostLimits | undefined
  /** Whether the credential that brought the call is trusted to state costs. Default: it is. */
  readonly isTrusted?: boolean | undefined
}

/** @param hasWindows whether rates depend on the time of day; else they are those outside of all windows */
export function priceInvocation(
  invocation: Invocation,
  book: PriceBook,
  tenant?: TenantPrices,
  { limits, isTrusted = true }: StatedCostRule = {},
  hasWindows = true,
): CostResult {
  const kept = keptFor(book, tenant)
  if (invocation.servedFromCache === true) return kept.localCache

  const { estimatedCostUsd, isCostNotional = false } = invocation
  const estimate = estimatedCostUsd === undefined ? undefined : parseQuantity<'USD'>(estimatedCostUsd)
  const pricing = pricingAt(invocation, kept, book, tenant)
  const outcome =
    pricing.kind === 'none' ? withoutPrice(invocation, pricing) : outcomeOf(invocation, pricing, hasWindows)
  if (isCostNotional) return { costUsd: zero<'USD'>(), ...outcome.details.notional }
  if (estimate === undefined) return { costUsd: outcome.costUsd, ...outcome.details.alone }
  if (!isTrusted) return { costUsd: outcome.costUsd, ...doubtedDetails(outcome.details, 'untrusted') }
  const isPriced = outcome.details.alone.basis !== 'unpriced'
  if (limits !== undefined && isImplausible(estimate, isPriced ? outcome.costUsd : undefined, limits)) {
    return { costUsd: estimate, ...doubtedDetails(outcome.details, 'implausible') }
  }
  return { costUsd: estimate, ...outcome.details.besideEstimate }
}

/** A price for the tokens of an event, and its details. Shared by all events when no price applies. */
interface Outcome {
  readonly costUsd: Quantity<'USD'>
  readonly details: OutcomeDetails
}

/** With what was worked out for it. */
interface Pricing extends ChosenPrice {
  readonly kind: 'entry'
  /** By service tier, speed, cliff and period, then by kinds of usage: a few dozen in all. */
  readonly priced: Map<number, Map<number, PricedVariant>>
  /** By reason and unpriced units. */
  readonly unpriced: Map<string, Outcome>
}

type NoPricing = Pick<Pricing, 'book' | 'unpriced'> & { readonly kind: 'none'; readonly reason: UnpricedReason }

interface KeptModel {
  readonly ofTenant: readonly Pricing[]
  readonly ofBook: Pricing | NoPricing
}

interface Kept {
  readonly localCache: CostResult
  readonly models: Map<string, KeptModel>
}

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

function outcomeOf(invocation: Invocation, pricing: Pricing, hasWindows: boolean): Outcome {
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
  const window = hasWindows ? windowAt(period, invocation.eventTimeMs) : -1
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
