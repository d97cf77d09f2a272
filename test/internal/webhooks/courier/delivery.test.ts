import { createHmac } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eventId } from '../../../../internal/events/event.js'
import { eventEnvelope } from '../../../../internal/events/event-contract.js'
import type { StoredHealth } from '../../../../internal/webhooks/endpoint-health.js'
import { WEBHOOK_HEALTH } from '../../../../streams/buckets.js'
import {
  type CourierWorld,
  FAST_RULES,
  idsOf,
  launchCourierWorld,
  type StartedCourier,
  TENANT,
} from '../../../support/courier.js'
import { launchReceiver, type Received, type Receiver } from '../../../support/receiver.js'

let world: CourierWorld
let courier: StartedCourier
let receiver: Receiver
beforeAll(async () => {
  world = await launchCourierWorld()
  courier = await world.courier()
})
afterAll(() => world.close())
beforeEach(async () => {
  receiver = await launchReceiver()
})
afterEach(() => receiver.close())

const at = (path = '/'): string => `https://hooks.example.com:${receiver.port}${path}`
const signs = (secret: string, { headers, text }: Received): boolean => {
  const [t = '', ...signatures] = (headers['service-signature'] ?? '').split(',')
  const expected = createHmac('sha256', secret)
    .update(`${t.slice(2)}.${text}`)
    .digest('hex')
  return signatures.includes(`v1=${expected}`) && Math.abs(Number(t.slice(2)) - Date.now() / 1_000) < 5
}
const ofEndpoint = (id: string) => (row: { readonly endpointId: string }) => row.endpointId === id

test('an event is delivered once, in its envelope, signed over its exact bytes, and logged', async () => {
  const { id, secret } = await world.endpoint(at('/in?a=b'))

  const [cause = ''] = await world.publishEvents(1)
  const [received] = await receiver.until(1)
  const [logged] = await courier.logged(1, ofEndpoint(id))

  expect(received).toMatchObject({
    path: '/in?a=b',
    headers: { 'content-type': 'application/json', host: `hooks.example.com:${receiver.port}` },
    json: {
      id: eventId(idsOf(TENANT), 'apikey.rotated', cause),
      type: 'apikey.rotated',
      tenant_id: TENANT,
      sequence: expect.any(Number),
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/),
      data: { old_key_id: 'key_old', new_key_id: cause },
    },
  })
  expect(eventEnvelope.safeParse(received?.json).success).toBe(true)
  expect(received?.headers['service-replayed']).toBeUndefined()
  expect(received?.json.replayed).toBeUndefined()
  expect(received && signs(secret, received)).toBe(true)
  expect(logged).toMatchObject({
    tenantId: TENANT,
    eventId: received?.json.id,
    eventType: 'apikey.rotated',
    eventSequence: received?.json.sequence,
    attempt: 1,
    responseStatus: 200,
    outcome: 'acknowledged',
    reason: '',
    isReplayed: false,
  })
})

test('an endpoint gets only its tenant’s events, of subscribed types, published after its verification', async () => {
  const [before = ''] = await world.publishEvents(1)
  await world.endpoint(at('/mine'))
  await world.endpoint(at('/others'), { tenant_id: 'tnt_two' })
  await world.endpoint(at('/types'), { events: ['export.failed'] })
  await world.endpoint(at('/pending'), { status: 'pending' })

  const [cause = ''] = await world.publishEvents(1)
  const [foreign = ''] = await world.publishEvents(1, 'tnt_two')
  await receiver.until(2)
  const [last = ''] = await world.publishEvents(1)
  await receiver.until(3)

  expect(receiver.received.map(({ path, json }) => [path, json.data.new_key_id])).toEqual(
    expect.arrayContaining([
      ['/mine', cause],
      ['/others', foreign],
      ['/mine', last],
    ]),
  )
  expect(receiver.received).toHaveLength(3)
  expect(JSON.stringify(receiver.received)).not.toContain(before)
})

describe('an attempt that fails', () => {
  test('is repeated with the same bytes and a new signature until any 2xx response', async () => {
    const { id, secret } = await world.endpoint(at())
    receiver.answer = (response) => void response.writeHead(receiver.received.length < 3 ? 500 : 299).end('no')

    await world.publishEvents(1)
    const received = await receiver.until(3)
    const logged = await courier.logged(3, ofEndpoint(id))

    expect(new Set(received.map(({ text }) => text)).size).toBe(1)
    expect(received.every((one) => signs(secret, one))).toBe(true)
    expect(
      logged.map(({ attempt, outcome, responseStatus, reason }) => [attempt, outcome, responseStatus, reason]),
    ).toEqual([
      [1, 'retried', 500, 'status'],
      [2, 'retried', 500, 'status'],
      [3, 'acknowledged', 299, ''],
    ])
    expect(logged[0]?.nextAttemptAtMs).toBeGreaterThan(0)
  })

  test.each([
    ['a redirect', 302, 'status'],
    ['gone', 410, 'status'],
    ['not modified', 304, 'status'],
  ])('because of %s is retried like any other, and no redirect is followed', async (_, status) => {
    const elsewhere = await launchReceiver()
    const { id } = await world.endpoint(at())
    receiver.answer = (response) =>
      void (
        receiver.received.length === 1
          ? response.writeHead(status, { location: `https://127.0.0.1:${elsewhere.port}/` })
          : response.writeHead(204)
      ).end()

    await world.publishEvents(1)
    const logged = await courier.logged(2, ofEndpoint(id))

    expect(logged.map(({ responseStatus, outcome }) => [responseStatus, outcome])).toEqual([
      [status, 'retried'],
      [204, 'acknowledged'],
    ])
    expect(elsewhere.connections()).toBe(0)
    await elsewhere.close()
  })

  test('is repeated after the Retry-After of a busy receiver', async () => {
    const { id } = await world.endpoint(at())
    receiver.answer = (response) =>
      void (
        receiver.received.length === 1
          ? response.writeHead(503, { 'x-other': 'retry-after', 'Retry-After': '1' })
          : response.writeHead(204)
      ).end()

    await world.publishEvents(1)
    const [first] = await courier.logged(2, ofEndpoint(id))

    expect((first?.nextAttemptAtMs ?? 0) - (first?.attemptedAtMs ?? 0)).toBeGreaterThanOrEqual(1_000)
  })

  test('because of a connection reset has reason connection', async () => {
    const { id } = await world.endpoint(at())
    receiver.answer = (response) =>
      void (receiver.received.length === 1 ? response.destroy() : response.writeHead(200).end())

    await world.publishEvents(1)
    const logged = await courier.logged(2, ofEndpoint(id))

    expect(logged.map(({ reason, responseStatus }) => [reason, responseStatus])).toEqual([
      ['connection', 0],
      ['', 200],
    ])
  })

  test('because the receiver does not respond ends at the timeout', async () => {
    const { id } = await world.endpoint(at())
    receiver.answer = (response) => void (receiver.received.length > 1 && response.writeHead(200).end())

    await world.publishEvents(1)
    const logged = await courier.logged(2, ofEndpoint(id))

    expect(logged.map(({ reason }) => reason)).toEqual(['timeout', ''])
    expect(logged[0]?.latencyMs).toBeGreaterThanOrEqual(1_900)
    expect(logged[0]?.latencyMs).toBeLessThan(6_000)
  })

  test('because of a certificate for another host, or from an untrusted authority, has reason tls', async () => {
    const { id } = await world.endpoint(`https://other.example.org:${receiver.port}/`)

    await world.publishEvents(1)
    const [logged] = await courier.logged(1, ofEndpoint(id))

    expect(logged).toMatchObject({ reason: 'tls', responseStatus: 0, outcome: 'retried' })
    expect(receiver.received).toEqual([])
  })

  test('because of a refused connection or an unresolved host is retried like any other', async () => {
    await receiver.close()
    const { id: nobody } = await world.endpoint(at())
    world.names.set('nowhere.example.com', undefined)
    const { id: nowhere } = await world.endpoint(`https://nowhere.example.com:${receiver.port}/`)

    await world.publishEvents(1)

    expect((await courier.logged(1, ofEndpoint(nobody)))[0]).toMatchObject({ reason: 'connection', outcome: 'retried' })
    expect((await courier.logged(1, ofEndpoint(nowhere)))[0]).toMatchObject({
      reason: 'unresolved',
      outcome: 'retried',
    })
    receiver = await launchReceiver()
  })
})

describe('a response', () => {
  test('of endless length is acknowledged by its status, and only 64 KiB are read', async () => {
    const { id } = await world.endpoint(at())
    let written = 0
    receiver.answer = (response) => {
      response.writeHead(200)
      const more = (): void => {
        if (response.destroyed) return
        written += 16_384
        if (response.write(Buffer.alloc(16_384))) setImmediate(more)
        else response.once('drain', more)
      }
      more()
    }

    await world.publishEvents(1)
    const [logged] = await courier.logged(1, ofEndpoint(id))

    expect(logged).toMatchObject({ outcome: 'acknowledged', responseStatus: 200 })
    expect(written).toBeLessThan(8 * 1024 * 1024)
  })

  test('that trickles in is acknowledged by its status, within the timeout of an attempt', async () => {
    const { id } = await world.endpoint(at())
    receiver.answer = (response) => {
      response.writeHead(200)
      const timer = setInterval(() => response.write('.'), 50)
      response.once('close', () => clearInterval(timer))
    }

    await world.publishEvents(1)
    const [logged] = await courier.logged(1, ofEndpoint(id))

    expect(logged).toMatchObject({ outcome: 'acknowledged', responseStatus: 200 })
    expect(logged?.latencyMs).toBeLessThan(6_000)
  })
})

describe('the connection', () => {
  test('is reused for the next event while the host still has its address', async () => {
    const { id } = await world.endpoint(at())
    for (let i = 1; i <= 5; i++) {
      await world.publishEvents(1)
      await courier.logged(i, ofEndpoint(id))
    }

    expect(receiver.received).toHaveLength(5)
    expect(receiver.connections()).toBe(1)
  })

  test('goes to the checked address, whatever the name server answers next', async () => {
    const other = await launchReceiver({ host: '127.0.0.2', port: receiver.port })
    world.names.set('rebinding.example.com', ['127.0.0.1'])
    const { id } = await world.endpoint(`https://rebinding.example.com:${receiver.port}/`)
    receiver.answer = (response) => {
      // The next query gets another address, which is allowed and listens on the same port.
      world.names.set('rebinding.example.com', ['127.0.0.2'])
      response.writeHead(200).end()
    }

    await world.publishEvents(1)
    await courier.logged(1, ofEndpoint(id))
    const asked = world.dns.asked.filter((question) => question.startsWith('rebinding.example.com')).length
    await world.publishEvents(1)
    await courier.logged(2, ofEndpoint(id))

    expect(asked).toBe(2) // once per address family: connecting did not resolve again
    expect([receiver.received.length, other.received.length]).toEqual([1, 1])
    await other.close()
  })

  test('is not opened or reused when the host has a disallowed address: the event is dead-lettered', async () => {
    const name = 'moved.example.com'
    world.names.set(name, ['127.0.0.1'])
    const { id } = await world.endpoint(`https://${name}:${receiver.port}/`)
    await world.publishEvents(1)
    await courier.logged(1, ofEndpoint(id))

    world.names.set(name, ['127.0.0.1', '10.0.0.1'])
    await world.publishEvents(1)
    const [, logged] = await courier.logged(2, ofEndpoint(id))

    expect(logged).toMatchObject({
      outcome: 'dead_lettered',
      reason: 'disallowed_address',
      attempt: 1,
      responseStatus: 0,
    })
    expect(receiver.received).toHaveLength(1)
    const { state } = await world.broker.manager.streams.info('DEADLETTERS', { subjects_filter: `deadletters.${id}` })
    expect(Object.values(state.subjects ?? {})).toEqual([1])
  })
})

describe('an event that may not leave the tenant’s region', () => {
  const letters = async (id: string): Promise<number[]> => {
    const { state } = await world.broker.manager.streams.info('DEADLETTERS', { subjects_filter: `deadletters.${id}` })
    return Object.values(state.subjects ?? {})
  }

  test('is dead-lettered at once when the region is set, even for an endpoint that was registered before', async () => {
    const tenantId = 'tnt_settles'
    const { id } = await world.endpoint(at(), { tenant_id: tenantId, residency_region: 'us-east-1' })
    await world.publishEvents(1, tenantId)
    await courier.logged(1, ofEndpoint(id))

    world.homes.set(tenantId, 'eu-central-1')
    await world.publishEvents(1, tenantId)
    const [, logged] = await courier.logged(2, ofEndpoint(id))
    const health = await world.broker.bucket(WEBHOOK_HEALTH).then((bucket) => bucket.watch({ key: id }))
    world.homes.set(tenantId, null)
    await world.publishEvents(1, tenantId)
    const [, , allowed] = await courier.logged(3, ofEndpoint(id))

    expect(logged).toMatchObject({
      outcome: 'dead_lettered',
      reason: 'residency_blocked',
      attempt: 1,
      responseStatus: 0,
      nextAttemptAtMs: 0,
    })
    expect(allowed?.outcome).toBe('acknowledged')
    expect(receiver.received).toHaveLength(2)
    expect(await letters(id)).toEqual([1])
    for await (const entry of health) {
      const current = entry.json<StoredHealth>()
      if (current.last_failure?.reason === 'residency_blocked') break
    }
  })

  test('is not sent to a receiver without a region, nor for an unknown tenant', async () => {
    world.homes.set('tnt_settled', 'eu-central-1').set('tnt_gone', undefined)
    const { id: nowhere } = await world.endpoint(at(), { tenant_id: 'tnt_settled' })
    const { id: within } = await world.endpoint(at('/within'), {
      tenant_id: 'tnt_settled',
      residency_region: 'eu-central-1',
    })
    const { id: gone } = await world.endpoint(at(), { tenant_id: 'tnt_gone', residency_region: 'eu-central-1' })

    await world.publishEvents(1, 'tnt_settled')
    await world.publishEvents(1, 'tnt_gone')
    const blocked = [...(await courier.logged(1, ofEndpoint(nowhere))), ...(await courier.logged(1, ofEndpoint(gone)))]
    await courier.logged(1, ofEndpoint(within))

    expect(blocked.map(({ outcome, reason }) => [outcome, reason])).toEqual([
      ['dead_lettered', 'residency_blocked'],
      ['dead_lettered', 'residency_blocked'],
    ])
    expect(receiver.received.map(({ path }) => path)).toEqual(['/within'])
  })
})

test('the retry schedule ends in a dead letter, and no attempt follows', async () => {
  const { id } = await world.endpoint(at())
  receiver.answer = (response) => void response.writeHead(503).end()

  await world.publishEvents(1)
  const logged = await courier.logged(FAST_RULES.maximaMs.length + 1, ofEndpoint(id))

  expect(logged.map(({ outcome }) => outcome)).toEqual(['retried', 'retried', 'retried', 'dead_lettered'])
  expect(receiver.received).toHaveLength(4)
})
