/** The answers of `GET /v1/reports/usage` that the console reads; unknown members are ignored (spec 9.2). */

export interface UsageRow {
  readonly from: string
  readonly to: string
  readonly [dimension: string]: unknown
  readonly folded: boolean
  readonly groups?: number
  readonly people: number | null
  readonly unattributed: boolean
  readonly cost_usd: string
  readonly energy_wh: string
  readonly carbon_gco2e: string
  readonly calls: number
  readonly unpriced_calls: number
  readonly cost_share: string | null
  readonly cost_usd_per_1k_tokens: string | null
  readonly lower_bounds: readonly string[]
  readonly cost_usd_by_band: Readonly<Record<Band, string>>
  readonly unattributed_calls: number
  readonly unattributed_cost_usd: string
  readonly reasons: Readonly<Partial<Record<string, { readonly calls: number; readonly cost_usd: string }>>>
  readonly compared?: 'both' | 'new' | 'gone' | 'not_shown'
  readonly previous?: Figures | null
  readonly change?: Figures | null
  readonly change_percent?: Readonly<Record<string, string | null>> | null
}

/**
 * Whether a row is the calls of nobody. A report by owner says so of services without an owner alone; calls without a service have
 * the name of the default pool for an owner.
 */
export const isNobodys = (row: UsageRow, dimension: string): boolean =>
  row.unattributed ||
  (dimension === 'owner' && !row.folded && row.calls > 0 && row.reasons['default_pool']?.calls === row.calls)

type Figures = Readonly<Record<string, string | number | null>>

export type Band = 'chargeback_ready' | 'provisional' | 'estimated'

export interface StatedFilter {
  readonly field: string
  readonly operator: string
  readonly values: readonly string[]
}

export interface UsageAnswer {
  readonly suppressed?: { readonly asked: readonly StatedFilter[]; readonly applied: readonly StatedFilter[] }
  readonly data: readonly UsageRow[]
  readonly page: { readonly next_cursor?: string; readonly has_more: boolean }
  readonly report: UsageScope
}

export interface UsageScope {
  readonly from: string
  readonly to: string
  readonly as_of: string
  readonly rows: number
  readonly total_cost_usd: string
  /** Only where it was asked for: stated dollars that nobody is billed. */
  readonly total_notional_cost_usd?: string
  readonly compared_with?: { readonly from: string; readonly to: string; readonly total_cost_usd: string | null }
}

/** What a chart and a table can show of a row. */
export const MEASURES = ['cost_usd', 'energy_wh', 'carbon_gco2e', 'calls'] as const
export type Measure = (typeof MEASURES)[number]

export const measureText = (row: Pick<UsageRow, Measure>, measure: Measure): string => String(row[measure])
