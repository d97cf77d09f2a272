import { GROUPS, KEPT } from '../../../cohorts/folded.js'
import type { Bindings } from '../records/conditions.js'
import { type FigureName, figureColumn } from './figures.js'
import { type Grouping, labelColumn, PEOPLE, START } from './groups.js'
import { intervalEnd, intervalStart } from './intervals.js'

/**
 * Two answers row by row: that of a period and that of the period before, each folded by itself (`compare=previous`).
 * So a previous figure is shown only where its row is shown in its own period.
 */

/** Column of the folded rows: the start and the labels of all groups of a row. */
export const MEMBERS = 'members'

/**
 * How a row compares: its group has a row in both periods; had no calls before (`new`) or has none now (`gone`, whose
 * figures are 0); or its previous figures are not shown, since the row is folded in one of the periods.
 */
export const COMPARED = ['both', 'new', 'gone', 'not_shown'] as const
export type Compared = (typeof COMPARED)[number]

export const COMPARED_COLUMN = 'compared'
export const PREVIOUS_PEOPLE = 'previous_people'
/** Cost of all previous rows, shown or not; null when they must not be shown. */
export const PREVIOUS_TOTAL = 'previous_total'
export const previousColumn = (name: FigureName): string => `previous_${figureColumn(name)}`
/** Sum of a figure over all previous rows, shown or not. */
export const previousSumColumn = (name: FigureName): string => `previous_sum_${figureColumn(name)}`

/** The start and the labels of a group, as a value of `MEMBERS`. */
export const membersSql = (grouping: Grouping): string =>
  `[(${[START, ...grouping.groupBy.map((_, i) => `toString(${labelColumn(i)})`)].join(', ')}, '')] AS ${MEMBERS}`

interface Comparing {
  readonly grouping: Grouping
  readonly figures: readonly FigureName[]
  /** How many labels a row keeps that is not folded. */
  readonly leaf: number
  /** Whether anything of the previous period is shown. Default: it is. */
  readonly isPreviousShown?: boolean
  /** Figures whose previous rows are summed up. Default: none. */
  readonly summed?: readonly FigureName[] | undefined
}

/** Column of the folded rows of both periods: of which they are. */
export const SIDE = 'side'
/** Of what a line tells: a row of either period, or a group that is folded in it. */
const NOW = 0
const BEFORE = 1
const FOLDED_NOW = 2
const FOLDED_BEFORE = 3

/**
 * The rows of a period with the figures of the period before beside them, and those that are gone.
 *
 * @param both query of the folded rows of both, with `MEMBERS` and `SIDE`
 */
export function comparedSql(both: string, comparing: Comparing, bindings: Bindings): string {
  const { grouping, figures, leaf, isPreviousShown = true, summed = [] } = comparing
  const labels = grouping.groupBy.map((_, i) => labelColumn(i))
  const startOf = (start: string): string => comparedStart(start, grouping, bindings)
  const own = [startOf(START), ...labels.map((label) => `toString(${label})`), `toUInt8(${KEPT})`, SIDE]
  const member = [startOf('m.1'), ...labels.map((_, i) => `m.${i + 2}`), `toUInt8(${leaf})`, `toUInt8(${SIDE} + 2)`]
  const members = `arrayMap(m -> (${member.join(', ')}), ${MEMBERS})`
  const lines = `SELECT ${GROUPS}, ${[PEOPLE, ...figures.map(figureColumn)].join(', ')}, line FROM (${both})
    ARRAY JOIN arrayConcat([(${own.join(', ')})], if(${KEPT} < ${leaf}, ${members}, [])) AS line`
  const side = `line.${labels.length + 3}`
  const has = (of: number): string => `countIf(${side} = ${of}) > 0`
  const paired = `SELECT line.1 AS ${START}, ${labels.map((label, i) => `line.${i + 2} AS ${label}, `).join('')}
      line.${labels.length + 2} AS ${KEPT}, sumIf(l.${GROUPS}, ${side} = ${NOW}) AS ${GROUPS},
      uniqExactMergeStateIf(l.${PEOPLE}, ${side} = ${NOW}) AS ${PEOPLE},
        uniqExactMergeStateIf(l.${PEOPLE}, ${side} = ${BEFORE}) AS persons_before,
      ${figures
        .map(
          (name) => `sumIf(l.${figureColumn(name)}, ${side} = ${NOW}) AS ${figureColumn(name)},
        sumIf(l.${figureColumn(name)}, ${side} = ${BEFORE}) AS ${previousColumn(name)}`,
        )
        .join(', ')},
      ${has(NOW)} AS is_now, ${has(BEFORE)} AS is_before, ${has(FOLDED_NOW)} AS is_folded_now,
        ${has(FOLDED_BEFORE)} AS is_folded_before
    FROM (${lines}) AS l GROUP BY ${[START, ...labels, KEPT].join(', ')}`
  const sums = summed.map((name) => `sum(${previousColumn(name)}) OVER () AS ${previousSumColumn(name)}`)
  const totals = `SELECT ${['*', `sum(${previousColumn('cost_usd')}) OVER () AS total_before`, ...sums].join(', ')}
    FROM (${paired})`
  const compared = `multiIf(NOT ${isPreviousShown} OR ${KEPT} < ${leaf}, 'not_shown', is_now
                    AND is_before, 'both', is_before, 'gone',
      is_folded_before, 'not_shown', 'new')`
  const columns = [...figures.map(figureColumn), ...figures.map(previousColumn), ...summed.map(previousSumColumn)]
  return `SELECT ${[START, ...labels, KEPT, GROUPS, PEOPLE, ...columns].join(', ')},
      finalizeAggregation(persons_before) AS ${PREVIOUS_PEOPLE}, ${compared} AS ${COMPARED_COLUMN},
      if(${isPreviousShown}, toString(total_before), '') AS ${PREVIOUS_TOTAL}
    FROM (${totals}) WHERE is_now OR (is_before AND NOT is_folded_now AND ${isPreviousShown} AND ${KEPT} = ${leaf})`
}

/**
 * The start of the interval with which a row is compared: its own, and of the period before the next one. A row that is
 * folded into the whole period has no interval.
 */
function comparedStart(start: string, { interval, zone }: Grouping, bindings: Bindings): string {
  if (interval === undefined) return intervalStart(interval, start, zone)
  const next = `toDateTime(${intervalEnd(interval, start, bindings.bind(zone, 'String'))}, 'UTC')`
  return `if(${SIDE} = ${BEFORE} AND toUnixTimestamp(${start}) != 0, ${next}, ${start})`
}
