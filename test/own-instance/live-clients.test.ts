import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { LIVE_CLIENTS } from '../clients/live/live-clients.js'
import { type Ask, askAs } from '../support/ask.js'
import { installed } from '../support/clients/installed.js'
import { type Gap, gapsOf, knownOf, writeGaps } from '../support/clients/known.js'
import { compare, unbilled } from '../support/clients/ledger.js'
import { recordedOf, recordsOf } from '../support/clients/live.js'
import { type Provider, startProvider } from '../support/clients/provider.js'
import { run } from '../support/clients/run.js'
import { launchService, type RunningService } from '../support/service.js'

/**
 * `npm run test:clients`: real clients, unmodified, in front of a provider with a ledger, into a started product. What
 * the records show is what was billed, or what the client does not send. The packages come from npm and PyPI, so
 * `npm test` passes over them. Calls are numbered in the order in which the client makes them.
 */

const IS_WANTED = process.env['TEST_LIVE_CLIENTS'] !== undefined

let provider: Provider
let service: RunningService
let ask: Ask
let exporter: Readonly<Record<string, string>>
let grpcExporter: Readonly<Record<string, string>>
const found = new Map<string, readonly Gap[]>()

beforeAll(async () => {
  if (!IS_WANTED) return
  const [intakePort, grpcPort] = [await freePort(), await freePort()]
  provider = await startProvider()
  service = await launchService({ args: ['--intake-port', String(intakePort), '--intake-grpc-port', String(grpcPort)] })
  const { api_key: apiKey } = service.credentials
  ask = askAs(service.baseUrl, { 'x-api-key': apiKey })
  exporter = {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${intakePort}`,
    OTEL_EXPORTER_OTLP_HEADERS: `x-api-key=${apiKey}`,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
    ATTRIBUTION_API_KEY: apiKey,
    ATTRIBUTION_URL: service.baseUrl,
    ATTRIBUTION_CLIENT: fileURLToPath(new URL('../../dist/internal/sdk/attribution.js', import.meta.url)),
    PYTHONPATH: fileURLToPath(new URL('../../deploy/clients/python', import.meta.url)),
    ATTRIBUTION_GATEWAY_KEY: await gatewayKey(`http://127.0.0.1:${intakePort}`),
  }
  grpcExporter = {
    ...exporter,
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${grpcPort}`,
    OTEL_EXPORTER_OTLP_PROTOCOL: '',
    OTEL_METRICS_EXPORTER: 'none',
  }
})

/** The key of a gateway, once the intake knows it. */
async function gatewayKey(intakeUrl: string): Promise<string> {
  const wanted = { name: 'gateway', scopes: ['read:attribution'], is_gateway: true }
  const { json } = await ask('POST', '/api/v1/api-keys', wanted)
  const headers = { 'x-api-key': json.secret, 'content-type': 'application/json' }
  while ((await fetch(`${intakeUrl}/intake/litellm`, { method: 'POST', body: '[]', headers })).status === 401)
    await sleep(50)
  return json.secret
}

afterAll(async () => {
  if (!IS_WANTED) return
  await provider.close()
  await service.stop()
  if (process.env['ATTRIBUTION_RENEW_FIXTURES'] === '1') writeGaps(found)
})

for (const { client, set, driver, isGrpc = false } of LIVE_CLIENTS) {
  test(client, async (context) => {
    if (!IS_WANTED) return context.skip('npm run test:clients runs it')
    const folder = await installed(set)
    if ('reason' in folder) return context.skip(folder.reason)
    const name = nameOf(client)
    const [program, ...args] = driver
    const ran = await run(program, args, {
      cwd: folder.path,
      env: { ...(isGrpc ? grpcExporter : exporter), OTEL_SERVICE_NAME: name, PROVIDER: `${provider.url}/c/${name}` },
      minutesMax: 3,
    })
    expect(ran.code, ran.output).toBe(0)

    const bills = provider.billsOf(name)
    const records = recordedOf(await recordsOf(ask, name, bills.length), bills)
    const compared = compare({ bills }, records).map((call, at) => ({ ...call, bill: { ...call.bill, n: at + 1 } }))
    const gaps = gapsOf(`live: ${client}`, compared, unbilled(records))
    found.set(`live: ${client}`, gaps)
    expect(gaps, ran.output).toEqual(knownOf(`live: ${client}`).gaps)
    expect(gaps.filter(({ why }) => why === '')).toEqual([])
  })
}

const nameOf = (client: string): string => `live-${client.toLowerCase().replace(/[^a-z0-9]+/g, '-')}`
