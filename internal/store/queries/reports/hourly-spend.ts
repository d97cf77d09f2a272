import type { ClickHouseClient } from '@clickhouse/client'
import { parseSum, type Quantity } from '../../../units/quantity.js'
import { providerSql } from '../records/provider-sql.js'
import { IS_PLAUSIBLE } from './plausible.js'

/** Hourly cost of one combination of service, owner and provider. */
export interface HourlySpend {
  readonly service: string
  readonly owner: string
  /** Its one name, however the calls spell it. */
  readonly provider: string
  /** By start of the hour, milliseconds since the epoch; hours without spend are omitted. */
  readonly spent: ReadonlyMap<number, Quantity<'USD'>>
  /** The first hour with data in the queried range. */
  readonly firstMs: number
}

/** The hours that an hour is compared with. */
export interface SpendWindow {
  /** Minimum spend in the hour. Decimal text. */
  readonly atLeastUsd: string
  readonly weeks: number
  readonly trailingHours: number
}

const READ_LIMITS = { max_execution_time: 30, max_memory_usage: '1000000000' } as const

/**
 * For each combination with enough spend in an hour: that hour, the same hour in previous weeks, and the preceding
 * hours.
 */
export async function hourlySpendOf(
  store: ClickHouseClient,
  tenantId: string,
  hourMs: number,
  { atLeastUsd, weeks, trailingHours }: SpendWindow,
): Promise<HourlySpend[]> {
  const group = `service, owner, ${providerSql('provider')}`
  const candidates = `SELECT ${group} FROM usage_15m
    WHERE tenant_id = {tenant:String} AND ${IS_PLAUSIBLE} AND bucket >= toDateTime({hour:UInt32})
    AND bucket < toDateTime({hour:UInt32}) + INTERVAL 1 HOUR
    GROUP BY ${group} HAVING sum(cost_usd) >= {atLeast:Decimal(38, 18)}`
  // An hour is small, and in most hours of most tenants nothing costs that much: the weeks are then not read.
  const first = await store.query({
    query: `${candidates} LIMIT 1`,
    query_params: { tenant: tenantId, hour: hourMs / 1000, atLeast: atLeastUsd },
    format: 'JSONCompactEachRow',
    clickhouse_settings: READ_LIMITS,
  })
  if ((await first.json()).length === 0) return []
  const result = await store.query({
    query: `SELECT service, owner, named, groupArrayIf((toUnixTimestamp(hour), toString(cost)),
                (dateDiff('hour', hour, at) % 168 = 0 OR dateDiff('hour', hour, at) <= {trailing:UInt32})),
                  toUnixTimestamp(min(hour))
            FROM (
              SELECT service, owner, ${providerSql('provider')} AS named, toStartOfHour(bucket) AS hour,
                sum(cost_usd) AS cost, toDateTime({hour:UInt32}) AS at
              FROM usage_15m
              WHERE tenant_id = {tenant:String} AND ${IS_PLAUSIBLE} AND bucket < at + INTERVAL 1 HOUR
                AND bucket >= at - toIntervalWeek({weeks:UInt32})
                AND (${group}) IN (${candidates})
              GROUP BY ${group}, hour)
            GROUP BY service, owner, named`,
    query_params: { tenant: tenantId, hour: hourMs / 1000, atLeast: atLeastUsd, weeks, trailing: trailingHours },
    format: 'JSONCompactEachRow',
    clickhouse_settings: READ_LIMITS,
  })
  type Row = readonly [string, string, string, readonly (readonly [number, string])[], number]
  return (await result.json<Row>()).map(([service, owner, provider, hours, firstS]) => ({
    service,
    owner,
    provider,
    spent: new Map(hours.map(([atS, cost]) => [atS * 1000, parseSum<'USD'>(cost)])),
    firstMs: firstS * 1000,
  }))
}
