import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Broker } from '../../internal/broker/connect.js'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { launchGateway } from '../support/gateway.js'
import { addTenant, connectTo, untilKnown } from '../support/instance.js'
import type { Launched } from '../support/processes.js'
import { launchService, type RunningService } from '../support/service.js'

/** Few enough that a busy machine asks more. */
const PER_SECOND = 50
/** Four times the rate, as for every budget of reads. */
const BURST = 200

let service: RunningService
let second: Launched
let gateways: readonly string[]
let broker: Broker
const agent = new Agent({ connections: 16, pipelining: 1 })

beforeAll(async () => {
  service = await launchService({ roles: [], args: ['--rate-read', String(PER_SECOND)] })
  broker = await connectTo(service)
  const port = await freePort()
  second = await launchGateway(service, port)
  gateways = [service.baseUrl, `http://127.0.0.1:${port}`]
  for (const baseUrl of gateways) while (!(await fetch(`${baseUrl}/readyz`)).ok) await sleep(20)
})

afterAll(async () => {
  await agent.close()
  await broker.close()
  await second.kill('SIGTERM')
  await service.stop()
})

/** Asks for something that is not there: it costs one of the class `read` and nothing else. */
async function read(baseUrl: string, apiKey: string) {
  const { statusCode, headers, body } = await request(`${baseUrl}/api/v1/invocations/none`, {
    dispatcher: agent,
    headers: { 'x-api-key': apiKey },
  })
  await body.dump()
  return { isGiven: statusCode === 404, statusCode, headers }
}

const rateLimitOf = async (baseUrl: string, apiKey: string) => {
  const answer = await fetch(`${baseUrl}/api/v1/rate-limit`, { headers: { 'x-api-key': apiKey } })
  return (await answer.json()) as { data: Record<string, unknown>[]; page: unknown }
}

const readOf = async (baseUrl: string, apiKey: string) =>
  (await rateLimitOf(baseUrl, apiKey)).data.find(({ route_class }) => route_class === 'read')

test('two gateways together give a caller its rate and burst once, within a tenth', async () => {
  const { apiKey } = await addTenant(broker, service)
  for (const baseUrl of gateways) await untilKnown(baseUrl, apiKey)
  const startedAt = performance.now()
  const endsAt = startedAt + 6_000
  let [given, refused] = [0, 0]
  // More than either may give alone, on each of them.
  const ask = async (baseUrl: string): Promise<void> => {
    while (performance.now() < endsAt) {
      if ((await read(baseUrl, apiKey)).isGiven) given++
      else refused++
    }
  }
  await Promise.all([...gateways, ...gateways, ...gateways].map(ask))
  const due = (PER_SECOND * (performance.now() - startedAt)) / 1_000 + BURST

  expect(refused).toBeGreaterThan(0)
  expect(given / due).toBeGreaterThan(0.9)
  expect(given / due).toBeLessThan(1.1)
})

test('a budget that is used up at one gateway is used up at the other, and both send Retry-After', async () => {
  const { apiKey } = await addTenant(broker, service, { rate_limits: { read: { per_second: 1, burst: 30 } } })
  const [one = '', other = ''] = gateways
  for (const baseUrl of gateways) await untilKnown(baseUrl, apiKey)
  const first = await Promise.all(Array.from({ length: 30 }, () => read(one, apiKey)))
  const refused = await read(one, apiKey)
  let elsewhere = await read(other, apiKey)
  while (elsewhere.isGiven) elsewhere = await read(other, apiKey)

  expect(first.map(({ isGiven }) => isGiven)).toEqual(first.map(() => true))
  for (const { statusCode, headers } of [refused, elsewhere]) {
    expect([statusCode, headers['ratelimit-limit'], headers['ratelimit-remaining']]).toEqual([429, '30', '0'])
    expect(Number(headers['ratelimit-reset'])).toBeGreaterThan(0)
    expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(Number(headers['ratelimit-reset']))
  }
  expect((await read(one, service.credentials.api_key)).isGiven).toBe(true)
})

test('a caller sees its budget of every rate class, with the limits of its tenant', async () => {
  const { apiKey } = await addTenant(broker, service, { rate_limits: { report: { per_second: 3 } } })
  const [baseUrl = ''] = gateways
  await untilKnown(baseUrl, apiKey)
  await read(baseUrl, apiKey)
  const { data, page } = await rateLimitOf(baseUrl, apiKey)

  expect(page).toEqual({ limit: 50, has_more: false })
  expect(data.map(({ route_class, per_second, burst }) => [route_class, per_second, burst])).toEqual([
    ['ingest', 20_000, 40_000],
    ['read', PER_SECOND, BURST],
    ['report', 3, 15],
    ['control', 10, 50],
    ['token', 5, 20],
  ])
  expect(await readOf(baseUrl, apiKey)).toMatchObject({
    remaining: expect.any(Number),
    reset_seconds: expect.any(Number),
  })
})

test('budgets come in pages, and an unknown parameter is refused', async () => {
  const { apiKey } = await addTenant(broker, service)
  const [baseUrl = ''] = gateways
  await untilKnown(baseUrl, apiKey)
  const get = async (path: string): Promise<Response> =>
    fetch(`${baseUrl}${path}`, { headers: { 'x-api-key': apiKey } })
  const classes: unknown[] = []
  for (let query = 'limit=2'; query !== ''; ) {
    const answer = await get(`/api/v1/rate-limit?${query}`)
    const { data, page } = (await answer.json()) as { data: Record<string, unknown>[]; page: Record<string, unknown> }
    classes.push(data.map(({ route_class }) => route_class))
    query = page['has_more'] === true ? `limit=2&cursor=${page['next_cursor']}` : ''
  }

  expect(classes).toEqual([['ingest', 'read'], ['report', 'control'], ['token']])
  for (const query of ['x=1', 'limit=0', 'limit=1&limit=1', 'cursor=x']) {
    expect((await get(`/api/v1/rate-limit?${query}`)).status).toBe(400)
  }
})

test('changed limits of a tenant apply to budgets in use', async () => {
  const { id, apiKey } = await addTenant(broker, service)
  for (const baseUrl of gateways) {
    await untilKnown(baseUrl, apiKey)
    await read(baseUrl, apiKey)
  }
  const bucket = await broker.bucket({ name: 'tenants', history: 1 })
  const tenant = (await bucket.get(id))?.json<{ settings: object }>()
  const settings = { ...tenant?.settings, rate_limits: { read: { per_second: 7, burst: 9 } } }
  await bucket.put(id, JSON.stringify({ ...tenant, settings }))

  for (const baseUrl of gateways) {
    while ((await readOf(baseUrl, apiKey))?.['per_second'] !== 7) await sleep(5)
    expect((await read(baseUrl, apiKey)).headers['ratelimit-limit']).toBe('9')
  }
})
