import { PEOPLE_KEPT } from '../cohorts/people.js'
import { USAGE_AMOUNTS, USAGE_COUNTS, type UsageAmount, type UsageCount } from '../store/queries/usage.js'
import { formatQuantity, parseQuantity, plus, type Quantity, type Unit, zero } from '../units/quantity.js'
import type { Measured, ReportRow } from './report.js'

/** What calls amount to. */
export interface Usage {
  readonly counts: Readonly<Record<UsageCount, number>>
  readonly amounts: Readonly<Record<UsageAmount, Quantity<Unit>>>
}

export const USAGE: Measured<Usage> = {
  peopleMax: PEOPLE_KEPT,
  of: ({ counts, amounts }) => ({
    counts,
    amounts: each(USAGE_AMOUNTS, (name) => parseQuantity(amounts[name]) ?? zero<Unit>()),
  }),
  none: {
    counts: each(USAGE_COUNTS, () => 0),
    amounts: each(USAGE_AMOUNTS, () => zero<Unit>()),
  },
  plus: (one, other) => ({
    counts: each(USAGE_COUNTS, (name) => one.counts[name] + other.counts[name]),
    amounts: each(USAGE_AMOUNTS, (name) => plus(one.amounts[name], other.amounts[name])),
  }),
}

/** Counts that a row shows by themselves. */
export const SHOWN_COUNTS = [
  'calls',
  'input_tokens',
  'output_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
  'unpriced_calls',
] as const satisfies readonly UsageCount[]

/** Which count says that a figure lacks the part of some calls. */
const MISSING = {
  cost_usd: 'unpriced_calls',
  energy_wh: 'energy_unknown_calls',
  carbon_gco2e: 'carbon_unknown_calls',
  input_tokens: 'input_tokens_unknown_calls',
  output_tokens: 'output_tokens_unknown_calls',
} as const satisfies Readonly<Record<string, UsageCount>>
type BoundedFigure = keyof typeof MISSING
export const BOUNDED_FIGURES = Object.keys(MISSING) as [BoundedFigure, ...BoundedFigure[]]

/** A row as it goes out. */
export const shownUsage = ({ fromMs, toMs, labels, isFolded, sum: { counts, amounts } }: ReportRow<Usage>) => ({
  from: new Date(fromMs).toISOString(),
  to: new Date(toMs).toISOString(),
  ...labels,
  folded: isFolded,
  ...each(USAGE_AMOUNTS, (name) => formatQuantity(amounts[name])),
  ...each(SHOWN_COUNTS, (name) => counts[name]),
  lower_bounds: BOUNDED_FIGURES.filter((name) => counts[MISSING[name]] > 0),
})

function each<K extends string, V>(names: readonly K[], value: (name: K) => V): Record<K, V> {
  return Object.fromEntries(names.map((name) => [name, value(name)])) as Record<K, V>
}
