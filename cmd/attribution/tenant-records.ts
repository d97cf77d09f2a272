import type { ClickHouseClient } from '@clickhouse/client'
import { settingsOf, type Tenant, type TenantSettings } from '../../internal/auth/tenant.js'
import type { Broker } from '../../internal/broker/connect.js'
import { mirrorBucket } from '../../internal/broker/mirror.js'
import { placeBefore, placeBehind, type Slice } from '../../internal/store/queries/records/slices.js'
import type { TenantPrices } from '../../internal/valuation/cost/tenant-prices.js'
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

/** By what calls of the tenants are valued besides books and tables, as it is now. */
export interface Tenants {
  readonly ids: readonly string[]
  pricesOf(tenantId: string): TenantPrices | undefined
  settingsOf(tenantId: string): TenantSettings
}

export async function readTenants(broker: Broker): Promise<Tenants> {
  const copyOf = async <T>(bucket: Bucket, apply?: (key: string, value: T | undefined) => void) => {
    const mirror = await mirrorBucket<T>(await broker.bucket(bucket), () => undefined, apply)
    mirror.stop()
    return mirror
  }
  const prices = new WatchedPrices(() => undefined)
  await copyOf<StoredOverride>(PRICE_OVERRIDES, (key, override) => prices.apply(key, override))
  await copyOf<StoredModelName>(MODEL_NAMES, (id, name) => prices.applyName(id, name))
  const tenants = await copyOf<Tenant>(TENANTS)
  return {
    ids: [...tenants.entries()].map(([tenantId]) => tenantId),
    pricesOf: (tenantId) => prices.of(tenantId),
    settingsOf: (tenantId) => settingsOf(tenants.get(tenantId)),
  }
}

/** The records of a period, of one tenant after another, in slices that memory holds. */
export async function* slicesOf(
  store: ClickHouseClient,
  { ids }: Pick<Tenants, 'ids'>,
  { fromMs, toMs }: Window,
): AsyncGenerator<Slice> {
  for (const tenantId of ids) {
    for (let after = placeBefore(fromMs); ; ) {
      const until = await placeBehind(store, tenantId, after, toMs, SLICE_RECORDS)
      if (until === undefined) break
      yield { tenantId, after, until }
      after = until
    }
  }
}
