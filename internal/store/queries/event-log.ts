import type { ClickHouseClient } from '@clickhouse/client'
import { idPortions } from '../id-portions.js'
import { EVENT_LOG } from '../tables/event-log.js'

/** The place of an event in the log that it came from. */
export interface EventPlace {
  readonly log: number
  readonly sequence: number
}

/** A page of the events that a tenant's systems emitted. */
export interface EventQuestion {
  readonly tenantId: string
  readonly types: readonly string[]
  /** Only events before this place; undefined: the newest ones. */
  readonly before: EventPlace | undefined
  /** Milliseconds since the epoch: at or after. */
  readonly fromMs: number
  /** Milliseconds since the epoch: before. */
  readonly toMs: number | undefined
  /** Values of `data.scope`, for events that have one. */
  readonly scope?: Readonly<Record<string, string | undefined>>
  readonly limit: number
}

export interface ListedEvent extends EventPlace {
  /** JSON text. */
  readonly envelope: string
}

const READ_LIMITS = { max_execution_time: 10, max_memory_usage: '500000000' } as const

/** A tenant's events, newest first. @param signal aborts the query */
export async function listEvents(
  store: ClickHouseClient,
  { tenantId, types, before, fromMs, toMs, scope = {}, limit }: EventQuestion,
  signal: AbortSignal,
): Promise<ListedEvent[]> {
  const scoped = Object.entries(scope).filter(([, value]) => value !== undefined)
  const conditions = [
    'tenant_id = {tenant:String}',
    'type IN {types:Array(String)}',
    'created_at >= fromUnixTimestamp64Milli({from:Int64})',
    // The plain bound beside the tuple lets the primary key exclude granules.
    ...(before === undefined
      ? []
      : ['source_log <= {log:UInt32}', '(source_log, source_sequence) < ({log:UInt32}, {sequence:UInt64})']),
    ...(toMs === undefined ? [] : ['created_at < fromUnixTimestamp64Milli({to:Int64})']),
    ...scoped.map((_, i) => `JSONExtractString(envelope, 'data', 'scope', {name${i}:String}) = {value${i}:String}`),
  ]
  const result = await store.query({
    query: `SELECT source_log, source_sequence, envelope FROM ${EVENT_LOG.name} WHERE ${conditions.join(' AND ')}
            ORDER BY tenant_id DESC, source_log DESC, source_sequence DESC LIMIT {limit:UInt32}`,
    query_params: {
      tenant: tenantId,
      types: [...types],
      from: fromMs,
      to: toMs,
      ...before,
      ...Object.fromEntries(
        scoped.flatMap(([name, value], i) => [
          [`name${i}`, name],
          [`value${i}`, value],
        ]),
      ),
      limit,
    },
    format: 'JSONCompactEachRow',
    clickhouse_settings: READ_LIMITS,
    abort_signal: signal,
  })
  const rows = await result.json<readonly [number, string, string]>()
  return rows.map(([log, sequence, envelope]) => ({ log, sequence: Number(sequence), envelope }))
}

/** Where the stored events with these ids came from. */
export async function eventPlaces(
  store: ClickHouseClient,
  eventIds: readonly string[],
): Promise<ReadonlyMap<string, EventPlace>> {
  const places = new Map<string, EventPlace>()
  for (const portion of idPortions(eventIds)) {
    const result = await store.query({
      query: `SELECT event_id, source_log, source_sequence FROM ${EVENT_LOG.name}
              WHERE event_id IN (SELECT arrayJoin({ids:Array(String)}))`,
      query_params: { ids: [...portion] },
      format: 'JSONCompactEachRow',
    })
    for (const [eventId, log, sequence] of await result.json<readonly [string, number, string]>()) {
      places.set(eventId, { log, sequence: Number(sequence) })
    }
  }
  return places
}
