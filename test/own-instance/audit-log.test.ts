import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { connectStore } from '../../internal/store/client.js'
import { askAs } from '../support/ask.js'
import { command } from '../support/instance.js'
import { launch } from '../support/processes.js'
import { launchService, type RunningService } from '../support/service.js'
import { STORE_MAIN, STORE_PASSWORD } from '../support/store.js'

test('the command line names a record of the audit log that was altered in the store', async () => {
  const service = await launchService({ roles: [] })
  const ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  const verify = () => command(service, ['audit', 'verify', '--tenant', service.credentials.tenant_id])
  for (let i = 0; i < 10; i++) await ask('PATCH', '/api/v1/settings', { stage_b_enabled: i % 2 === 0 })
  while ((await ask('GET', '/api/v1/audit-log?limit=200')).json.data.length < 10) await sleep(50)
  const whole = await verify()
  expect([whole.code, whole.lines.at(-1)]).toEqual([0, 'intact'])

  await service.stop()
  await alter(service, `ALTER TABLE attribution.audit_log UPDATE actor = 'key_nobody' WHERE sequence = 5`)
  await launchService({ roles: [], dataDir: service.dataDir, port: service.port })
  const altered = await verify()

  expect([altered.code, altered.lines.at(-1)]).toEqual([2, '1 findings'])
  expect(altered.lines.join('\n')).toContain('changed    record 5 differs from the one that was written after record 4')
})

/** As one who runs an engine of his own on the folder, since the service's account may not. */
async function alter(service: RunningService, statement: string): Promise<void> {
  const port = await freePort()
  const engine = launch(STORE_MAIN, {
    args: ['--data-dir', service.dataDir, '--store-port', String(port), '--store-database', 'another'],
    env: { ATTRIBUTION_STORE_PASSWORD: STORE_PASSWORD },
  })
  await engine.line(/^store ready on /)
  const url = `http://127.0.0.1:${port}`
  const client = connectStore({ url, user: 'attribution', password: STORE_PASSWORD, database: 'attribution' })
  await client.command({ query: statement, clickhouse_settings: { mutations_sync: '1' } })
  await client.close()
  await engine.endStdin()
}
