/** What the store does before others use it. */
import { statfsSync } from 'node:fs'
import type { ClickHouseClient } from '@clickhouse/client'
import { type Config, ConfigError } from '../../internal/config/settings.js'
import { serviceVersion } from '../../internal/config/version.js'
import { faultOfLoaded } from '../../internal/local/backup/known-tables.js'
import { untilAvailable } from '../../internal/process/main.js'
import { connectStore } from '../../internal/store/client.js'
import { TABLE_ENGINES } from '../../internal/store/engine/config-files.js'
import { LISTEN_HOST } from '../../internal/store/engine/engine.js'
import { createDatabase, migrate } from '../../internal/store/migrations/migrate.js'
import { createLog } from '../../internal/telemetry/log.js'

/** The type of a file system in memory (statfs(2)). */
const TMPFS = 0x01021994

/** Whether what is written here can survive a power cut at all. */
export const keepsFiles = (dataDir: string): boolean => statfsSync(dataDir).type !== TMPFS

/**
 * Makes the tables, so that nobody inserts before the logs of tokens are written through. An engine that starts again
 * under load refuses queries, since the roles that waited for it all come at once: it is asked until it takes them.
 *
 * @throws ConfigError when a newer version has brought the tables further, or there is one that is not the service's
 */
export async function makeTables(
  config: Config<'storePort' | 'storeUser' | 'storePassword' | 'storeDatabase'>,
): Promise<void> {
  const { storePort, storeUser: user, storePassword: password, storeDatabase: database } = config
  const account = { url: `http://${LISTEN_HOST}:${storePort}`, user, password, cluster: '' }
  const store = connectStore({ ...account, database })
  const make = async (): Promise<void> => {
    await createDatabase(account, database)
    await refuseForeignTables(store, database)
    await migrate(store)
  }
  await untilAvailable('the tables', make, createLog('store', 'info', { version: serviceVersion() }))
  await store.close()
}

/**
 * Tables that somebody has put into the engine's folder: the engine asks for no right to read one that there is, and
 * some engines, and some functions in the definition of a column or a view, read files of this machine, or other hosts.
 */
async function refuseForeignTables(store: ClickHouseClient, own: string): Promise<void> {
  const found = await store.query({
    query: `SELECT database, name, engine, create_table_query FROM system.tables
            WHERE database NOT IN ('system', 'information_schema', 'INFORMATION_SCHEMA')`,
    format: 'JSONEachRow',
  })
  const tables = await found.json<Readonly<Record<'database' | 'name' | 'engine' | 'create_table_query', string>>>()
  for (const { database, name, engine, create_table_query: statement } of tables) {
    const fault = LOADED_ENGINES.has(engine)
      ? faultOfLoaded(database === own ? name : undefined, statement)
      : `has the engine ${engine}, which no table of this service has`
    if (fault === undefined) continue
    throw new ConfigError(
      `${database}.${name} ${fault}: remove its file from the folder metadata of the data folder, or restore a backup`,
    )
  }
}

/** A view of the operator's reads nothing before somebody asks it. */
const LOADED_ENGINES: ReadonlySet<string> = new Set([...TABLE_ENGINES, 'MaterializedView', 'View'])
