import { randomBytes } from 'node:crypto'
import type { ClickHouseClient } from '@clickhouse/client'
import { ATTRIBUTIONS } from '../../tables/attributions.js'
import { EXPORT_GROUPS } from '../../tables/export-groups.js'
import { type CountedMeter, type Meter, NO_METER } from './export-meters.js'
import { NAMED, type Named, numberedGroups } from './export-names.js'
import { type ExportSelection, isSelected, selectionParams } from './export-records.js'

/** What some kinds of priced records cost a token. */
export interface UnitPrices {
  /** Names the price, for ever. */
  readonly price: string
  /** `cityHash64` of their `cost_details`. */
  readonly hashes: readonly string[]
  /** USD a token, by meter. */
  readonly usdPerToken: Readonly<Record<Meter, string>>
}

/** What an export parts its rows by, beside month and provider. */
export interface ExportGrain {
  readonly owner: boolean
  readonly service: boolean
  readonly servedModel: boolean
  readonly day: boolean
  /** Absent: every row passes its cost through. */
  readonly metering?: { readonly meters: readonly CountedMeter[]; readonly prices: readonly UnitPrices[] } | undefined
}

/** A part of an export that is staged as one: days of a month, the whole month unless the grain has days. */
export interface Slice {
  readonly jobId: string
  /** Names the slice, and the attempt to stage it. */
  readonly staging: string
  /** First day of the month, YYYY-MM-DD. */
  readonly month: string
  /** What a row by month is a charge of, YYYY-MM-DD; the end is not in it. */
  readonly chargeStart: string
  readonly chargeEnd: string
}

/**
 * Forms the groups of a slice and stages them.
 *
 * @param selection its days
 * @param workloads hashes of identities that are no people, hex
 * @throws when the engine is away or refuses; what was staged under this name then stays, and must not be used
 */
export async function stageGroups(
  store: ClickHouseClient,
  selection: ExportSelection,
  grain: ExportGrain,
  slice: Slice,
  workloads: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const { metering } = grain
  const params: Record<string, unknown> = {
    ...selectionParams(selection),
    seed: randomBytes(8).readBigUInt64LE(),
    job: slice.jobId,
    staging: slice.staging,
    month: slice.month,
    start: slice.chargeStart,
    end: slice.chargeEnd,
  }
  const meters = metering?.meters ?? []
  if (metering !== undefined) {
    const placed = metering.prices.flatMap(({ hashes }, index) =>
      hashes.map((hash) => [BigInt(hash), index + 1] as const),
    )
    params['hashes'] = placed.map(([hash]) => hash)
    params['places'] = placed.map(([, place]) => place)
    params['prices'] = metering.prices.map(({ price }) => price)
    for (const { meter } of meters)
      params[`usd_${meter}`] = metering.prices.map(({ usdPerToken }) => usdPerToken[meter])
  }
  const isMetered = metering !== undefined && metering.prices.length > 0

  // Half of a hash tells people apart well enough; two who were taken for one would fold, not show.
  const person = 'reinterpretAsUInt64(identity_hash)'
  // There may be more of them than an address with parameters can hold.
  const listed = workloads.map((hash) => Buffer.from(hash, 'hex').readBigUInt64LE()).join(', ')
  const people = workloads.length === 0 ? person : `if(${person} IN [${listed}], 0, ${person})`
  const priced = `if(cost_basis = 'price_book',
    transform(cityHash64(cost_details), {hashes:Array(UInt64)}, {places:Array(UInt32)}, toUInt32(0)), toUInt32(0))`

  const isWanted: Readonly<Record<Named, boolean>> = {
    provider: true,
    owner: grain.owner,
    service: grain.service,
    served_model: grain.servedModel,
  }
  const named = numberedGroups(NAMED.filter((name) => isWanted[name]))
  // What all groups have alike is no key: it would be hashed with each record.
  const others = [
    ['g_start', grain.day, 'toDate(event_time)', 'toDate({start:String})'],
    ['g_priced', isMetered, priced, 'toUInt32(0)'],
  ] as const
  const keys = [...named.keys, ...others.filter(([, isKey]) => isKey).map(([name]) => name)]
  const numbered = `
    SELECT
      ${named.selected.map((expression) => `${expression},`).join('\n      ')}
      ${others.map(([name, isKey, value, otherwise]) => `${isKey ? value : otherwise} AS ${name},`).join('\n      ')}
      sum(cost_usd) AS g_cost,
      count() AS g_calls,
      sum(ifNull(input_tokens, 0)) AS g_input,
      count(input_tokens) AS g_input_counted,
      sum(ifNull(output_tokens, 0)) AS g_output,
      count(output_tokens) AS g_output_counted,
      sum(energy_wh) AS g_energy,
      countIf(energy_basis NOT IN ('unknown')) AS g_energy_known,
      sum(carbon_gco2e) AS g_carbon,
      countIf(carbon_basis NOT IN ('unknown')) AS g_carbon_known,
      min(confidence) AS g_confidence,
      ${isMetered ? meters.map(({ number, tokens }) => `sum(${tokens}) AS t_${number}, uniqUpToStateIf(4)(${people} AS g_person, g_person != 0 AND (${tokens}) > 0) AS p_${number},`).join('\n') : ''}
      uniqUpToStateIf(4)(${people} AS g_person, g_person != 0) AS p_${NO_METER}
    FROM ${ATTRIBUTIONS.name}
    WHERE ${isSelected(selection)}
    GROUP BY ${keys.join(', ')}`
  const groups = `
    SELECT ${NAMED.map((name) => `${isWanted[name] ? `${name}.text` : "''"} AS g_${name}, `).join('')}numbered.*
    FROM (${numbered}) AS numbered
    ${named.joins}
    WHERE ${named.condition}`

  const passed = `(toUInt8(${NO_METER}), toUInt64(0), toDecimal128(1, 18))`
  const metered = meters.map(({ number, meter }) => {
    const usd = `arrayMap(usd -> toDecimal128(usd, 18), {usd_${meter}:Array(String)})[g_priced]`
    return `(toUInt8(${number}), toUInt64(t_${number}), ${usd})`
  })
  // Calls are shown with all their meters or with none, or a hidden meter would be what their sums have more than the
  // meters that are shown: where few people have tokens of one, the group counts as one of so few.
  const peopleOf = (number: number): string => `finalizeAggregation(p_${number})`
  const all = peopleOf(NO_METER)
  const fewest = isMetered
    ? `if(g_priced = 0 OR ${all} = 0, ${all},
        arrayMin(arrayFilter(people -> people > 0, [${[all, ...meters.map(({ number }) => peopleOf(number))].join(', ')}])))`
    : all
  // Energy, carbon and counts of a call stand in one of its rows only, or sums would double.
  const first = `multiIf(${meters.map(({ number }) => `t_${number} > 0, ${number}, `).join('')}${meters[0]?.number ?? 1})`
  const rows = isMetered
    ? `SELECT *, row.1 AS r_meter, row.2 AS r_tokens, row.3 AS r_usd,
         g_priced = 0 OR r_meter = ${first} AS r_has_calls,
         g_priced = 0 ? g_cost : toDecimal128(r_tokens, 0) * r_usd AS r_cost,
         g_priced = 0 ? '' : {prices:Array(String)}[g_priced] AS r_price
       FROM (SELECT *, ${fewest} AS g_people FROM (${groups})) ARRAY JOIN [${[passed, ...metered].join(', ')}] AS row
       WHERE g_priced = 0 ? r_meter = ${NO_METER} : r_meter != ${NO_METER} AND (r_tokens > 0 OR r_has_calls)`
    : `SELECT *, toUInt8(${NO_METER}) AS r_meter, toUInt64(0) AS r_tokens, toDecimal128(1, 18) AS r_usd,
         ${fewest} AS g_people, true AS r_has_calls, g_cost AS r_cost, '' AS r_price
       FROM (${groups})`

  const ofCalls = (column: string): string => (isMetered ? `if(r_has_calls, ${column}, 0)` : column)
  const columns: readonly (readonly [name: string, value: string])[] = [
    ['job_id', '{job:String}'],
    ['staging', '{staging:String}'],
    ['month', 'toDate({month:String})'],
    ['charge_start', 'g_start'],
    ['charge_end', grain.day ? 'g_start + 1' : 'toDate({end:String})'],
    ['provider', 'g_provider'],
    ['owner', 'g_owner'],
    ['service', 'g_service'],
    ['served_model', 'g_served_model'],
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
    ['carbon_gco2e', ofCalls('g_carbon')],
    ['carbon_known', ofCalls('g_carbon_known')],
    ['has_calls', 'r_has_calls'],
    ['confidence', 'g_confidence'],
    // A root is never folded, and has nothing below it that could be (design section 6).
    ['people', isRoot(grain) ? '0' : 'g_people'],
    ['people_state', `p_${NO_METER}`],
    ['key', 'cityHash64(g_start, g_provider, g_owner, g_service, g_served_model, r_price)'],
  ]
  await store.command({
    query: `INSERT INTO ${EXPORT_GROUPS} (${columns.map(([name]) => name).join(', ')})
            SELECT ${columns.map(([, value]) => value).join(', ')} FROM (${rows})`,
    query_params: params,
    abort_signal: signal,
    clickhouse_settings: {
      deduplicate_insert_select: 'disable',
      // Names are looked up for groups; by its guess the engine may look groups up for names, which takes twice as long.
      query_plan_join_swap_table: 'false',
      max_query_size: String(QUERY_BYTES_MAX),
    },
  })
}

/** With every identity that a tenant's directory may hold as a workload. */
const QUERY_BYTES_MAX = 16 * 1024 * 1024

/** Whether the groups are the roots themselves: a provider's months. */
const isRoot = ({ owner, service, servedModel, day, metering }: ExportGrain): boolean =>
  !owner && !service && !servedModel && !day && metering === undefined

/** Staged slices of a job: what its file is made of. */
export interface Staged {
  readonly jobId: string
  readonly stagings: readonly string[]
}

const OF_JOB = 'job_id = {job:String} AND staging IN {stagings:Array(String)}'
const IS_SMALL = 'people BETWEEN 1 AND 4'
const paramsOf = ({ jobId, stagings }: Staged) => ({ job: jobId, stagings })

/** What is needed to fold the groups of a provider in a month: groups of calls, with all their meters, told by `key`. */
export interface Root {
  readonly month: string
  readonly provider: string
  /** Groups in which, or in a meter of which, one to four people appear; and how many in all of these, 5 for 5 and more. */
  readonly small: number
  readonly smallPeople: number
  /** Groups in which five or more people appear, and the one of fewest calls. */
  readonly large: number
  readonly smallestLarge: string
  /** The same of groups in which nobody appears. */
  readonly empty: number
  readonly smallestEmpty: string
}

/** The roots below which there are small groups. */
export async function findRoots(store: ClickHouseClient, staged: Staged, signal: AbortSignal): Promise<Root[]> {
  const smallest = (condition: string): string => `toString(argMinIf(key, (invocations, key), ${condition}))`
  const result = await store.query({
    query: `SELECT toString(month) AS month, provider,
              toUInt32(countIf(${IS_SMALL})) AS small, uniqUpToMergeIf(4)(people_state, ${IS_SMALL}) AS smallPeople,
              toUInt32(countIf(people >= 5)) AS large, ${smallest('people >= 5')} AS smallestLarge,
              toUInt32(countIf(people = 0)) AS empty, ${smallest('people = 0')} AS smallestEmpty
            FROM ${EXPORT_GROUPS} WHERE ${OF_JOB} AND has_calls
            GROUP BY month, provider HAVING small > 0 ORDER BY month, provider`,
    query_params: paramsOf(staged),
    format: 'JSONEachRow',
    abort_signal: signal,
  })
  const roots = await result.json<Root & { readonly smallPeople: string | number }>()
  return roots.map((root) => ({ ...root, smallPeople: Number(root.smallPeople) }))
}

/** @param folded keys of groups that are folded beside small ones; the condition's parameter */
export const isShown = (folded: string): string => `NOT (${IS_SMALL}) AND NOT has(${folded}, key)`

export interface StagedTotals {
  readonly rows: number
  readonly foldedGroups: number
  readonly foldedRows: number
  readonly cost: string
  readonly energyWh: string
  readonly carbonGco2e: string
  readonly invocations: string
  /** Of these, those whose energy and carbon are known: what is not counts as 0 in the sums. */
  readonly energyKnown: string
  readonly carbonKnown: string
}

/** What the whole file comes to. */
export async function sumStaged(
  store: ClickHouseClient,
  staged: Staged,
  folded: readonly string[],
  signal: AbortSignal,
): Promise<StagedTotals> {
  const shown = isShown('{folded:Array(UInt64)}')
  const result = await store.query({
    query: `SELECT toUInt32(countIf(${shown})) AS shownRows, toUInt32(countIf(has_calls AND NOT (${shown}))) AS foldedGroups,
              toUInt32(uniqExactIf((month, provider), NOT (${shown}))) AS foldedRows,
              sum(cost) AS cost, sum(energy_wh) AS energyWh, sum(carbon_gco2e) AS carbonGco2e, sum(invocations) AS invocations,
              sum(energy_known) AS energyKnown, sum(carbon_known) AS carbonKnown
            FROM ${EXPORT_GROUPS} WHERE ${OF_JOB}`,
    query_params: { ...paramsOf(staged), folded: folded.map(BigInt) },
    format: 'JSONEachRow',
    abort_signal: signal,
  })
  const [totals] = await result.json<Omit<StagedTotals, 'rows'> & { readonly shownRows: number }>()
  if (totals === undefined) throw new Error('a sum has no row')
  const { shownRows, ...rest } = totals
  return { ...rest, rows: shownRows + totals.foldedRows }
}

/** Rows that a slice has staged. */
export async function countStaged(store: ClickHouseClient, staged: Staged, signal: AbortSignal): Promise<number> {
  const result = await store.query({
    query: `SELECT toUInt32(count()) FROM ${EXPORT_GROUPS} WHERE ${OF_JOB}`,
    query_params: paramsOf(staged),
    format: 'JSONCompactEachRow',
    abort_signal: signal,
  })
  return (await result.json<[number]>())[0]?.[0] ?? 0
}

/** Removes all that a job has staged. Safe to repeat. */
export async function clearStaged(store: ClickHouseClient, jobId: string): Promise<void> {
  // An id of ours: letters, digits and an underscore. A partition takes no parameter.
  if (!/^\w+$/.test(jobId)) throw new Error('no id of a job')
  await store.command({ query: `ALTER TABLE ${EXPORT_GROUPS} DROP PARTITION '${jobId}'` })
}
