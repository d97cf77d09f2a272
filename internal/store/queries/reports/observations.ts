import type { ClickHouseClient } from '@clickhouse/client'
import type { Position } from '../../../invocations/invocation-group.js'
import { idPortions } from '../../id-portions.js'
import { OBSERVATIONS_TABLE } from '../../tables/observations.js'

/** A stored observation with its position in the log that it came from. */
export interface ObservationSource {
  readonly tenantId: string
  /** A UUID in lower case. */
  readonly eventId: string
  readonly logId: number
  readonly position: Position
}

/** Finds the log positions of observations, across all tenants. @param eventIds UUIDs */
export async function observationSources(
  store: ClickHouseClient,
  eventIds: readonly string[],
): Promise<ObservationSource[]> {
  const sources: ObservationSource[] = []
  for (const portion of idPortions(eventIds)) {
    const result = await store.query({
      query: `SELECT tenant_id, event_id, source_log, source_sequence, source_index FROM ${OBSERVATIONS_TABLE.name}
              WHERE event_id IN (SELECT arrayJoin({ids:Array(UUID)}))`,
      query_params: { ids: [...portion] },
      format: 'JSONCompactEachRow',
    })
    for (const row of await result.json<[string, string, number, string, number]>()) {
      const [tenantId, eventId, logId, sequence, index] = row
      sources.push({ tenantId, eventId, logId, position: { sequence: Number(sequence), index } })
    }
  }
  return sources
}
