import type { Page, ReportScope, UsageRow as Row, SuppressedFilters } from 'attribution-service/sdk/api'

/** The answers of `GET /v1/reports/usage` that the console reads; it ignores members that it does not know. */

/** Dimensions of declared tags are members, too. */
export type UsageRow = Row & { readonly [dimension: string]: unknown }

/** Where calls go that no rule of a pool takes: they have no service. */
export const DEFAULT_POOL = 'unallocated'

/**
 * Whether a row is the calls of nobody. A report by owner says so of services without an owner alone; calls without a
 * service have the name of the default pool for an owner.
 */
export const isNobodys = (row: UsageRow, dimension: string): boolean =>
  row.unattributed ||
  (dimension === 'owner' && !row.folded && row.calls > 0 && row.reasons['default_pool']?.calls === row.calls)

/** The name of a row that is nobody's. */
export function nobodyShown(row: UsageRow, dimension: string): string {
  if (dimension !== 'owner') return 'nobody'
  const hasNoService = row.reasons['default_pool']?.calls === row.calls
  return `nobody: ${hasNoService ? 'calls without a service' : 'services without an owner'}`
}

export interface UsageAnswer {
  readonly suppressed?: SuppressedFilters
  readonly data: readonly UsageRow[]
  readonly page: Page
  readonly report: ReportScope
}

/** What a chart and a table can show of a row. */
export const MEASURES = ['cost_usd', 'energy_wh', 'carbon_gco2e', 'calls'] as const
export type Measure = (typeof MEASURES)[number]

export const measureText = (row: Pick<UsageRow, Measure>, measure: Measure): string => String(row[measure])

/** Whether it costs nothing because calls have no price: such a cost is not known. */
export const hasNoPrice = (row: UsageRow): boolean => row.cost_usd === '0' && row.unpriced_calls > 0
