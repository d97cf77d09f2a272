import { formatQuantity, parseSum, plus, type Quantity, type Unit, zero } from '../../units/quantity.js'
import { isNobodys, type Measure, measureText, type UsageRow } from './usage.js'

/** The stacked chart of a report: for each interval its total, and its parts that have a colour. Exact decimals. */
export interface Stack {
  /** From the bottom up, the largest first; the last may be the sum of the rest. */
  readonly series: readonly Series[]
  readonly bars: readonly Bar[]
  readonly total: string
  /** Of intervals that have too few people to be shown apart: in the total, in no bar. "0": there are none. */
  readonly together: string
}

export interface Series {
  readonly key: string
  readonly kind: 'named' | 'nobody' | 'rest'
  readonly total: string
}

export interface Bar {
  readonly fromMs: number
  readonly total: string
  /** One for each series, in the same order; they add up to the total. */
  readonly parts: readonly string[]
}

/** The colours of the palette; more names are part of the rest. */
export const NAMED_MAX = 7
const REST = 'rest'

type Amount = Quantity<Unit>
const amountOf = (row: UsageRow, measure: Measure): Amount => parseSum(measureText(row, measure))

/**
 * @param intervals a row per interval, not grouped: the totals
 * @param startsMs every interval of the period, also those without calls, of which the report has no row
 * @param cells rows per interval and label: those that cost most, maybe not all; what they leave of a total is the rest
 * @param dimension the member of a cell that holds its label
 * @param order labels, the most important first: they keep their place when the measure changes
 */
export function stackOf(
  intervals: readonly UsageRow[],
  cells: readonly UsageRow[],
  startsMs: readonly number[],
  dimension: string,
  order: readonly string[],
  measure: Measure,
): Stack {
  const named = order.slice(0, NAMED_MAX)
  const keys = [...named, NOBODY]
  const kinds: readonly Series['kind'][] = [...named.map(() => 'named' as const), 'nobody', 'rest']
  const totals = new Map(intervals.filter(isApart).map((row) => [Date.parse(row.from), amountOf(row, measure)]))
  const parts = partsOf(cells, dimension, named, measure)
  const bars = [...new Set([...startsMs, ...totals.keys()])]
    .sort((one, other) => one - other)
    .map((fromMs) => {
      const total = totals.get(fromMs) ?? zero<Unit>()
      const of = keys.map((key) => parts.get(fromMs)?.get(key) ?? zero<Unit>())
      return { fromMs, total, parts: [...of, of.reduce((left, part) => (left - part) as Amount, total)] }
    })
  const shown = [...keys, REST].flatMap((key, at) => {
    const total = bars.reduce((sum, bar) => plus(sum, bar.parts[at] ?? zero()), zero<Unit>())
    return total === 0n ? [] : [{ key, at, kind: kinds[at] ?? 'rest', total: formatQuantity(total) }]
  })
  return {
    series: shown.map(({ at: _, ...series }) => series),
    bars: bars.map(({ fromMs, total, parts: of }) => ({
      fromMs,
      total: formatQuantity(total),
      parts: shown.map(({ at }) => formatQuantity(of[at] ?? zero())),
    })),
    total: formatQuantity(sumOf(intervals, measure)),
    together: formatQuantity(sumOf(intervals, measure, (row) => !isApart(row))),
  }
}

const isApart = ({ folded }: UsageRow): boolean => !folded

/** By the start of an interval and a key: the amounts of cells that have a colour, or nobody. */
function partsOf(cells: readonly UsageRow[], dimension: string, named: readonly string[], measure: Measure) {
  const keyOf = (cell: UsageRow): string | undefined => {
    if (isNobodys(cell, dimension)) return NOBODY
    const label = cell[dimension]
    return typeof label === 'string' && named.includes(label) ? label : undefined
  }
  const parts = new Map<number, Map<string, Amount>>()
  for (const cell of cells.filter(isApart)) {
    const key = keyOf(cell)
    if (key === undefined) continue
    const fromMs = Date.parse(cell.from)
    const of = parts.get(fromMs) ?? new Map<string, Amount>()
    of.set(key, plus(of.get(key) ?? zero(), amountOf(cell, measure)))
    parts.set(fromMs, of)
  }
  return parts
}

const sumOf = (rows: readonly UsageRow[], measure: Measure, isMeant: (row: UsageRow) => boolean = () => true): Amount =>
  rows.filter(isMeant).reduce<Amount>((sum, row) => plus(sum, amountOf(row, measure)), zero())

/** No label of a service: names have no control characters. */
export const NOBODY = '\u0000nobody'
