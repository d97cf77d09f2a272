import type { ClickHouseClient } from '@clickhouse/client'
import { settledBefore } from '../../store/copied-instants.js'
import { MIGRATIONS } from '../../store/migrations/migrate.js'
import { storedRows } from '../../store/stored-rows.js'
import { checkClock } from './clocks.js'
import { type Finding, failure, graded, ok, warning } from './finding.js'

/** Active parts of one partition of a table: from 1,000 on ClickHouse delays inserts, from 3,000 on it refuses them. */
const PARTS = { warningFrom: 300, failureFrom: 1_000 }
/** Used share of a disk. */
const DISK = { warningFrom: 0.75, failureFrom: 0.9 }
/** Records that pages must sort when they are asked for; they are copied in rounds of a minute. */
const UNSETTLED = { warningFrom: 2_000_000, failureFrom: 10_000_000 }

/** The read model: version, schema, clock, parts, disks, copies, changes that do not end. */
export async function* checkStore(store: ClickHouseClient): AsyncGenerator<Finding> {
  const [server] = await storedRows<{ version: string }>(store, 'SELECT version() AS version', {})
  yield ok('store', `ClickHouse ${server?.version ?? ''} answers`)
  yield await checkClock('store', async () => {
    const [row] = await storedRows<{ ms: string }>(store, 'SELECT toUnixTimestamp64Milli(now64(3)) AS ms', {})
    return Number(row?.ms)
  })
  const schema = await checkSchema(store)
  yield schema
  if (schema.status === 'failure') return
  yield await checkParts(store)
  yield* await checkDisks(store)
  yield await checkSettling(store)
  yield await checkMutations(store)
}

async function checkSchema(store: ClickHouseClient): Promise<Finding> {
  const newest = MIGRATIONS.at(-1)?.version ?? 0
  const [tables] = await storedRows<{ count: string }>(
    store,
    `SELECT toString(count()) AS count FROM system.tables WHERE database = currentDatabase()
     AND name = 'schema_migrations'`,
    {},
  )
  if (tables?.count !== '1') return failure('schema', 'there is none yet: an attributor of this build creates it')
  const [row] = await storedRows<{ version: number }>(
    store,
    'SELECT max(version) AS version FROM schema_migrations',
    {},
  )
  const version = Number(row?.version)
  if (version === newest) return ok('schema', `version ${version}`)
  return version < newest
    ? failure(
        'schema',
        `version ${version} of ${newest}: start an attributor of this build, which brings it up to date`,
      )
    : failure('schema', `version ${version} is of a newer build, this one knows ${newest}: use the newer one`)
}

async function checkParts(store: ClickHouseClient): Promise<Finding> {
  const [most] = await storedRows<{ table: string; parts: string }>(
    store,
    `SELECT table, toString(count()) AS parts FROM system.parts WHERE active AND database = currentDatabase()
     GROUP BY table, partition_id ORDER BY count() DESC LIMIT 1`,
    {},
  )
  if (most === undefined) return ok('parts', 'none')
  const seen = `at most ${most.parts}, in ${most.table}`
  return graded(
    'parts',
    Number(most.parts),
    PARTS,
    seen,
    'merges do not keep up: give the store more processors or disk',
  )
}

async function checkDisks(store: ClickHouseClient): Promise<Finding[]> {
  const disks = await storedRows<{ name: string; free: string; total: string }>(
    store,
    `SELECT name, toString(free_space) AS free, toString(total_space) AS total FROM system.disks
     WHERE total_space > 0 AND total_space < 18446744073709551615`,
    {},
  )
  return disks.map(({ name, free, total }) => {
    const used = 1 - Number(free) / Number(total)
    return graded(
      `store disk ${name}`,
      used,
      DISK,
      `${Math.round(used * 100)} % used`,
      'add disk, or shorten retention',
    )
  })
}

async function checkSettling(store: ClickHouseClient): Promise<Finding> {
  const [row] = await storedRows<{ count: string }>(
    store,
    'SELECT toString(count()) AS count FROM attributions WHERE valid_from >= fromUnixTimestamp64Milli({from:Int64})',
    { from: await settledBefore(store) },
  )
  const count = Number(row?.count ?? 0)
  const seen = `${count} newest records are not in the sorted copies yet`
  return graded(
    'copies',
    count,
    UNSETTLED,
    seen,
    'attributors copy them in the background: look into logs/attributor.log',
  )
}

async function checkMutations(store: ClickHouseClient): Promise<Finding> {
  const [failed] = await storedRows<{ table: string; reason: string }>(
    store,
    `SELECT table, latest_fail_reason AS reason FROM system.mutations
     WHERE database = currentDatabase() AND NOT is_done AND latest_fail_reason != '' LIMIT 1`,
    {},
  )
  return failed === undefined
    ? ok('mutations', 'none has failed')
    : warning('mutations', `one of ${failed.table} fails: ${failed.reason.slice(0, 200)}`)
}
