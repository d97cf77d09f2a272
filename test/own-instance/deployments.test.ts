/**
 * The files of `deploy/` started for real: a gateway and an exporter under systemd, and as containers of Compose without
 * an engine. In each an export is made and downloaded, which needs what they share.
 */
import { lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { type Ask, askAs } from '../support/ask.js'
import { listedAll } from '../support/attributed.js'
import { launchComposed, launchUnits, noNamespaces, settingsOf } from '../support/deployed/deployed.js'
import { exportedFile } from '../support/exported.js'
import { lastLines, onFailure } from '../support/run/at-end.js'
import { launchService, type RunningService } from '../support/service.js'

const reason = noNamespaces()
if (reason !== undefined) console.log(`systemd and Compose are not tried: ${reason}`)

let service: RunningService

beforeAll(async () => {
  if (reason !== undefined) return
  service = await launchService({ roles: [] })
  const ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  await listedAll(ask, [{ attributed_service: 'checkout', estimated_cost_usd: '0.25' }])
})

const PERIOD = { from: '2026-11-01', to: '2026-11-30' }

/** Waits for a gateway that is starting. */
async function gatewayAt(port: number): Promise<Ask> {
  const url = `http://127.0.0.1:${port}`
  const isReady = () =>
    fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    )
  await expect.poll(isReady).toBe(true)
  return askAs(url, { 'x-api-key': service.credentials.api_key })
}

const exported = async (ask: Ask): Promise<string> =>
  String(await exportedFile(ask, { period: PERIOD, group_by: ['service'] }))

const listeners = async () => {
  const [port, intakePort] = [await freePort(), await freePort()]
  const settings = {
    ATTRIBUTION_PORT: String(port),
    ATTRIBUTION_INTAKE_PORT: String(intakePort),
    ATTRIBUTION_HOST: '127.0.0.1',
    ATTRIBUTION_BASE_URL: `http://127.0.0.1:${port}`,
  }
  return { port, settings: { ...settingsOf(service), ...settings } }
}

test.skipIf(reason !== undefined)('units of systemd: gateway and exporter share a folder of their user', async () => {
  const { port, settings } = await listeners()
  const { folder, systemd } = launchUnits(['gateway', 'exporter'], settings)
  onFailure(() =>
    ['gateway', 'exporter']
      .flatMap((role) => lastLines(role, readFileSync(join(folder, `${role}.log`), 'utf8').split('\n')))
      .join('\n'),
  )

  const file = await exported(await gatewayAt(port))

  expect(file).toContain('checkout')
  const state = join(folder, 'var', 'lib', 'attribution')
  const owners = ['gateway', 'exporter', 'exports'].map((name) => lstatSync(join(state, name)))
  expect(new Set(owners.map(({ uid }) => uid)).size).toBe(1)
  expect(owners[0]?.uid).not.toBe(0)
  expect(owners.map(({ mode }) => mode & 0o777)).toEqual([0o700, 0o700, 0o700])
  expect(readdirSync(join(state, 'exports'))).not.toEqual([])
  expect(lstatSync(join(state, 'gateway', 'of-0.3.0')).uid).toBe(owners[0]?.uid)
  // Its exporter would take the orders of another deployment.
  await systemd.kill('SIGKILL')
})

test.skipIf(reason !== undefined)(
  'containers of Compose: gateway and exporter share a volume of their user',
  async () => {
    const { port, settings } = await listeners()
    // The instance has one broker, and both are in one network.
    const ofOne = { ...settings, ATTRIBUTION_STREAM_REPLICAS: '1', ATTRIBUTION_METRICS_PORT: '0' }
    const { exporter, 'gateway-1': gateway } = launchComposed(['gateway-1', 'exporter'], ofOne)
    onFailure(() => `${lastLines('gateway', gateway?.lines ?? [])}${lastLines('exporter', exporter?.lines ?? [])}`)

    expect(await exported(await gatewayAt(port))).toContain('checkout')
  },
)
