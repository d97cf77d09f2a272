/**
 * What a call costs by genai-prices, read from its published data (`prices/new_data/v2/data.json`) by its
 * documentation. Shares nothing with the readers of the product: a mistake of theirs must show.
 *
 * USD as doubles: prices are compared to half a percent, nothing is billed.
 */
import type { Usage, Vector } from './vectors.js'

/** A list of providers, or an object that holds it. Fields that are not named here are not read. */
export type GenaiData = readonly GenaiProvider[] | { readonly providers: readonly GenaiProvider[] }

export interface GenaiProvider {
  readonly id: string
  readonly models: readonly GenaiModel[]
  /** Whose models this provider serves at the same prices. */
  readonly fallback_model_providers?: readonly string[]
}

export interface GenaiModel {
  readonly id: string
  readonly match: Clause
  readonly prices: GenaiPrices | readonly { readonly constraint?: Constraint; readonly prices: GenaiPrices }[]
  readonly price_variants?: readonly GenaiVariant[]
}

/** Prices of a request of this kind; those that it omits are the standard ones. */
interface GenaiVariant {
  readonly when: Readonly<Record<string, string>>
  readonly prices: GenaiPrices
  readonly constraint?: Constraint
}

export type GenaiPrices = Readonly<Record<string, number | TieredPrice | undefined>>

/** Above `start` tokens of input the price of a tier applies to the whole request. */
interface TieredPrice {
  readonly base: number
  readonly tiers: readonly { readonly start: number; readonly price: number }[]
}

export type Constraint = { readonly start_date: string } | { readonly start_time: string; readonly end_time: string }

export type Clause =
  | { readonly equals: string }
  | { readonly starts_with: string }
  | { readonly ends_with: string }
  | { readonly contains: string }
  | { readonly regex: string }
  | { readonly or: readonly Clause[] }
  | { readonly and: readonly Clause[] }

export const genaiProviders = (data: GenaiData): readonly GenaiProvider[] =>
  Array.isArray(data) ? data : (data as { readonly providers: readonly GenaiProvider[] }).providers

/**
 * The first model whose rule matches the name, then those of the fallback providers, then likewise with a date. The
 * variants of a fallback provider's model do not count: its batch price is not this provider's.
 */
export function findGenaiModel(
  providers: readonly GenaiProvider[],
  providerId: string,
  name: string,
): GenaiModel | undefined {
  const provider = providers.find(({ id }) => id === providerId)
  if (provider === undefined) return undefined
  const { fallback_model_providers: others = [] } = provider
  const find = (text: string): GenaiModel | undefined => {
    const own = provider.models.find(({ match }) => matches(match, text))
    if (own !== undefined) return own
    const lent = others
      .flatMap((id) => providers.find((each) => each.id === id)?.models ?? [])
      .find(({ match }) => matches(match, text))
    return lent && { ...lent, price_variants: [] }
  }
  const lower = name.toLowerCase()
  // `gpt-5.2-20251211` is `gpt-5.2-2025-12-11` where only that is listed.
  const dashed = lower.replace(/-(20\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)/g, '-$1-$2-$3')
  return find(lower) ?? (dashed === lower ? undefined : find(dashed))
}

function matches(clause: Clause, text: string): boolean {
  if ('equals' in clause) return text === clause.equals.toLowerCase()
  if ('starts_with' in clause) return text.startsWith(clause.starts_with.toLowerCase())
  if ('ends_with' in clause) return text.endsWith(clause.ends_with.toLowerCase())
  if ('contains' in clause) return text.includes(clause.contains.toLowerCase())
  if ('regex' in clause) return new RegExp(clause.regex).test(text)
  return 'or' in clause
    ? clause.or.some((each) => matches(each, text))
    : clause.and.every((each) => matches(each, text))
}

/** @returns USD; undefined where the book states no price of this tier or kind of tokens, or a price of 0 */
export function genaiUsd(model: GenaiModel, { usage, tier }: Vector, atMs: number): number | undefined {
  const standard = standardPrices(model, atMs)
  const prices = tier === undefined ? standard : variantPrices(model, standard, tier, atMs)
  if (prices === undefined || !states(prices, usage)) return undefined
  const usd = usdOf(prices, usage)
  return usd > 0 ? usd : undefined
}

/** The last price whose condition holds, else the first. */
function standardPrices({ prices }: GenaiModel, atMs: number): GenaiPrices {
  if (!isDated(prices)) return prices
  const held = prices.findLast(({ constraint }) => constraint === undefined || holds(constraint, atMs))
  return (held ?? prices[0])?.prices ?? {}
}

const isDated = (prices: GenaiModel['prices']): prices is Extract<GenaiModel['prices'], readonly unknown[]> =>
  Array.isArray(prices)

/** Batch is a way of processing, flex and priority are service tiers: these keys of `when` are what callers state. */
const CONTEXTS: Readonly<Record<NonNullable<Vector['tier']>, Readonly<Record<string, string>>>> = {
  batch: { processing: 'batch' },
  flex: { service_tier: 'flex' },
  priority: { service_tier: 'priority' },
}

/** For each price the first variant that holds and states it. Undefined where none prices these tokens. */
function variantPrices(
  { price_variants: variants = [] }: GenaiModel,
  standard: GenaiPrices,
  tier: NonNullable<Vector['tier']>,
  atMs: number,
): GenaiPrices | undefined {
  const context = CONTEXTS[tier]
  const held = variants.filter(
    ({ when, constraint }) =>
      Object.entries(when).every(([key, value]) => context[key] === value) &&
      (constraint === undefined || holds(constraint, atMs)),
  )
  const overrides = Object.assign({}, ...held.map(({ prices }) => prices).reverse()) as GenaiPrices
  if (overrides['input_mtok'] === undefined && overrides['output_mtok'] === undefined) return undefined
  return { ...standard, ...overrides }
}

function holds(constraint: Constraint, atMs: number): boolean {
  if ('start_date' in constraint) return atMs >= Date.parse(`${constraint.start_date}T00:00:00Z`)
  const minute = minuteOfDay(new Date(atMs).toISOString().slice(11, 19))
  const start = minuteOfDay(constraint.start_time)
  const end = minuteOfDay(constraint.end_time)
  return end < start ? minute >= start || minute < end : minute >= start && minute < end
}

/** Minutes of the day in UTC of `16:30:00Z` or `00:30:00+08:00`. */
function minuteOfDay(time: string): number {
  const [, hours, minutes, seconds = '0', offset = ''] =
    /^(\d\d):(\d\d)(?::(\d\d))?(Z|[+-]\d\d:\d\d)?$/.exec(time) ?? []
  const [, sign, ofHours, ofMinutes] = /^([+-])(\d\d):(\d\d)$/.exec(offset) ?? []
  const ahead = (Number(ofHours ?? 0) * 60 + Number(ofMinutes ?? 0)) * (sign === '-' ? -1 : 1)
  const ofDay = Number(hours) * 60 + Number(minutes) + Number(seconds) / 60 - ahead
  return (ofDay + 1440) % 1440
}

/**
 * The prices that our calls can meet, most specific first, each with those it is part of (`data_units.py`). Cached and
 * audio tokens are part of input: each token costs the most specific price that is stated.
 */
const UNITS: readonly { readonly price: string; readonly within: readonly string[]; of(usage: Usage): number }[] = [
  {
    price: 'cache_write_5m_mtok',
    within: ['cache_write_mtok', 'input_mtok'],
    of: ({ cacheWrite5m = 0 }) => cacheWrite5m,
  },
  {
    price: 'cache_write_1h_mtok',
    within: ['cache_write_mtok', 'input_mtok'],
    of: ({ cacheWrite1h = 0 }) => cacheWrite1h,
  },
  {
    price: 'cache_write_mtok',
    within: ['input_mtok'],
    of: ({ cacheWrite5m = 0, cacheWrite1h = 0 }) => cacheWrite5m + cacheWrite1h,
  },
  { price: 'cache_read_mtok', within: ['input_mtok'], of: ({ cacheRead = 0 }) => cacheRead },
  { price: 'input_audio_mtok', within: ['input_mtok'], of: ({ audioInput = 0 }) => audioInput },
  { price: 'output_audio_mtok', within: ['output_mtok'], of: ({ audioOutput = 0 }) => audioOutput },
  { price: 'input_mtok', within: [], of: ({ input }) => input },
  { price: 'output_mtok', within: [], of: ({ output }) => output },
]

/** Whether a part of input or output has a price of its own; without one, the book says no more than the whole's. */
function states(prices: GenaiPrices, usage: Usage): boolean {
  const { cacheRead, cacheWrite5m, cacheWrite1h, audioInput, audioOutput } = usage
  const isPriced = (...keys: readonly string[]): boolean => keys.some((key) => prices[key] !== undefined)
  return (
    (cacheRead === undefined || isPriced('cache_read_mtok')) &&
    (cacheWrite5m === undefined || isPriced('cache_write_5m_mtok', 'cache_write_mtok')) &&
    (cacheWrite1h === undefined || isPriced('cache_write_1h_mtok', 'cache_write_mtok')) &&
    (audioInput === undefined || isPriced('input_audio_mtok')) &&
    (audioOutput === undefined || isPriced('output_audio_mtok'))
  )
}

export function usdOf(prices: GenaiPrices, usage: Usage): number {
  const priced = UNITS.filter(({ price }) => prices[price] !== undefined)
  const alone = new Map<string, number>()
  let usd = amount(prices['requests_kcount'], usage.input) / 1_000
  for (const { price, of } of priced) {
    const inner = priced.filter(({ within }) => within.includes(price))
    const tokens = inner.reduce((left, each) => left - (alone.get(each.price) ?? 0), of(usage))
    alone.set(price, tokens)
    usd += (tokens * amount(prices[price], usage.input)) / 1_000_000
  }
  return usd
}

function amount(price: number | TieredPrice | undefined, inputTokens: number): number {
  if (price === undefined || typeof price === 'number') return price ?? 0
  const passed = [...price.tiers].sort((a, b) => a.start - b.start).filter(({ start }) => inputTokens > start)
  return passed.at(-1)?.price ?? price.base
}
