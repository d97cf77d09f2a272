import { randomBytes } from 'node:crypto'
import type { ClickHouseClient } from '@clickhouse/client'
import type { TagField } from '../../../records/dimensions.js'
import { ATTRIBUTIONS } from '../../tables/attributions.js'
import { EXPORT_GROUPS } from '../../tables/export-groups.js'
import { type CountedMeter, FIRST_UNIT_METER, type Meter, NO_METER } from '../prices/meters.js'
import { type Label, labelsWith, numberedGroups } from './export-names.js'
import {
  type ExportPeople,
  type ExportSelection,
  isSelected,
  personExpression,
  QUERY_BYTES_MAX,
  selectionParams,
} from './export-records.js'

/** Unit prices of records that the price book priced alike. */
export interface UnitPrices {
  /** Permanent id of the price. */
  readonly price: string
  /** `cityHash64` of the `cost_details` of these records. */
  readonly hashes: readonly string[]
  /** USD per token, call or other unit, by meter. */
  readonly usdPerUnit: Readonly<Record<Meter, string>>
}

/** The grouping of an export's rows, in addition to month and provider. */
export interface ExportGrain {
  /** The coarsest first: small groups fold into their nearest ancestor. Without provider. */
  readonly names: readonly Label[]
  /** Tags by which rows are grouped; `tagColumn(place)` among the names. */
  readonly tags: readonly TagField[]
  readonly day: boolean
  /** Absent: every row passes its cost through. */
  readonly metering?: { readonly meters: readonly CountedMeter[]; readonly prices: readonly UnitPrices[] } | undefined
}

/** One attempt to stage a slice: days of one month, the whole month unless the grain includes days. */
export interface StagedSlice {
  readonly jobId: string
  /** Identifies the slice and this attempt to stage it. */
  readonly staging: string
  /** First day of the month, YYYY-MM-DD. */
  readonly month: string
  /** Charge period of rows without a day, YYYY-MM-DD; the end is exclusive. */
  readonly chargeStart: string
  readonly chargeEnd: string
}

/**
 * Forms the groups of a slice and stages them in `export_groups`.
 *
 * @param selection the records of the slice
 * @param k people that a row has at least
 * @throws when ClickHouse is unavailable or refuses the query; rows already staged under this name remain and must not
 * be used
 */
export async function stageGroups(
  store: ClickHouseClient,
  selection: ExportSelection,
  grain: ExportGrain,
  slice: StagedSlice,
  people: ExportPeople,
  k: number,
  signal: AbortSignal,
): Promise<void> {
  const columns = stagedColumns(grain)
  await store.command({
    query: `INSERT INTO ${EXPORT_GROUPS} (${columns.map(([name]) => name).join(', ')})
            WITH
              numbered AS (${numberedCte(selection, grain, people, k)}),
              named AS (${namedCte(grain)}),
              counted AS (${countedCte(grain, k)}),
              metered AS (${meteredCte(grain)})
            SELECT ${columns.map(([, value]) => value).join(', ')} FROM metered`,
    query_params: {
      ...selectionParams(selection),
      seed: randomBytes(8).readBigUInt64LE(),
      job: slice.jobId,
      staging: slice.staging,
      month: slice.month,
      start: slice.chargeStart,
      end: slice.chargeEnd,
      ...priceParams(grain),
    },
    abort_signal: signal,
    clickhouse_settings: {
      deduplicate_insert_select: 'disable',
      // Names are looked up for groups. When ClickHouse swaps the join sides by its own estimate, the query takes twice
      // as long.
      query_plan_join_swap_table: 'false',
      max_query_size: String(QUERY_BYTES_MAX),
    },
  })
}

/** Of each group the prices are looked up by number, from 1; 0 is a group whose cost is passed through. */
function priceParams({ metering }: ExportGrain): Record<string, unknown> {
  if (metering === undefined) return {}
  const { meters, prices } = metering
  const numbered = prices.flatMap(({ hashes }, index) => hashes.map((hash) => [BigInt(hash), index + 1] as const))
  return {
    hashes: numbered.map(([hash]) => hash),
    price_numbers: numbered.map(([, number]) => number),
    prices: prices.map(({ price }) => price),
    ...Object.fromEntries(
      meters.map(({ meter }) => [`usd_${meter}`, prices.map(({ usdPerUnit }) => usdPerUnit[meter])]),
    ),
  }
}

const isMetered = ({ metering }: ExportGrain): boolean => metering !== undefined && metering.prices.length > 0
const metersOf = (grain: ExportGrain): readonly CountedMeter[] =>
  isMetered(grain) ? (grain.metering?.meters ?? []) : []

const isGroupedBy = ({ names }: ExportGrain, name: Label): boolean => name === 'provider' || names.includes(name)

const namesOf = (grain: ExportGrain) =>
  numberedGroups(
    labelsWith(grain.tags).filter((name) => isGroupedBy(grain, name)),
    grain.tags,
  )

/** Columns of `export_groups` by which groups fold (`internal/cohorts/folded.ts`): prices first, days last. */
export const foldedBy = (grain: ExportGrain): readonly string[] => [
  ...(grain.day ? ['charge_start'] : []),
  ...grain.names,
  ...(grain.metering === undefined ? [] : ['price']),
]

/** CTE `numbered`: the records of the selection summed by group, with numbers in place of names. */
function numberedCte(selection: ExportSelection, grain: ExportGrain, people: ExportPeople, k: number): string {
  const asked = [...grain.names, ...grain.tags, ...selection.filters.map(({ field }) => field)]
  const person = personExpression(people, asked)
  const names = namesOf(grain)
  // A value that all groups share is not a key: it would be hashed with each record.
  const others = [
    ['g_start', grain.day, 'toDate(event_time)', 'toDate({start:String})'],
    ['g_priced', isMetered(grain), PRICE_NUMBER, 'toUInt32(0)'],
  ] as const
  const keys = [...names.keys, ...others.filter(([, isKey]) => isKey).map(([name]) => name)]
  const perMeter = metersOf(grain).map(
    ({ number, units }) =>
      `sum(${units}) AS t_${number},
       uniqUpToIf(${k - 1})(${person} AS g_person, g_person != 0 AND (${units}) > 0) AS p_${number},`,
  )
  return `
    SELECT
      ${names.selected.map((expression) => `${expression},`).join('\n      ')}
      ${others.map(([name, isKey, value, otherwise]) => `${isKey ? value : otherwise} AS ${name},`).join('\n      ')}
      sum(cost_usd) AS g_cost,
      count() AS g_calls,
      sum(ifNull(input_tokens, 0)) AS g_input,
      count(input_tokens) AS g_input_counted,
      sum(ifNull(output_tokens, 0)) AS g_output,
      count(output_tokens) AS g_output_counted,
      sum(energy_wh) AS g_energy,
      countIf(energy_basis NOT IN ('unknown')) AS g_energy_known,
      countIf(energy_basis = 'class_estimate') AS g_energy_estimated,
      sum(carbon_gco2e) AS g_carbon,
      countIf(carbon_basis NOT IN ('unknown')) AS g_carbon_known,
      min(confidence) AS g_confidence,
      ${perMeter.join('\n')}
      uniqExactStateIf(${person} AS g_person, g_person != 0) AS g_persons
    FROM ${ATTRIBUTIONS.name}
    WHERE ${isSelected(selection)}
    GROUP BY ${keys.join(', ')}`
}

/** The number of a record's price, 0 when its cost is passed through. */
const PRICE_NUMBER = `if(cost_basis = 'price_book',
    transform(cityHash64(cost_details), {hashes:Array(UInt64)}, {price_numbers:Array(UInt32)}, toUInt32(0)),
      toUInt32(0))`

/** CTE `named`: the exported groups of `numbered`, with their names. */
function namedCte(grain: ExportGrain): string {
  const { joins, condition } = namesOf(grain)
  return `
    SELECT ${labelsWith(grain.tags)
      .map((name) => `${isGroupedBy(grain, name) ? `${name}.text` : "''"} AS g_${name}, `)
      .join('')}numbered.*
    FROM numbered
    ${joins}
    WHERE ${condition}`
}

/** CTE `counted`: the groups of `named` with the number of people in them, and whether they are metered. */
function countedCte(grain: ExportGrain, k: number): string {
  // Calls are shown with all their meters or with none; otherwise a hidden meter could be derived as the difference
  // between the sums and the meters shown. Where few people have tokens of one meter, the calls are passed through.
  const thin = metersOf(grain).map(({ number }) => `p_${number} BETWEEN 1 AND ${k - 1}`)
  const isThin = isMetered(grain) ? `g_priced != 0 AND g_people >= ${k} AND (${thin.join(' OR ') || 'false'})` : 'false'
  return `SELECT *, finalizeAggregation(g_persons) AS g_people, ${isThin} AS g_is_thin
          FROM named`
}

/** CTE `metered`: one row per group, or per meter of a group that the price book priced. */
function meteredCte(grain: ExportGrain): string {
  if (!isMetered(grain)) {
    return `SELECT *, toUInt8(${NO_METER}) AS r_meter, toUInt64(0) AS r_tokens, toDecimal128(1, 18) AS r_usd,
              true AS r_has_calls, g_cost AS r_cost, '' AS r_price
            FROM counted`
  }
  const meters = metersOf(grain)
  const passedThrough = `(toUInt8(${NO_METER}), toUInt64(0), toDecimal128(1, 18))`
  const perMeter = meters.map(({ number, meter }) => {
    // The price of another unit has at most 12 decimals: that of a millionth is exact.
    const isUnit = number >= FIRST_UNIT_METER
    const price = isUnit ? "toDecimal128(usd, 12) * toDecimal128('0.000001', 6)" : 'toDecimal128(usd, 18)'
    const usd = `arrayMap(usd -> ${price}, {usd_${meter}:Array(String)})[g_priced]`
    return `(toUInt8(${number}), toUInt64(t_${number}), ${usd})`
  })
  // Only one of a call's rows carries its energy, carbon and counts; otherwise sums would count them twice.
  const withTokens = meters.map(({ number }) => `t_${number} > 0, ${number}, `)
  const first = `multiIf(${withTokens.join('')}${meters[0]?.number ?? 1})`
  return `SELECT *, row.1 AS r_meter, row.2 AS r_tokens, row.3 AS r_usd,
            g_priced = 0 OR g_is_thin AS r_is_passed,
            r_is_passed OR r_meter = ${first} AS r_has_calls,
            r_is_passed ? g_cost : toDecimal128(r_tokens, 0) * r_usd AS r_cost,
            g_priced = 0 ? '' : {prices:Array(String)}[g_priced] AS r_price
          FROM counted ARRAY JOIN [${[passedThrough, ...perMeter].join(', ')}] AS row
          WHERE r_is_passed ? r_meter = ${NO_METER} : r_meter != ${NO_METER} AND (r_tokens > 0 OR r_has_calls)`
}

/** The columns of `export_groups`, each with its expression over `metered`. */
function stagedColumns(grain: ExportGrain): readonly (readonly [name: string, value: string])[] {
  const ofCalls = (column: string): string => (isMetered(grain) ? `if(r_has_calls, ${column}, 0)` : column)
  return [
    ['job_id', '{job:String}'],
    ['staging', '{staging:String}'],
    ['month', 'toDate({month:String})'],
    ['charge_start', 'g_start'],
    ['charge_end', grain.day ? 'g_start + 1' : 'toDate({end:String})'],
    ...labelsWith(grain.tags).map((name) => [name, `g_${name}`] as const),
    ['meter', 'r_meter'],
    ['price', 'r_price'],
    ['unit_price', 'r_usd'],
    ['cost', 'r_cost'],
    ['tokens', 'r_tokens'],
    ['invocations', ofCalls('g_calls')],
    ['input_tokens', ofCalls('g_input')],
    ['input_counted', ofCalls('g_input_counted')],
    ['output_tokens', ofCalls('g_output')],
    ['output_counted', ofCalls('g_output_counted')],
    ['energy_wh', ofCalls('g_energy')],
    ['energy_known', ofCalls('g_energy_known')],
    ['energy_estimated', ofCalls('g_energy_estimated')],
    ['carbon_gco2e', ofCalls('g_carbon')],
    ['carbon_known', ofCalls('g_carbon_known')],
    ['has_calls', 'r_has_calls'],
    ['confidence', 'g_confidence'],
    ['people_count', 'g_people'],
    ['persons', 'g_persons'],
    ['calls_cost', 'g_cost'],
    ['is_thin', 'g_is_thin'],
    ['key', `cityHash64(${['g_start', ...labelsWith(grain.tags).map((name) => `g_${name}`), 'r_price'].join(', ')})`],
  ]
}
