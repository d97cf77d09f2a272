import { MODEL_NAMES, PRICE_BOOK_FILES, PRICE_BOOKS, PRICE_OVERRIDES } from '../../streams/buckets.js'
import type { Broker } from '../broker/connect.js'
import { type Mirror, mirrorBucket } from '../broker/mirror.js'
import type { Logger } from '../telemetry/log.js'
import { DatedBooks, followBooks } from './books/dated-books.js'
import { loadPriceBook, type PriceBook, type PriceBookFile, priceBook } from './cost/price-book.js'
import type { TenantPrices } from './cost/tenant-prices.js'
import type { StoredModelName } from './names/name.js'
import type { StoredOverride } from './prices/override.js'
import { WatchedPrices } from './prices/watched-prices.js'

export interface PricesDeps {
  readonly broker: Broker
  /** Called once when a KV watch is lost. */
  readonly onLost: (cause: unknown) => void
  readonly log: Logger
}

/** The prices by which calls are valued. */
export interface OpenPrices {
  /** The price book in force at a time. */
  readonly bookAt: (atMs: number) => PriceBook
  /** A tenant's own prices and model names, as they are now; the same object until they change. */
  readonly pricesOf: (tenantId: string) => TenantPrices | undefined
  /** Resolves when the copy of the tenants' own prices holds a revision of its bucket. */
  readonly pricesReached: Mirror<StoredOverride>['reached']
}

export async function openPrices({ broker, onLost, log }: PricesDeps): Promise<OpenPrices> {
  const prices = new WatchedPrices((id, what) => log.error({ id, what }, 'a price of a tenant cannot be applied'))
  const copy = await mirrorBucket<StoredOverride>(await broker.bucket(PRICE_OVERRIDES), onLost, (key, price) =>
    prices.apply(key, price),
  )
  await mirrorBucket<StoredModelName>(await broker.bucket(MODEL_NAMES), onLost, (id, name) =>
    prices.applyName(id, name),
  )
  const books = new DatedBooks<PriceBookFile, PriceBook>(loadPriceBook(), priceBook)
  await followBooks(await broker.bucket(PRICE_BOOKS), await broker.objects(PRICE_BOOK_FILES), books, onLost, log)
  return {
    bookAt: (atMs) => books.at(atMs),
    pricesOf: (tenantId) => prices.of(tenantId),
    pricesReached: copy.reached,
  }
}
