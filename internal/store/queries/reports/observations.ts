import type { ClickHouseClient } from '@clickhouse/client'
import type { Position } from '../../../invocations/invocation-group.js'
import { idPortions } from '../../id-portions.js'
import { storedRows } from '../../stored-rows.js'
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
    const found = await storedRows<Omit<ObservationSource, 'position'> & { sequence: string; index: number }>(
      store,
      `SELECT tenant_id AS tenantId, event_id AS eventId, source_log AS logId, source_sequence AS sequence,
         source_index AS index
       FROM ${OBSERVATIONS_TABLE.name} WHERE event_id IN (SELECT arrayJoin({ids:Array(UUID)}))`,
      { ids: [...portion] },
    )
    for (const { sequence, index, ...source } of found)
      sources.push({ ...source, position: { sequence: Number(sequence), index } })
  }
  return sources
}
