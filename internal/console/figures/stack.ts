import { formatQuantity, parseSum, plus, type Quantity, type Unit, zero } from '../../units/quantity.js'
import { isNobodys, type Measure, measureText, type UsageRow } from './usage.js'

/** The chart of a report: for each interval its total, and its parts that have a colour. Exact decimals. */
export interface Stack {
  /** From the bottom up: names, the most important first, then nobody, the others, and small groups. */
  readonly series: readonly Series[]
  readonly bars: readonly Bar[]
  readonly total: string
  /** Of intervals that have too few people to be shown apart: in the total, in no bar. "0": there are none. */
  readonly together: string
}

export interface Series {
  readonly key: string
  /** `folded`: small groups, which the report shows together. */
  readonly kind: 'named' | 'nobody' | 'rest' | 'folded'
  readonly total: string
}

export interface Bar {
  readonly fromMs: number
  /** Exclusive. */
  readonly toMs: number
  readonly total: string
  /**
   * One for each series, in the same order; they add up to the total. Undefined: the series may be among the small
   * groups of the interval, so that 0 would be wrong.
   */
  readonly parts: readonly (string | undefined)[]
  /** Whether there were no calls, or those of too few people: the report does not tell which. */
  readonly isHidden: boolean
}

/** Names that have a colour; others are the rest. */
const NAMED_MAX = 7

/** No labels of a service: names have no control characters. */
const NOBODY = '\u0000nobody'
const REST = '\u0000rest'
/** Others with amounts below zero: in one sum with those above it, either would hide the other. */
export const REST_BELOW = '\u0000rest below zero'
const FOLDED = '\u0000folded'

/** No object: a service may be called `constructor`. */
const KINDS: ReadonlyMap<string, Series['kind']> = new Map([
  [NOBODY, 'nobody'],
  [REST, 'rest'],
  [REST_BELOW, 'rest'],
  [FOLDED, 'folded'],
])

/** Labels that have a name of their own, in the order of their rows. */
export const namesOf = (rows: readonly UsageRow[], dimension: string): readonly string[] =>
  rows.filter((row) => !row.folded && !isNobodys(row, dimension)).map((row) => labelOf(row, dimension))

/** Empty: the calls do not state it. */
const labelOf = (row: UsageRow, dimension: string): string => String(row[dimension] ?? '')

type Amount = Quantity<Unit>
const amountOf = (row: UsageRow, measure: Measure): Amount => parseSum(measureText(row, measure))

interface Stacked {
  /** A row per interval, not grouped: the totals. */
  readonly intervals: readonly UsageRow[]
  /** Rows per interval and label. */
  readonly cells: readonly UsageRow[]
  /** Whether cells are left out: what they leave of a total is then the rest, else it is folded elsewhere. */
  readonly isCut: boolean
  /** Every interval of the period, also those without calls, of which the report has no row. */
  readonly startsMs: readonly number[]
  /** Where the period ends. */
  readonly toMs: number
  /** The member of a cell that holds its label. */
  readonly dimension: string
  /** Labels, the most important first: they keep their place when the measure changes. */
  readonly order: readonly string[]
  readonly measure: Measure
}

export function stackOf(asked: Stacked): Stack {
  const { intervals, startsMs, toMs, order, measure } = asked
  const keys = [...order.slice(0, NAMED_MAX), NOBODY, REST, REST_BELOW, FOLDED]
  const apart = intervals.filter(({ folded }) => !folded)
  const totals = new Map(apart.map((row) => [Date.parse(row.from), amountOf(row, measure)]))
  const together = sumOf(intervals.filter(({ folded }) => folded).map((row) => amountOf(row, measure)))
  const starts = [...new Set([...startsMs, ...totals.keys()])].sort((one, other) => one - other)
  const endOf = (at: number): number => starts[at + 1] ?? toMs
  const parts = partsOf(asked, keys, new Map(starts.map((fromMs, at) => [fromMs, endOf(at)])))
  const bars = starts.map((fromMs, at) => {
    const total = totals.get(fromMs)
    const of = total === undefined ? new Map<string, Amount>() : completed(parts.get(fromMs), total, asked.isCut)
    return { fromMs, toMs: endOf(at), total, of }
  })
  const shown = keys.filter((key) => bars.some(({ of }) => (of.get(key) ?? 0n) !== 0n))
  return {
    series: shown.map((key) => ({
      key,
      kind: KINDS.get(key) ?? 'named',
      total: formatQuantity(sumOf(bars.map(({ of }) => of.get(key) ?? zero()))),
    })),
    bars: bars.map(({ of, total, ...bar }) => ({
      ...bar,
      total: formatQuantity(total ?? zero()),
      parts: shown.map((key) => partText(of, key, asked.isCut)),
      isHidden: total === undefined && together !== 0n,
    })),
    total: formatQuantity(plus(together, sumOf([...totals.values()]))),
    together: formatQuantity(together),
  }
}

/** By the start of an interval and a key: the amounts of its cells. */
function partsOf(
  { cells, dimension, measure }: Stacked,
  keys: readonly string[],
  ends: ReadonlyMap<number, number>,
): ReadonlyMap<number, Map<string, Amount>> {
  const parts = new Map<number, Map<string, Amount>>()
  for (const cell of cells) {
    const fromMs = Date.parse(cell.from)
    // What folds together over several intervals has the period's ends.
    if (Date.parse(cell.to) > (ends.get(fromMs) ?? 0)) continue
    const amount = amountOf(cell, measure)
    const label = labelOf(cell, dimension)
    const key = cell.folded
      ? FOLDED
      : isNobodys(cell, dimension)
        ? NOBODY
        : keys.includes(label)
          ? label
          : amount < 0n
            ? REST_BELOW
            : REST
    const of = parts.get(fromMs) ?? new Map<string, Amount>()
    parts.set(fromMs, of.set(key, plus(of.get(key) ?? zero(), amount)))
  }
  return parts
}

/** The parts of an interval with what its cells leave of its total. */
function completed(parts: Map<string, Amount> | undefined, total: Amount, isCut: boolean): Map<string, Amount> {
  const of = new Map(parts)
  const left = (total - sumOf([...of.values()])) as Amount
  if (left === 0n) return of
  const key = !isCut ? FOLDED : left < 0n ? REST_BELOW : REST
  return of.set(key, plus(of.get(key) ?? zero(), left))
}

function partText(of: ReadonlyMap<string, Amount>, key: string, isCut: boolean): string | undefined {
  const amount = of.get(key)
  if (amount !== undefined && (key !== FOLDED || amount !== 0n)) return formatQuantity(amount)
  const mayBeFolded = of.size > 0 && (isCut || of.has(FOLDED))
  return mayBeFolded ? undefined : '0'
}

const sumOf = (amounts: readonly Amount[]): Amount => amounts.reduce<Amount>(plus, zero())

/** How the rows of a chart differ from those of the table of the whole period, in which fewer groups are small. */
export interface FoldedApart {
  /** What small groups are in the chart, and in the table. */
  readonly chart: string
  readonly table: string
  /** Names of the table that are among the small groups of some intervals. */
  readonly names: readonly string[]
}

/** @returns undefined where both fold the same, or the chart has too few of its cells to tell */
export function foldedApart(
  { series }: Stack,
  labels: readonly UsageRow[],
  { cells, isCut, dimension, measure }: Stacked,
): FoldedApart | undefined {
  if (isCut) return undefined
  const chart = series.find(({ kind }) => kind === 'folded')?.total ?? '0'
  const table = formatQuantity(sumOf(labels.filter(({ folded }) => folded).map((row) => amountOf(row, measure))))
  if (chart === table) return undefined
  const inCells = new Map<string, Amount>()
  for (const cell of cells.filter(({ folded }) => !folded)) {
    const label = labelOf(cell, dimension)
    inCells.set(label, plus(inCells.get(label) ?? zero(), amountOf(cell, measure)))
  }
  const differing = labels.filter((row) => (inCells.get(labelOf(row, dimension)) ?? zero()) !== amountOf(row, measure))
  return { chart, table, names: namesOf(differing, dimension) }
}
