import { listenBesideApi, type OwnListenerSettings, type RunningListener } from '../http/own-listener.js'
import type { StoreConnection } from '../store/client.js'
import { openSqlStore, type SqlLimits } from '../store/queries/sql/open-sql-store.js'
import { type SqlDeps, sqlAnswers } from './sql-answers.js'

/** A query in the address, and values of its parameters. */
const HEAD_BYTES_MAX = 96 * 1024

export interface OpenSqlDeps extends Omit<SqlDeps, 'store' | 'database'> {
  readonly storeConnection: StoreConnection
  /** For tests. */
  readonly limits?: SqlLimits
}

export interface RunningSql extends RunningListener {
  /** Once it has drained. */
  close(): Promise<void>
}

/** Listens for SQL on a port of its own, where there is one: drivers send to the root of an address. */
export async function openSql(
  settings: Omit<OwnListenerSettings, 'name' | 'headBytesMax'>,
  { storeConnection, limits, ...deps }: OpenSqlDeps,
): Promise<RunningSql> {
  const store = openSqlStore(storeConnection, limits)
  const answer = sqlAnswers({ ...deps, store, database: storeConnection.database })
  const listener = await listenBesideApi(
    { ...settings, name: 'sql', headBytesMax: HEAD_BYTES_MAX },
    (message, response) => void answer(message, response),
    deps.log,
  )
  return { ...listener, close: store.close }
}
