/**
 * The cohort rule (spec 4.2.4, design section 6), as SQL over a table of groups. It protects each answer by itself:
 *
 * 1. A group with nobody in it, or with k people or more, has a row of its own, except for those that 3 joins.
 * 2. A group of 1 to k-1 people folds into its nearest ancestor (the first so many labels, within one root) of k people or
 *    more; if none has as many, into the root. What folds into one ancestor is one row.
 * 3. If that row has fewer than k people, as a single group always has, the row below the same ancestor with the fewest people
 *    among those with k or more joins it; of several the one with the lowest cost, then the first by its labels. It may
 *    itself be a folded row.
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
  /** One of the columns of `figures`: decides between rows of equally many people. */
  readonly cost: string
  /** All other columns, each with the aggregate function that combines those of several groups: `sum`, `min`, `any`, … */
  readonly figures: Readonly<Record<string, string>>
}

/** How many labels a row keeps: all of `labels` if it is a group of its own, fewer if it is folded, 0 if into the root. */
export const KEPT = 'cohort_kept'
/** How many groups a row covers. */
export const GROUPS = 'cohort_groups'

/**
 * The query that folds a table of groups. Its rows have the columns of `root` and `labels`, `KEPT`, `GROUPS`, the people and
 * the figures; a group of its own has `KEPT` = the number of labels.
 *
 * The table is read once. Needs no order, and gives none.
 *
 * @param k people that a row has at least
 */
export function foldedSql(table: CohortTable, k: number): string {
  if (!Number.isSafeInteger(k) || k < 1) throw new RangeError(`not a number of people: ${k}`)
  const depth = table.labels.length
  const columns = [...table.root, ...table.labels, table.people, ...Object.keys(table.figures)].join(', ')
  let rows = `(SELECT ${columns}, toUInt8(${depth}) AS ${KEPT}, toUInt64(1) AS ${GROUPS} FROM ${table.from})`
  if (depth > 0) rows = regrouped(table, rows, `if(${isSmall(table, k)}, ${depth - 1}, ${KEPT})`)
  for (let level = depth - 1; level >= 0; level--) {
    const lifted = level === 0 ? '0' : `if(${FEWEST}.1 > 0, ${level}, ${level - 1})`
    const kept = `multiIf(${KEPT} = ${level} AND ${isSmall(table, k)}, ${lifted},
      ${IS_JOINED} AND ${countOf(table)} >= ${k} AND ${KEPT} > ${level} AND ${rankOf(table)} = ${FEWEST}, ${level}, ${KEPT})`
    rows = regrouped(table, withJoining(table, rows, level, k), kept)
  }
  return rows.slice(1, -1)
}

const FEWEST = 'cohort_fewest'
const IS_JOINED = 'cohort_is_joined'

const countOf = ({ people }: CohortTable): string => `finalizeAggregation(${people})`
const isSmall = (table: CohortTable, k: number): string => `${countOf(table)} BETWEEN 1 AND ${k - 1}`
/** By which the row is chosen that joins a small one: no two rows have the same. */
const rankOf = (table: CohortTable): string =>
  `(${[countOf(table), table.cost, ...table.labels.map((label) => `toString(${label})`), KEPT].join(', ')})`

/** Of each ancestor with so many labels: whether what folds into it is too small, and the row that would join it. */
function withJoining(table: CohortTable, rows: string, level: number, k: number): string {
  const ancestor = [...table.root, ...table.labels.slice(0, level)]
  const over = `OVER (${ancestor.length === 0 ? '' : `PARTITION BY ${ancestor.join(', ')}`})`
  const isLarge = `${countOf(table)} >= ${k} AND ${KEPT} > ${level}`
  return `(SELECT *, max(${KEPT} = ${level} AND ${isSmall(table, k)}) ${over} AS ${IS_JOINED},
      minIf(${rankOf(table)}, ${isLarge}) ${over} AS ${FEWEST}
    FROM ${rows})`
}

/** Merges the rows that have the same labels left. @param kept expression: how many labels each keeps */
function regrouped({ root, labels, people, figures }: CohortTable, rows: string, kept: string): string {
  const left = labels.map(
    (label, i) => `if(l_${KEPT} > ${i}, ${label}, defaultValueOfArgumentType(${label})) AS l_${label}`,
  )
  const names = Object.keys(figures)
  const inner = [...root, `toUInt8(${kept}) AS l_${KEPT}`, ...left, ...[people, ...names, GROUPS].map(asOwn)]
  const outer = [
    ...root,
    ...[...labels, KEPT].map((name) => `l_${name} AS ${name}`),
    `uniqExactMergeState(l_${people}) AS ${people}`,
    ...names.map((name) => `${figures[name]}(l_${name}) AS ${name}`),
    `sum(l_${GROUPS}) AS ${GROUPS}`,
  ]
  const keys = [...root, ...[...labels, KEPT].map((name) => `l_${name}`)]
  return `(SELECT ${outer.join(', ')} FROM (SELECT ${inner.join(', ')} FROM ${rows}) GROUP BY ${keys.join(', ')})`
}

/** Apart from the columns that are made of them, which have their names. */
const asOwn = (name: string): string => `${name} AS l_${name}`
