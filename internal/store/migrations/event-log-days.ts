import type { ClickHouseClient } from '@clickhouse/client'
import { storedRows } from '../stored-rows.js'
import { EVENT_LOG, eventLogTtl } from '../tables/event-log.js'
import { statementsFor } from './migrate.js'

/** Makes the log of events keep its rows for so many days: the table's time to live, changed only when it differs. */
export async function keepEventsFor(store: ClickHouseClient, days: number, cluster = ''): Promise<void> {
  const [table] = await storedRows<{ engine_full: string }>(
    store,
    'SELECT engine_full FROM system.tables WHERE database = currentDatabase() AND name = {table:String}',
    { table: cluster === '' ? EVENT_LOG.name : `${EVENT_LOG.name}_local` },
  )
  if (table?.engine_full.includes(`+ toIntervalDay(${days})`)) return
  for (const query of statementsFor(`ALTER TABLE ${EVENT_LOG.name} MODIFY TTL ${eventLogTtl(days)}`, cluster)) {
    await store.command({ query })
  }
}
