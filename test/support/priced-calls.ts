/** Calls priced by the book of the product: what a test states of a call, and its cost in words. */
import type { Invocation } from '../../internal/invocations/invocation.js'
import { formatQuantity } from '../../internal/units/quantity.js'
import { loadPriceBook } from '../../internal/valuation/cost/price-book.js'
import { priceInvocation } from '../../internal/valuation/cost/price-invocation.js'
import {
  type TenantModelName,
  type TenantPriceOverride,
  type TenantPrices,
  tenantPrices,
} from '../../internal/valuation/cost/tenant-prices.js'
import { call } from './attribution-events.js'

export const book = loadPriceBook()

/** Basis, amount in USD, and the reason if there is one. */
export const cost = (stated: Partial<Invocation>, tenant?: TenantPrices): string => {
  const { basis, costUsd, details } = priceInvocation(call(stated), book, tenant)
  return [basis, formatQuantity(costUsd), ...(details.reason === undefined ? [] : [details.reason])].join(' ')
}
export const price = (stated: Partial<Invocation>) => priceInvocation(call(stated), book).details.price
export const tenant = (overrides: TenantPriceOverride[], names: TenantModelName[] = []): TenantPrices => {
  const result = tenantPrices(overrides, names)
  if (result.kind === 'invalid') throw new Error(result.problem)
  return result.prices
}
