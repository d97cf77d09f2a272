import type { PricedKind, PricedPeriod } from '../store/queries/prices/priced-kinds.js'
import { costPartFigures, type PricedFigures, repricedFigures } from '../store/queries/reports/priced-figures.js'
import type { PriceBook } from '../valuation/cost/price-book.js'
import { type Repricing, repricingOf } from '../valuation/cost/reprice.js'
import type { TenantPrices } from '../valuation/cost/tenant-prices.js'
import { pricesInCost } from '../valuation/cost/unit-prices.js'
import type { ReportQuestion } from './question.js'
import { spanOf } from './report-period.js'

/** The figures of a report that depend on prices. */

export interface Prices {
  /** How the costs of a tenant's records of a period were priced. */
  readonly pricedKinds: (of: PricedPeriod, signal: AbortSignal) => Promise<readonly PricedKind[]>
  /** The price book in force at a time. */
  readonly bookAt: (atMs: number) => PriceBook
  readonly pricesOf: (tenantId: string) => TenantPrices | undefined
}

/** @returns undefined for a model without a price; `at` the end of the period, or the present if that is earlier */
export const repricing = (
  { repriceAs, period }: ReportQuestion,
  tenantId: string,
  { bookAt, pricesOf }: Prices,
  nowMs: number,
): Repricing | undefined => {
  const atMs = Math.min(nowMs, period.toMs - 1)
  return repriceAs && repricingOf(repriceAs, atMs, bookAt(atMs), pricesOf(tenantId))
}

export async function pricedFiguresOf(
  question: ReportQuestion,
  tenantId: string,
  repriced: Repricing | undefined,
  { pricedKinds }: Prices,
  signal: AbortSignal,
): Promise<PricedFigures> {
  const kinds = question.extras.includes('cost_parts')
    ? await pricedKinds({ tenantId, ...spanOf(question) }, signal)
    : []
  const parts = costPartFigures(
    kinds.flatMap(({ details, ...kind }) => {
      const usdPerUnit = pricesInCost(details)
      return usdPerUnit === undefined ? [] : [{ ...kind, usdPerUnit }]
    }),
  )
  const anew = repriced === undefined ? [] : [repricedFigures(repriced.bands)]
  return {
    names: [parts, ...anew].flatMap(({ names }) => names),
    sql: Object.assign({}, ...[parts, ...anew].map(({ sql }) => sql)),
  }
}

/** What counters of calls cannot tell of their cost with another model. */
const CANNOT_KNOW = {
  tokens_of_the_same_text: 'Another model splits the same text into other tokens.',
  length_of_answers: 'Another model answers at another length, and reasons more or less.',
  cache_hits:
    'Cached tokens are taken as cached by the other model too, at its rate or, without one, at its input rate.',
  service_tier: 'Rates are those of the standard tier without a region, whatever tier or region a call used.',
  time_of_day: 'Rates are those outside of the hours at which the other model costs more or less.',
  fees: 'Fees of tools that the other model lists none for are left out.',
  uncounted_calls: 'Calls without token counts or with contradictory ones, or billed by other units, are left out.',
} as const
type CannotKnow = keyof typeof CANNOT_KNOW
export const CANNOT_KNOW_CODES = Object.keys(CANNOT_KNOW) as [CannotKnow, ...CannotKnow[]]

/** The price at which calls are priced anew, as reports show it. */
export const shownRepricing = ({ price, bookAsOf }: Repricing) => ({
  provider: price.provider,
  model: price.model,
  source: price.source,
  book_as_of: bookAsOf,
  confidence: price.confidence.toFixed(2),
  rates: price.rates,
  flags: price.flags ?? [],
  cannot_know: Object.entries(CANNOT_KNOW).map(([code, detail]) => ({ code, detail })),
})
