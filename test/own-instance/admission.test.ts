import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BULK_EVENTS_MAX } from '../../internal/invocations/limits.js'
import { connectService, type ServiceClient } from '../../internal/local/replay/client.js'
import { EVENTS, histories, KEYS, type Request, type Step } from '../support/admission-steps.js'
import { isAlive } from '../support/alive.js'
import { freeze, thaw } from '../support/freeze.js'
import { type Posted, postTo, wireEvent } from '../support/gateway.js'
import { rawExchange, rawRequest } from '../support/raw-http.js'
import { drawn } from '../support/run/rings.js'
import { killRole, launchService, type RunningService } from '../support/service.js'
import { allRecords } from '../support/trace.js'

let service: RunningService
let client: ServiceClient

beforeAll(async () => {
  service = await launchService({ roles: [], args: ['--rate-read', '100000'] })
  client = connectService(service.baseUrl, service.credentials.api_key, 16)
})

afterAll(async () => {
  await client.close()
  await service.stop()
})

interface Answer extends Posted {
  // biome-ignore lint/suspicious/noExplicitAny: the contract is what is being checked
  readonly body: any
}

async function post(
  body: string | Buffer,
  key: string = randomUUID(),
  headers: Record<string, string> = {},
  path = '/api/v1/invocations',
): Promise<Answer> {
  const answer = await postTo(service.baseUrl + path, service.credentials.api_key, body, key, headers)
  return { ...answer, body: JSON.parse(answer.text) }
}

/** About as long as a record takes: a look that comes too early costs as much as one that finds it. */
const LOOK_EVERY_MS = 75
const attributionOf = (invocationId: string): string => invocationId.replace('inv_', 'attr_')

async function visible(invocationId: string): Promise<void> {
  while ((await client.find(attributionOf(invocationId))) === undefined) await sleep(LOOK_EVERY_MS)
}

/** Kills a role's process and resolves when another one answers in its place. */
async function killAndWait(role: string): Promise<void> {
  await killRole(service, role)
  await ready()
}

async function ready(): Promise<void> {
  for (;;) {
    const answer = await fetch(`${service.baseUrl}/readyz`).catch(() => undefined)
    if (answer?.ok === true) return
    await sleep(20)
  }
}

describe('one key, one effect', () => {
  test('the same key and body get the same answer, marked as a replay, in any spelling of the key', async () => {
    const body = JSON.stringify(wireEvent())
    const key = randomUUID()

    const first = await post(body, key)
    const again = await Promise.all([post(body, key), post(body, key.toUpperCase()), post(body, `"${key}"`)])

    expect([first.status, first.isReplay]).toEqual([202, false])
    for (const { status, isReplay, text } of again) expect([status, isReplay, text]).toEqual([202, true, first.text])
  })

  test('the same key with another body, even by one byte of white space, gets 422', async () => {
    const body = JSON.stringify(wireEvent())
    const key = randomUUID()
    await post(body, key)

    const answer = await post(`${body} `, key)

    expect([answer.status, answer.body.error_code]).toEqual([422, 'IDEMPOTENCY_CONFLICT'])
  })

  test('a refused request leaves no record: the corrected request may use its key', async () => {
    const key = randomUUID()

    const refused = await post(JSON.stringify(wireEvent({ estimated_cost_usd: 1 })), key)
    const corrected = await post(JSON.stringify(wireEvent({ estimated_cost_usd: '1' })), key)

    expect([refused.status, corrected.status, corrected.isReplay]).toEqual([422, 202, false])
  })

  test('of a hundred equal concurrent requests one takes effect and ninety-nine get the same answer', async () => {
    const body = JSON.stringify(wireEvent({ requested_model: 'hundred' }))
    const key = randomUUID()

    const answers = await Promise.all(Array.from({ length: 100 }, () => post(body, key)))
    await visible(answers[0]?.body.invocation_id)

    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    expect(answers.filter(({ isReplay }) => !isReplay).length).toBe(1)
  })

  test('of two concurrent bodies under one key one is accepted and one is refused', async () => {
    for (let i = 0; i < 20; i++) {
      const key = randomUUID()
      const answers = await Promise.all([
        post(JSON.stringify(wireEvent()), key),
        post(JSON.stringify(wireEvent()), key),
      ])
      expect(answers.map(({ status }) => status).sort()).toEqual([202, 422])
    }
  })

  test('an event that is sent again under another key is a duplicate and leaves one record', async () => {
    const body = JSON.stringify(wireEvent())

    const first = await post(body)
    const second = await post(body)

    expect(second.body).toEqual({ ...first.body, duplicate: true })
    expect([second.status, second.isReplay]).toEqual([202, false])
  })

  test('keys and events stay deduplicated after kills of the gateway, the broker and the store', async () => {
    const body = JSON.stringify(wireEvent())
    const key = randomUUID()
    const first = await post(body, key)
    // Recorded, and a later batch too: from then on only the read model knows the key.
    await visible(first.body.invocation_id)
    for (let i = 0; i < 8; i++) await visible((await post(JSON.stringify(wireEvent()))).body.invocation_id)

    for (const role of ['gateway', 'nats', 'store', 'gateway']) {
      await killAndWait(role)
      const again = await post(body, key)
      expect([role, again.status, again.isReplay, again.text]).toEqual([role, 202, true, first.text])
      expect([role, (await post(`${body}\n`, key)).status]).toEqual([role, 422])
    }
  })
})

/** ATTRIBUTION_TEST_RUNS=20 takes some minutes. */
const RUNS = Number(process.env['ATTRIBUTION_TEST_RUNS'] ?? drawn(10))

test('any mix of duplicates, conflicts and restarts leaves one effect per key and one record per event', async () => {
  await fc.assert(fc.asyncProperty(histories, expectOneEffectEach), { numRuns: RUNS, endOnFailure: true })
}, 600_000)

async function expectOneEffectEach(steps: readonly Step[]): Promise<void> {
  const keys = Array.from({ length: KEYS }, () => randomUUID())
  const eventIds = Array.from({ length: EVENTS }, () => randomUUID())
  const bodyOf = ({ event, variant }: Request): string =>
    JSON.stringify(wireEvent({ event_id: eventIds[event], requested_model: `model-${variant}` }))
  const answers: { readonly request: Request; readonly body: string; readonly answer: Answer }[] = []

  /** Until it is answered for good: a cut connection and a 503 are repeated as they were. */
  const deliver = async (sent: Request): Promise<void> => {
    const body = bodyOf(sent)
    for (;;) {
      const answer = await post(body, keys[sent.key]).catch(() => undefined)
      if (answer !== undefined && answer.status !== 503) {
        answers.push({ request: sent, body, answer })
        return
      }
      await sleep(50)
    }
  }
  for (const now of steps) {
    if (now.kind === 'send') {
      await Promise.all(now.requests.map(deliver))
      continue
    }
    const sending = Promise.all(now.meanwhile.map(deliver))
    await killRole(service, now.role)
    await sending
  }
  await ready()

  expect(answers.filter(({ answer: { status } }) => status !== 202 && status !== 422)).toEqual([])
  for (const [key] of keys.entries()) {
    const ofKey = answers.filter((one) => one.request.key === key)
    const taken = ofKey.filter(({ answer }) => answer.status === 202)
    // One body was taken under the key, and all its senders got the same answer.
    expect(new Set(taken.map(({ body }) => body)).size).toBe(ofKey.length === 0 ? 0 : 1)
    expect(new Set(taken.map(({ answer }) => answer.text)).size).toBe(ofKey.length === 0 ? 0 : 1)
    for (const { body, answer } of ofKey) {
      if (answer.status === 202) continue
      expect(answer.body).toMatchObject({ error_code: 'IDEMPOTENCY_CONFLICT' })
      expect(body).not.toBe(taken[0]?.body)
    }
  }
  const wanted = new Set(
    answers.filter(({ answer }) => answer.status === 202).map(({ answer }) => answer.body.invocation_id as string),
  )
  // Where one event became two records, a list shows both.
  for (const id of wanted) await visible(id)
  const found = (await allRecords(client)).filter(({ invocation_id: id }) => wanted.has(id))
  expect(found.length).toBe(wanted.size)
}

describe('rate limits', () => {
  test('every authenticated answer states the remaining budget', async () => {
    const { headers } = await post(JSON.stringify(wireEvent()))

    expect(Number(headers.get('ratelimit-limit'))).toBe(40_000)
    expect(Number(headers.get('ratelimit-remaining'))).toBeGreaterThan(39_000)
    expect(Number(headers.get('ratelimit-reset'))).toBeLessThanOrEqual(1)
  })
})

describe('many events in one request', () => {
  const ndjson = { 'content-type': 'application/x-ndjson' }

  test.each<[string, (events: readonly object[]) => string | Buffer, Record<string, string>]>([
    ['a JSON array', (events) => JSON.stringify(events), {}],
    ['NDJSON', (events) => events.map((one) => JSON.stringify(one)).join('\n'), ndjson],
    ['gzip', (events) => gzipSync(JSON.stringify(events)), { 'content-encoding': 'gzip' }],
  ])('%s: each is answered for, and a replay is answered alike', async (_, encode, headers) => {
    const good = [wireEvent(), wireEvent(), wireEvent()]
    const bad = wireEvent({ provider: 5 })
    const body = encode([good[0], bad, good[1], good[0], good[2]] as object[])
    const key = randomUUID()

    const first = await post(body, key, headers)
    const again = await post(body, key, headers)
    for (const { invocation_id: id } of first.body.results.filter(
      (one: { invocation_id?: string }) => one.invocation_id,
    )) {
      await visible(id)
    }

    expect([first.status, first.body.accepted, first.body.rejected]).toEqual([202, 4, 1])
    expect(first.body.results.map(({ duplicate }: { duplicate?: boolean }) => duplicate)).toEqual([
      false,
      undefined,
      false,
      true,
      false,
    ])
    expect(first.body.results[1]).toMatchObject({
      index: 1,
      error_code: 'VALIDATION_FAILED',
      errors: [{ pointer: '/provider' }],
    })
    expect([again.status, again.isReplay, again.text]).toEqual([202, true, first.text])
    expect((await post(encode([wireEvent()]), key, headers)).status).toBe(422)
  })

  test('one request with five thousand events becomes five thousand records', async () => {
    const before = (await allRecords(client)).length
    const events = Array.from({ length: 5_000 }, () => wireEvent({ requested_model: 'bulk' }))
    const key = randomUUID()
    let answer = await post(JSON.stringify(events), key)
    // A machine that is busy with other tests may need longer than a sender is kept waiting.
    while (answer.status === 503) answer = await post(JSON.stringify(events), key)
    expect([answer.status, answer.body.accepted]).toEqual([202, 5_000])

    // To read all records costs more than to attribute them: each partition has its own last.
    for (const { invocation_id: id } of answer.body.results.slice(-20)) await visible(id)
    let records = await allRecords(client)
    while (records.length < before + 5_000) records = await allRecords(client)
    expect(records.length).toBe(before + 5_000)
    expect(new Set(records.map(({ id }) => id)).size).toBe(records.length)
  })

  test('a bulk request gets 422 with pointers if no event is valid, also if empty, and 413 if too large', async () => {
    const none = await post(JSON.stringify([wireEvent({ provider: 5 }), 7]))
    const many = await post(JSON.stringify(Array.from({ length: BULK_EVENTS_MAX + 1 }, () => ({}))))
    const bomb = await post(gzipSync(Buffer.alloc(50 * 1024 * 1024, ' ')), randomUUID(), { 'content-encoding': 'gzip' })

    expect([none.status, none.body.errors.map(({ pointer }: { pointer: string }) => pointer)]).toEqual([
      422,
      ['/0/provider', '/1'],
    ])
    expect([many.status, bomb.status]).toEqual([413, 413])
    expect((await post('[]')).status).toBe(422)
    expect((await post('[{}', randomUUID())).status).toBe(422)
  })

  test('the replay of a bulk request has the same answer after a kill of the gateway', async () => {
    const body = JSON.stringify([wireEvent(), wireEvent({ provider: 5 })])
    const key = randomUUID()
    const first = await post(body, key)

    await killAndWait('gateway')
    const again = await post(body, key)

    expect([again.status, again.isReplay, again.text]).toEqual([202, true, first.text])
  })
})

describe('a key with ingestion layers', () => {
  /** Posts to a path with a key of its own layers. */
  const keyFor = async (layers: readonly string[] | undefined): Promise<string> => {
    const made = await postTo(
      `${service.baseUrl}/api/v1/api-keys`,
      service.credentials.api_key,
      JSON.stringify({
        name: 'layers',
        scopes: ['read:attribution'],
        ...(layers === undefined ? {} : { ingestion_layers: layers }),
      }),
      randomUUID(),
    )
    return (JSON.parse(made.text) as { secret: string }).secret
  }
  const postAs = async (apiKey: string, body: unknown, key: string, path = '/api/v1/invocations') => {
    const answer = await postTo(`${service.baseUrl}${path}`, apiKey, JSON.stringify(body), key)
    return { ...answer, body: JSON.parse(answer.text) as Record<string, unknown> }
  }

  test('a key with ingestion layers admits only those, and none if its list is empty, also in a replay', async () => {
    const [all, gateways, none] = await Promise.all([keyFor(undefined), keyFor(['gateway']), keyFor([])])
    const proxied = wireEvent({ ingestion_layer: 'proxy' })
    const key = randomUUID()
    const statuses = []
    for (const apiKey of [gateways, none, all, all, gateways, none]) {
      statuses.push((await postAs(apiKey, proxied, key)).status)
    }
    expect(statuses).toEqual([403, 403, 202, 202, 403, 403])

    const observation = {
      event_id: randomUUID(),
      type: 'a',
      occurred_at: '2026-11-21T09:30:00Z',
      source: 's',
      data: {},
    }
    const observed = []
    for (const apiKey of [none, gateways]) {
      observed.push((await postAs(apiKey, observation, randomUUID(), '/api/v1/events')).status)
    }
    expect(observed).toEqual([403, 202])
  })

  test('a replay of a bulk request with refused events has the same answer for every key', async () => {
    const [all, gateways, none] = await Promise.all([keyFor(undefined), keyFor(['gateway']), keyFor([])])
    const events = [wireEvent({ ingestion_layer: 'gateway' }), wireEvent({ ingestion_layer: 'proxy' })]
    const key = randomUUID()

    const first = await postAs(gateways, events, key)
    const again = await postAs(all, events, key)
    const forbidden = await postAs(none, events, key)

    expect([first.status, first.body['accepted'], first.body['rejected']]).toEqual([202, 1, 1])
    expect([again.status, again.isReplay, again.text]).toEqual([202, true, first.text])
    expect([forbidden.status, forbidden.isReplay]).toEqual([403, false])
  })
})

test('a refused event costs as much budget as an accepted one; a replay costs nothing', async () => {
  const remaining = ({ headers }: { headers: Headers }): number => Number(headers.get('ratelimit-remaining'))
  const address = `${service.baseUrl}/api/v1/invocations`
  const send = (body: string, key: string, headers = {}) =>
    postTo(address, service.credentials.api_key, body, key, headers)
  const taken = JSON.stringify(wireEvent())
  const limit = Number((await send(taken, randomUUID())).headers.get('ratelimit-limit'))
  // A thousand come back in 50 ms: sent at once, they are all still to be seen.
  const refused = await Promise.all(
    Array.from({ length: 200 }, (_, i) =>
      i % 2 === 0 ? send('{"a":1}', randomUUID()) : send('{}', randomUUID(), { 'content-type': 'text/plain' }),
    ),
  )
  expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([415, 422]))
  expect(Math.min(...refused.map(remaining))).toBeLessThan(limit)
})

test.each(['x-api-key', 'host', 'idempotency-key', 'authorization'])(
  'a request that repeats the header %s is refused, also if the first value is empty',
  async (name) => {
    const headers = {
      host: 'localhost',
      'x-api-key': service.credentials.api_key,
      'idempotency-key': randomUUID(),
      'content-type': 'application/json',
      'content-length': '2',
      authorization: '',
    }
    const lines = Object.entries(headers).map(([key, value]) => `${key}: ${value}`)
    const [answer] = await rawExchange(
      service.port,
      rawRequest(
        'POST /api/v1/invocations',
        [`${name}:`, ...lines.filter((line) => !line.endsWith(': ') || line.startsWith(name))],
        '{}',
      ),
    )
    expect(answer?.status).toBe(400)
  },
)

describe('the status of an accepted event', () => {
  const fateOf = async (id: string) => {
    const answer = await fetch(`${service.baseUrl}/api/v1/invocations/${id}`, {
      headers: { 'x-api-key': service.credentials.api_key },
    })
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
  }

  test('the status of an accepted event is queued, then attributed with a link to its record', async () => {
    const { body } = await post(JSON.stringify(wireEvent()))
    const id: string = body.invocation_id
    const seen = new Set<unknown>()
    let fate = await fateOf(id)
    for (; fate.body['status'] !== 'attributed'; fate = await fateOf(id)) seen.add(fate.body['status'])

    expect([...seen].filter((status) => status !== 'queued')).toEqual([])
    expect(fate).toEqual({
      status: 200,
      body: { invocation_id: id, status: 'attributed', attribution_id: attributionOf(id) },
    })
  })

  test('the status of an unknown event, or of another tenant’s event, is not found', async () => {
    const { body } = await post(JSON.stringify(wireEvent()))
    const own: string = body.invocation_id
    const invented = `${own.slice(0, -3)}${own.at(-3) === '0' ? '1' : '0'}${own.slice(-2)}`

    // The gateway that an earlier test killed has not left, and might have had it in a spool.
    await expect.poll(async () => (await fateOf(invented)).status, { timeout: 15_000 }).toBe(404)
    expect((await fateOf('inv_zzzz')).status).toBe(404)
    expect((await fateOf(`inv_${'0'.repeat(26)}`)).status).toBe(403)
  })
})

describe('observations', () => {
  const observe = async (body: object, key: string = randomUUID()) => {
    const { status, isReplay, body: answer } = await post(JSON.stringify(body), key, {}, '/api/v1/events')
    return { status, isReplay, body: answer as Record<string, unknown> }
  }
  const observation = (fields: object = {}) => ({
    event_id: randomUUID(),
    type: 'gateway.started',
    occurred_at: '2026-11-21T09:30:00Z',
    source: 'edge-gateway-1',
    data: { version: '1.2', models: 3 },
    ...fields,
  })

  test('an observation is accepted once per key, also after a kill of the gateway', async () => {
    const body = observation()
    const key = randomUUID()

    const first = await observe(body, key)
    const again = await observe(body, key)
    const other = await observe({ ...body, type: 'gateway.stopped' }, key)
    await killAndWait('gateway')
    const later = await observe(body, key)

    expect(first).toEqual({ status: 202, isReplay: false, body: { event_id: body.event_id, status: 'queued' } })
    expect([again, later]).toEqual([
      { ...first, isReplay: true },
      { ...first, isReplay: true },
    ])
    expect([other.status, other.body['error_code']]).toEqual([422, 'IDEMPOTENCY_CONFLICT'])
  })

  test('an observation with content, without a source, or nested too deeply is refused', async () => {
    const refused = [
      observation({ data: { prompt: 'the-quick-brown-fox' } }),
      observation({ source: undefined }),
      observation({ data: { a: { b: { c: { d: { e: {} } } } } } }),
    ]
    for (const body of refused) {
      const answer = await observe(body)
      expect([answer.status, answer.body['error_code']]).toEqual([422, 'VALIDATION_FAILED'])
      expect(JSON.stringify(answer.body)).not.toContain('the-quick-brown-fox')
    }
  })
})

describe('while the broker is down', () => {
  /** Stands still instead of dying, so that nothing restarts it. */
  const freezeBroker = () => freeze(service.pid('nats'))
  const thawBroker = () => thaw(service.pid('nats'))

  test('events go to the spool, survive a kill of the gateway, and are attributed with the broker', async () => {
    await freezeBroker()
    const bodies = Array.from({ length: 20 }, () => JSON.stringify(wireEvent({ attributed_service: 'spooled' })))
    const answers = await Promise.all(bodies.map((body) => post(body)))
    const gateway = service.pid('gateway')
    process.kill(gateway, 'SIGKILL')
    while (isAlive(gateway)) await sleep(20)
    thawBroker()
    await ready()

    expect(answers.map(({ status }) => status)).toEqual(bodies.map(() => 202))
    for (const { body } of answers) await visible(body.invocation_id)
    const list = `${service.baseUrl}/v1/attribution?limit=200&filter[service][eq]=spooled`
    const records = await fetch(list, { headers: { 'x-api-key': service.credentials.api_key } })
    expect(((await records.json()) as { data: unknown[] }).data).toHaveLength(20)
  })

  test('the key of an observation is bound to its body during and after the outage of the broker', async () => {
    const observation = {
      event_id: randomUUID(),
      type: 'a',
      occurred_at: '2026-11-21T09:30:00Z',
      source: 's',
      data: {},
    }
    const [key, body, other] = [
      randomUUID(),
      JSON.stringify(observation),
      JSON.stringify({ ...observation, type: 'b' }),
    ]
    const observe = (sent: string) => post(sent, key, {}, '/api/v1/events')

    await freezeBroker()
    let first = await observe(body)
    // A machine that is busy with other tests may need longer than a sender is kept waiting.
    while (first.status === 503) first = await observe(body)
    const meanwhile = await observe(other)
    thawBroker()
    await ready()
    const later = [await observe(other), await observe(body)]

    expect([first, meanwhile, ...later].map(({ status }) => status)).toEqual([202, 422, 422, 202])
    expect(later[1]?.isReplay).toBe(true)
  })
})
