import type { Invocation } from '../../invocations/invocation.js'
import type { AppliedPrice } from './cost-details.js'
import type { PriceBook } from './price-book.js'
import { priceInvocation } from './price-invocation.js'
import { pricedName } from './priced-name.js'
import { BILLED_TOOLS } from './rate-sheet.js'
import type { TenantPrices } from './tenant-prices.js'
import { MEMBER_OF_TOOL } from './tool-fees.js'
import { type AppliedUnitPrices, usdPerUnitOf } from './unit-prices.js'

/**
 * The prices at which calls of any model are priced anew as those of another one: its standard tier, in no region, outside
 * of the hours at which it has other prices.
 */

export interface Repricing {
  readonly price: AppliedPrice
  /** Version of the price book. */
  readonly bookAsOf: string
  /** By input tokens, ascending: prices may depend on how long a request is. */
  readonly bands: readonly { readonly overTokens: number; readonly usdPerUnit: AppliedUnitPrices['usdPerUnit'] }[]
}

/** Text of every kind, so that the price says which rates it lacks. */
const USAGE = { outputTokens: 2, reasoningTokens: 1, cachedInputTokens: 1, cacheWriteTokens: 1 } as const
const INPUT_TOKENS_MIN = 3

/** @returns undefined for a model that has no price then */
export function repricingOf(
  model: { readonly provider: string; readonly model: string },
  atMs: number,
  book: PriceBook,
  tenant: TenantPrices | undefined,
): Repricing | undefined {
  const call = (inputTokens: number, also: Partial<Invocation> = {}): Invocation =>
    ({
      ...{ provider: model.provider, requestedModel: model.model, servedModel: model.model },
      ...{ eventTimeMs: atMs, inputTokens: Math.max(inputTokens, INPUT_TOKENS_MIN), ...USAGE, ...also },
    }) as Invocation
  const priceOf = (of: Invocation): AppliedPrice | undefined => {
    const { basis, details } = priceInvocation(of, book, tenant, {}, false)
    return basis === 'unpriced' ? undefined : details.price
  }
  const price = priceOf(call(0))
  if (price === undefined) return undefined
  const fees = Object.fromEntries(
    BILLED_TOOLS.map((tool) => [tool, priceOf(call(0, { [MEMBER_OF_TOOL[tool]]: 1 }))?.fees?.[tool]]),
  )
  const bands = [0, ...thresholds(model, book, tenant)].flatMap((inputTokens) => {
    const applied = priceOf(call(inputTokens))
    return applied === undefined
      ? []
      : [{ overTokens: inputTokens - 1, usdPerUnit: usdPerUnitOf({ ...applied, fees }) }]
  })
  return { price, bookAsOf: book.asOf, bands }
}

/** Input tokens from which on the model, at some time, has other prices than below. Ascending. */
function thresholds(
  { provider, model }: { readonly provider: string; readonly model: string },
  book: PriceBook,
  tenant: TenantPrices | undefined,
): readonly number[] {
  const named = { provider, requestedModel: model, servedModel: model }
  const { ofBook, ofTenant } = pricedName(named, book, tenant)
  const entries = [...ofTenant.map(({ entry }) => entry), ...(ofBook.kind === 'entry' ? [ofBook.entry] : [])]
  const sheets = entries.flatMap(({ periods }) =>
    periods.flatMap(({ sheet, windows }) => [sheet, ...windows.map((window) => window.sheet)]),
  )
  const from = sheets.flatMap(({ tiers = [], bands = [] }) => [
    ...tiers.flatMap(({ above }) => [above, above + 1]),
    ...bands.flatMap(({ over, up_to }) => [over + 1, up_to + 1]),
  ])
  return [...new Set(from)].filter((tokens) => tokens > 0).sort((one, other) => one - other)
}
