/**
 * The product of today on data folders that earlier versions have written (`test/fixtures/data-folders/`).
 * `ATTRIBUTION_RENEW_FIXTURES=1` writes the folder of this version first.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import { describe, expect, test } from 'vitest'
import { connectStore } from '../../internal/store/client.js'
import { createDatabase, MIGRATIONS, migrate } from '../../internal/store/migrations/migrate.js'
import { storedRows } from '../../internal/store/stored-rows.js'
import { type Ask, askAs } from '../support/ask.js'
import { attributed } from '../support/attributed.js'
import {
  copyDataFolder,
  dataFolderVersions,
  LISTS,
  listOf,
  shownFields,
  usageOf,
  writeDataFolder,
} from '../support/data-folders.js'
import { wireEvent } from '../support/gateway.js'
import { launch } from '../support/processes.js'
import { launchService, natsServerBin, type RunningService, UP_MAIN } from '../support/service.js'
import { storeAccountOf, storeOf } from '../support/service-store.js'

if (process.env['ATTRIBUTION_RENEW_FIXTURES'] === '1') await writeDataFolder()

/** Records of a service; what was on its way arrives within moments. */
async function untilThere(ask: Ask, service: string, count: number): Promise<void> {
  const path = `/v1/attribution?limit=200&filter[service][eq]=${service}`
  const found = async (): Promise<number> => {
    const { status, json } = await ask('GET', path)
    // A busy store may get a 503 at first, and a gateway learns its keys within moments.
    return status === 200 ? json.data.length : 0
  }
  while ((await found()) < count) await sleep(100)
}

/** What a migration can change of the tables of a database. */
const SCHEMA = [
  'SELECT name, engine, partition_key, sorting_key FROM system.tables WHERE database = currentDatabase() ORDER BY name',
  `SELECT table, name, type, default_kind, default_expression, compression_codec FROM system.columns
   WHERE database = currentDatabase() ORDER BY table, name`,
  `SELECT table, name, type_full, expr FROM system.data_skipping_indices
   WHERE database = currentDatabase() ORDER BY table, name`,
]
const schemaOf = async (store: ClickHouseClient): Promise<unknown> =>
  Promise.all(SCHEMA.map((query) => storedRows<Record<string, unknown>>(store, query, {})))

describe.each(dataFolderVersions())('a data folder of version %s', (version) => {
  let service: RunningService
  let apiKey: string

  test('its records, totals, keys and directory are read by this version, and nothing on its way is lost', async () => {
    const { dataDir, expected } = await copyDataFolder(version)
    service = await launchService({ dataDir, roles: [] })
    const ask = askAs(service.baseUrl, { 'x-api-key': expected.keys.all })
    apiKey = expected.keys.all
    const reader = askAs(service.baseUrl, { 'x-api-key': expected.keys.reader })
    const { service: late, events, cost_usd } = expected.on_their_way
    await untilThere(ask, late, events)

    const records = (await ask('GET', '/v1/attribution?limit=200')).json.data.map(shownFields)
    expect(records.filter((record: { service: string }) => record.service !== late)).toEqual(expected.records)

    const usage = await usageOf(ask, expected)
    expect(usage.filter((row) => row['service'] !== late)).toEqual(expected.usage)
    expect(usage.find((row) => row['service'] === late)).toMatchObject({
      calls: events,
      cost_usd,
    })

    for (const list of ['services', 'identities', 'pools', 'prices'] as const) {
      const [path, names] = LISTS[list]
      expect(await listOf(ask, path, names)).toEqual(expected[list])
    }

    expect((await reader('GET', '/v1/attribution')).status).toBe(200)
    expect((await reader('POST', '/api/v1/directory/services', { name: 'x', owner: 'y' })).status).toBe(403)
    const token = await fetch(`${service.baseUrl}/v1/oauth/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${expected.client.id}:${expected.client.secret}`)}` },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    })
    expect(token.status).toBe(200)

    const taken = await ask('POST', '/api/v1/invocations', wireEvent({ ingestion_timestamp: new Date().toISOString() }))
    expect(taken.status).toBe(202)
    const id = taken.json.invocation_id.replace('inv_', 'attr_')
    while ((await ask('GET', `/v1/attribution/${id}`)).status !== 200) await sleep(50)

    const store = storeOf(service)
    await createDatabase(storeAccountOf(service), 'a_new_one')
    const fresh = connectStore({ ...storeAccountOf(service), database: 'a_new_one' })
    await migrate(fresh)
    expect(await schemaOf(store)).toEqual(await schemaOf(fresh))
    await fresh.close()
    await store.close()
  })

  test('this version goes on while a newer one brings the schema further, and then does not start on it', async () => {
    const store = storeOf(service)
    const rows = [{ version: MIGRATIONS.length + 1, name: 'of a newer version' }]
    await store.insert({ table: 'schema_migrations', values: rows, format: 'JSONEachRow' })
    await store.close()
    await attributed(askAs(service.baseUrl, { 'x-api-key': apiKey }), {})
    await service.stop()

    const again = launch(UP_MAIN, {
      args: ['--data-dir', service.dataDir, '--port', String(service.port), '--intake-port', '0'].concat([
        ...['--nats-server-bin', natsServerBin(), '--without-roles', 'courier,exporter,sentinel,trainer'],
      ]),
    })
    const said = await again.line(/the read model is that of a newer version/)

    expect(said).toContain('restore a backup from before the upgrade')
    await again.kill('SIGTERM')
  })
})
