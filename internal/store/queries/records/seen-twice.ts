import type { ClickHouseClient } from '@clickhouse/client'
import { ATTRIBUTIONS } from '../../tables/attributions.js'
import type { EventWindow } from './versions.js'

/** A record that has an id of its call in common with others. */
export interface SharedId {
  /** Hex of its 16 bytes. */
  readonly id: string
  readonly provider: string
  readonly eventTimeMs: number
}

/** What the records of a group have in common. */
export type SharedBy = 'response_id' | 'trace_and_span'

export interface SeenTwiceQuestion {
  readonly tenantId: string
  readonly by: SharedBy
  /** Of the records that were just inserted. */
  readonly validFromMs: number
  /** Windows that contain the events of the groups; they do not overlap. */
  readonly windows: readonly EventWindow[]
}

const KEYS: Readonly<Record<SharedBy, { readonly key: string; readonly isStated: string }>> = {
  response_id: { key: 'response_id', isStated: "response_id != ''" },
  trace_and_span: { key: 'trace_id, span_id', isStated: "span_id != '' AND trace_id != ''" },
}

/**
 * Groups of records that have an id of a call in common with one that was just inserted, and come from at least two
 * sources. Of any provider: the caller decides which providers share response ids. Closed versions are included.
 *
 * @param membersMax larger groups are excluded
 * @throws when the store is unavailable or fails
 */
export async function seenTwice(
  store: ClickHouseClient,
  { tenantId, by, validFromMs, windows }: SeenTwiceQuestion,
  membersMax: number,
): Promise<readonly (readonly SharedId[])[]> {
  const { key, isStated } = KEYS[by]
  const times = windows.flatMap(({ fromMs, toMs }) => [fromMs, toMs])
  // The bounds are whole numbers that the caller has computed.
  const within = windows.map(
    (_, i) => `event_time >= fromUnixTimestamp64Milli({times:Array(Int64)}[${2 * i + 1}])
      AND event_time <= fromUnixTimestamp64Milli({times:Array(Int64)}[${2 * i + 2}])`,
  )
  const rows = `FROM ${ATTRIBUTIONS.name} WHERE tenant_id = {tenant:String} AND (${within.join(' OR ')})
                AND ${isStated}`
  const result = await store.query({
    query: `SELECT groupUniqArray({most:UInt32})(
                (lower(hex(id)), toString(provider), toUnixTimestamp64Milli(event_time))) AS members
            ${rows} AND (${key}) IN (
              SELECT ${key} ${rows} AND valid_from = fromUnixTimestamp64Milli({validFrom:Int64}))
            GROUP BY ${key}
            HAVING uniqExact(intake, principal) > 1 AND length(members) < {most:UInt32}`,
    query_params: { tenant: tenantId, validFrom: validFromMs, most: membersMax + 1, times },
    format: 'JSONCompactEachRow',
    clickhouse_settings: { max_execution_time: 30 },
  })
  const groups = await result.json<[members: readonly [id: string, provider: string, eventTimeMs: string][]]>()
  return groups.map(([members]) =>
    members.map(([id, provider, eventTimeMs]) => ({ id, provider, eventTimeMs: Number(eventTimeMs) })),
  )
}
