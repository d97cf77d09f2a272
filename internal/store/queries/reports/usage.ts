import type { ClickHouseClient } from '@clickhouse/client'

/** By what reports group and filter: the coarser questions first. */
export const REPORT_DIMENSIONS = [
  'owner',
  'service',
  'provider',
  'served_model',
  'pathway_category',
  'export_eligibility',
] as const
export type ReportDimension = (typeof REPORT_DIMENSIONS)[number]

/** Amounts, as exact decimal text. */
export const USAGE_AMOUNTS = ['cost_usd', 'energy_wh', 'carbon_gco2e'] as const
/** Counts. The unknown ones say of how many calls an amount or the tokens are missing in the sum. */
export const USAGE_COUNTS = [
  'calls',
  'input_tokens',
  'output_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
  'unpriced_calls',
  'energy_unknown_calls',
  'carbon_unknown_calls',
  'input_tokens_unknown_calls',
  'output_tokens_unknown_calls',
] as const
export type UsageAmount = (typeof USAGE_AMOUNTS)[number]
export type UsageCount = (typeof USAGE_COUNTS)[number]

export const INTERVALS = ['15m', 'hour', 'day', 'week', 'month'] as const
export type Interval = (typeof INTERVALS)[number]

const startOfMonth = (at: string): string =>
  `toStartOfDay(toDateTime(toStartOfMonth(${at}, {zone:String}), {zone:String}), {zone:String})`

/**
 * Where a bucket begins and ends in a time zone, which has days of 23 and 25 hours. The end is where the next one begins, found
 * from within it: a day after the beginning is an hour beside it where clocks are changed at midnight.
 */
const BUCKETS: Readonly<Record<Interval, readonly [start: string, end: string]>> = {
  '15m': ['bucket', 'start + INTERVAL 15 MINUTE'],
  hour: ['toStartOfInterval(bucket, INTERVAL 1 HOUR, {zone:String})', 'start + INTERVAL 1 HOUR'],
  day: ['toStartOfDay(bucket, {zone:String})', 'toStartOfDay(start + INTERVAL 36 HOUR, {zone:String})'],
  week: [
    'toStartOfDay(toDateTime(toStartOfWeek(bucket, 1, {zone:String}), {zone:String}), {zone:String})',
    'toStartOfDay(start + INTERVAL 180 HOUR, {zone:String})',
  ],
  month: [startOfMonth('bucket'), startOfMonth('start + INTERVAL 40 DAY')],
}

export interface UsageScope {
  readonly tenantId: string
  /** Milliseconds since the epoch, on the quarter of an hour: at or after. */
  readonly fromMs: number
  /** The same: before. */
  readonly toMs: number
}

/** Sums of the finest groups of one interval. */
export interface UsageSums {
  /** Of the interval, not cut by the scope; undefined where there is none. */
  readonly bucket: { readonly fromMs: number; readonly toMs: number } | undefined
  /** In the order of `REPORT_DIMENSIONS`. */
  readonly labels: readonly string[]
  /** Whether stage C keeps it in a pool. */
  readonly isPooled: boolean
  readonly counts: Readonly<Record<UsageCount, number>>
  readonly amounts: Readonly<Record<UsageAmount, string>>
  /** Hashes of 48 bits of whoever appears, ascending, each once. */
  readonly people: readonly number[]
}

/** Of whom a question wants to know. */
export interface PeopleWanted {
  /** So many of each group at most, those with the smallest hashes. */
  readonly peopleMax: number
  /** Hashes of identities that are no people, as 32 hex digits. */
  readonly excluded: readonly string[]
}

/** Rows that a report may read at most; one that needs more is refused, not cut. */
export const USAGE_ROWS_MAX = 200_000
const READ_LIMITS = {
  max_execution_time: 10,
  max_memory_usage: '1000000000',
  max_result_rows: String(USAGE_ROWS_MAX),
  result_overflow_mode: 'throw',
} as const

const WITHIN =
  'tenant_id = {tenant:String} AND bucket >= toDateTime({from:UInt32}) AND bucket < toDateTime({to:UInt32})'
const within = ({ tenantId, fromMs, toMs }: UsageScope) => ({
  tenant: tenantId,
  // A month of 1970 may have begun in 1969.
  from: Math.max(0, Math.floor(fromMs / 1000)),
  to: Math.floor(toMs / 1000),
})

/** Whoever appears in the rows of a group. */
const PRESENT = `arraySlice(arraySort(arrayMap(hash -> reinterpretAsUInt64(substring(hash, 1, 6)),
  arrayFilter(hash -> lower(hex(hash)) NOT IN {excluded:Array(String)},
    mapKeys(mapFilter((hash, calls) -> calls > 0, sumMap(people)))))), 1, {most:UInt32})`
const wanted = ({ peopleMax, excluded }: PeopleWanted) => ({ most: peopleMax, excluded: [...excluded] })

type SumsRow = readonly [fromS: number, toS: number, isPooled: number, people: string[], ...rest: string[]]

/**
 * In one order, so that the same figures are folded alike whenever they are asked for, at every gateway.
 *
 * @param zone name of a time zone; decides where intervals of an hour and more begin
 */
export async function usageSums(
  store: ClickHouseClient,
  scope: UsageScope,
  interval: Interval | undefined,
  zone: string,
  people: PeopleWanted,
  signal: AbortSignal,
): Promise<UsageSums[]> {
  const [start, end] = interval === undefined ? ['toDateTime(0)', 'start'] : BUCKETS[interval]
  const sums = [...USAGE_COUNTS, ...USAGE_AMOUNTS].map((name) => `sum(${name}) AS ${name}_sum`)
  const result = await store.query({
    query: `SELECT toUnixTimestamp(${start} AS start), toUnixTimestamp(${end}), stage_origin = 'stage_c' AS pooled, ${PRESENT},
              ${REPORT_DIMENSIONS.join(', ')}, ${sums.join(', ')}
            FROM usage_15m WHERE ${WITHIN}
            GROUP BY start, pooled, ${REPORT_DIMENSIONS.join(', ')}
            HAVING calls_sum > 0
            ORDER BY start, pooled, ${REPORT_DIMENSIONS.join(', ')}`,
    query_params: { ...within(scope), zone, ...wanted(people) },
    format: 'JSONCompactEachRow',
    clickhouse_settings: READ_LIMITS,
    abort_signal: signal,
  })
  return (await result.json<SumsRow>()).map(([fromS, toS, isPooled, present, ...rest]) => {
    const labels = rest.slice(0, REPORT_DIMENSIONS.length)
    const figures = rest.slice(REPORT_DIMENSIONS.length)
    return {
      bucket: interval && { fromMs: fromS * 1000, toMs: toS * 1000 },
      labels,
      isPooled: isPooled === 1,
      counts: record(USAGE_COUNTS, (i) => Number(figures[i])),
      amounts: record(USAGE_AMOUNTS, (i) => figures[USAGE_COUNTS.length + i] ?? '0'),
      people: present.map(Number),
    }
  })
}

const record = <K extends string, V>(names: readonly K[], value: (index: number) => V): Record<K, V> =>
  Object.fromEntries(names.map((name, i) => [name, value(i)])) as Record<K, V>
