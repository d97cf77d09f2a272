/** The rows of a table by one of its columns. Amounts are compared exactly. */

/** An amount as its steps, a count, or a name; null: there is none. */
export type SortValue = bigint | number | string | null

type Value = NonNullable<SortValue>
const compare = (one: Value, other: Value): number => (one === other ? 0 : one < other ? -1 : 1)

/** Rows without a value come last in either direction; rows of the same value keep their order. */
export function sortedRows<R>(
  rows: readonly R[],
  sortValue: (row: R) => SortValue,
  isDescending: boolean,
): readonly R[] {
  const valued = rows.flatMap((row) => {
    const value = sortValue(row)
    return value === null ? [] : [{ row, value }]
  })
  valued.sort((one, other) => (isDescending ? -1 : 1) * compare(one.value, other.value))
  return [...valued.map(({ row }) => row), ...rows.filter((row) => sortValue(row) === null)]
}

/** A sort as addresses and the API write it: a name, with `-` for descending. */
export const sortOf = (text: string): { readonly name: string; readonly isDescending: boolean } => ({
  name: text.replace(/^-/, ''),
  isDescending: text.startsWith('-'),
})

/** What a click on the head of a column sorts by: the largest first, then the smallest. */
export const turnedSort = (sort: string, name: string): string => (sort === `-${name}` ? name : `-${name}`)
