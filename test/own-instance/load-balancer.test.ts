/** Two gateways behind real load balancers with the lines that `deploy/docs/load-balancers.md` prints. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { answersAt } from '../../internal/local/supervisor/readiness.js'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { BALANCERS, type Balancer, launchBalancer, programOf } from '../support/balancers.js'
import { launchGateway, postTo, wireEvent } from '../support/gateway.js'
import type { Launched } from '../support/processes.js'
import { launchService, type RunningService } from '../support/service.js'

const KEYS = 200
const KEYS_AT_ONCE = 20
const BODIES_PER_KEY = 4

/** As the page says. */
const ENVIRONMENT = {
  ATTRIBUTION_HTTP_PARSER: 'node',
  ATTRIBUTION_TRUSTED_PROXIES: '127.0.0.0/8',
  ATTRIBUTION_DRAIN_SECONDS: '5',
}
const SENDERS = 4
const PAUSE_MS = 20

interface Gateway {
  readonly port: number
  readonly metricsPort: number
  process: Launched
}

let service: RunningService
const gateways: Gateway[] = []
const addresses = new Map<Balancer, string>()
const reasons = new Map<Balancer, string>()

const launch = ({ port, metricsPort }: Omit<Gateway, 'process'>, index: number): Promise<Launched> =>
  launchGateway(
    service,
    port,
    {
      ...ENVIRONMENT,
      ATTRIBUTION_METRICS_PORT: String(metricsPort),
    },
    ['--intake-port', '0', '--data-dir', `${service.dataDir}/balanced-${index}`],
  )

const isReady = ({ port }: Pick<Gateway, 'port'>): Promise<void> =>
  answersAt(`http://127.0.0.1:${port}/readyz`)(AbortSignal.timeout(60_000))

beforeAll(async () => {
  service = await launchService({ roles: [] })
  for (const index of [0, 1]) {
    const ports = { port: await freePort(), metricsPort: await freePort() }
    gateways.push({ ...ports, process: await launch(ports, index) })
  }
  await Promise.all(gateways.map(isReady))
  const [one, two] = gateways.map(({ port }) => port) as [number, number]
  for (const balancer of BALANCERS) {
    const program = await programOf(balancer)
    if ('reason' in program) reasons.set(balancer, program.reason)
    else addresses.set(balancer, await launchBalancer(balancer, program, [one, two]))
  }
}, 300_000)
afterAll(async () => {
  await Promise.all(gateways.map(({ process }) => process.kill('SIGINT')))
  await service.stop()
})

const post = async (address: string, key: string, event = wireEvent()): Promise<number> =>
  (await postTo(`${address}/api/v1/invocations`, service.credentials.api_key, JSON.stringify(event), key)).status

/** Of a gateway, over all labels. */
async function measured({ metricsPort }: Gateway, name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
  const values = text.matchAll(new RegExp(`^${name}[^ ]* (\\d+)$`, 'gm'))
  return [...values].reduce((sum, [, value]) => sum + Number(value), 0)
}

test('of bodies under one key that come at once through nginx, one gateway takes exactly one', async (context) => {
  const address = addresses.get('nginx')
  if (address === undefined) return context.skip(reasons.get('nginx'))
  const outcomeOf = async (key: string): Promise<string> =>
    (await Promise.all(Array.from({ length: BODIES_PER_KEY }, () => post(address, key)))).sort().join(' ')

  const outcomes: string[] = []
  while (outcomes.length < KEYS) {
    outcomes.push(...(await Promise.all(Array.from({ length: KEYS_AT_ONCE }, () => outcomeOf(randomUUID())))))
  }
  const ofBoth = (name: string) => Promise.all(gateways.map((each) => measured(each, name)))
  const admitted = await ofBoth('attribution_events_total{outcome="accepted"')
  const before = await ofBoth('attribution_http_requests_total')
  const headers = { 'x-api-key': service.credentials.api_key }
  for (let i = 0; i < 40; i++) await (await fetch(`${address}/api/v1/rate-limit`, { headers })).text()
  const after = await ofBoth('attribution_http_requests_total')

  // One is taken, the others are refused: as another body, or while the first is under way.
  expect(outcomes.filter((statuses) => !/^202( 409| 422){3}$/.test(statuses))).toEqual([])
  expect(await ofBoth('attribution_admission_key_conflicts_total')).toEqual([0, 0])
  // Each gateway has a share of the keys, and of the requests without one.
  expect(Math.min(...admitted)).toBeGreaterThan(KEYS / 10)
  expect(Math.min(...after.map((count, i) => count - (before[i] ?? 0)))).toBeGreaterThan(0)
})

/** Posts events until it is told to stop. @returns how many of them had each status */
async function load(address: string, isOver: () => boolean): Promise<Record<number, number>> {
  const counts: Record<number, number> = {}
  const sender = async (): Promise<void> => {
    while (!isOver()) {
      const status = await post(address, randomUUID())
      counts[status] = (counts[status] ?? 0) + 1
      await sleep(PAUSE_MS)
    }
  }
  await Promise.all(Array.from({ length: SENDERS }, sender))
  return counts
}

test('no request fails while both gateways are replaced, one after the other, behind each of them', async (context) => {
  if (addresses.size === 0) return context.skip([...reasons.values()].join('; '))
  let isOver = false
  const loads = [...addresses].map(async ([name, address]) => [name, await load(address, () => isOver)] as const)
  for (const [index, gateway] of gateways.entries()) {
    await gateway.process.kill('SIGTERM')
    gateway.process = await launch(gateway, index)
    // The balancers notice while the next one drains.
    await isReady(gateway)
  }
  isOver = true

  for (const [name, counts] of await Promise.all(loads)) {
    expect([name, Object.keys(counts)]).toEqual([name, ['202']])
  }
}, 180_000)

test('a chunked body and a header name with a mark pass through each of them', async () => {
  const headers = { 'x-api-key': service.credentials.api_key, 'content-type': 'application/json', x_request_id: '1' }
  const statuses = await Promise.all(
    [...addresses.values()].map(async (address) => {
      const answer = await fetch(`${address}/api/v1/invocations`, {
        method: 'POST',
        headers: { ...headers, 'idempotency-key': randomUUID() },
        body: new Blob([JSON.stringify(wireEvent())]).stream(),
        duplex: 'half',
      })
      return answer.status
    }),
  )

  expect(statuses).toEqual(statuses.map(() => 202))
})
