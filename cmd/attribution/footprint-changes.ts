import type { ClickHouseClient } from '@clickhouse/client'
import { FootprintChanges, type FootprintSums } from '../../internal/attribution/changes/footprint-changes.js'
import type { Broker } from '../../internal/broker/connect.js'
import { rowsOfEnergyTables } from '../../internal/store/queries/records/slices.js'
import { formatDifference, formatQuantity } from '../../internal/units/quantity.js'
import { importedBooks, readBook } from '../../internal/valuation/books/book-version.js'
import { DatedBooks } from '../../internal/valuation/books/dated-books.js'
import { footprintRules } from '../../internal/valuation/consumption.js'
import {
  loadPriceBook,
  type PriceBook,
  type PriceBookFile,
  priceBook,
} from '../../internal/valuation/cost/price-book.js'
import type { EnergyFile } from '../../internal/valuation/energy/energy-models.js'
import { loadFootprintTables, withEnergyTable } from '../../internal/valuation/energy/footprint.js'
import { PRICE_BOOK_FILES, PRICE_BOOKS } from '../../streams/buckets.js'
import { readTenants, slicesOf, type Window } from './tenant-records.js'

/**
 * What an energy table would change in the energy and carbon of all tenants' records of a period, by provider and
 * model: as if it had been in force throughout. Reads only.
 */
export async function footprintChanges(broker: Broker, store: ClickHouseClient, file: EnergyFile, period: Window) {
  const tenants = await readTenants(broker)
  const tables = withEnergyTable(loadFootprintTables(), file, 'proposed')
  const books = await priceBooksOf(broker)
  const bookAt = (eventTimeMs: number): PriceBook => books.at(eventTimeMs)
  const footprintOf = footprintRules(() => tables, bookAt, tenants.pricesOf, tenants.settingsOf)
  const changes = new FootprintChanges()
  const nowMs = Date.now()
  for await (const slice of slicesOf(store, tenants, period)) {
    changes.add(await rowsOfEnergyTables(store, slice, nowMs), footprintOf)
  }
  const models = changes.largestFirst().map(({ provider, servedModel, ...sums }) => ({
    provider,
    served_model: servedModel,
    ...shown(sums),
  }))
  return { models, total: shown(changes.total) }
}

/** The price books in force, which tell the classes of models that no table knows. */
async function priceBooksOf(broker: Broker): Promise<DatedBooks<PriceBookFile, PriceBook>> {
  const books = new DatedBooks<PriceBookFile, PriceBook>(loadPriceBook(), priceBook)
  const files = await broker.objects(PRICE_BOOK_FILES)
  for (const stored of await importedBooks(await broker.bucket(PRICE_BOOKS))) {
    if (stored.undone_at !== undefined) continue
    const file = await readBook<PriceBookFile>(files, stored)
    books.add(stored, () => file)
  }
  return books
}

const shown = ({ records, oldEnergy, newEnergy, oldCarbon, newCarbon, newlyKnown, newlyUnknown }: FootprintSums) => ({
  records,
  old_energy_wh: formatQuantity(oldEnergy),
  new_energy_wh: formatQuantity(newEnergy),
  energy_wh_difference: formatDifference(newEnergy, oldEnergy),
  old_carbon_gco2e: formatQuantity(oldCarbon),
  new_carbon_gco2e: formatQuantity(newCarbon),
  carbon_gco2e_difference: formatDifference(newCarbon, oldCarbon),
  newly_known: newlyKnown,
  newly_unknown: newlyUnknown,
})

export type ShownFootprintChanges = Awaited<ReturnType<typeof footprintChanges>>
export type ShownFootprintSums = ShownFootprintChanges['total']
