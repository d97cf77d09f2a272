import type { ClickHouseClient } from '@clickhouse/client'
import { OF_ID } from '../snapshot.js'
import { QUARANTINED } from '../tables/quarantined.js'

/** Why an event has no record. */
export interface Quarantined {
  readonly stage: string
  readonly reason: string
  readonly quarantinedAtMs: number
}

/** The last time that a tenant's event was quarantined; undefined when it never was. @param idHex of its 16 bytes */
export async function findQuarantined(
  store: ClickHouseClient,
  tenantId: string,
  idHex: string,
): Promise<Quarantined | undefined> {
  const result = await store.query({
    query: `SELECT stage, reason, toUnixTimestamp64Milli(quarantined_at) FROM ${QUARANTINED.name}
            WHERE tenant_id = {tenant:String} AND ${OF_ID}
            ORDER BY quarantined_at DESC LIMIT 1`,
    query_params: { tenant: tenantId, id: idHex },
    format: 'JSONCompactEachRow',
  })
  const [found] = await result.json<[string, string, string]>()
  return found && { stage: found[0], reason: found[1], quarantinedAtMs: Number(found[2]) }
}
