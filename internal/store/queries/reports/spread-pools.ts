import { GROUPS, KEPT } from '../../../cohorts/folded.js'
import type { Condition } from '../../../filters/parse.js'
import type { GroupField } from '../../../filters/report-dimensions.js'
import { WEIGHT_PARTS, type Weight } from '../../../records/allocation-weights.js'
import type { Bindings } from '../records/conditions.js'
import { MEMBERS } from './compared.js'
import { conditionOn } from './dimensions.js'
import { type FigureName, figureColumn } from './figures.js'
import { type Grouping, groupsSql, labelColumn, PEOPLE, type ReportScope, START } from './groups.js'

/** A month and the weights by which its pools are spread; what they leave of 1 stays with the pool. */
export interface SpreadMonth {
  readonly fromMs: number
  readonly toMs: number
  readonly weights: readonly Weight[]
}

/**
 * The figures that are spread, with their decimals: money, energy, carbon; and what goes with the cost: its confidence
 * and reasons. All calls in pools have the lowest band.
 */
const SPREAD = {
  cost_usd: 18,
  energy_wh: 18,
  carbon_gco2e: 18,
  energy_class_estimate_wh: 18,
  cost_confidence: 22,
  unattributed_cost_usd: 18,
  default_pool_cost_usd: 18,
  no_owner_cost_usd: 18,
  below_floor_cost_usd: 18,
  advisory_cost_usd: 18,
} as const satisfies Partial<Record<FigureName, number>>
type Spread = keyof typeof SPREAD
const SPREAD_NAMES = Object.keys(SPREAD) as readonly Spread[]
const isSpread = (name: FigureName): name is Spread => Object.hasOwn(SPREAD, name)
/** Counts of calls whose amount is unknown: a row that receives a share of a pool with such calls has a lower bound. */
const PASSED_ON = ['cost_unknown_calls', 'energy_unknown_calls', 'carbon_unknown_calls'] as const
const isPassedOn = (name: FigureName): name is (typeof PASSED_ON)[number] => PASSED_ON.some((known) => known === name)
const isOfReceiver = ({ field }: Condition<GroupField>): boolean => field === 'owner' || field === 'service'

interface Spreading {
  readonly scope: ReportScope
  readonly grouping: Grouping
  readonly figures: readonly FigureName[]
  readonly months: readonly SpreadMonth[]
  readonly cohortMin: number
  /** How many labels a row keeps that is not folded. */
  readonly leaf: number
  /** Whether rows have `MEMBERS`. */
  readonly isCompared: boolean
}

/**
 * Spreads the amounts of cost pools over services and owners, after folding: a pool of fewer people than a cohort, and
 * one whose own row is folded, keeps its amounts. A share for a group that is folded is a row of its own. Sums stay
 * exact.
 *
 * @param rows query of the folded rows
 */
export function spreadSql(rows: string, spreading: Spreading, bindings: Bindings): string {
  const { grouping, figures, leaf, isCompared } = spreading
  const pools = spreading.months
    .filter(({ weights }) => weights.length > 0)
    .map((month) => movesSql(month, spreading, bindings))
  if (pools.length === 0) return rows
  const labels = grouping.groupBy.map((_, i) => labelColumn(i))
  const none =
    `('', '', ${SPREAD_NAMES.map(() => 'toInt256(0)').join(', ')}, ` +
    `${PASSED_ON.map(() => 'toInt64(0)').join(', ')})`
  const members = isCompared ? [MEMBERS] : []
  const base = [
    START,
    ...labels.map((label) => `toString(${label}) AS ${label}`),
    `toUInt8(${KEPT}) AS ${KEPT}`,
    GROUPS,
    PEOPLE,
    ...figures.map(figureColumn),
    ...members,
    `[${none}] AS moves, true AS is_base, false AS needs_row`,
  ]
  const pool = [
    START,
    ...labels,
    `toUInt8(${leaf}) AS ${KEPT}`,
    `toUInt64(0) AS ${GROUPS}`,
    `arrayReduce('uniqExactState', emptyArrayUInt64()) AS ${PEOPLE}`,
    ...figures.map((name) => `0 AS ${figureColumn(name)}`),
    // Whether a group without calls receives a share is no news about who called.
    ...members.map((column) => `[] AS ${column}`),
    'moves, false AS is_base, needs_row',
  ]
  const all = `SELECT ${base.join(', ')} FROM (${rows})
    UNION ALL SELECT ${pool.join(', ')} FROM (${pools.join(' UNION ALL ')})`
  const key = [START, ...labels, KEPT].join(', ')
  const moved = `SELECT *, max(is_base) OVER (PARTITION BY ${key}) AS has_row FROM (${all})`
  const toLabels = grouping.groupBy.map((name, i) => {
    const received = name === 'owner' ? 'move.1' : name === 'service' ? 'move.2' : labelColumn(i)
    return `if(is_base, ${labelColumn(i)}, ${received}) AS l_${labelColumn(i)}`
  })
  const sums = figures.map((name) => {
    const column = figureColumn(name)
    if (isPassedOn(name)) {
      return `sum(${column} + move.${SPREAD_NAMES.length + PASSED_ON.indexOf(name) + 3}) AS s_${column}`
    }
    // What a pool gives away is negative, what a row receives is not.
    if (name === 'unspread_cost_usd') {
      const given = `least(move.${SPREAD_NAMES.indexOf('cost_usd') + 3}, toInt256(0))`
      return `sum(CAST(${column} AS Decimal(76, 18)) + ${amountOf('cost_usd', given)}) AS s_${column}`
    }
    if (!isSpread(name)) return `sum(${column}) AS s_${column}`
    const amount = amountOf(name, `move.${SPREAD_NAMES.indexOf(name) + 3}`)
    return `sum(CAST(${column} AS Decimal(76, ${SPREAD[name]})) + ${amount}) AS s_${column}`
  })
  const kept = [...labels, KEPT]
  const moveColumns = [
    START,
    ...toLabels,
    KEPT,
    `sum(${GROUPS}) AS s_${GROUPS}`,
    `uniqExactMergeState(${PEOPLE}) AS s_${PEOPLE}`,
    ...sums,
    ...members.map((column) => `groupArrayArray(${column}) AS s_${column}`),
  ]
  return `SELECT ${START}, ${labels.map((label) => `l_${label} AS ${label}, `).join('')} ${KEPT},
          s_${GROUPS} AS ${GROUPS},
      s_${PEOPLE} AS ${PEOPLE}, ${figures.map((name) => `s_${figureColumn(name)} AS ${figureColumn(name)}`).join(', ')}
      ${members.map((column) => `, s_${column} AS ${column}`).join('')}
    FROM (
      SELECT ${moveColumns.join(', ')}
      FROM (${moved}) ARRAY JOIN moves AS move
      WHERE is_base OR has_row OR NOT needs_row
      GROUP BY ${[START, ...kept.map((name) => (name === KEPT ? name : `l_${name}`))].join(', ')})`
}

/** An amount from its smallest steps. */
const amountOf = (name: Spread, steps: string): string =>
  `toDecimal256(${steps}, 0) * toDecimal256('0.${'1'.padStart(SPREAD[name], '0')}', ${SPREAD[name]})`

/** The pools of a month: where each moves its amounts to, itself (what it loses) among the receivers. */
function movesSql(
  { fromMs, toMs, weights }: SpreadMonth,
  { scope, grouping, cohortMin }: Spreading,
  bindings: Bindings,
): string {
  const depth = grouping.groupBy.length
  const [owner, service] = [labelColumn(depth), labelColumn(depth + 1)]
  const pools = groupsSql(
    {
      ...scope,
      fromMs: Math.max(fromMs, scope.fromMs),
      toMs: Math.min(toMs, scope.toMs),
      filters: scope.filters.filter((filter) => !isOfReceiver(filter)),
    },
    { ...grouping, groupBy: [...grouping.groupBy, 'owner', 'service'] },
    [...SPREAD_NAMES, ...PASSED_ON],
    bindings,
    "stage_origin = 'stage_c'",
  )
  const texts = (values: readonly string[]): string =>
    `[${values.map((value) => bindings.bind(value, 'String')).join(', ')}]`
  const isHeld = (ownerValue: string, serviceValue: string): string =>
    [
      'true',
      ...scope.filters
        .filter(isOfReceiver)
        .map((each) => conditionOn(each.field === 'owner' ? ownerValue : serviceValue, each, bindings)),
    ].join(' AND ')
  const stays = WEIGHT_PARTS - weights.reduce((sum, { parts }) => sum + parts, 0n)
  const parts = [...weights.map((weight) => weight.parts), stays].map((part) => `toInt256('${part}')`).join(', ')
  const shares = SPREAD_NAMES.map((name) => `${sharesSql(name)} AS s_${name}`)
  const unknown = PASSED_ON.map((name) => `toInt64(${figureColumn(name)})`).join(', ')
  const shareOf = (i: string): string => [...SPREAD_NAMES.map((name) => `s_${name}[${i}]`), unknown].join(', ')
  // The pool's own row counts its calls already.
  const loses = [
    ...SPREAD_NAMES.map((name) => `s_${name}[-1] - arraySum(s_${name})`),
    ...PASSED_ON.map(() => 'toInt64(0)'),
  ].join(', ')
  const n = `finalizeAggregation(${PEOPLE})`
  return `SELECT ${START},
          ${grouping.groupBy.map((_, i) => `toString(${labelColumn(i)}) AS ${labelColumn(i)}, `).join('')}
      arrayFilter(m -> ${isHeld('m.1', 'm.2')}, arrayConcat(
        [(toString(${owner}), toString(${service}), ${loses})],
        arrayMap(i -> (${texts(weights.map((weight) => weight.owner))}[i],
          ${texts(weights.map((weight) => weight.service))}[i], ${shareOf('i')}),
          range(1, ${weights.length + 1})))) AS moves,
      ${isHeld(`toString(${owner})`, `toString(${service})`)} AS needs_row
    FROM (SELECT *, [${parts}] AS parts, ${shares.join(', ')} FROM (${pools}) WHERE ${n} = 0 OR ${n} >= ${cohortMin})`
}

/** Shares of a figure in its smallest steps, by the largest remainder, as `records/allocation-weights.ts` splits. */
function sharesSql(name: Spread): string {
  const steps =
    `toInt256(toDecimal256(${figureColumn(name)}, ${SPREAD[name]}) * ` +
    `toDecimal256('1${'0'.repeat(SPREAD[name])}', 0))`
  const whole = `toInt256('${WEIGHT_PARTS}')`
  const cut = `arrayMap(part -> intDiv(${steps} * part, ${whole}), parts)`
  const byRemainder = `arraySort(i -> (-(${steps} * parts[i] % ${whole}), i), arrayEnumerate(parts))`
  const missing = `toUInt32(${steps} - arraySum(${cut}))`
  return (
    `arrayMap((share, i) -> share + toInt256(has(arraySlice(${byRemainder}, 1, ${missing}), i)), ${cut}, ` +
    'arrayEnumerate(parts))'
  )
}
