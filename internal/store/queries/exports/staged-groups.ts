import type { ClickHouseClient } from '@clickhouse/client'
import { EXPORT_GROUPS } from '../../tables/export-groups.js'

/** The staged slices of a job, from which its file is written. */
export interface Staged {
  readonly jobId: string
  readonly stagings: readonly string[]
}

const OF_JOB = 'job_id = {job:String} AND staging IN {stagings:Array(String)}'
const IS_SMALL = 'people BETWEEN 1 AND 4'
const paramsOf = ({ jobId, stagings }: Staged) => ({ job: jobId, stagings })

/** The facts needed to fold the groups of one provider in one month. A group is calls with all their meters, identified by `key`. */
export interface Root {
  readonly month: string
  readonly provider: string
  /** Groups with one to four people, in total or in one of their meters; and distinct people over all of these, 5 for 5 or more. */
  readonly small: number
  readonly smallPeople: number
  /** Groups with five or more people, and the one with the fewest calls. */
  readonly large: number
  readonly smallestLarge: string
  /** The same for groups without people. */
  readonly empty: number
  readonly smallestEmpty: string
}

/** Finds the roots that contain small groups. */
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

/** @param folded SQL expression: keys of groups folded in addition to the small ones */
export const isShown = (folded: string): string => `NOT (${IS_SMALL}) AND NOT has(${folded}, key)`

export interface StagedTotals {
  readonly rows: number
  readonly foldedGroups: number
  readonly foldedRows: number
  readonly cost: string
  readonly energyWh: string
  readonly carbonGco2e: string
  readonly invocations: string
  /** Invocations with known energy and carbon; unknown ones count as 0 in the sums. */
  readonly energyKnown: string
  readonly carbonKnown: string
}

/** Sums up the whole file. */
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
  if (totals === undefined) throw new Error('the totals query returned no row')
  const { shownRows, ...rest } = totals
  return { ...rest, rows: shownRows + totals.foldedRows }
}

/** Counts the staged rows. */
export async function countStaged(store: ClickHouseClient, staged: Staged, signal: AbortSignal): Promise<number> {
  const result = await store.query({
    query: `SELECT toUInt32(count()) FROM ${EXPORT_GROUPS} WHERE ${OF_JOB}`,
    query_params: paramsOf(staged),
    format: 'JSONCompactEachRow',
    abort_signal: signal,
  })
  return (await result.json<[number]>())[0]?.[0] ?? 0
}

/** Removes everything that a job has staged. Safe to repeat. */
export async function clearStaged(store: ClickHouseClient, jobId: string): Promise<void> {
  // DROP PARTITION accepts no query parameter, so the id goes into the SQL text.
  if (!/^\w+$/.test(jobId)) throw new Error('not a job id')
  await store.command({ query: `ALTER TABLE ${EXPORT_GROUPS} DROP PARTITION '${jobId}'` })
}
