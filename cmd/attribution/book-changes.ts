import type { ClickHouseClient } from '@clickhouse/client'
import { BookChanges } from '../../internal/attribution/changes/book-changes.js'
import type { NewlyPriced } from '../../internal/attribution/changes/newly-priced.js'
import type { Broker } from '../../internal/broker/connect.js'
import { rowsPricedByBook } from '../../internal/store/queries/records/slices.js'
import { formatDifference, formatQuantity } from '../../internal/units/quantity.js'
import { type PriceBookFile, priceBook } from '../../internal/valuation/cost/price-book.js'
import { readTenants, slicesOf, type Window } from './tenant-records.js'

/**
 * What a price book would change in the costs of all tenants' records of a period, by provider and model: as if it had
 * been in force throughout. Reads only.
 *
 * @param newlyPriced counts the unpriced ones of these records
 */
export async function bookChanges(
  broker: Broker,
  store: ClickHouseClient,
  file: PriceBookFile,
  period: Window,
  newlyPriced?: NewlyPriced,
) {
  const tenants = await readTenants(broker)
  const book = priceBook(file)
  const changes = new BookChanges()
  const nowMs = Date.now()
  for await (const slice of slicesOf(store, tenants, period)) {
    const rows = await rowsPricedByBook(store, slice, nowMs)
    changes.add(rows, book, tenants.pricesOf)
    newlyPriced?.add(rows, book, tenants.pricesOf)
  }
  return changes.largestFirst().map(({ provider, servedModel, records, oldCost, newCost, ...counts }) => ({
    provider,
    served_model: servedModel,
    records,
    old_cost_usd: formatQuantity(oldCost),
    new_cost_usd: formatQuantity(newCost),
    difference_usd: formatDifference(newCost, oldCost),
    newly_priced: counts.newlyPriced,
    newly_unpriced: counts.newlyUnpriced,
  }))
}
export type ShownBookChange = Awaited<ReturnType<typeof bookChanges>>[number]
