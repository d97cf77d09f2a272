import { PEOPLE_KEPT } from '../cohorts/people.js'
import { WEIGHT_PARTS } from '../records/allocation-weights.js'
import { USAGE_AMOUNTS, USAGE_COUNTS, type UsageAmount, type UsageCount } from '../store/queries/reports/usage.js'
import { apportion } from '../units/apportion.js'
import { formatQuantity, parseSum, plus, type Quantity, type Unit, zero } from '../units/quantity.js'
import type { Measured } from './parts.js'
import type { ReportRow } from './report.js'

/** Sums over calls. */
export interface Usage {
  readonly counts: Readonly<Record<UsageCount, number>>
  readonly amounts: Readonly<Record<UsageAmount, Quantity<Unit>>>
  /** Amounts that include shares of a pool in which the value of some calls is unknown. */
  readonly lackingShares: readonly UsageAmount[]
}

const NOTHING: Usage = {
  counts: each(USAGE_COUNTS, () => 0),
  amounts: each(USAGE_AMOUNTS, () => zero<Unit>()),
  lackingShares: [],
}

export const USAGE: Measured<Usage> = {
  peopleMax: PEOPLE_KEPT,
  of: ({ counts, amounts }) => ({
    counts,
    amounts: each(USAGE_AMOUNTS, (name) => parseSum<Unit>(amounts[name])),
    lackingShares: [],
  }),
  none: NOTHING,
  plus: (one, other) => ({
    counts: each(USAGE_COUNTS, (name) => one.counts[name] + other.counts[name]),
    amounts: each(USAGE_AMOUNTS, (name) => plus(one.amounts[name], other.amounts[name])),
    lackingShares: [...new Set([...one.lackingShares, ...other.lackingShares])],
  }),
  spreading: {
    shares: ({ counts, amounts }, portions) => {
      const shares = each(USAGE_AMOUNTS, (name) => apportion(amounts[name], portions, WEIGHT_PARTS))
      const lackingShares = USAGE_AMOUNTS.filter((name) => counts[MISSING[name]] > 0)
      return portions.map((_, i) => ({
        ...NOTHING,
        amounts: each(USAGE_AMOUNTS, (name) => (shares[name][i] ?? 0n) as Quantity<Unit>),
        lackingShares,
      }))
    },
    lessAmounts: (sum, part) => ({
      ...sum,
      amounts: each(USAGE_AMOUNTS, (name) => (sum.amounts[name] - part.amounts[name]) as Quantity<Unit>),
    }),
  },
}

/** Counts that are fields of a row. */
export const SHOWN_COUNTS = [
  'calls',
  'input_tokens',
  'output_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
  'unpriced_calls',
] as const satisfies readonly UsageCount[]

/** For each figure, the count of calls whose value is unknown. */
const MISSING = {
  cost_usd: 'unpriced_calls',
  energy_wh: 'energy_unknown_calls',
  carbon_gco2e: 'carbon_unknown_calls',
  input_tokens: 'input_tokens_unknown_calls',
  output_tokens: 'output_tokens_unknown_calls',
} as const satisfies Readonly<Record<string, UsageCount>>
type BoundedFigure = keyof typeof MISSING
export const BOUNDED_FIGURES = Object.keys(MISSING) as [BoundedFigure, ...BoundedFigure[]]

/** A row in its wire form. */
export const shownUsage = ({
  fromMs,
  toMs,
  labels,
  isFolded,
  sum: { counts, amounts, lackingShares },
}: ReportRow<Usage>) => ({
  from: new Date(fromMs).toISOString(),
  to: new Date(toMs).toISOString(),
  ...labels,
  folded: isFolded,
  ...each(USAGE_AMOUNTS, (name) => formatQuantity(amounts[name])),
  ...each(SHOWN_COUNTS, (name) => counts[name]),
  lower_bounds: BOUNDED_FIGURES.filter(
    (name) => counts[MISSING[name]] > 0 || lackingShares.some((lacking) => lacking === name),
  ),
})

function each<K extends string, V>(names: readonly K[], value: (name: K) => V): Record<K, V> {
  return Object.fromEntries(names.map((name) => [name, value(name)])) as Record<K, V>
}
