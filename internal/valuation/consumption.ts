import type { GridSettings, TenantSettings } from '../auth/tenant.js'
import type { Invocation } from '../invocations/invocation.js'
import type { AdmittedInvocation } from '../invocations/invocation-group.js'
import type { CostBound } from '../records/bases.js'
import type { Quantity } from '../units/quantity.js'
import { type ReadByConvention, readByConvention, type UsageConventions } from './conventions/read-by-convention.js'
import { costBoundOf, isUnchargedBound, withChargedBound } from './cost/cost-bound.js'
import type { AppliedConvention } from './cost/cost-details.js'
import { costLimits } from './cost/plausible-cost.js'
import type { PriceBook } from './cost/price-book.js'
import { priceInvocation } from './cost/price-invocation.js'
import type { TenantPrices } from './cost/tenant-prices.js'
import { priceReadings } from './cost/usage-readings.js'
import { classEstimates } from './energy/class-estimates.js'
import { type Footprint, type FootprintTables, footprint, loadFootprintTables } from './energy/footprint.js'
import type { TenantGrid } from './energy/grid.js'

/** Cost and footprint of a call, with the method behind each figure. */
export interface Consumption {
  readonly costUsd: Quantity<'USD'>
  readonly costBasis: string
  readonly costDetails: string
  /** '': the cost is none. */
  readonly costBound: CostBound | ''
  /** Whether the cost is an upper bound, and the tenant charges none back. */
  readonly isUnchargedBound: boolean
  /** Whether the caller stated the cost, and it cannot be right. */
  readonly isCostImplausible: boolean
  /** Whether the sender's counts can be read in two ways whose costs differ. */
  readonly isUsageAmbiguous: boolean
  /** The event as a convention of its tenant reads it, where its counts can be read in two ways. */
  readonly read?: Invocation
  readonly energyWh: Quantity<'Wh'>
  readonly energyBasis: string
  readonly carbonGco2e: Quantity<'gCO2e'>
  readonly carbonBasis: string
  readonly footprintDetails: string
}

/**
 * The rule that applies prices and the energy and grid tables to a call.
 *
 * @param bookAt the price book in force at a time
 * @param pricesOf a tenant's own prices and model names, as they are now; the same object until they change
 * @param settingsOf a tenant's settings, with its grid and the limits of stated costs; the same object until they
 *   change
 * @param conventionsOf how a tenant's senders count, where their counts can be read in two ways; the returned rule
 * takes
 *   others instead, to try them out
 * @param tablesAt the energy and grid tables in force at a time
 */
export function consumptionRules(
  bookAt: (eventTimeMs: number) => PriceBook,
  pricesOf: (tenantId: string) => TenantPrices | undefined,
  settingsOf: (tenantId: string) => TenantSettings,
  conventionsOf: (tenantId: string) => UsageConventions | undefined = () => undefined,
  tablesAt: TablesAt = always(loadFootprintTables()),
): (admitted: AdmittedInvocation, conventions?: UsageConventions) => Consumption {
  const footprintOf = footprintRules(tablesAt, bookAt, pricesOf, settingsOf)
  return (admitted, conventions = conventionsOf(admitted.tenantId)) => {
    const { tenantId, isCostUntrusted } = admitted
    const read = readByConvention(admitted, conventions)
    const { invocation } = read ?? admitted
    const prices = pricesOf(tenantId)
    const settings = settingsOf(tenantId)
    const book = bookAt(invocation.eventTimeMs)
    const stated = { limits: costLimits(settings), isTrusted: isCostUntrusted !== true }
    const price = (reading: Invocation) => priceInvocation(reading, book, prices, stated)
    const counted = priceReadings(invocation, price, read && appliedOf(read, admitted.invocation))
    const cost = settings.charge_upper_bounds ? withChargedBound(counted) : counted
    const { energyWh, energyBasis, carbonGco2e, carbonBasis, detailsJson } = footprintOf(tenantId, invocation)
    return {
      costUsd: cost.costUsd,
      costBasis: cost.basis,
      costDetails: cost.detailsJson,
      costBound: costBoundOf(cost.details) ?? '',
      isUnchargedBound: isUnchargedBound(cost.details),
      isCostImplausible: cost.details.stated_cost === 'implausible',
      isUsageAmbiguous: cost.details.other_reading !== undefined,
      ...(read && { read: invocation }),
      energyWh,
      energyBasis,
      carbonGco2e,
      carbonBasis,
      footprintDetails: detailsJson,
    }
  }
}

export type TablesAt = (eventTimeMs: number) => FootprintTables

const always = (tables: FootprintTables) => (): FootprintTables => tables

/**
 * The rule that applies the energy and grid tables to a call, as its sender's counts are read.
 *
 * @param bookAt the price book in force at a time, which tells the class of a model that no table knows
 * @param pricesOf of a tenant; its model names count
 * @param settingsOf of a tenant; its grid counts
 */
export function footprintRules(
  tablesAt: TablesAt,
  bookAt: (eventTimeMs: number) => PriceBook,
  pricesOf: (tenantId: string) => TenantPrices | undefined,
  settingsOf: (tenantId: string) => GridOfTenant,
): (tenantId: string, invocation: Invocation) => Footprint {
  return (tenantId, invocation) => {
    const { provider, servedModel, requestedModel, eventTimeMs } = invocation
    const tables = tablesAt(eventTimeMs)
    return footprint(invocation, tables, {
      tenant: tenantGrid(settingsOf(tenantId).grid),
      renamed: pricesOf(tenantId)?.rename(provider, servedModel ?? requestedModel),
      classes: classEstimates(tables.models, bookAt(eventTimeMs)),
    })
  }
}
type GridOfTenant = Pick<TenantSettings, 'grid'>

function appliedOf({ convention, invocation: read }: ReadByConvention, stated: Invocation): AppliedConvention {
  const { id, sender, cache, reasoning } = convention
  const isOther = read.inputTokens !== stated.inputTokens || read.outputTokens !== stated.outputTokens
  return { id, sender, cache, reasoning, ...(isOther && { is_other: true }) }
}

/** Inputs of the energy rules: the same object for the same settings, since the rules cache results by it. */
function tenantGrid(settings: GridSettings | null): TenantGrid | undefined {
  if (settings === null) return undefined
  const known = GRIDS.get(settings)
  if (known !== undefined) return known
  const grid: TenantGrid = {
    ...(settings.zone !== null && { zone: settings.zone }),
    factors: settings.factors.map(({ zone, gco2e_per_kwh: gramsPerKwh, source, from, to }) => {
      return { zone, gramsPerKwh, source, from: from ?? undefined, to: to ?? undefined }
    }),
  }
  GRIDS.set(settings, grid)
  return grid
}

const GRIDS = new WeakMap<GridSettings, TenantGrid>()
