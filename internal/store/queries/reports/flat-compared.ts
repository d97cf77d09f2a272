import type { AnswerRow, PreviousRow } from './answer.js'
import type { FigureName } from './figures.js'

/** The rows of one period of an answer with one label or less. */
export interface FoldedSide {
  readonly own: readonly AnswerRow[]
  /** Undefined where nothing folds. */
  readonly folded: AnswerRow | undefined
  /** Labels of the groups of the folded row. */
  readonly members: ReadonlySet<string>
}

/**
 * The rows of a period, those of the period before beside them, and then those that are gone: `compared.ts` in this
 * process.
 */
export function comparedRows(
  now: FoldedSide,
  before: FoldedSide,
  figures: readonly FigureName[],
  isPreviousShown: boolean,
): AnswerRow[] {
  const nothing = Object.fromEntries(figures.map((name) => [name, '0'])) as AnswerRow['figures']
  const notShown: PreviousRow = { compared: 'not_shown', people: 0, figures: nothing }
  const earlier = new Map(before.own.map((row) => [labelOf(row), row]))

  function previousOf(label: string): PreviousRow {
    if (!isPreviousShown || before.members.has(label)) return notShown
    const row = earlier.get(label)
    if (row === undefined) return { compared: 'new', people: 0, figures: nothing }
    return { compared: 'both', people: row.people, figures: row.figures }
  }

  const rows = now.own.map((row): AnswerRow => ({ ...row, previous: previousOf(labelOf(row)) }))
  if (now.folded !== undefined) rows.push({ ...now.folded, previous: notShown })
  if (!isPreviousShown) return rows
  const here = new Set([...now.own.map(labelOf), ...now.members])
  const gone = before.own.filter((row) => !here.has(labelOf(row)))
  return [
    ...rows,
    ...gone.map((row): AnswerRow => {
      const previous: PreviousRow = { compared: 'gone', people: row.people, figures: row.figures }
      return { ...row, groups: 0, people: 0, figures: nothing, previous }
    }),
  ]
}

const labelOf = ({ labels }: AnswerRow): string => labels[0] ?? ''
