import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { answersAt } from '../../internal/local/supervisor/readiness.js'
import type { StoreConnection } from '../../internal/store/client.js'
import { createDatabase } from '../../internal/store/migrations/migrate.js'
import type { Processes } from '../processes.js'

/** Memory of a store with ten million records; the default is for a machine that also runs everything else. */
const MEMORY_BYTES_MAX = 6 * 1024 ** 3

/** A store of its own with an empty database. @returns how to reach it */
export async function startQueryStore(
  checkout: string,
  folder: string,
  port: number,
  processes: Processes,
): Promise<StoreConnection> {
  const url = `http://127.0.0.1:${port}`
  const password = randomBytes(16).toString('hex')
  await processes.start({
    name: 'store',
    command: process.execPath,
    args: [join(checkout, 'dist/cmd/store/main.js'), '--data-dir', folder, '--store-port', String(port)],
    env: {
      ...process.env,
      ATTRIBUTION_STORE_PASSWORD: password,
      ATTRIBUTION_TUNING: `store-memory-bytes-max=${MEMORY_BYTES_MAX}`,
    },
    ready: answersAt(`${url}/ping`),
  })
  const account = { url, user: 'attribution', password }
  await createDatabase(account, 'attribution')
  return { ...account, database: 'attribution' }
}
