import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connectBroker } from '../../internal/broker/connect.js'
import { EVENTS } from '../../streams/events.js'
import { isAlive } from '../support/alive.js'
import { type Ask, askAs, refusalOf } from '../support/ask.js'
import { listedAll } from '../support/attributed.js'
import { type Launched, launch } from '../support/processes.js'
import { gatewayEnvironment, launchService, type RunningService } from '../support/service.js'

const SENTINEL_MAIN = fileURLToPath(new URL('../../dist/cmd/sentinel/main.js', import.meta.url))
const QUICK = ['--tuning', 'sentinel-every-ms=100', '--tuning', 'survey-every-ms=100']

let service: RunningService
let ask: Ask
let broker: Awaited<ReturnType<typeof connectBroker>>
const further: Launched[] = []

beforeAll(async () => {
  service = await launchService({ roles: ['sentinel'], args: QUICK })
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
  const made = await ask('POST', '/api/v1/budgets', {
    name: 'A budget',
    ...(stated['ceiling_usd'] === undefined && { monthly_ceiling_usd: '10' }),
    ...stated,
  })
  expect(made.status).toBe(201)
  return made.json
}
const crossings = async (budgetId: string) =>
  (await told('budget.threshold.crossed')).filter(({ data }) => data.budget_id === budgetId)

const customCrossings = async (budgetId: string) =>
  (await told('budget.threshold.custom')).filter(({ data }) => data.budget_id === budgetId)

describe('budgets', () => {
  test('a budget can be created, shown, changed and deleted', async () => {
    const made = await budget({ filter: { owner: 'team-a', provider: null }, monthly_ceiling_usd: '2500.50' })
    expect(made).toEqual({
      id: expect.stringMatching(/^bdg_/),
      name: 'A budget',
      filter: { owner: 'team-a' },
      per: null,
      period: 'month',
      time_zone: 'UTC',
      ceiling_usd: '2500.50',
      monthly_ceiling_usd: '2500.50',
      group_ceilings_usd: {},
      thresholds: [75, 100, 150],
      created_at: expect.stringMatching(/Z$/),
    })

    const path = `/api/v1/budgets/${made.id}`
    const changed = await ask('PATCH', path, {
      ceiling_usd: '3000',
      period: 'week',
      time_zone: 'Asia/Tokyo',
      filter: null,
    })
    expect(changed.json).toEqual({
      ...made,
      filter: {},
      period: 'week',
      time_zone: 'Asia/Tokyo',
      ceiling_usd: '3000',
      monthly_ceiling_usd: null,
    })
    const shown = await ask('GET', path)
    expect(shown.json).toEqual({ ...changed.json, current: expect.objectContaining({ spent_usd: expect.any(String) }) })
    expect((await ask('GET', '/api/v1/budgets')).json.data).toContainEqual(expect.objectContaining(changed.json))
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
    { period: 'week' },
    { group_ceilings_usd: { 'team-a': '1' } },
  ])('%j is refused', async (stated) => {
    const answer = await ask('POST', '/api/v1/budgets', { name: 'B', monthly_ceiling_usd: '10', ...stated })

    expect(refusalOf(answer)).toEqual([422, 'VALIDATION_FAILED'])
  })

  test('a budget emits an event at 75, 100 and 150 percent, once each, in order, with exact amounts', async () => {
    const { id } = await budget({ filter: { service: 'search' } })
    await listedAll(ask, [call('search', '7.499999999999999999'), call('chat', '100')])
    await listedAll(ask, [call('search', '0.000000000000000001')])
    const first = await until(
      () => crossings(id),
      (found) => found.length > 0,
    )
    await listedAll(ask, [call('search', '8')])
    const all = await until(
      () => crossings(id),
      (found) => found.length === 3,
    )

    expect(first.map(({ data }) => data.threshold)).toEqual([75])
    expect(all.map(({ data }) => data.threshold)).toEqual([75, 100, 150])
    expect(new Set(all.map(({ id }) => id)).size).toBe(3)
    expect((await texts('budget.threshold.crossed')).filter((text) => text.includes(id))[0]).toContain(
      `"data":{"budget_id":"${id}","threshold":75,"period_to_date_usd":7.5,"ceiling_usd":10,"spent_usd":"7.5"}`,
    )
    const { current } = (await ask('GET', `/api/v1/budgets/${id}`)).json
    expect(current).toMatchObject({ spent_usd: '15.5', percent: '155.00' })
    expect(current.crossings.map(({ threshold }: { threshold: number }) => threshold)).toEqual([75, 100, 150])
    for (const { crossed_at } of current.crossings) expect(crossed_at).toMatch(/Z$/)
  })

  test('a budget per owner emits each owner’s crossings with its name, and shows all owners in pages', async () => {
    await ask('POST', '/api/v1/directory/services', { name: 'grouped-a', owner: 'team-grouped-a' })
    await ask('POST', '/api/v1/directory/services', { name: 'grouped-b', owner: 'team-grouped-b' })
    // Of this try alone: a second one must not find the spend of the first.
    const filter = { ingestion_layer: `grouped-${randomUUID()}` }
    const { id } = await budget({ ceiling_usd: '10', per: 'owner', thresholds: [50, 100], filter })
    await listedAll(ask, [
      call('grouped-a', '12', filter),
      call('grouped-b', '5', filter),
      call('grouped-b', '100', { ingestion_layer: 'other' }),
    ])

    const events = await until(
      async () => [...(await crossings(id)), ...(await customCrossings(id))],
      (found) => found.length === 3,
    )
    // A crossing is emitted before it is noted with the budget.
    const { current } = await until(
      async () => (await ask('GET', `/api/v1/budgets/${id}`)).json,
      ({ current: { groups } }) => groups.crossed[0].count === 2 && groups.crossed[1].count === 1,
    )
    const first = (await ask('GET', `/api/v1/budgets/${id}/groups?limit=1`)).json
    const second = (await ask('GET', `/api/v1/budgets/${id}/groups?limit=1&cursor=${first.page.next_cursor}`)).json

    const emitted = events.map(({ type, data }) => [type, data.threshold, data.group])
    // In the order of their texts: owners cross in the order in which stage actors finish their calls.
    expect(emitted.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))).toEqual([
      ['budget.threshold.crossed', 100, { dimension: 'owner', value: 'team-grouped-a' }],
      ['budget.threshold.custom', 50, { dimension: 'owner', value: 'team-grouped-a' }],
      ['budget.threshold.custom', 50, { dimension: 'owner', value: 'team-grouped-b' }],
    ])
    expect(current).toMatchObject({
      spent_usd: '17',
      percent: null,
      groups: {
        count: 2,
        crossed: [
          { threshold: 50, count: 2 },
          { threshold: 100, count: 1 },
        ],
        top: [
          { value: 'team-grouped-a', spent_usd: '12', percent: '120.00' },
          { value: 'team-grouped-b', spent_usd: '5', percent: '50.00' },
        ],
      },
    })
    expect([...first.data, ...second.data]).toMatchObject([
      { value: 'team-grouped-a', spent_usd: '12', crossings: [{ crossed_at: expect.any(String) }, expect.anything()] },
      { value: 'team-grouped-b', spent_usd: '5', crossings: [expect.anything(), { crossed_at: null }] },
    ])
    expect(second.page).toEqual({ limit: 1, has_more: false })
  })

  test('a test event of a budget is marked, sent once per key, audited, and uses up no threshold', async () => {
    const { id } = await budget({
      ceiling_usd: '10',
      per: 'service',
      filter: { service: 'tested' },
      thresholds: [75, 90],
    })
    const path = `/api/v1/budgets/${id}/test`
    const key = randomUUID()
    const sent = await ask('POST', path, undefined, { 'idempotency-key': key })
    const again = await ask('POST', path, undefined, { 'idempotency-key': key })
    const custom = await ask('POST', path, { threshold: 90 })
    const events = [...(await crossings(id)), ...(await customCrossings(id))]
    await listedAll(ask, [call('tested', '7.5')])
    const all = await until(
      () => crossings(id),
      (found) => found.length === 2,
    )

    expect([sent.status, again.status, custom.status]).toEqual([202, 202, 202])
    expect(again.json).toEqual(sent.json)
    const group = { dimension: 'service', value: 'test' }
    const data = { budget_id: id, ceiling_usd: 10, group, test: true }
    expect(events).toMatchObject([
      { id: sent.json.event_id, data: { ...data, threshold: 75, period_to_date_usd: 7.5, spent_usd: '7.5' } },
      { id: custom.json.event_id, data: { ...data, threshold: 90, period_to_date_usd: 9, spent_usd: '9' } },
    ])
    expect(all[1].data).toMatchObject({ threshold: 75, group: { dimension: 'service', value: 'tested' } })
    expect(all[1].data.test).toBe(undefined)
    const entries = await until(
      async () => (await ask('GET', '/api/v1/audit-log')).json.data,
      (found: { action: string }[]) => found.filter(({ action }) => action === 'budget.test').length >= 2,
    )
    expect(entries).toContainEqual(expect.objectContaining({ action: 'budget.test', target: id, outcome: 'succeeded' }))
    expect(refusalOf(await ask('POST', path, { threshold: 0 }))).toEqual([422, 'VALIDATION_FAILED'])
  })

  test('a budget that is exceeded when it is created emits every threshold at once', async () => {
    await listedAll(ask, [call('exceeded', '20')])
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
      await listedAll(
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
    await listedAll(
      ask,
      Array.from({ length: 30 }, (_, i) => call('spiky', '2', at(i + 1))),
    )
    await listedAll(ask, [call('spiky', '400', at(0))])

    const anomalies = await until(
      async () => (await told('anomaly.detected')).filter(({ data }) => data.scope.service === 'spiky'),
      (found) => found.length > 0,
    )

    expect(anomalies).toMatchObject([
      {
        data: {
          scope: { service: 'spiky', provider: 'openai' },
          observed: '400',
          observed_usd: '400',
          expected: '2',
          window: { from: new Date(hour).toISOString(), to: new Date(hour + 3_600_000).toISOString() },
        },
      },
    ])
    const listed = await until(
      async () => (await ask('GET', '/api/v1/anomalies?service=spiky')).json.data,
      (found) => found.length > 0,
    )
    expect(listed).toMatchObject([{ id: anomalies[0].id, observed_usd: '400', expected_usd: '2' }])
    const log = await ask('GET', '/api/v1/events/log?type=anomaly.detected&limit=1')
    expect(log.json.data).toMatchObject([anomalies[0]])
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
    await listedAll(ask, [call('search', '1', layer)])
    const restored = await until(
      async () => told('coverage.restored'),
      (found) => found.length > 0,
    )

    expect(degraded).toMatchObject([{ data: { pathway: 'gateway_mediated', layers_missing: ['edge-gateway'] } }])
    expect(restored).toMatchObject([{ data: { pathway: 'gateway_mediated', layers_restored: ['edge-gateway'] } }])
  })
})

test('a model without a price emits one event, to receivers and in the log', async () => {
  const unpriced = { attributed_service: 'tuner', requested_model: 'tuned-for-us', ingestion_timestamp: now() }
  await listedAll(ask, [unpriced, { ...unpriced, provider: 'OpenAI' }])
  const missing = async () => (await told('price.missing')).filter(({ data }) => data.served_model === 'tuned-for-us')
  const events = await until(missing, (found) => found.length > 0)

  expect(events).toMatchObject([
    { data: { provider: 'openai', reason: 'unknown_model', first_call_at: unpriced.ingestion_timestamp } },
  ])
  const log = await until(
    async () => (await ask('GET', '/api/v1/events/log?type=price.missing')).json.data,
    (found) => found.length > 0,
  )
  expect(log).toMatchObject([events[0]])
})
