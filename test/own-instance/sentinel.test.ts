import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connectBroker } from '../../internal/broker/connect.js'
import { EVENTS } from '../../streams/events.js'
import { isAlive } from '../support/alive.js'
import { type Ask, askAs, refusalOf } from '../support/ask.js'
import { attributedAll } from '../support/attributed.js'
import { type Launched, launch } from '../support/processes.js'
import { gatewayEnvironment, launchService, type RunningService } from '../support/service.js'

const SENTINEL_MAIN = fileURLToPath(new URL('../../dist/cmd/sentinel/main.js', import.meta.url))
const QUICK = ['--sentinel-every-ms', '100', '--survey-every-ms', '100']

let service: RunningService
let ask: Ask
let broker: Awaited<ReturnType<typeof connectBroker>>
const further: Launched[] = []

beforeAll(async () => {
  service = await launchService({ args: QUICK })
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  const { ATTRIBUTION_NATS_URL, ATTRIBUTION_NATS_USER, ATTRIBUTION_NATS_PASSWORD } = gatewayEnvironment(service)
  broker = await connectBroker({
    url: ATTRIBUTION_NATS_URL ?? '',
    user: ATTRIBUTION_NATS_USER ?? '',
    password: ATTRIBUTION_NATS_PASSWORD ?? '',
    name: 'test',
  })
})
afterAll(async () => {
  await Promise.all(further.map((each) => each.endStdin()))
  await broker?.close()
  await service?.stop()
})

/** All events of a type, as their texts lie in the stream. */
async function texts(type: string): Promise<string[]> {
  const subject = `events.*.${type}`
  const found: string[] = []
  for (let seq = 1; ; ) {
    const message = await broker.manager.direct.getMessage(EVENTS.name, { seq, next_by_subj: subject })
    if (message === null) return found
    found.push(message.string())
    seq = message.seq + 1
  }
}
const told = async (type: string) => (await texts(type)).map((text) => JSON.parse(text))

async function until<T>(read: () => Promise<T>, holds: (value: T) => boolean): Promise<T> {
  for (;;) {
    const value = await read()
    if (holds(value)) return value
    await sleep(50)
  }
}

const now = () => new Date().toISOString()
const call = (attributedService: string, cost: string, stated: Record<string, unknown> = {}) => ({
  attributed_service: attributedService,
  estimated_cost_usd: cost,
  ingestion_timestamp: now(),
  ...stated,
})
const budget = async (stated: Record<string, unknown>) => {
  const made = await ask('POST', '/api/v1/budgets', { name: 'A budget', monthly_ceiling_usd: '10', ...stated })
  expect(made.status).toBe(201)
  return made.json
}
const crossings = async (budgetId: string) =>
  (await told('budget.threshold.crossed')).filter(({ data }) => data.budget_id === budgetId)

describe('budgets', () => {
  test('a budget can be created, shown, changed and deleted', async () => {
    const made = await budget({ filter: { owner: 'team-a', provider: null }, monthly_ceiling_usd: '2500.50' })
    expect(made).toEqual({
      id: expect.stringMatching(/^bdg_/),
      name: 'A budget',
      filter: { owner: 'team-a' },
      monthly_ceiling_usd: '2500.50',
      created_at: expect.stringMatching(/Z$/),
    })

    const path = `/api/v1/budgets/${made.id}`
    const changed = await ask('PATCH', path, { monthly_ceiling_usd: '3000', filter: null })
    expect(changed.json).toEqual({ ...made, filter: {}, monthly_ceiling_usd: '3000' })
    expect((await ask('GET', '/api/v1/budgets')).json.data).toContainEqual(changed.json)
    expect((await ask('DELETE', path)).status).toBe(204)
    expect(refusalOf(await ask('GET', path))).toEqual([404, 'NOT_FOUND'])
  })

  test.each([
    { monthly_ceiling_usd: 10 },
    { monthly_ceiling_usd: '0' },
    { monthly_ceiling_usd: '-1' },
    { monthly_ceiling_usd: '1e3' },
    { filter: { identity: 'ada' } },
    { name: '' },
  ])('%j is refused', async (stated) => {
    const answer = await ask('POST', '/api/v1/budgets', { name: 'B', monthly_ceiling_usd: '10', ...stated })

    expect(refusalOf(answer)).toEqual([422, 'VALIDATION_FAILED'])
  })

  test('a budget emits an event at 75, 100 and 150 percent, once each and in order, with exact amounts as numbers', async () => {
    const { id } = await budget({ filter: { service: 'search' } })
    await attributedAll(ask, [call('search', '7.499999999999999999'), call('chat', '100')])
    await attributedAll(ask, [call('search', '0.000000000000000001')])
    const first = await until(
      () => crossings(id),
      (found) => found.length > 0,
    )
    await attributedAll(ask, [call('search', '8')])
    const all = await until(
      () => crossings(id),
      (found) => found.length === 3,
    )

    expect(first.map(({ data }) => data.threshold)).toEqual([75])
    expect(all.map(({ data }) => data.threshold)).toEqual([75, 100, 150])
    expect(new Set(all.map(({ id }) => id)).size).toBe(3)
    expect((await texts('budget.threshold.crossed')).filter((text) => text.includes(id))[0]).toContain(
      `"data":{"budget_id":"${id}","threshold":75,"period_to_date_usd":7.5,"ceiling_usd":10}`,
    )
  })

  test('a budget that is exceeded when it is created emits every threshold at once', async () => {
    await attributedAll(ask, [call('exceeded', '20')])
    const { id } = await budget({ filter: { service: 'exceeded' } })

    const all = await until(
      () => crossings(id),
      (found) => found.length === 3,
    )

    expect(all.map(({ data }) => data.threshold)).toEqual([75, 100, 150])
  })

  test('several sentinels that are killed repeatedly emit each threshold of each budget once', async () => {
    const start = () => {
      const sentinel = launch(SENTINEL_MAIN, {
        args: ['--member-name', `further-${further.length}`, ...QUICK],
        env: gatewayEnvironment(service),
      })
      further.push(sentinel)
      return sentinel
    }
    const budgets = await Promise.all(
      Array.from({ length: 12 }, (_, i) => budget({ filter: { service: `killed-${i}` } })),
    )
    const sentinelOfService = async (): Promise<number | undefined> => {
      try {
        return service.pid('sentinel')
      } catch {
        return undefined
      }
    }
    let running = [start(), start()]
    for (let round = 0; round < 4; round++) {
      await attributedAll(
        ask,
        budgets.map((_, i) => call(`killed-${i}`, '4')),
      )
      // The one that was killed before is started again in a moment.
      const own = await until(sentinelOfService, (pid) => pid !== undefined && isAlive(pid))
      if (own !== undefined) process.kill(own, 'SIGKILL')
      await running[round % 2]?.kill('SIGKILL')
      running = running.map((each, i) => (i === round % 2 ? start() : each))
    }

    for (const { id } of budgets) {
      const all = await until(
        () => crossings(id),
        (found) => found.length >= 3,
      )
      expect(all.map(({ data }) => data.threshold)).toEqual([75, 100, 150])
      expect(all.map(({ data }) => data.ceiling_usd)).toEqual([10, 10, 10])
    }
  })
})

describe('spend', () => {
  test('an hour of spend far above the hours before it emits one event', async () => {
    const hour = Math.floor((Date.now() - 5 * 60_000) / 3_600_000) * 3_600_000 - 3_600_000
    const at = (hoursBefore: number) => ({
      ingestion_timestamp: new Date(hour - hoursBefore * 3_600_000 + 1).toISOString(),
    })
    await attributedAll(
      ask,
      Array.from({ length: 30 }, (_, i) => call('spiky', '2', at(i + 1))),
    )
    await attributedAll(ask, [call('spiky', '400', at(0))])

    const anomalies = await until(
      async () => (await told('anomaly.detected')).filter(({ data }) => data.scope.service === 'spiky'),
      (found) => found.length > 0,
    )

    expect(anomalies).toMatchObject([
      {
        data: {
          scope: { service: 'spiky', provider: 'openai' },
          observed: '400',
          expected: '2',
          window: { from: new Date(hour).toISOString(), to: new Date(hour + 3_600_000).toISOString() },
        },
      },
    ])
  })
})

describe('coverage', () => {
  test('coverage emits an event when an expected layer goes missing and when it returns', async () => {
    const layer = { ingestion_layer: 'edge-gateway' }
    await ask('POST', '/api/v1/directory/sources', { name: 'edge-gateway', pathway: 'gateway_mediated' })
    const degraded = await until(
      async () => told('coverage.degraded'),
      (found) => found.length > 0,
    )
    await attributedAll(ask, [call('search', '1', layer)])
    const restored = await until(
      async () => told('coverage.restored'),
      (found) => found.length > 0,
    )

    expect(degraded).toMatchObject([{ data: { pathway: 'gateway_mediated', layers_missing: ['edge-gateway'] } }])
    expect(restored).toMatchObject([{ data: { pathway: 'gateway_mediated', layers_restored: ['edge-gateway'] } }])
  })
})
