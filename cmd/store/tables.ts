/** What the store does before others use it. */
import { statfsSync } from 'node:fs'
import type { Config } from '../../internal/config/settings.js'
import { serviceVersion } from '../../internal/config/version.js'
import { untilAvailable } from '../../internal/process/main.js'
import { connectStore } from '../../internal/store/client.js'
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
 * @throws ConfigError when a newer version has brought the tables further
 */
export async function makeTables(
  config: Config<'storePort' | 'storeUser' | 'storePassword' | 'storeDatabase'>,
): Promise<void> {
  const { storePort, storeUser: user, storePassword: password, storeDatabase: database } = config
  const account = { url: `http://${LISTEN_HOST}:${storePort}`, user, password, cluster: '' }
  const store = connectStore({ ...account, database })
  const make = async (): Promise<void> => {
    await createDatabase(account, database)
    await migrate(store)
  }
  await untilAvailable('the tables', make, createLog('store', 'info', { version: serviceVersion() }))
  await store.close()
}
