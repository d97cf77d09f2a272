/**
 * The cohort rule (spec 4.2.4, design section 6), as SQL over a table of groups. It protects each answer by itself:
 *
 * 1. A group with nobody in it, or with k people or more, has a row of its own, except for those that 3 joins.
 * 2. A group of 1 to k-1 people folds into its nearest ancestor (the first so many labels, within one root) of k people or
 *    more; if none has as many, into the root. What folds into one ancestor is one row.
 * 3. If that row has fewer than k people, as a single group always has, the row below the same ancestor with the lowest cost
 *    among those with k people or more joins it; of several the one with the fewest people, then the first by its labels. It
 *    may itself be a folded row.
 *
 * So each row, and each sum of rows, has nobody in it or k people or more; the one exception is the folded row of a root
 * that has fewer than k people itself. Below each ancestor at most one row of k people or more is not shown, and
 * none without people. Figures sum up to those of the groups.
 */

/** Groups to fold: one row each, with different values in the columns of `root` and `labels` together. */
export interface CohortTable {
  /** Name of a table or CTE, or a query in parentheses. */
  readonly from: string
  /** Columns whose values part the table: groups fold within them. May be empty. */
  readonly root: readonly string[]
  /** Columns of labels, the coarsest first. A folded row has their types' default values (`''`) in the labels that it lost. */
  readonly labels: readonly string[]
  /** Column of the type `AggregateFunction(uniqExact, …)`: the people of the group, without workloads. */
  readonly people: string
  /** One of the columns of `figures`: the row with the lowest cost joins a small one. */
  readonly cost: string
  /** All other columns, each with the aggregate function that combines those of several groups: `sum`, `groupArrayArray`, … */
  readonly figures: Readonly<Record<string, string>>
}

/** How many labels a row keeps: all of `labels` if it is a group of its own, fewer if it is folded, 0 if into the root. */
export const KEPT = 'cohort_kept'
/** How many groups a row covers. */
export const GROUPS = 'cohort_groups'

/**
 * Settings of a query that folds: two rewrites of conditions that gain nothing here and take most of the time of its analysis, as
 * they compare expressions with all that these are computed from (ClickHouse 26.7, four labels: 350 ms with them, 100 without).
 */
export const FOLD_SETTINGS = { optimize_and_compare_chain: 0, optimize_syntax_fuse_functions: 0 } as const

/**
 * The query that folds a table of groups. Its rows have the columns of `root` and `labels`, `KEPT`, `GROUPS`, the people and
 * the figures; a group of its own has `KEPT` = the number of labels.
 *
 * The table is read once. Needs no order, and gives none.
 *
 * Analyzing nested queries takes ClickHouse long: with the rows regrouped at each level, four labels and 25 figures took
 * 1.1 s. So a group stays one row until the end, its labels are one array and its figures one tuple, and each level decides
 * by window functions how many labels a group keeps: 0.1 s, with `FOLD_SETTINGS`.
 *
 * @param k people that a row has at least
 */
export function foldedSql(table: CohortTable, k: number): string {
  if (!Number.isSafeInteger(k) || k < 1) throw new RangeError(`not a number of people: ${k}`)
  const { root, labels, people, cost, figures, from } = table
  const depth = labels.length
  if (depth === 0) {
    const columns = [...root, people, ...Object.keys(figures), `toUInt8(0) AS ${KEPT}`, `toUInt64(1) AS ${GROUPS}`]
    return `SELECT ${columns.join(', ')} FROM ${from}`
  }
  const isSmall = (count: string): string => `${count} BETWEEN 1 AND ${k - 1}`
  const path = labels.map((label) => `CAST(${label}, 'String')`).join(', ')
  const count = `finalizeAggregation(${people})`
  let rows = `SELECT ${[...root, `tuple(${labels.join(', ')}) AS label_values`, `[${path}] AS path`].join(', ')},
      ${people} AS persons, ${cost} AS money, tuple(${Object.keys(figures).join(', ')}) AS sums,
      if(${isSmall(count)}, ${depth - 1}, ${depth}) AS kept_${depth} FROM ${from}`
  for (let level = depth - 1; level >= 0; level--) rows = joinedAt(level, root, rows, isSmall, k)
  const outer = [
    ...root,
    ...labels.map((label, i) => `l${i} AS ${label}`),
    `toUInt8(kept_0) AS ${KEPT}`,
    `uniqExactMergeState(persons) AS ${people}`,
    ...Object.entries(figures).map(([name, combine], i) => `${combine}(sums.${i + 1}) AS ${name}`),
    `count() AS ${GROUPS}`,
  ]
  const left = labels.map((_, i) => {
    const value = `label_values.${i + 1}`
    return `if(kept_0 > ${i}, ${value}, defaultValueOfArgumentType(${value})) AS l${i}`
  })
  const keys = [...root, ...labels.map((_, i) => `l${i}`), 'kept_0'].join(', ')
  return `SELECT ${outer.join(', ')} FROM (SELECT ${[...root, ...left].join(', ')}, persons, sums, kept_0 FROM (${rows})) GROUP BY ${keys}`
}

/**
 * Decides for the ancestors with `level` labels: what folds into one is complete, and is lifted or joined if it has too few
 * people. `kept_<level + 1>` becomes `kept_<level>`.
 *
 * A row of the answer, so far, are the groups of the same root that keep the same labels.
 */
function joinedAt(
  level: number,
  root: readonly string[],
  rows: string,
  isSmall: (count: string) => string,
  k: number,
): string {
  const columns = [...root, 'label_values', 'path', 'persons', 'money', 'sums'].join(', ')
  const before = `kept_${level + 1}`
  const own = [...root, before, `arraySlice(path, 1, ${before})`].join(', ')
  const counted = `SELECT ${columns}, ${before}, uniqExactMerge(persons) OVER (PARTITION BY ${own}) AS row_people,
      (sum(money) OVER (PARTITION BY ${own}), row_people, arraySlice(path, 1, ${before}), ${before}) AS rank FROM (${rows})`
  const ancestor = [...root, `arraySlice(path, 1, ${level})`].join(', ')
  const ranked = `SELECT *, max(${before} = ${level} AND ${isSmall('row_people')}) OVER (PARTITION BY ${ancestor}) AS is_joined,
      minIf(rank, ${before} > ${level} AND row_people >= ${k}) OVER (PARTITION BY ${ancestor}) AS cheapest FROM (${counted})`
  // Where no row has so many people, there is no cheapest, and its number of people is 0.
  const lifted = level === 0 ? '0' : `if(cheapest.2 > 0, ${level}, ${level - 1})`
  return `SELECT ${columns}, multiIf(${before} = ${level}, if(${isSmall('row_people')}, ${lifted}, ${level}),
      is_joined AND row_people >= ${k} AND rank = cheapest, ${level}, ${before}) AS kept_${level} FROM (${ranked})`
}
