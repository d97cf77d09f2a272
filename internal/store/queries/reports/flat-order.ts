import type { AnswerRow, ReportQuery, SortKey, ValueKey } from './answer.js'
import { figureSteps } from './figures.js'

/** Rows in the order of an answer, as `answer.ts` has it in SQL. */
export function inOrder(rows: readonly AnswerRow[], { sort }: Pick<ReportQuery, 'sort'>): AnswerRow[] {
  const keyed = rows.map((row) => ({ row, label: labelOf(row), values: sort.map(({ key }) => sortValue(key, row)) }))
  type Keyed = (typeof keyed)[number]
  const asked = sort.map(({ key, isDescending }, i) => (one: Keyed, other: Keyed): number => {
    if (key.kind === 'label') return (isDescending ? -1 : 1) * Buffer.compare(one.label, other.label)
    return byValue(one.values[i], other.values[i], isDescending)
  })
  return keyed
    .sort((one, other) => {
      for (const compare of asked) {
        const order = compare(one, other)
        if (order !== 0) return order
      }
      return byStart(one.row, other.row) || byFolded(one.row, other.row) || Buffer.compare(one.label, other.label)
    })
    .map(({ row }) => row)
}

/** Its divisor is positive. */
interface Fraction {
  readonly above: bigint
  readonly below: bigint
}

/** What a row is sorted by; undefined where there is nothing by which to divide, or nothing to compare with. */
function sortValue(key: SortKey, row: AnswerRow): Fraction | undefined {
  switch (key.kind) {
    case 'label':
      return undefined
    case 'start':
      return whole(BigInt(row.interval?.fromMs ?? 0))
    case 'change':
      return changeOf(key, row)
    default:
      return ownValue(key, row)
  }
}

function ownValue(key: ValueKey, { people, figures }: Pick<AnswerRow, 'people' | 'figures'>): Fraction | undefined {
  switch (key.kind) {
    case 'people':
      return whole(BigInt(people))
    case 'figure':
      return whole(figureSteps(figures[key.name]))
    case 'quotient':
      return quotient(
        figureSteps(figures[key.of]),
        key.by.reduce((sum, name) => sum + figureSteps(figures[name]), 0n),
      )
    default:
      throw new RangeError(`a ${key.kind} has no change`)
  }
}

function changeOf(
  { of, isPercent, isAbsolute }: Extract<SortKey, { kind: 'change' }>,
  row: AnswerRow,
): Fraction | undefined {
  const { previous } = row
  if (previous === undefined) throw new RangeError('rows without a previous period have no change')
  if (previous.compared === 'not_shown') return undefined
  const [now, before] = [ownValue(of, row), ownValue(of, previous)]
  if (now === undefined || before === undefined) return undefined
  const above = now.above * before.below - before.above * now.below
  const change = isPercent ? quotient(above, before.above * now.below) : { above, below: now.below * before.below }
  return change !== undefined && isAbsolute && change.above < 0n ? { ...change, above: -change.above } : change
}

const whole = (above: bigint): Fraction => ({ above, below: 1n })

function quotient(above: bigint, below: bigint): Fraction | undefined {
  if (below === 0n) return undefined
  return below < 0n ? { above: -above, below: -below } : { above, below }
}

/** Rows without a value come last in both directions. */
function byValue(one: Fraction | undefined, other: Fraction | undefined, isDescending: boolean): number {
  if (one === undefined || other === undefined) return Number(one === undefined) - Number(other === undefined)
  const difference = one.above * other.below - other.above * one.below
  const order = difference === 0n ? 0 : difference < 0n ? -1 : 1
  return isDescending ? -order : order
}

const byStart = (one: AnswerRow, other: AnswerRow): number =>
  (one.interval?.fromMs ?? 0) - (other.interval?.fromMs ?? 0)
/** The folded row after others. */
const byFolded = (one: AnswerRow, other: AnswerRow): number => Number(one.isFolded) - Number(other.isFolded)
/** As bytes, since ClickHouse compares these. */
const labelOf = ({ labels }: AnswerRow): Buffer => Buffer.from(labels[0] ?? '')
