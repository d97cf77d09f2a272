import type { ClickHouseClient } from '@clickhouse/client'
import { ConfigError } from '../../config/settings.js'
import { isUnknownTable } from '../failures.js'
import { MIGRATIONS } from './migrate.js'

/**
 * An upgrade changes the schema when the first attributor of the new version starts, and only adds to it: the version before
 * still works on it. Once the operator says that the upgrade is finished, an older version no longer starts: from then on a
 * newer one may remove what only the older one needs.
 */
export interface SchemaState {
  /** The newest step that was applied. */
  readonly version: number
  /** The newest step of a finished upgrade; 0 when none was finished. */
  readonly finished: number
}

/** Name of the row of `schema_migrations` for it. */
const FINISHED = 'upgrade finished'

/** The newest step that this version knows. */
export const OWN_VERSION = Math.max(...MIGRATIONS.map(({ version }) => version))

/** @returns undefined when there is no schema yet */
export async function readSchemaState(store: ClickHouseClient): Promise<SchemaState | undefined> {
  try {
    const result = await store.query({
      query: `SELECT max(s.version) AS version, maxIf(s.version, s.name = {name:String}) AS finished FROM schema_migrations AS s`,
      query_params: { name: FINISHED },
      format: 'JSONEachRow',
    })
    const [row] = await result.json<Record<keyof SchemaState, number>>()
    return row === undefined ? undefined : { version: Number(row.version), finished: Number(row.finished) }
  } catch (cause) {
    if (isUnknownTable(cause)) return undefined
    throw cause
  }
}

/** Whether an upgrade to a step of the schema, or to a later one, was finished. */
export const hasFinished = async (store: ClickHouseClient, version: number): Promise<boolean> =>
  ((await readSchemaState(store))?.finished ?? 0) >= version

/** From then on, versions that do not know the newest step refuse to start. */
export const finishUpgrade = (store: ClickHouseClient): Promise<unknown> =>
  store.insert({
    table: 'schema_migrations',
    values: [{ version: OWN_VERSION, name: FINISHED }],
    format: 'JSONEachRow',
  })

/** @throws ConfigError when a newer version has finished its upgrade here */
export async function refuseFinishedUpgrade(store: ClickHouseClient, own: number = OWN_VERSION): Promise<void> {
  const { finished = 0 } = (await readSchemaState(store)) ?? {}
  if (finished <= own) return
  throw new ConfigError(
    `the read model is that of a newer version, whose upgrade was finished (schema ${finished}, this version knows ${own}): \
start that version, or restore a backup from before the upgrade`,
  )
}
