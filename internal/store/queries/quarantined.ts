import type { ClickHouseClient } from '@clickhouse/client'
import { OF_ID } from '../snapshot.js'
import { storedRows } from '../stored-rows.js'
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
  const [found] = await storedRows<{ stage: string; reason: string; at: string }>(
    store,
    `SELECT stage, reason, toUnixTimestamp64Milli(quarantined_at) AS at FROM ${QUARANTINED.name}
     WHERE tenant_id = {tenant:String} AND ${OF_ID} ORDER BY quarantined_at DESC LIMIT 1`,
    { tenant: tenantId, id: idHex },
  )
  return found && { stage: found.stage, reason: found.reason, quarantinedAtMs: Number(found.at) }
}
