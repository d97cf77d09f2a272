import type { ClickHouseClient } from '@clickhouse/client'
import { FootprintChanges, type FootprintSums } from '../../internal/attribution/changes/footprint-changes.js'
import type { Broker } from '../../internal/broker/connect.js'
import { rowsOfEnergyTables } from '../../internal/store/queries/records/slices.js'
import { formatDifference, formatQuantity } from '../../internal/units/quantity.js'
import { footprintRules } from '../../internal/valuation/consumption.js'
import type { EnergyFile } from '../../internal/valuation/energy/energy-models.js'
import { loadFootprintTables, withEnergyTable } from '../../internal/valuation/energy/footprint.js'
import { readTenants, slicesOf, type Window } from './tenant-records.js'

/**
 * What an energy table would change in the energy and carbon of all tenants' records of a period, by provider and
 * model: as if it had been in force throughout. Reads only.
 */
export async function footprintChanges(broker: Broker, store: ClickHouseClient, file: EnergyFile, period: Window) {
  const tenants = await readTenants(broker)
  const tables = withEnergyTable(loadFootprintTables(), file, 'proposed')
  const footprintOf = footprintRules(() => tables, tenants.pricesOf, tenants.settingsOf)
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
