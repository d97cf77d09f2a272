/**
 * The cohort rule (`deploy/decisions/cohorts-per-answer.md`), as SQL over a table of groups. It protects each answer by
 * itself:
 *
 * 1. A group with nobody in it, or with k people or more, has a row of its own, except for those that 3 joins.
 * 2. A group of 1 to k-1 people folds into its nearest ancestor (its first labels, within one root) of k people
 *    or more; if none has as many, into the root. What folds into one ancestor is one row.
 * 3. If that row has fewer than k people, as a single group always has, the row below the same ancestor with the lowest
 *    cost among those with k people or more joins it; of several the one with the fewest people, then the first by its
 *    labels. It may itself be a folded row.
 *
 * So each row, and each sum of rows, has nobody in it or k people or more; the one exception is the folded row of a
 * root that has fewer than k people itself. Below each ancestor at most one row of k people or more is not shown, and
 * none without people. Figures sum up to those of the groups.
 */

/** Groups to fold: one row each, with different values in the columns of `root` and `labels` together. */
export interface CohortTable {
  /** Name of a table or CTE, or a query in parentheses. */
  readonly from: string
  /** Columns whose values part the table: groups fold within them. May be empty. */
  readonly root: readonly string[]
  /** Columns of labels, the coarsest first. A folded row has default values (`''`) in the labels that it lost. */
  readonly labels: readonly string[]
  /** Column of the type `AggregateFunction(uniqExact, …)`: the people of the group, without workloads. */
  readonly people: string
  /** SQL over the columns: a sum. The row with the lowest cost joins a small one. */
  readonly cost: string
  /** Columns that are summed up, each with the type of its sum. */
  readonly sums: Readonly<Record<string, string>>
  /** Columns of arrays, which are concatenated. */
  readonly lists: readonly string[]
}

/** How many labels a row keeps: all of `labels` if it is its own group, fewer if it is folded, 0 in the root. */
export const KEPT = 'cohort_kept'
/** How many groups a row covers. */
export const GROUPS = 'cohort_groups'

/**
 * Settings of a query that folds: without rewrites that gain nothing here and take a third of the time of its analysis
 * or more, as they compare expressions with all that these are computed from (ClickHouse 26.7).
 */
export const FOLD_SETTINGS = {
  optimize_and_compare_chain: 0,
  optimize_syntax_fuse_functions: 0,
  optimize_aggregators_of_group_by_keys: 0,
  optimize_group_by_function_keys: 0,
  optimize_injective_functions_in_group_by: 0,
  optimize_redundant_functions_in_order_by: 0,
  optimize_truncate_order_by_after_group_by_keys: 0,
  optimize_rewrite_aggregate_function_with_if: 0,
  optimize_extract_common_expressions: 0,
  cross_to_inner_join_rewrite: '0',
} as const

/**
 * The query that folds a table of groups. Its rows have the columns of `root` and `labels`, `KEPT`, `GROUPS`, the
 * people, the sums and the lists; a group of its own has `KEPT` = the number of labels.
 *
 * The table is read once. Needs no order, and gives none.
 *
 * From the finest labels to the root, what keeps the same labels becomes one row, and window functions decide for the
 * ancestors of that level which rows fold further. So a level works on the rows that the finer ones have left: for a
 * month of 400,000 groups, all of them small, the last three of five levels see 6,000.
 *
 * ClickHouse analyzes every column of a nested query again: sums of one type travel as one array.
 *
 * @param k people that a row has at least
 */
export function foldedSql(table: CohortTable, k: number): string {
  if (!Number.isSafeInteger(k) || k < 1) throw new RangeError(`not a number of people: ${k}`)
  const { root, labels, people, cost, sums, lists, from } = table
  const depth = labels.length
  if (depth === 0) {
    const columns = [
      ...root,
      people,
      ...Object.keys(sums),
      ...lists,
      `toUInt8(0) AS ${KEPT}`,
      `toUInt64(1) AS ${GROUPS}`,
    ]
    return `SELECT ${columns.join(', ')} FROM ${from}`
  }
  const types = typesOf(table)
  const ofType = (type: string): string[] => Object.keys(sums).filter((name) => sums[name] === type)
  const groups = [
    ...root,
    ...labels.map((label, i) => `${label} AS ${columnAt(depth, `label_${i}`)}`),
    `${people} AS ${columnAt(depth, 'persons')}`,
    ...types.map(
      (type, i) => `CAST([${ofType(type).join(', ')}], 'Array(${type})') AS ${columnAt(depth, `sums_${i}`)}`,
    ),
    ...lists.map((name, i) => `${name} AS ${columnAt(depth, `list_${i}`)}`),
    `${cost} AS ${columnAt(depth, 'money')}`,
    `toUInt64(1) AS ${columnAt(depth, 'groups')}`,
    `if(finalizeAggregation(${people}) BETWEEN 1 AND ${k - 1}, ${depth - 1}, ${depth}) AS ${columnAt(depth, 'kept')}`,
  ]
  let rows = `SELECT ${groups.join(', ')} FROM ${from}`
  for (let level = depth - 1; level >= 0; level--) rows = combined(level, table, foldedAt(level, table, rows, k))
  const named = [
    ...root,
    ...labels.map((label, i) => `${columnAt(0, `label_${i}`)} AS ${label}`),
    `toUInt8(${columnAt(0, 'kept')}) AS ${KEPT}`,
    `${columnAt(0, 'persons')} AS ${people}`,
    ...types.flatMap((type, i) => ofType(type).map((name, j) => `${columnAt(0, `sums_${i}`)}[${j + 1}] AS ${name}`)),
    ...lists.map((name, i) => `${columnAt(0, `list_${i}`)} AS ${name}`),
    `${columnAt(0, 'groups')} AS ${GROUPS}`,
  ]
  return `SELECT ${named.join(', ')} FROM (${rows})`
}

const typesOf = ({ sums }: CohortTable): readonly string[] => [...new Set(Object.values(sums))]

/** Each level's columns have their own names: an alias must differ from the columns that its expression reads. */
const columnAt = (level: number, name: string): string => `${name}_of_${level}`

/** The rows of a level, those that keep the same labels as one. */
function combined(level: number, table: CohortTable, rows: string): string {
  const { root, labels, lists } = table
  const before = (name: string): string => columnAt(level + 1, name)
  const own = (name: string): string => columnAt(level, name)
  const left = labels.map((_, i) => {
    const label = before(`label_${i}`)
    return `if(${before('kept')} > ${i}, ${label}, defaultValueOfArgumentType(${label})) AS ${own(`label_${i}`)}`
  })
  const columns = [
    ...root,
    ...left,
    `${before('kept')} AS ${own('kept')}`,
    `uniqExactMergeState(${before('persons')}) AS ${own('persons')}`,
    ...typesOf(table).map((_, i) => `sumForEach(${before(`sums_${i}`)}) AS ${own(`sums_${i}`)}`),
    ...lists.map((_, i) => `groupArrayArray(${before(`list_${i}`)}) AS ${own(`list_${i}`)}`),
    `sum(${before('money')}) AS ${own('money')}`,
    `sum(${before('groups')}) AS ${own('groups')}`,
  ]
  const keys = [...root, ...labels.map((_, i) => own(`label_${i}`)), own('kept')]
  return `SELECT ${columns.join(', ')} FROM (${rows}) GROUP BY ${keys.join(', ')}`
}

/**
 * Decides for the ancestors with `level` labels: what keeps these labels is lifted or joined if it has too few people.
 * All other rows are complete.
 */
function foldedAt(level: number, { root, labels }: CohortTable, rows: string, k: number): string {
  const own = (name: string): string => columnAt(level + 1, name)
  const ofLabel = (_: string, i: number): string => own(`label_${i}`)
  const kept = own('kept')
  const ancestor = [...root, ...labels.slice(0, level).map(ofLabel)]
  const over = `OVER (${ancestor.length === 0 ? '' : `PARTITION BY ${ancestor.join(', ')}`})`
  const compared = `SELECT *, finalizeAggregation(${own('persons')}) AS row_people,
      (${[own('money'), 'row_people', ...labels.map(ofLabel), kept].join(', ')}) AS rank,
      uniqExactMergeIf(${own('persons')}, ${kept} = ${level}) ${over} AS folded_people,
      minIf(rank, ${kept} > ${level} AND row_people >= ${k}) ${over} AS cheapest FROM (${rows})`
  const isSmall = `folded_people BETWEEN 1 AND ${k - 1}`
  // If no row has that many people, there is no cheapest one, and its number of people is 0.
  const lifted = level === 0 ? '0' : `if(cheapest.2 > 0, ${level}, ${level - 1})`
  return `SELECT * EXCEPT (${kept}, row_people, rank, folded_people, cheapest),
          multiIf(${kept} = ${level}, if(${isSmall}, ${lifted}, ${level}),
      ${isSmall} AND row_people >= ${k} AND rank = cheapest, ${level}, ${kept}) AS ${kept} FROM (${compared})`
}
