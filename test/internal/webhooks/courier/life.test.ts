import { createHmac, randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { readLog } from '../../../../internal/broker/log.js'
import { createPublisher, publishOrThrow } from '../../../../internal/broker/publisher.js'
import { bucketRecords } from '../../../../internal/broker/records.js'
import { RETRY_MAXIMA_MS, RETRY_STOP_MS } from '../../../../internal/config/webhook-retries.js'
import { eventId } from '../../../../internal/events/event.js'
import { randomId } from '../../../../internal/ids/ids.js'
import type { AttemptRow } from '../../../../internal/store/tables/webhook-attempts.js'
import { encodeDelivery, partitionOf } from '../../../../internal/webhooks/delivery.js'
import {
  formatSecret,
  type StoredWebhook,
  storeChallenge,
  storeSecret,
  withSecret,
} from '../../../../internal/webhooks/endpoint.js'
import { type StoredHealth, shownHealth } from '../../../../internal/webhooks/endpoint-health.js'
import { type ReplaySelection, replayMessageId } from '../../../../internal/webhooks/replayer.js'
import { type Bucket, WEBHOOK_HEALTH, WEBHOOKS } from '../../../../streams/buckets.js'
import { DEADLETTERS, deadLettersSubject, dueSubject, REPLAYS_SUBJECT } from '../../../../streams/retries.js'
import { type CourierWorld, idsOf, launchCourierWorld, MASTER_KEYS, TENANT } from '../../../support/courier.js'
import { answerChallenge, launchReceiver, type Received, type Receiver } from '../../../support/receiver.js'

let world: CourierWorld
let receiver: Receiver
beforeAll(async () => {
  world = await launchCourierWorld()
})
afterAll(() => world.close())
beforeEach(async () => {
  receiver = await launchReceiver()
})
afterEach(async () => {
  await world.stopCouriers()
  await world.removeEndpoints()
  await receiver.close()
})

const at = (path = '/'): string => `https://hooks.example.com:${receiver.port}${path}`
const ofEndpoint = (id: string) => (row: AttemptRow) => row.endpointId === id
const records = async () => bucketRecords<StoredWebhook>(await world.broker.bucket(WEBHOOKS), async () => undefined)
const publish = () => createPublisher(world.broker.connection).publish

/** Queues a delivery like the gateway. */
async function challenge(id: string): Promise<void> {
  const challengeId = randomBytes(12).toString('hex')
  const text = randomBytes(32).toString('base64url')
  await (await records()).change(id, (webhook) => ({
    ...webhook,
    status: 'pending',
    challenge: storeChallenge(MASTER_KEYS, id, { id: challengeId, text }, Date.now()),
  }))
  const delivery = {
    id: randomId('dlv', idsOf(TENANT)),
    tenantId: TENANT,
    endpointId: id,
    eventId: eventId(idsOf(TENANT), 'webhook.verification', challengeId),
    type: 'webhook.verification',
    sequence: 0,
    isReplayed: false,
    attempts: 0,
    parks: 0,
    startedAtMs: undefined,
    parkedAtMs: undefined,
    body: new Uint8Array(0),
  } as const
  await publishOrThrow(publish(), dueSubject(partitionOf(id)), encodeDelivery(delivery), delivery.id)
}

/** The value of a key, once it has one. */
async function firstValueOf(bucket: Bucket, key: string): Promise<unknown> {
  for await (const entry of await (await world.broker.bucket(bucket)).watch({ key })) return entry.json()
  return undefined
}

async function replay(
  id: string,
  selection: ReplaySelection,
  next = 1,
  until = Number.MAX_SAFE_INTEGER,
): Promise<void> {
  const order = { id: randomId('dlv', idsOf(TENANT)), tenant_id: TENANT, endpoint_id: id, selection, next, until }
  await publishOrThrow(publish(), REPLAYS_SUBJECT, Buffer.from(JSON.stringify(order)), replayMessageId(order))
}

describe('verification', () => {
  test('is sent regardless of the event types and completed by the echo; later events are then delivered', async () => {
    const courier = await world.courier()
    const { id } = await world.endpoint(at(), { status: 'pending' })
    receiver.answer = (response, received) =>
      received.json.type === 'webhook.verification'
        ? answerChallenge(response, received)
        : void response.writeHead(200).end()
    await world.publishEvents(2)

    await challenge(id)
    const [logged] = await courier.logged(1, ofEndpoint(id))
    const webhook = await (await records()).read(id)
    const [cause = ''] = await world.publishEvents(1)
    const received = await receiver.until(2)

    expect(received[0]?.json).toMatchObject({
      type: 'webhook.verification',
      sequence: 0,
      data: { challenge: expect.any(String) },
    })
    expect(logged).toMatchObject({ eventType: 'webhook.verification', outcome: 'acknowledged' })
    expect(webhook).toMatchObject({ status: 'verified', challenge: null })
    expect(received[1]?.json.data.new_key_id).toBe(cause)
    expect(receiver.received).toHaveLength(2)
  })

  test.each([
    ['nothing', ''],
    ['another challenge', '{"challenge":"made-up"}'],
    ['no JSON', 'challenge'],
    ['a list', '["challenge"]'],
    ['too much', `{"pad":"${'x'.repeat(5_000)}","challenge":"CHALLENGE"}`],
  ])('is not completed by %s', async (_, answer) => {
    const courier = await world.courier()
    const { id } = await world.endpoint(at(), { status: 'pending' })
    receiver.answer = (response, { json }) =>
      void response.writeHead(200).end(answer.replace('CHALLENGE', json.data.challenge))

    const health = await world.broker.bucket(WEBHOOK_HEALTH).then((bucket) => bucket.watch({ key: id }))
    await challenge(id)
    const [logged] = await courier.logged(1, ofEndpoint(id))

    for await (const entry of health) {
      const known = entry.json<StoredHealth>()
      expect(shownHealth(known)).toMatchObject({ status: 'failing', last_success_at: null })
      expect(known.last_failure).toMatchObject({ reason: 'wrong_challenge' })
      break
    }
    expect(logged).toMatchObject({ reason: 'wrong_challenge', outcome: 'retried', responseStatus: 200 })
    expect((await (await records()).read(id))?.status).toBe('pending')
    await (await records()).delete(id)
  })

  test('does not send a challenge that was replaced by a newer one', async () => {
    const { id } = await world.endpoint(at(), { status: 'pending' })
    await challenge(id)
    await challenge(id)
    const courier = await world.courier()

    await courier.logged(1, ofEndpoint(id))
    await courier.stop()

    expect(receiver.received).toHaveLength(1)
    await (await records()).delete(id)
  })
})

test('during a rotation, a delivery’s signatures verify with the old and the new secret', async () => {
  await world.courier()
  const { id, secret: old } = await world.endpoint(at())
  const next = formatSecret(randomBytes(32))
  const verifies = (secret: string, { headers, text }: Received): boolean => {
    const [t = '', ...signatures] = (headers['service-signature'] ?? '').split(',')
    return signatures.includes(
      `v1=${createHmac('sha256', secret)
        .update(`${t.slice(2)}.${text}`)
        .digest('hex')}`,
    )
  }

  await world.publishEvents(1)
  const [before] = await receiver.until(1)
  await (await records()).change(id, (webhook) => {
    return withSecret(webhook, storeSecret(MASTER_KEYS, id, next, new Date().toISOString()), Date.now())
  })
  await world.publishEvents(1)
  const [, during] = await receiver.until(2)
  await (await records()).change(id, (webhook) => ({
    ...webhook,
    secrets: webhook.secrets.map((kept) =>
      kept.expires_at === null ? kept : { ...kept, expires_at: new Date().toISOString() },
    ),
  }))
  await world.publishEvents(1)
  const [, , after] = await receiver.until(3)

  expect([before && verifies(old, before), before && verifies(next, before)]).toEqual([true, false])
  expect([during && verifies(old, during), during && verifies(next, during)]).toEqual([true, true])
  expect(during?.headers['service-signature']?.split(',')).toHaveLength(3)
  expect([after && verifies(old, after), after && verifies(next, after)]).toEqual([false, true])
})

test('the retry schedule, 10,000 times faster, ends in a dead letter; its replay is flagged and signed', async () => {
  const scaled = { maximaMs: RETRY_MAXIMA_MS.map((ms) => Math.max(1, ms / 10_000)), stopMs: RETRY_STOP_MS / 10_000 }
  const courier = await world.courier({ rules: scaled })
  const { id, secret } = await world.endpoint(at())
  receiver.answer = (response) => void response.writeHead(500).end()

  await world.publishEvents(1)
  const isLast = (row: AttemptRow) => row.endpointId === id && row.outcome === 'dead_lettered'
  await courier.logged(1, isLast)
  const logged = courier.attempts.filter(ofEndpoint(id))
  const range = {
    stream: DEADLETTERS.name,
    subject: deadLettersSubject(id),
    from: 1,
    messagesMax: 10,
    bytesMax: 2 ** 20,
  }
  const letters = await readLog(world.broker.manager, range)
  const [first] = receiver.received
  receiver.answer = (response) => void response.writeHead(200).end()
  await replay(id, { kind: 'dead_letters' })
  const [replayed] = await receiver.until(1, ({ headers }) => headers['service-replayed'] === 'true')
  await courier.logged(1, (row) => row.endpointId === id && row.isReplayed)
  const left = await readLog(world.broker.manager, range)

  const startedAtMs = logged[0]?.attemptedAtMs ?? 0
  expect(logged.length).toBeLessThanOrEqual(RETRY_MAXIMA_MS.length + 1)
  expect(logged.length).toBeGreaterThan(5)
  expect(logged.map(({ attempt }) => attempt)).toEqual(logged.map((_, i) => i + 1))
  expect(logged.slice(0, -1).every(({ outcome }) => outcome === 'retried')).toBe(true)
  // Schedules fire in sweeps, up to a quarter of a second late.
  for (const { attemptedAtMs } of logged) expect(attemptedAtMs - startedAtMs).toBeLessThan(scaled.stopMs + 3_000)
  expect(letters).toHaveLength(1)
  expect(replayed?.json).toEqual({ ...first?.json, replayed: true })
  const [t = '', v1] = (replayed?.headers['service-signature'] ?? '').split(',')
  expect(v1).toBe(
    `v1=${createHmac('sha256', secret)
      .update(`${t.slice(2)}.${replayed?.text}`)
      .digest('hex')}`,
  )
  expect(left).toEqual([])
})

describe('a replay', () => {
  test('of an event, a sequence range or a time range delivers subscribed events with the flag set', async () => {
    await world.courier()
    const { id } = await world.endpoint(at('/one'))
    const { id: later } = await world.endpoint(at('/later'), { events: ['export.failed'] })
    const from = new Date().toISOString()
    const causes = await world.publishEvents(5)
    await world.publishEvent({
      tenantId: TENANT,
      type: 'export.failed',
      cause: 'a',
      data: { job_id: 'job_a', status: 'failed' },
    })
    const fresh = (await receiver.until(6)).map(({ json }) => json)
    const before = new Date(Date.now() + 5_000).toISOString()
    const isReplay = ({ headers, path }: Received) => headers['service-replayed'] === 'true' && path === '/one'
    const sequences = fresh
      .filter(({ type }) => type === 'apikey.rotated')
      .map(({ sequence }) => sequence)
      .sort((a, b) => a - b)

    await replay(id, { kind: 'range', from, before })
    const byTime = (await receiver.until(5, isReplay)).map(({ json }) => json)
    await replay(id, { kind: 'range' }, sequences[1], sequences[3])
    const bySequence = (await receiver.until(8, isReplay)).slice(5).map(({ json }) => json.sequence)
    await replay(later, { kind: 'event', event_id: eventId(idsOf(TENANT), 'apikey.rotated', causes[0] ?? '') })
    const [byId] = await receiver.until(
      1,
      ({ headers, path }) => headers['service-replayed'] === 'true' && path === '/later',
    )

    const original = (json: { id: string }) => fresh.find((one) => one.id === json.id)
    for (const json of byTime) expect(json).toEqual({ ...original(json), replayed: true })
    expect(byTime.map(({ sequence }) => sequence).sort((a, b) => a - b)).toEqual(sequences)
    expect(bySequence.sort((a, b) => a - b)).toEqual(sequences.slice(1, 4))
    expect(byId?.json.data.new_key_id).toBe(causes[0])
    expect(receiver.received.filter(({ headers }) => headers['service-replayed'] === 'true')).toHaveLength(9)
  })
})

describe('an endpoint that hangs', () => {
  test('delays no other endpoint, shows failures in its health, gets parked deliveries when it recovers', async () => {
    const courier = await world.courier({ timeoutMs: 1_500 })
    const hanging = await launchReceiver()
    let isHanging = true
    hanging.answer = (response) => void (isHanging || response.writeHead(200).end())
    // In the same partition, so that they share its limits.
    const { id: slow } = await world.endpoint(`https://hooks.example.com:${hanging.port}/`)
    let other = await world.endpoint(at())
    while (partitionOf(other.id) !== partitionOf(slow)) {
      await (await records()).delete(other.id)
      other = await world.endpoint(at())
    }

    const startedAt = performance.now()
    await world.publishEvents(300)
    const healthy = await receiver.until(300)
    const tookMs = performance.now() - startedAt
    await courier.logged(1, ofEndpoint(slow))
    const health = await firstValueOf(WEBHOOK_HEALTH, slow)
    isHanging = false
    await courier.logged(300, (row) => row.endpointId === slow && row.outcome === 'acknowledged')
    const all = new Set(hanging.received.map(({ json }) => json.id))

    expect(healthy).toHaveLength(300)
    expect(tookMs).toBeLessThan(15_000)
    expect((health as StoredHealth).consecutive_failures).toBeGreaterThan(0)
    expect(all.size).toBe(300)
    await hanging.close()
  })
})

describe('several couriers', () => {
  test('share the endpoints; when one leaves, another sends its unsent deliveries, each once', async () => {
    // A slow machine must not cause retries.
    const patient = { timeoutMs: 30_000 }
    const [one, two] = [await world.courier(patient, 'one'), await world.courier(patient, 'two')]
    const endpoints = []
    for (let i = 0; i < 12; i++) endpoints.push(await world.endpoint(at(`/${i}`)))

    await world.publishEvents(50)
    await receiver.until(200)
    await one.stop()
    await world.publishEvents(50)
    await receiver.until(1_200)
    await two.logged(1, ({ eventSequence }) => eventSequence > 0)

    const seen = receiver.received.map(({ path, json }) => `${path} ${json.id}`)
    expect(one.attempts.length + two.attempts.length).toBeGreaterThan(0)
    expect(new Set(seen).size).toBe(1_200)
    expect(seen).toHaveLength(1_200)
  })
})

test('with one delivery in flight, events arrive in the order of their sequence and time', async () => {
  await world.courier({ inFlightPerEndpoint: 1, timeoutMs: 30_000 })
  await world.endpoint(at())

  await world.publishEvents(100)
  await world.publishEvents(100)
  const received = (await receiver.until(200)).map(({ json }) => json)

  const ordered = [...received].sort((one, other) => one.sequence - other.sequence)
  expect(received).toEqual(ordered)
  expect(new Set(received.map(({ created_at }) => created_at)).size).toBe(200)
  expect([...received].sort((one, other) => (one.created_at < other.created_at ? -1 : 1))).toEqual(ordered)
})
