import type { ClickHouseClient } from '@clickhouse/client'
import { AS_OF_SNAPSHOT, snapshotParams } from '../../snapshot.js'
import { ATTRIBUTIONS } from '../../tables/attributions.js'

/** What became of the calls of one sender. */
export interface RecordedSource {
  /** Id of the credential; '' for those of people. */
  readonly principal: string
  /** '' for the API. */
  readonly intake: string
  /** '' where a sender has one observer. */
  readonly instrumentation: string
  readonly calls: number
  /** Calls that records of others count. */
  readonly merged: number
  readonly unpriced: number
  readonly withoutService: number
  readonly perhapsTwice: number
  /** The record of the call that was received last; undefined without calls. */
  readonly last: LastRecord | undefined
}

export interface LastRecord {
  /** 16 bytes. */
  readonly id: Uint8Array
  readonly receivedAtMs: number
}

/** Senders of a tenant are some dozens; those beyond have few calls. */
const SOURCES_MAX = 2_000
const READ_LIMITS = { max_execution_time: 10, max_memory_usage: '500000000' } as const

/** Sources are machines: calls that people send with their own sign-in count together. */
const PRINCIPAL = `if(startsWith(principal, 'usr_'), '', principal) AS principal_shown`
/** Records are read by when they became valid: that index leaves out older ones, however old their events are. */
const RECEIVED_SINCE = `valid_from >= fromUnixTimestamp64Milli({since:Int64})
              AND received_at >= fromUnixTimestamp64Milli({since:Int64})`

/**
 * The records of a tenant whose events were received since an instant, by credential, intake and instrumentation; and
 * the events that other records count.
 */
export async function recordedSources(
  store: ClickHouseClient,
  question: { readonly tenantId: string; readonly sinceMs: number; readonly snapshotMs: number },
  signal: AbortSignal,
): Promise<RecordedSource[]> {
  const { tenantId, sinceMs, snapshotMs } = question
  const current = (columns: string, which: string): string => `SELECT ${columns}
            FROM ${ATTRIBUTIONS.name}
            WHERE tenant_id = {tenant:String} AND ${RECEIVED_SINCE} AND ${AS_OF_SNAPSHOT} AND ${which}`
  const of = (name: string): string => `JSONExtractString(also, '${name}') AS ${name}`
  const result = await store.query({
    query: `SELECT principal_shown, intake, instrumentation, toInt64(sum(calls)), toInt64(sum(merged)),
              toInt64(sum(unpriced)), toInt64(sum(without_service)), toInt64(sum(perhaps_twice)),
              tupleElement(max((at, record)), 2), toString(tupleElement(max((at, record)), 1))
            FROM (
              ${current(
                `${PRINCIPAL}, toString(intake) AS intake, toString(instrumentation) AS instrumentation,
                1 AS calls, 0 AS merged, cost_basis = 'unpriced' AS unpriced,
                evidence_basis = 'default_pool' AS without_service,
                position(seen_by, '"perhaps":["') > 0 AS perhaps_twice,
                toUnixTimestamp64Milli(received_at) AS at, hex(id) AS record`,
                'true',
              )}
              UNION ALL
              SELECT ${PRINCIPAL}, intake, instrumentation, 0, 1, 0, 0, 0, 0, ''
              FROM (
                SELECT ${of('principal')}, ${of('intake')}, ${of('instrumentation')}
                FROM (${current(`arrayJoin(JSONExtractArrayRaw(seen_by, 'also')) AS also`, "seen_by != ''")})))
            GROUP BY ALL ORDER BY sum(calls) DESC, principal_shown, intake, instrumentation LIMIT {most:UInt32}`,
    query_params: { ...snapshotParams(tenantId, snapshotMs), since: sinceMs, most: SOURCES_MAX },
    format: 'JSONCompactEachRow',
    clickhouse_settings: READ_LIMITS,
    abort_signal: signal,
  })
  type Row = readonly [string, string, string, string, string, string, string, string, string, string]
  return (await result.json<Row>()).map(([principal, intake, instrumentation, ...row]) => {
    const [id, receivedAt] = row.splice(5)
    const [calls = 0, merged = 0, unpriced = 0, withoutService = 0, perhapsTwice = 0] = row.map(Number)
    const last =
      id === undefined || id === '' ? undefined : { id: Buffer.from(id, 'hex'), receivedAtMs: Number(receivedAt) }
    return { principal, intake, instrumentation, calls, merged, unpriced, withoutService, perhapsTwice, last }
  })
}
