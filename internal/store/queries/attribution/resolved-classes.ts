import type { ClickHouseClient } from '@clickhouse/client'
import { asOfSnapshotWithin, snapshotParams } from '../../snapshot.js'
import { ATTRIBUTIONS } from '../../tables/attributions.js'
import { IS_OWN, NOBODY_NAMED } from '../records/own-names.js'

/** How many of a principal's or a trace's records facts attribute to a service and owner; a person is none. */
export interface ClassCount {
  /** The principal or the trace. */
  readonly of: string
  readonly service: string
  readonly owner: string
  readonly n: number
  /** Of all its classes. */
  readonly total: number
}

/** Whose records are counted, and of which time. */
export interface CountedWindow {
  readonly tenantId: string
  /** Of the events' own time, milliseconds since the epoch. */
  readonly fromMs: number
  readonly toMs: number
  /** As of when; an instant as of which the read model is complete. */
  readonly asOfMs: number
}

/** Its parameters are `from` and `to`. */
export const IN_WINDOW =
  'event_time >= fromUnixTimestamp64Milli({from:Int64}) AND event_time <= fromUnixTimestamp64Milli({to:Int64})'

/** Classes told of each principal or trace, the most frequent ones. */
export const CLASSES_MAX = 4

/**
 * What facts resolve, for each of a tenant's principals; the most frequent first, equals by name. Also calls of which
 * they tell the owner alone, without a service: they show who else uses the principal.
 */
export const resolvedClassesByPrincipal = (store: ClickHouseClient, window: CountedWindow): Promise<ClassCount[]> =>
  count(store, 'principal', '', window, {})

/** The same for these traces, of calls whose service facts tell. */
export const resolvedClassesOfTraces = (
  store: ClickHouseClient,
  window: CountedWindow,
  traceIds: readonly string[],
): Promise<ClassCount[]> =>
  count(store, 'trace_id', "AND trace_id IN {traces:Array(String)} AND evidence_basis != 'owner_resolved'", window, {
    traces: traceIds,
  })

async function count(
  store: ClickHouseClient,
  column: 'principal' | 'trace_id',
  condition: string,
  { tenantId, fromMs, toMs, asOfMs }: CountedWindow,
  params: Readonly<Record<string, unknown>>,
): Promise<ClassCount[]> {
  const result = await store.query({
    query: `SELECT ${column}, service, named, sum(n) AS calls, sum(calls) OVER (PARTITION BY ${column}) AS total
            FROM (
            SELECT ${column}, service, count() AS n,
              if(max(max(${IS_OWN})) OVER (PARTITION BY owner) > 0, '${NOBODY_NAMED}', owner) AS named
            FROM ${ATTRIBUTIONS.name}
            WHERE tenant_id = {tenant:String} AND ${IN_WINDOW} AND ${asOfSnapshotWithin(IN_WINDOW)}
              AND stage_origin = 'stage_a' AND confidence_band = 'chargeback_ready' ${condition}
            GROUP BY ${column}, service, owner)
            GROUP BY ${column}, service, named
            ORDER BY ${column}, calls DESC, service, named LIMIT ${CLASSES_MAX} BY ${column}`,
    query_params: { ...snapshotParams(tenantId, asOfMs), from: fromMs, to: toMs, ...params },
    format: 'JSONCompactEachRow',
    clickhouse_settings: { max_execution_time: 10 },
  })
  const rows = await result.json<[string, string, string, string, string]>()
  return rows.map(([of, service, owner, n, total]) => ({ of, service, owner, n: Number(n), total: Number(total) }))
}
