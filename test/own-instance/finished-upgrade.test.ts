import { afterAll, beforeAll, expect, test } from 'vitest'
import { OWN_VERSION, refuseFinishedUpgrade } from '../../internal/store/migrations/finished-upgrades.js'
import { askAs } from '../support/ask.js'
import { attributed } from '../support/attributed.js'
import { command } from '../support/instance.js'
import { launch } from '../support/processes.js'
import { launchService, natsServerBin, type RunningService, UP_MAIN } from '../support/service.js'
import { storeOf } from '../support/service-store.js'

/** The version before may be started again until an upgrade is finished; afterwards it says why it does not start. */

let service: RunningService
beforeAll(async () => {
  service = await launchService({ roles: [] })
})
afterAll(() => service.stop())

const upgrade = (what: string) => command(service, ['upgrade', what])

test('a new instance has no version before', async () => {
  expect((await upgrade('status')).lines.join()).toContain('older versions no longer start')
})

test('an upgrade is finished once, and a version that does not know its schema refuses then', async () => {
  const store = storeOf(service)
  // As an instance that an older version has made.
  await store.command({ query: "DELETE FROM schema_migrations WHERE name = 'upgrade finished'" })
  expect((await upgrade('status')).lines.join()).toContain('the version before still starts')
  await refuseFinishedUpgrade(store, OWN_VERSION - 1)

  for (let i = 0; i < 2; i++) {
    expect(await upgrade('finish')).toMatchObject({ code: 0, lines: [expect.stringContaining('no longer start')] })
  }

  await expect(refuseFinishedUpgrade(store, OWN_VERSION - 1)).rejects.toThrow(
    `(schema ${OWN_VERSION}, this version knows ${OWN_VERSION - 1}): start that version`,
  )
  await refuseFinishedUpgrade(store)
  await store.close()
})

test('this version goes on with it, and does not start on one that a newer version has finished', async () => {
  const store = storeOf(service)
  const rows = [{ version: OWN_VERSION + 1, name: 'upgrade finished' }]
  await store.insert({ table: 'schema_migrations', values: rows, format: 'JSONEachRow' })
  await store.close()
  // It goes on: what runs is not ended.
  await attributed(askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key }), {})
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
