import type { ClickHouseClient } from '@clickhouse/client'

/** Dimensions that reports group and filter by, coarsest first. */
export const REPORT_DIMENSIONS = [
  'owner',
  'service',
  'provider',
  'served_model',
  'pathway_category',
  'export_eligibility',
] as const
export type ReportDimension = (typeof REPORT_DIMENSIONS)[number]

/** Amounts as exact decimal text. */
export const USAGE_AMOUNTS = ['cost_usd', 'energy_wh', 'carbon_gco2e'] as const
/** Counts. The `_unknown_` ones count calls whose amount or tokens are missing in the sum. */
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
 * Start and end of a bucket in a time zone, where days may have 23 or 25 hours. The end is computed from an instant within
 * the next bucket: start plus one day would be off by an hour when clocks change.
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
  /** Milliseconds since the epoch, on a quarter hour; inclusive. */
  readonly fromMs: number
  /** The same; exclusive. */
  readonly toMs: number
}

/** Sums of the finest groups of one interval. */
export interface UsageSums {
  /** The whole interval, not clipped to the scope; undefined without intervals. */
  readonly bucket: { readonly fromMs: number; readonly toMs: number } | undefined
  /** Values in the order of `REPORT_DIMENSIONS`. */
  readonly labels: readonly string[]
  /** Whether stage C attributed it to a pool. */
  readonly isPooled: boolean
  readonly counts: Readonly<Record<UsageCount, number>>
  readonly amounts: Readonly<Record<UsageAmount, string>>
  /** 48-bit hashes of the people, ascending and distinct. */
  readonly people: readonly number[]
}

/** Which people to return. */
export interface PeopleWanted {
  /** Maximum per group; those with the smallest hashes. */
  readonly peopleMax: number
  /** Hashes of identities that are not people, as 32 hex digits. */
  readonly excluded: readonly string[]
}

/** Maximum number of rows that a report may read; a report that needs more is refused, not truncated. */
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
  // A month of 1970 may have started in 1969.
  from: Math.max(0, Math.floor(fromMs / 1000)),
  to: Math.floor(toMs / 1000),
})

/** The people in the rows of a group. */
const PRESENT = `arraySlice(arraySort(arrayMap(hash -> reinterpretAsUInt64(substring(hash, 1, 6)),
  arrayFilter(hash -> lower(hex(hash)) NOT IN {excluded:Array(String)},
    mapKeys(mapFilter((hash, calls) -> calls > 0, sumMap(people)))))), 1, {most:UInt32})`
const wanted = ({ peopleMax, excluded }: PeopleWanted) => ({ most: peopleMax, excluded: [...excluded] })

type SumsRow = readonly [fromS: number, toS: number, isPooled: number, people: string[], ...rest: string[]]

/**
 * Sums of the rollups in a fixed order, so that every gateway folds the same figures in the same way.
 *
 * @param zone name of a time zone; determines the start of intervals of an hour and more
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
