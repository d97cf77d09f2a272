import type { ClickHouseClient } from '@clickhouse/client'
import type { Config } from '../../config/settings.js'
import type { StoreConnection } from '../client.js'
import { keepEventsFor } from './event-log-days.js'
import { createDatabase, MIGRATIONS, migrate } from './migrate.js'

/**
 * Brings database and tables to what this version works with. Safe to repeat, and for several processes at once.
 *
 * @throws ConfigError when a newer version has brought the tables further
 */
export async function prepareSchema(
  store: ClickHouseClient,
  account: Omit<StoreConnection, 'database'>,
  { storeDatabase, storeCluster, eventLogDays }: Config<'storeDatabase' | 'storeCluster' | 'eventLogDays'>,
): Promise<void> {
  await createDatabase(account, storeDatabase)
  await migrate(store, MIGRATIONS, storeCluster)
  await keepEventsFor(store, eventLogDays, storeCluster)
}
