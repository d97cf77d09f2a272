import { hasAny, type ReportFlag } from '../../tables/report-flags.js'
import { IS_EXPORTED } from '../records/exported.js'
import { IS_OWN } from '../records/own-names.js'

/** The figures of reports: sums over calls. */

interface Figure {
  /** Aggregates of a group of records. */
  readonly sql: string
  readonly type: string
}

const COUNT = 'Int64'
const AMOUNT = 'Decimal(38, 18)'

// Aggregates over columns as they are: ClickHouse converts the sum of a group faster than the value of each record.
const calls: Figure = { sql: 'toInt64(count())', type: COUNT }
const callsWith = (...flags: readonly ReportFlag[]): Figure => ({
  sql: `toInt64(countIf(${hasAny(flags)}))`,
  type: COUNT,
})
const costWith = (...flags: readonly ReportFlag[]): Figure => ({
  sql: `sumIf(cost_usd, ${hasAny(flags)})`,
  type: AMOUNT,
})
/** Beside calls without a value: with counts of a part of a call, as of a cancelled one, its amounts are lower bounds. */
const IS_PARTIAL = "usage_basis = 'partial'"
const callsBelow = (flag: ReportFlag): Figure => ({
  sql: `toInt64(countIf(${hasAny([flag])} OR ${IS_PARTIAL}))`,
  type: COUNT,
})
const amount = (column: string): Figure => ({ sql: `sum(${column})`, type: AMOUNT })
const tokens = (column: string): Figure => ({ sql: `toInt64(ifNull(sum(${column}), 0))`, type: COUNT })
const NOTHING: Figure = { sql: "toDecimal128('0', 18)", type: AMOUNT }
const callsBelowCount = (column: string): Figure => ({
  sql: `toInt64(countIf(${column} IS NULL OR ${IS_PARTIAL}))`,
  type: COUNT,
})

/** Why the attribution or the cost of calls cannot be relied on. A call may have several reasons. */
export const REASON_NAMES = [
  'default_pool',
  'no_owner',
  'below_floor',
  'advisory',
  'implausible_cost',
  'ambiguous_usage',
  'unpriced',
  'cost_upper_bound',
] as const satisfies readonly ReportFlag[]
export type Reason = (typeof REASON_NAMES)[number]

/**
 * The directory names no owner: the call has none, is in the default pool, or is owned by the identity that it states,
 * as `owner_fallback` has it.
 */
const HAS_NO_OWNER = `(${hasAny(['no_owner', 'default_pool'])} OR ${IS_OWN})`

const perReason = Object.fromEntries(
  REASON_NAMES.flatMap((reason) => {
    const holds = reason === 'no_owner' ? HAS_NO_OWNER : hasAny([reason])
    return [
      [`${reason}_calls`, { sql: `toInt64(countIf(${holds}))`, type: COUNT }],
      [`${reason}_cost_usd`, { sql: `sumIf(cost_usd, ${holds})`, type: AMOUNT }],
    ]
  }),
) as Readonly<Record<`${Reason}_calls` | `${Reason}_cost_usd`, Figure>>

const IS_UNATTRIBUTED = hasAny(['default_pool', 'no_owner'])
/** The cost of calls of a band that have a service and an owner, and are in no chargeback file all the same. */
const withheldCost = (band: ReportFlag): Figure => ({
  sql: `sumIf(cost_usd, ${hasAny([band])} AND NOT (${IS_EXPORTED}) AND NOT ${IS_UNATTRIBUTED})`,
  type: AMOUNT,
})

const FIGURES = {
  calls,
  cost_usd: amount('cost_usd'),
  energy_wh: amount('energy_wh'),
  carbon_gco2e: amount('carbon_gco2e'),
  energy_class_estimate_wh: { sql: `sumIf(energy_wh, ${hasAny(['energy_class_estimate'])})`, type: AMOUNT },
  input_tokens: tokens('input_tokens'),
  output_tokens: tokens('output_tokens'),
  cached_input_tokens: tokens('cached_input_tokens'),
  cache_write_tokens: tokens('cache_write_tokens'),
  reasoning_tokens: tokens('reasoning_tokens'),
  cost_unknown_calls: callsBelow('unpriced'),
  energy_unknown_calls: callsBelow('energy_unknown'),
  carbon_unknown_calls: callsBelow('carbon_unknown'),
  input_tokens_unknown_calls: callsBelowCount('input_tokens'),
  output_tokens_unknown_calls: callsBelowCount('output_tokens'),
  // Exact: 18 digits of the cost and 4 of the confidence.
  cost_confidence: { sql: 'sum(CAST(cost_usd * confidence AS Decimal(76, 22)))', type: 'Decimal(76, 22)' },
  chargeback_ready_cost_usd: costWith('chargeback_ready'),
  provisional_cost_usd: costWith('provisional'),
  unattributed_calls: callsWith('default_pool', 'no_owner'),
  unattributed_cost_usd: costWith('default_pool', 'no_owner'),
  // Calls in pools are in none of these four: they are never eligible, and of the lowest band.
  eligible_cost_usd: { sql: `sumIf(cost_usd, ${IS_EXPORTED})`, type: AMOUNT },
  eligible_unattributed_cost_usd: { sql: `sumIf(cost_usd, ${IS_EXPORTED} AND ${IS_UNATTRIBUTED})`, type: AMOUNT },
  withheld_ready_cost_usd: withheldCost('chargeback_ready'),
  withheld_provisional_cost_usd: withheldCost('provisional'),
  ...perReason,
  // These only where asked for. Dollars that are part of no other sum:
  notional_cost_usd: { sql: "ifNull(sumIf(estimated_cost_usd, cost_basis = 'notional'), 0)", type: AMOUNT },
  // Of it, an allocated report shows what is left after spreading (`spread-pools.ts`).
  unspread_cost_usd: { sql: "sumIf(cost_usd, stage_origin = 'stage_c')", type: AMOUNT },
  // Their SQL is that of the prices (`priced-figures.ts`).
  input_part_cost_usd: NOTHING,
  cached_input_part_cost_usd: NOTHING,
  cache_write_part_cost_usd: NOTHING,
  output_part_cost_usd: NOTHING,
  fees_part_cost_usd: NOTHING,
  repriced_cost_usd: NOTHING,
  repriced_from_cost_usd: NOTHING,
  repriced_calls: { sql: 'toInt64(0)', type: COUNT },
} as const satisfies Readonly<Record<string, Figure>>

export type FigureName = keyof typeof FIGURES

/** Figures that only reports have that ask for them. */
export const EXTRA_FIGURES = {
  notional: ['notional_cost_usd'],
  unspread: ['unspread_cost_usd'],
  cost_parts: [
    'input_part_cost_usd',
    'cached_input_part_cost_usd',
    'cache_write_part_cost_usd',
    'output_part_cost_usd',
    'fees_part_cost_usd',
  ],
  repriced: ['repriced_cost_usd', 'repriced_from_cost_usd', 'repriced_calls'],
} as const satisfies Readonly<Record<string, readonly FigureName[]>>
const EXTRAS: ReadonlySet<string> = new Set(Object.values(EXTRA_FIGURES).flat())

/** Those of every report. */
export const FIGURE_NAMES = (Object.keys(FIGURES) as readonly FigureName[]).filter((name) => !EXTRAS.has(name))

/** The column of a figure: apart from the columns that it sums. */
export const figureColumn = (name: FigureName): string => `f_${name}`

/** A figure of a group of records. */
export const figureSql = (name: FigureName): string => FIGURES[name].sql
export const figureType = (name: FigureName): string => FIGURES[name].type

/** Decimals of the finest figure. */
const DECIMALS = 22

/** A figure as an integer, in steps of 10^-22. @throws SyntaxError for anything but a decimal of so many digits */
export function figureSteps(text: string): bigint {
  const [whole = '0', fraction = ''] = text.split('.')
  return BigInt(`${whole}${fraction.padEnd(DECIMALS, '0')}`)
}

/** The figure of so many steps, without zeros at its end. */
export function figureText(steps: bigint): string {
  const digits = (steps < 0n ? -steps : steps).toString().padStart(DECIMALS + 1, '0')
  const fraction = digits.slice(-DECIMALS).replace(/0+$/, '')
  return `${steps < 0n ? '-' : ''}${digits.slice(0, -DECIMALS)}${fraction === '' ? '' : `.${fraction}`}`
}
