import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { readLog } from '../../../internal/broker/log.js'
import { createPublisher, publishOrThrow } from '../../../internal/broker/publisher.js'
import { EVENT_TYPES } from '../../../internal/events/event-contract.js'
import { SCOPE_OF_EVENT } from '../../../internal/events/readers.js'
import { createCursorCodec } from '../../../internal/http/resource/pages.js'
import { formatId, tenantIdsCache } from '../../../internal/ids/ids.js'
import { StoreAway } from '../../../internal/store/failures.js'
import type { AttemptQuestion } from '../../../internal/store/queries/webhook-attempts.js'
import type { AttemptRow } from '../../../internal/store/tables/webhook-attempts.js'
import { decodeDelivery, partitionOf } from '../../../internal/webhooks/delivery.js'
import { challengeText, type StoredWebhook } from '../../../internal/webhooks/endpoint.js'
import { NO_HEALTH } from '../../../internal/webhooks/endpoint-health.js'
import type { ReplayOrder } from '../../../internal/webhooks/replayer.js'
import { openWebhookRoutes } from '../../../internal/webhooks/webhook-routes.js'
import { WEBHOOK_HEALTH, WEBHOOKS } from '../../../streams/buckets.js'
import { eventsSubject } from '../../../streams/events.js'
import { dueSubject, REPLAYS_SUBJECT, RETRIES } from '../../../streams/retries.js'
import { type Ask, askAs, refusalOf } from '../../support/ask.js'
import { launchBroker } from '../../support/broker.js'
import { type DnsServer, launchDnsServer } from '../../support/dns-server.js'
import { masterKeysOf } from '../../support/master-keys.js'
import { type MutationGateway, SECRET, startMutationGateway } from '../../support/mutation-gateway.js'

const PATH = '/api/v1/webhooks'
const masterKeys = masterKeysOf(7)
const addresses = new Map([
  ['hooks.example.com', ['8.8.8.8']],
  ['inside.example.com', ['8.8.8.8', '10.0.0.7']],
])
let dns: DnsServer
let gateway: MutationGateway
let admin: Ask
let manager: Ask
let isOver = false
let listAttempts: (question: AttemptQuestion) => Promise<AttemptRow[]>
beforeEach(() => {
  listAttempts = async () => []
})
let residencyRegion: string | null = null

beforeAll(async () => {
  dns = await launchDnsServer((name) => addresses.get(name))
  const { url } = await launchBroker()
  gateway = await startMutationGateway(url, (mutate, broker) =>
    openWebhookRoutes({
      mutate,
      broker,
      publish: createPublisher(broker.connection).publish,
      listAttempts: (question) => listAttempts(question),
      masterKeys,
      idsOf: tenantIdsCache(SECRET),
      residencyRegionOf: () => residencyRegion,
      instanceRegion: 'eu-central-1',
      cursors: createCursorCodec(SECRET),
      clock: Date.now,
      targets: { webhookPorts: [443, 8443], webhookAllowedNetworks: [], webhookResolvers: [dns.address] },
      baseUrl: 'https://api.example.com',
      onLost(cause) {
        if (!isOver) throw cause
      },
    }),
  )
  admin = askAs(gateway.url, { 'x-api-key': 'admin:config,read:reporting,export:create' })
  manager = askAs(gateway.url, { 'x-api-key': 'webhooks:manage,export:create' })
})
afterAll(async () => {
  isOver = true
  await gateway.stop()
  dns.close()
})

const wanted = (stated: Record<string, unknown> = {}) => ({
  url: 'https://hooks.example.com/in',
  events: ['budget.threshold.crossed'],
  ...stated,
})
const register = async (stated?: Record<string, unknown>) => (await admin('POST', PATH, wanted(stated))).json
const stored = async (id: string): Promise<StoredWebhook> =>
  (await (await gateway.broker.bucket(WEBHOOKS)).get(id))?.json<StoredWebhook>() as StoredWebhook
const challengeOf = async (id: string): Promise<string> => {
  const webhook = await stored(id)
  return webhook.challenge === null ? '' : challengeText(masterKeys, id, webhook.challenge)
}
const verify = async (id: string) => manager('POST', `${PATH}/${id}/verify`, { challenge: await challengeOf(id) })
const tellEvents = async (count: number): Promise<void> => {
  const { publish } = createPublisher(gateway.broker.connection)
  for (let i = 0; i < count; i++) {
    await publishOrThrow(publish, eventsSubject('tnt_one', 'export.failed'), Buffer.from('{}'), `told-${i}`)
  }
}
const ids = tenantIdsCache(SECRET)
const invented = (prefix: 'whk' | 'evt', tenantId = 'tnt_one'): string =>
  formatId(prefix, Buffer.concat([ids(tenantId).tag, Buffer.alloc(12, 9)]))

describe('a registered endpoint', () => {
  test('is pending, returns its secret only once, and is found by id and in the list', async () => {
    const made = await admin('POST', PATH, wanted({ events: ['export.failed', 'export.completed', 'export.failed'] }))
    const { signing_secret: secret, ...shown } = made.json
    const found = await manager('GET', `${PATH}/${shown.id}`)
    const list = await manager('GET', PATH)

    expect(made.status).toBe(201)
    expect(made.headers.get('location')).toBe(`${PATH}/${shown.id}`)
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    expect(shown).toEqual({
      id: expect.stringMatching(/^whk_[0-9a-z]{26}$/),
      url: 'https://hooks.example.com/in',
      events: ['export.failed', 'export.completed'],
      status: 'pending',
      residency_region: null,
      created_at: expect.any(String),
      verified_at: null,
      secret_rotated_at: shown.created_at,
      previous_secret_expires_at: null,
      health: {
        status: 'unknown',
        consecutive_failures: 0,
        last_success_at: null,
        last_failure_at: null,
        last_failure: null,
      },
    })
    expect(found.json).toEqual(shown)
    expect(list.json.data[0]).toEqual(shown)
    expect(JSON.stringify(await stored(shown.id))).not.toContain(secret)
  })

  test('gets its challenge directly, and the stream has only a reference to it', async () => {
    const { id } = await register()

    const range = { stream: RETRIES.name, subject: dueSubject(partitionOf(id)), from: 1 }
    const entries = await readLog(gateway.broker.manager, { ...range, messagesMax: 1_000, bytesMax: 2 ** 20 })
    const [sent, ...others] = entries
      .map(({ data }) => decodeDelivery(data))
      .filter(({ endpointId }) => endpointId === id)

    expect(others).toEqual([])
    expect(sent).toMatchObject({ type: 'webhook.verification', sequence: 0, attempts: 0 })
    expect(sent?.body.length).toBe(0)
  })

  test('is returned again, with the same secret, when the request is repeated', async () => {
    const key = { 'idempotency-key': randomUUID() }

    const made = await admin('POST', PATH, wanted(), key)
    const again = await admin('POST', PATH, wanted(), key)

    expect(again.json).toEqual(made.json)
    expect(again.headers.get('idempotency-replayed')).toBe('true')
  })

  test('needs admin:config to be created; webhooks:manage is sufficient and needed for everything else', async () => {
    const { id } = await register()
    const reader = askAs(gateway.url, { 'x-api-key': 'read:attribution,read:reporting,export:create,admin:config' })

    expect(refusalOf(await manager('POST', PATH, wanted()))).toEqual([403, 'INSUFFICIENT_SCOPE'])
    expect((await manager('PATCH', `${PATH}/${id}`, { events: ['export.failed'] })).status).toBe(200)
    for (const [method, path, body] of [
      ['GET', PATH],
      ['GET', `${PATH}/${id}`],
      ['GET', `${PATH}/${id}/deliveries`],
      ['PATCH', `${PATH}/${id}`, { events: ['export.failed'] }],
      ['POST', `${PATH}/${id}/verify`, {}],
      ['POST', `${PATH}/${id}/rotate-secret`],
      ['POST', `${PATH}/${id}/replay`, { dead_letters: true }],
      ['DELETE', `${PATH}/${id}`],
    ] as const) {
      expect([method, path, ...refusalOf(await reader(method, path, body))]).toEqual([
        method,
        path,
        403,
        'INSUFFICIENT_SCOPE',
      ])
    }
  })

  test('subscribes to events only whose scope the credential has, and is replayed none of others', async () => {
    const admins = askAs(gateway.url, { 'x-api-key': 'admin:config' })
    const managers = askAs(gateway.url, { 'x-api-key': 'webhooks:manage' })
    const { id } = await register({ events: ['export.failed'] })
    await verify(id)

    for (const type of EVENT_TYPES) {
      const scope = SCOPE_OF_EVENT[type]
      const isRefused = scope !== null && scope !== 'admin:config'
      const answer = await admins('POST', PATH, wanted({ events: [type] }))
      expect([type, answer.status]).toEqual([type, isRefused ? 403 : 201])
      if (isRefused) expect(answer.headers.get('www-authenticate')).toContain(`scope="${scope}"`)
      else await manager('DELETE', `${PATH}/${answer.json.id}`)
      const isAdded = scope !== null && type !== 'export.failed'
      const changed = await managers('PATCH', `${PATH}/${id}`, { events: ['export.failed', type] })
      expect([type, changed.status]).toEqual([type, isAdded ? 403 : 200])
    }

    await managers('POST', `${PATH}/${id}/replay`, { event_id: invented('evt') })
    const range = { stream: RETRIES.name, subject: REPLAYS_SUBJECT, from: 1, messagesMax: 100, bytesMax: 2 ** 20 }
    const order = JSON.parse(Buffer.from((await readLog(gateway.broker.manager, range)).at(-1)?.data ?? '').toString())
    expect(order.selection.types).toEqual(['webhook.verification'])
    await manager('DELETE', `${PATH}/${id}`)
  })

  test.each([
    'http://hooks.example.com/',
    'https://inside.example.com/',
    'https://unknown.example.com/',
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://[::1]/',
    'https://[::ffff:169.254.169.254]/',
    'https://localhost/',
    'https://hooks.example.com:22/',
    'https://user@hooks.example.com/',
    'https://api.example.com/',
    'hooks.example.com',
  ])('is refused, not stored, and audited if its URL is not allowed: %s', async (url) => {
    const before = (await manager('GET', `${PATH}?limit=200`)).json.data.length
    const audited = gateway.audited.length

    const refused = await admin('POST', PATH, wanted({ url }))

    expect(refusalOf(refused)).toEqual([422, 'WEBHOOK_URL_REJECTED'])
    expect((await manager('GET', `${PATH}?limit=200`)).json.data.length).toBe(before)
    expect(gateway.audited.slice(audited)).toEqual([
      expect.objectContaining({ action: 'webhook.create', outcome: 'refused', errorCode: 'WEBHOOK_URL_REJECTED' }),
    ])
  })

  test('is refused with the same text for an internal and an unresolved host', async () => {
    const inside = await admin('POST', PATH, wanted({ url: 'https://inside.example.com/' }))
    const nowhere = await admin('POST', PATH, wanted({ url: 'https://nowhere.example.com/' }))

    expect(inside.json.detail).toBe(nowhere.json.detail)
  })

  test.each([
    ['no events', { events: [] }],
    ['an unknown event', { events: ['budget.exploded'] }],
    ['no address', { url: undefined }],
    ['a URL that is not a string', { url: 5 }],
  ])('is refused with %s', async (_, stated) => {
    expect(refusalOf(await admin('POST', PATH, wanted(stated)))).toEqual([422, 'VALIDATION_FAILED'])
  })

  test('is refused if its events would leave the tenant’s region', async () => {
    residencyRegion = 'eu-central-1'
    try {
      expect(refusalOf(await admin('POST', PATH, wanted({ residency_region: 'us-east-1' })))).toEqual([
        409,
        'RESIDENCY_BLOCKED',
      ])
      expect(refusalOf(await admin('POST', PATH, wanted({ residency_region: null })))).toEqual([
        409,
        'RESIDENCY_BLOCKED',
      ])
      expect((await admin('POST', PATH, wanted())).json.residency_region).toBe('eu-central-1')
      residencyRegion = 'us-east-1'
      expect(refusalOf(await admin('POST', PATH, wanted({ residency_region: 'us-east-1' })))).toEqual([
        409,
        'RESIDENCY_BLOCKED',
      ])
    } finally {
      residencyRegion = null
    }
  })
})

test('an endpoint older than the tenant’s region is verified and gets replays only within that region', async () => {
  const [pending, ready] = [await register({ residency_region: 'us-east-1' }), await register()]
  await verify(ready.id)
  const challenge = await challengeOf(pending.id)

  residencyRegion = 'eu-central-1'
  try {
    for (const [path, body] of [
      [`${PATH}/${pending.id}/verify`, undefined],
      [`${PATH}/${pending.id}/verify`, { challenge }],
      [`${PATH}/${ready.id}/replay`, { dead_letters: true }],
    ] as const) {
      expect(refusalOf(await manager('POST', path, body))).toEqual([409, 'RESIDENCY_BLOCKED'])
    }
  } finally {
    residencyRegion = null
  }
  expect(await challengeOf(pending.id)).toBe(challenge)
  expect((await stored(pending.id)).status).toBe('pending')
  expect((await verify(pending.id)).status).toBe(200)
})

describe('an endpoint of another tenant', () => {
  test('and a made-up id of that tenant are refused alike; an unknown id of one’s own is not found', async () => {
    const foreign = invented('whk', 'tnt_two')

    for (const path of [foreign, `${foreign}/deliveries`]) {
      expect(refusalOf(await manager('GET', `${PATH}/${path}`))).toEqual([403, 'TENANT_MISMATCH'])
    }
    expect(refusalOf(await manager('DELETE', `${PATH}/${foreign}`))).toEqual([403, 'TENANT_MISMATCH'])
    expect(refusalOf(await manager('GET', `${PATH}/${invented('whk')}`))).toEqual([404, 'NOT_FOUND'])
    expect(refusalOf(await manager('POST', `${PATH}/${invented('whk')}/rotate-secret`))).toEqual([404, 'NOT_FOUND'])
  })
})

describe('the events of an endpoint', () => {
  test('can be changed, and its URL cannot', async () => {
    const { id, url } = await register()

    const changed = await manager('PATCH', `${PATH}/${id}`, { events: ['export.failed'] })
    const refused = await manager('PATCH', `${PATH}/${id}`, { events: ['export.failed'], url })

    expect(changed.json).toMatchObject({ events: ['export.failed'], url })
    expect(refusalOf(refused)).toEqual([422, 'VALIDATION_FAILED'])
    expect(refused.json.errors).toEqual([{ pointer: '/url', detail: expect.any(String) }])
  })
})

describe('verification', () => {
  test('succeeds only with the challenge that was sent', async () => {
    const { id } = await register()

    const wrong = await manager('POST', `${PATH}/${id}/verify`, { challenge: 'made-up' })
    const right = await verify(id)
    const again = await manager('POST', `${PATH}/${id}/verify`)
    const late = await manager('POST', `${PATH}/${id}/verify`, { challenge: 'made-up' })

    expect(refusalOf(wrong)).toEqual([422, 'VALIDATION_FAILED'])
    expect(right.status).toBe(200)
    expect(right.json).toMatchObject({ id, status: 'verified', verified_at: expect.any(String) })
    expect([again, late].map(refusalOf)).toEqual(Array(2).fill([409, 'CONFLICT']))
    expect((await stored(id)).challenge).toBeNull()
  })

  test('can be restarted with a new challenge, which invalidates the old one', async () => {
    const { id } = await register()
    const old = await challengeOf(id)

    const asked = await manager('POST', `${PATH}/${id}/verify`)
    const late = await manager('POST', `${PATH}/${id}/verify`, { challenge: old })

    expect(asked.status).toBe(202)
    expect(asked.json).toMatchObject({ id, status: 'pending' })
    expect(late.status).toBe(422)
    expect((await verify(id)).status).toBe(200)
  })
})

describe('the secret of an endpoint', () => {
  test('is replaced by one that is returned only once; the old one stays valid for 24 hours', async () => {
    const { id, signing_secret: old } = await register()

    const rotated = await manager('POST', `${PATH}/${id}/rotate-secret`)
    const { signing_secret: next, ...shown } = rotated.json

    expect(rotated.status).toBe(200)
    expect(next).not.toBe(old)
    expect(Date.parse(shown.previous_secret_expires_at) - Date.parse(shown.secret_rotated_at)).toBe(24 * 60 * 60 * 1000)
    expect((await manager('GET', `${PATH}/${id}`)).json).toEqual(shown)
  })

  test('is not rotated by a user who signed in long ago', async () => {
    const { id } = await register()
    const stale = askAs(gateway.url, { 'x-api-key': `webhooks:manage@${Math.floor(Date.now() / 1_000) - 3_600}` })

    expect(refusalOf(await stale('POST', `${PATH}/${id}/rotate-secret`))).toEqual([401, 'STEP_UP_REQUIRED'])
  })

  test('is neither registered nor deleted by a user who signed in long ago', async () => {
    const { id } = await register()
    const at = Math.floor(Date.now() / 1_000) - 3_600
    const stale = (scope: string) => askAs(gateway.url, { 'x-api-key': `${scope}@${at}` })

    const refused = [
      await stale('admin:config')('POST', PATH, { url: 'https://hooks.example.com/x', event_types: ['*'] }),
      await stale('webhooks:manage')('DELETE', `${PATH}/${id}`),
    ]

    for (const answer of refused) expect(refusalOf(answer)).toEqual([401, 'STEP_UP_REQUIRED'])
  })

  test('is not rotated while four are valid', async () => {
    const { id } = await register()
    for (let i = 0; i < 3; i++) expect((await manager('POST', `${PATH}/${id}/rotate-secret`)).status).toBe(200)

    expect(refusalOf(await manager('POST', `${PATH}/${id}/rotate-secret`))).toEqual([409, 'CONFLICT'])
  })
})

describe('a replay', () => {
  test('is requested by event, sequence range, time range, or for the dead letters', async () => {
    const { id } = await register()
    await verify(id)
    const event = invented('evt')

    const replies = []
    for (const body of [
      { event_id: event },
      { from_sequence: 3 },
      { from_sequence: 3, to_sequence: 9 },
      { from: '2026-11-20T00:00:00Z', to: '2026-11-21T00:00:00Z' },
      { dead_letters: true },
    ]) {
      replies.push(await manager('POST', `${PATH}/${id}/replay`, body))
    }
    const range = { stream: RETRIES.name, subject: REPLAYS_SUBJECT, from: 1, messagesMax: 100, bytesMax: 2 ** 20 }
    const orders = (await readLog(gateway.broker.manager, range))
      .map(({ data }) => JSON.parse(Buffer.from(data).toString()))
      .filter((order) => order.endpoint_id === id)

    expect(replies.map(({ status }) => status)).toEqual([202, 202, 202, 202, 202])
    expect(replies[0]?.json).toEqual({ webhook_id: id, status: 'queued', selection: { event_id: event } })
    expect(orders.map(({ selection, next }) => [selection.kind, next])).toEqual([
      ['event', 1],
      ['range', 3],
      ['range', 3],
      ['range', 1],
      ['dead_letters', 1],
    ])
    expect(orders[3].selection).toEqual({
      kind: 'range',
      from: '2026-11-20T00:00:00.000Z',
      before: '2026-11-21T00:00:00.000Z',
    })
  })

  test('is in the audit log with its selection', async () => {
    const { id } = await register()
    await verify(id)
    const written = gateway.audited.length
    const selection = { from: '2026-11-20T00:00:00Z', to: '2026-11-21T00:00:00Z' }

    await manager('POST', `${PATH}/${id}/replay`, selection)
    await manager('POST', `${PATH}/${id}/replay`, { from_sequence: 3 })

    expect(gateway.audited.slice(written)).toMatchObject([
      { action: 'webhook.replay', target: id, outcome: 'succeeded', changes: { after: { selection } } },
      { action: 'webhook.replay', target: id, changes: { after: { selection: { from_sequence: 3 } } } },
    ])
  })

  test.each([
    ['nothing', {}],
    ['two ways', { event_id: invented('evt'), dead_letters: true }],
    ['an end before its beginning', { from_sequence: 5, to_sequence: 4 }],
    ['an end before its beginning', { from: '2026-11-20T00:00:00Z', to: '2026-11-20T00:00:00Z' }],
    ['an end alone', { to_sequence: 4 }],
    ['no time', { from: 'yesterday' }],
  ])('of %s is refused', async (_, body) => {
    const { id } = await register()
    await verify(id)

    expect(refusalOf(await manager('POST', `${PATH}/${id}/replay`, body))).toEqual([422, 'VALIDATION_FAILED'])
  })

  test('of another tenant’s event, or to an unverified endpoint, is refused', async () => {
    const { id } = await register()

    const foreign = await manager('POST', `${PATH}/${id}/replay`, { event_id: invented('evt', 'tnt_two') })
    const pending = await manager('POST', `${PATH}/${id}/replay`, { dead_letters: true })

    expect(refusalOf(foreign)).toEqual([403, 'TENANT_MISMATCH'])
    expect(refusalOf(pending)).toEqual([409, 'CONFLICT'])
  })
})

describe('a replay of one event', () => {
  const orderOf = async (id: string) => {
    const range = { stream: RETRIES.name, subject: REPLAYS_SUBJECT, from: 1, messagesMax: 100, bytesMax: 2 ** 20 }
    return (await readLog(gateway.broker.manager, range))
      .map(({ data }) => JSON.parse(Buffer.from(data).toString()) as ReplayOrder)
      .findLast((order) => order.endpoint_id === id)
  }
  const replayed = async (): Promise<ReplayOrder | undefined> => {
    const { id } = await register()
    await verify(id)
    expect((await manager('POST', `${PATH}/${id}/replay`, { event_id: invented('evt') })).status).toBe(202)
    return orderOf(id)
  }

  test('starts at the event’s sequence in the delivery log', async () => {
    await tellEvents(3)
    let asked: AttemptQuestion | undefined
    listAttempts = async (question) => {
      asked = question
      return [{ eventSequence: 2 } as AttemptRow]
    }

    const order = await replayed()

    expect(asked).toMatchObject({ tenantId: 'tnt_one', endpointId: order?.endpoint_id, eventId: invented('evt') })
    expect(order).toMatchObject({ next: 2, until: 3 })
  })

  test.each<readonly [string, () => Promise<AttemptRow[]>]>([
    ['knows nothing of it', async () => []],
    ['has it from another event log', async () => [{ eventSequence: 4_000 } as AttemptRow]],
    ['cannot be read', () => Promise.reject(new StoreAway('away'))],
  ])('searches the log from the beginning when the delivery log %s', async (_, list) => {
    listAttempts = list

    expect(await replayed()).toMatchObject({ next: 1 })
  })
})

describe('a deleted endpoint', () => {
  test('leaves no health record', async () => {
    const [removed, kept] = [await register(), await register()]
    const bucket = await gateway.broker.bucket(WEBHOOK_HEALTH)
    for (const { id } of [removed, kept]) await bucket.put(id, JSON.stringify(NO_HEALTH))

    await manager('DELETE', `${PATH}/${removed.id}`)

    expect((await bucket.get(removed.id))?.operation).toBe('DEL')
    expect((await bucket.get(kept.id))?.operation).toBe('PUT')
  })

  test('is not found afterwards', async () => {
    const { id } = await register()

    expect((await manager('DELETE', `${PATH}/${id}`)).status).toBe(204)
    expect(refusalOf(await manager('GET', `${PATH}/${id}`))).toEqual([404, 'NOT_FOUND'])
    expect(refusalOf(await manager('DELETE', `${PATH}/${id}`))).toEqual([404, 'NOT_FOUND'])
  })
})

test('changes of endpoints are audited without URL paths, queries and secrets', async () => {
  const before = gateway.audited.length
  const { id, signing_secret: secret } = await register({ url: 'https://hooks.example.com/T0K3N?key=k3y' })
  await verify(id)
  await manager('POST', `${PATH}/${id}/rotate-secret`)
  await manager('DELETE', `${PATH}/${id}`)

  const written = gateway.audited.slice(before)
  expect(written.map(({ action, outcome, target }) => [action, outcome, target])).toEqual([
    ['webhook.create', 'succeeded', id],
    ['webhook.verify', 'succeeded', id],
    ['webhook.rotate_secret', 'succeeded', id],
    ['webhook.delete', 'succeeded', id],
  ])
  for (const text of ['T0K3N', 'k3y', secret, 'sealed']) expect(JSON.stringify(written)).not.toContain(text)
})

test('a tenant has at most 100 endpoints', async () => {
  let answer = await admin('POST', PATH, wanted())
  for (let i = 0; i < 110 && answer.status === 201; i++) answer = await admin('POST', PATH, wanted())

  expect(refusalOf(answer)).toEqual([409, 'CONFLICT'])
  expect((await manager('GET', `${PATH}?limit=200`)).json.data).toHaveLength(100)
})
