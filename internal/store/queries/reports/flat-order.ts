import type { AnswerRow, ReportQuery, SortKey } from './answer.js'
import { figureSteps } from './figures.js'

/**
 * The order of an answer's rows as `answer.ts` has it in SQL, for answers that are not compared with a period before.
 */
export function orderOf({ sort }: Pick<ReportQuery, 'sort'>): (one: AnswerRow, other: AnswerRow) => number {
  const asked = sort.map(({ key, isDescending }) => {
    const compare = comparing(key)
    return (one: AnswerRow, other: AnswerRow) => compare(one, other, isDescending)
  })
  return (one, other) => {
    for (const compare of [...asked, byStart, byFolded, byLabel]) {
      const order = compare(one, other)
      if (order !== 0) return order
    }
    return 0
  }
}

type Compare = (one: AnswerRow, other: AnswerRow, isDescending: boolean) => number

function comparing(key: SortKey): Compare {
  switch (key.kind) {
    case 'start':
      return directed(byStart)
    case 'people':
      return directed((one, other) => one.people - other.people)
    case 'label':
      return directed(byLabel)
    case 'figure':
      return directed((one, other) => sign(figureSteps(one.figures[key.name]) - figureSteps(other.figures[key.name])))
    case 'quotient':
      return byQuotient(key)
    case 'change':
      throw new RangeError('rows without a previous period have no change')
  }
}

const directed =
  (compare: (one: AnswerRow, other: AnswerRow) => number): Compare =>
  (one, other, isDescending) =>
    isDescending ? compare(other, one) : compare(one, other)

/** A row of 0 by which to divide comes last in both directions. */
const byQuotient =
  ({ of, by }: Extract<SortKey, { kind: 'quotient' }>): Compare =>
  (one, other, isDescending) => {
    const [a, b] = [one, other].map(({ figures }) => ({
      above: figureSteps(figures[of]),
      below: by.reduce((sum, name) => sum + figureSteps(figures[name]), 0n),
    })) as [Fraction, Fraction]
    if (a.below === 0n || b.below === 0n) return Number(a.below === 0n) - Number(b.below === 0n)
    const order = sign(a.above * b.below - b.above * a.below)
    return isDescending ? -order : order
  }
interface Fraction {
  readonly above: bigint
  readonly below: bigint
}

const sign = (steps: bigint): number => (steps === 0n ? 0 : steps < 0n ? -1 : 1)
const byStart = (one: AnswerRow, other: AnswerRow): number =>
  (one.interval?.fromMs ?? 0) - (other.interval?.fromMs ?? 0)
/** The folded row after others. */
const byFolded = (one: AnswerRow, other: AnswerRow): number => Number(one.isFolded) - Number(other.isFolded)
/** By the bytes, as ClickHouse compares. */
const byLabel = (one: AnswerRow, other: AnswerRow): number =>
  Buffer.compare(Buffer.from(one.labels[0] ?? ''), Buffer.from(other.labels[0] ?? ''))
