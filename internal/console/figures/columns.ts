/** Which columns of a table a person has chosen, as their browser keeps it: for each table the names, in a text. */

export interface ColumnName {
  readonly name: string
  /** Whether it is shown to who has chosen nothing. */
  readonly isUsual: boolean
}

/** @returns those that are shown, in the order of the table; unknown names are columns that went */
export function shownColumns<C extends ColumnName>(columns: readonly C[], kept: string | null): readonly C[] {
  const names = kept?.split(',') ?? []
  const chosen = columns.filter(({ name }) => names.includes(name))
  return kept === null || chosen.length === 0 ? columns.filter(({ isUsual }) => isUsual) : chosen
}

/** Shows a column, or hides it, but never the last one. @returns what is kept */
export function turned(columns: readonly ColumnName[], kept: string | null, name: string): string {
  const shown = shownColumns(columns, kept).map((column) => column.name)
  const next = shown.includes(name) ? shown.filter((each) => each !== name) : [...shown, name]
  return (next.length === 0 ? shown : next).join()
}

/** On a telephone one column is in sight beside the names: what most people came for. */
export const costFirst = <C extends ColumnName>(columns: readonly C[]): readonly C[] => [
  ...columns.filter(({ name }) => name === 'cost_usd'),
  ...columns.filter(({ name }) => name !== 'cost_usd'),
]
