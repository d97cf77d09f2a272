import type { ClickHouseClient } from '@clickhouse/client'
import { asOfSnapshotWithin, snapshotParams } from '../../snapshot.js'
import { ATTRIBUTIONS } from '../../tables/attributions.js'
import { type CountedWindow, IN_WINDOW } from './resolved-classes.js'

/** A recorded call of a trace, as far as it says something about the others of the trace. */
export interface StoredNeighbour {
  readonly trace_id: string
  readonly provider: string
  readonly served_model: string
  readonly input_tokens: string | null
  /** Null if the call states no identity. */
  readonly identity_hash_hex: string | null
}

/** Recorded calls of a tenant's traces, the earliest first, up to a limit per trace. */
export async function traceNeighbours(
  store: ClickHouseClient,
  { tenantId, fromMs, toMs, asOfMs }: CountedWindow,
  traceIds: readonly string[],
  ofEachMax: number,
): Promise<StoredNeighbour[]> {
  const result = await store.query({
    query: `SELECT trace_id, provider, served_model, input_tokens,
              if(identity_hash = toFixedString('', 16), NULL, lower(hex(identity_hash))) AS identity_hash_hex
            FROM ${ATTRIBUTIONS.name}
            WHERE tenant_id = {tenant:String} AND ${IN_WINDOW}
              AND trace_id IN {traces:Array(String)} AND ${asOfSnapshotWithin(IN_WINDOW)}
            ORDER BY trace_id, event_time, id LIMIT {ofEach:UInt32} BY trace_id`,
    query_params: {
      ...snapshotParams(tenantId, asOfMs),
      from: fromMs,
      to: toMs,
      traces: [...traceIds],
      ofEach: ofEachMax,
    },
    format: 'JSONEachRow',
    clickhouse_settings: { max_execution_time: 5 },
  })
  return result.json<StoredNeighbour>()
}
