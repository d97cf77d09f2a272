import type { ClickHouseClient } from '@clickhouse/client'
import { FOLD_SETTINGS, foldedSql, KEPT } from '../../../cohorts/folded.js'
import { EXPORT_FOLDS, EXPORT_GROUPS } from '../../tables/export-groups.js'
import type { StagedFolds, StagedGroups } from './staged-groups.js'

const OF_JOB = 'job_id = {job:String} AND staging IN {stagings:Array(String)}'
/** A row per group. Groups without people neither fold nor join. */
const WITH_PEOPLE = `${OF_JOB} AND has_calls AND people_count > 0`

/** Months and providers are never folded into each other: the charge of a provider has a billing period. */
const ROOT = ['month', 'provider'] as const

/**
 * Folds the groups of a month by the cohort rule (`internal/cohorts/folded.ts`), the same as in reports, and stages
 * which groups fold into which row.
 *
 * Of the groups of k people or more the rule gets only those that may have to join smaller ones, so that its work
 * depends on how many groups are small.
 *
 * @param labels columns by which groups fold, the coarsest first
 * @param k people that a row has at least
 * @param fold names this attempt
 */
export async function foldGroups(
  store: ClickHouseClient,
  { jobId, stagings }: StagedGroups,
  labels: readonly string[],
  k: number,
  fold: string,
  signal: AbortSignal,
): Promise<void> {
  const isSmall = `people_count < ${k}`
  if (labels.length === 0 || !(await hasGroups(store, { jobId, stagings }, isSmall, signal))) return
  const from = `(SELECT ${[...ROOT, ...labels].join(', ')}, persons, calls_cost, [key] AS keys FROM ${EXPORT_GROUPS}
    WHERE ${WITH_PEOPLE} AND (${isSmall} OR key IN (${mayJoin(labels, isSmall)})))`
  const table = { from, root: ROOT, labels, people: 'persons', cost: 'calls_cost', sums: {}, lists: ['keys'] }
  await store.command({
    query: `INSERT INTO ${EXPORT_FOLDS} (job_id, fold, ${[...ROOT, ...labels].join(', ')}, kept, key)
            SELECT {job:String}, {fold:String}, ${[...ROOT, ...labels].join(', ')}, ${KEPT}, arrayJoin(keys)
            FROM (${foldedSql(table, k)}) WHERE ${KEPT} < ${labels.length}`,
    query_params: { job: jobId, stagings, fold },
    abort_signal: signal,
    clickhouse_settings: { deduplicate_insert_select: 'disable', ...FOLD_SETTINGS },
  })
}

/** Whether anything can fold; analyzing the statement that folds takes longer than this. */
async function hasGroups(
  store: ClickHouseClient,
  { jobId, stagings }: StagedGroups,
  isSmall: string,
  signal: AbortSignal,
): Promise<boolean> {
  const result = await store.query({
    query: `SELECT 1 FROM ${EXPORT_GROUPS} WHERE ${WITH_PEOPLE} AND ${isSmall} LIMIT 1`,
    query_params: { job: jobId, stagings },
    format: 'JSONCompactEachRow',
    abort_signal: signal,
  })
  return (await result.json()).length > 0
}

/**
 * Keys of groups that may have to join smaller ones. Each ancestor takes at most one row from below it. So of the
 * groups whose deepest ancestor with small groups is the same, at most one per ancestor from there up to the root is
 * taken: the first ones in the order of the rule are enough.
 */
function mayJoin(labels: readonly string[], isSmall: string): string {
  const depth = labels.length
  const ancestor = (level: number): string => `cityHash64(${[...ROOT, ...labels.slice(0, level)].join(', ')})`
  const levels = Array.from({ length: depth }, (_, i) => depth - 1 - i)
  const small = (level: number): string =>
    `${ancestor(level)} IN (SELECT ${ancestor(level)} FROM ${EXPORT_GROUPS} WHERE ${WITH_PEOPLE} AND ${isSmall})`
  const deepest = `multiIf(${levels.map((level) => `${small(level)}, ${level}`).join(', ')}, -1)`
  const shared = `multiIf(${levels.map((level) => `deepest = ${level}, ${ancestor(level)}`).join(', ')}, 0)`
  const rank = ['calls_cost', 'people_count', ...labels.map((label) => `toString(${label})`), 'key']
  return `SELECT arrayJoin(arrayMap(one -> tupleElement(one, ${rank.length}),
          groupArraySorted(${depth})((${rank.join(', ')}))))
    FROM (SELECT *, ${deepest} AS deepest FROM ${EXPORT_GROUPS} WHERE ${WITH_PEOPLE} AND NOT (${isSmall}))
    WHERE deepest >= 0 GROUP BY deepest, ${shared}`
}

/** Counts the folded groups. */
export async function countFolded(
  store: ClickHouseClient,
  { jobId, folds }: StagedFolds,
  signal: AbortSignal,
): Promise<number> {
  const result = await store.query({
    query: `SELECT toUInt32(count()) FROM ${EXPORT_FOLDS} WHERE job_id = {job:String}
            AND fold IN {folds:Array(String)}`,
    query_params: { job: jobId, folds },
    format: 'JSONCompactEachRow',
    abort_signal: signal,
  })
  return (await result.json<[number]>())[0]?.[0] ?? 0
}
