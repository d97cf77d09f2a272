import type { ClickHouseClient } from '@clickhouse/client'
import type { Position } from '../../invocations/group.js'
import { ATTRIBUTIONS } from '../tables/attributions.js'

/** Which event a record came from, and where that event stood in stage A's log. */
export interface RecordSource {
  readonly id: Uint8Array
  readonly logId: number
  readonly position: Position
}

/**
 * The sources of a partition's records that became valid since an instant, the newest first.
 *
 * @param rowsMax the newest ones count
 */
export async function* recordSources(
  store: ClickHouseClient,
  partition: number,
  sinceMs: number,
  rowsMax: number,
): AsyncGenerator<RecordSource> {
  const result = await store.query({
    query: `SELECT hex(id), source_log, source_sequence, source_index FROM ${ATTRIBUTIONS}
            WHERE source_partition = {partition:UInt16} AND valid_from >= fromUnixTimestamp64Milli({since:Int64})
            ORDER BY valid_from DESC LIMIT {rows:UInt32}`,
    query_params: { partition, since: sinceMs, rows: rowsMax },
    format: 'JSONCompactEachRow',
  })
  for await (const rows of result.stream<[string, number, string, number]>()) {
    for (const row of rows) {
      const [id, logId, sequence, index] = row.json()
      yield { id: Buffer.from(id, 'hex'), logId, position: { sequence: Number(sequence), index } }
    }
  }
}

/** Which of the ids have a record, as lower-case hex. */
export async function recordedIds(store: ClickHouseClient, ids: readonly Uint8Array[]): Promise<ReadonlySet<string>> {
  const result = await store.query({
    query: `SELECT DISTINCT lower(hex(id)) AS id_hex FROM ${ATTRIBUTIONS}
            WHERE id IN (SELECT CAST(unhex(arrayJoin({ids:Array(String)})) AS FixedString(16)))`,
    query_params: { ids: ids.map((id) => Buffer.from(id).toString('hex')) },
    format: 'JSONEachRow',
  })
  return new Set((await result.json<{ id_hex: string }>()).map(({ id_hex }) => id_hex))
}
