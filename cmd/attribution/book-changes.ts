import type { ClickHouseClient } from '@clickhouse/client'
import { BookChanges } from '../../internal/attribution/changes/book-changes.js'
import type { Tenant } from '../../internal/auth/tenant.js'
import type { Broker } from '../../internal/broker/connect.js'
import { mirrorBucket } from '../../internal/broker/mirror.js'
import { placeBefore, placeBehind, rowsPricedByBook } from '../../internal/store/queries/records/slices.js'
import { formatDifference, formatQuantity } from '../../internal/units/quantity.js'
import { type PriceBookFile, priceBook } from '../../internal/valuation/cost/price-book.js'
import type { StoredModelName } from '../../internal/valuation/names/name.js'
import type { StoredOverride } from '../../internal/valuation/prices/override.js'
import { WatchedPrices } from '../../internal/valuation/prices/watched-prices.js'
import { type Bucket, MODEL_NAMES, PRICE_OVERRIDES, TENANTS } from '../../streams/buckets.js'

/** Records in memory at a time. */
const SLICE_RECORDS = 20_000

export interface Window {
  readonly fromMs: number
  readonly toMs: number
}

/**
 * What a price book would change in the costs of all tenants' records of a period, by provider and model: as if it had
 * been in force throughout. Reads only.
 */
export async function bookChanges(
  broker: Broker,
  store: ClickHouseClient,
  file: PriceBookFile,
  { fromMs, toMs }: Window,
) {
  const copyOf = async <T>(bucket: Bucket, apply?: (key: string, value: T | undefined) => void) => {
    const mirror = await mirrorBucket<T>(await broker.bucket(bucket), () => undefined, apply)
    mirror.stop()
    return mirror
  }
  const prices = new WatchedPrices(() => undefined)
  await copyOf<StoredOverride>(PRICE_OVERRIDES, (key, override) => prices.apply(key, override))
  await copyOf<StoredModelName>(MODEL_NAMES, (id, name) => prices.applyName(id, name))
  const tenants = await copyOf<Tenant>(TENANTS)

  const book = priceBook(file)
  const changes = new BookChanges()
  const nowMs = Date.now()
  for (const [tenantId] of tenants.entries()) {
    for (let after = placeBefore(fromMs); ; ) {
      const until = await placeBehind(store, tenantId, after, toMs, SLICE_RECORDS)
      if (until === undefined) break
      changes.add(await rowsPricedByBook(store, { tenantId, after, until }, nowMs), book, (id) => prices.of(id))
      after = until
    }
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
