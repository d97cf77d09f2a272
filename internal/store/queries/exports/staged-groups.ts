import type { ClickHouseClient } from '@clickhouse/client'
import { EXPORT_FOLDS, EXPORT_GROUPS } from '../../tables/export-groups.js'
import { LABELS, type Label } from './export-names.js'

/** Staged slices of a job. */
export interface StagedGroups {
  readonly jobId: string
  readonly stagings: readonly string[]
}

/** Folded months of a job. */
export interface StagedFolds {
  readonly jobId: string
  readonly folds: readonly string[]
}

/** What a file is written from. */
export type Staged = StagedGroups & StagedFolds

export const OF_JOB = 'job_id = {job:String} AND staging IN {stagings:Array(String)}'
export const OF_FOLDS = `job_id = {job:String} AND fold IN {folds:Array(String)}`
/** Whether a staged group is folded. */
export const IS_FOLDED = `key IN (SELECT key FROM ${EXPORT_FOLDS} WHERE ${OF_FOLDS})`
/** Columns that identify a folded row. */
export const foldedRow = (labels: readonly Label[]) => ['month', 'charge_start', ...labels, 'price', 'kept'] as const

export const stagedParams = ({ jobId, stagings, folds }: Staged) => ({ job: jobId, stagings, folds })

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
  /** Invocations whose energy is that of their model's class. */
  readonly energyEstimated: string
  readonly carbonKnown: string
}

/** Sums up the whole file. */
export async function sumStaged(store: ClickHouseClient, staged: Staged, signal: AbortSignal): Promise<StagedTotals> {
  const result = await store.query({
    query: `SELECT toUInt32(countIf(NOT (${IS_FOLDED}))) AS shownRows,
              toUInt32(countIf(has_calls AND ${IS_FOLDED})) AS foldedGroups,
              (SELECT toUInt32(uniqExact(${foldedRow(LABELS).join(', ')})) FROM ${EXPORT_FOLDS}
                WHERE ${OF_FOLDS}) AS foldedRows,
              sum(cost) AS cost, sum(energy_wh) AS energyWh, sum(carbon_gco2e) AS carbonGco2e,
              sum(invocations) AS invocations,
              sum(energy_known) AS energyKnown, sum(energy_estimated) AS energyEstimated,
              sum(carbon_known) AS carbonKnown
            FROM ${EXPORT_GROUPS} WHERE ${OF_JOB}`,
    query_params: stagedParams(staged),
    format: 'JSONEachRow',
    abort_signal: signal,
  })
  const [totals] = await result.json<Omit<StagedTotals, 'rows'> & { readonly shownRows: number }>()
  if (totals === undefined) throw new Error('the totals query returned no row')
  const { shownRows, ...rest } = totals
  return { ...rest, rows: shownRows + totals.foldedRows }
}

/** Counts the staged rows. */
export async function countStaged(
  store: ClickHouseClient,
  { jobId, stagings }: StagedGroups,
  signal: AbortSignal,
): Promise<number> {
  const result = await store.query({
    query: `SELECT toUInt32(count()) FROM ${EXPORT_GROUPS} WHERE ${OF_JOB}`,
    query_params: { job: jobId, stagings },
    format: 'JSONCompactEachRow',
    abort_signal: signal,
  })
  return (await result.json<[number]>())[0]?.[0] ?? 0
}

/** Removes everything that a job has staged. Safe to repeat. */
export async function clearStaged(store: ClickHouseClient, jobId: string): Promise<void> {
  // DROP PARTITION accepts no query parameter, so the id goes into the SQL text.
  if (!/^\w+$/.test(jobId)) throw new Error('not a job id')
  for (const table of [EXPORT_GROUPS, EXPORT_FOLDS]) {
    await store.command({ query: `ALTER TABLE ${table} DROP PARTITION '${jobId}'` })
  }
}
