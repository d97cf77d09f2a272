import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isSecretOf, parseApiKey, type StoredApiKey } from '../../../../internal/auth/api-keys.js'
import { SCOPES } from '../../../../internal/auth/scopes.js'
import { type Broker, connectBroker } from '../../../../internal/broker/connect.js'
import { randomId } from '../../../../internal/ids/ids.js'
import { API_KEYS } from '../../../../streams/buckets.js'
import { EVENTS, eventsSubject } from '../../../../streams/events.js'
import { apiKey } from '../../../support/api-keys.js'
import { type Asked, ask as askAt, refusalOf } from '../../../support/ask.js'
import { launchBroker, type RunningBroker } from '../../../support/broker.js'
import { idsOf, type KeyGatewayOptions, keyRoutes } from '../../../support/key-gateway.js'
import { type MutationGateway, startMutationGateway } from '../../../support/mutation-gateway.js'
import { TENANT } from '../../../support/scope-keys.js'

const DAY_MS = 24 * 60 * 60 * 1000
const PATH = '/api/v1/api-keys'

let server: RunningBroker
let broker: Broker
let gateway: MutationGateway
const gateways: MutationGateway[] = []

async function start(options: KeyGatewayOptions = {}): Promise<MutationGateway> {
  const started = await startMutationGateway(server.url, keyRoutes(options), { leaseMs: 300 })
  gateways.push(started)
  return started
}

beforeAll(async () => {
  server = await launchBroker()
  gateway = await start()
  broker = await connectBroker({ url: server.url, user: '', password: '', name: 'test' })
})
afterAll(async () => {
  for (const started of gateways) await started.stop()
  await broker.close()
})

const ADMIN = { 'x-api-key': 'admin:config' }
const ask = (method: string, path: string, body?: unknown, more: Record<string, string> = {}, at = gateway) =>
  askAt(at.url, method, path, { ...ADMIN, ...more }, body)

const create = (body: object = {}, more?: Record<string, string>, at?: MutationGateway): Promise<Asked> =>
  ask('POST', PATH, { name: 'ci', scopes: ['read:attribution'], ...body }, more, at)
const rotate = (id: string, body?: object, more?: Record<string, string>, at?: MutationGateway): Promise<Asked> =>
  ask('POST', `${PATH}/${id}/rotate`, body, more, at)
const get = async (id: string): Promise<Asked['json']> => (await ask('GET', `${PATH}/${id}`)).json

async function stored(id: string): Promise<StoredApiKey | undefined> {
  const entry = await (await broker.bucket(API_KEYS)).get(id)
  return entry?.operation === 'PUT' ? entry.json<StoredApiKey>() : undefined
}

/** Whether the secret matches the stored key. */
async function opens(secret: string): Promise<boolean> {
  const presented = parseApiKey('production', secret)
  const key = presented && (await stored(presented.id))
  return presented !== undefined && key !== undefined && isSecretOf(key, presented.secret)
}

const rotationsOf = async (oldId: string): Promise<{ sequence: number; id: string; event: unknown }[]> => {
  const found: { sequence: number; id: string; event: unknown }[] = []
  const query = { seq: 1, batch: 1_000, next_by_subj: eventsSubject(TENANT, 'apikey.rotated') }
  for await (const message of await broker.manager.direct.getBatch(EVENTS.name, query)) {
    const event = message.json<{ data: { old_key_id: string } }>()
    if (event.data.old_key_id !== oldId) continue
    found.push({ sequence: message.seq, id: message.header.get('Nats-Msg-Id'), event })
  }
  return found
}

describe('an API key that is created', () => {
  test('is shown with its secret once, and stored without it', async () => {
    const before = Date.now()
    const { status, headers, json } = await create({ name: 'nightly', scopes: ['export:create', 'read:attribution'] })

    expect(status).toBe(201)
    expect(headers.get('location')).toBe(`${PATH}/${json.id}`)
    const { secret, ...shown } = json
    expect(shown).toEqual({
      id: expect.stringMatching(/^key_[0-9a-z]{26}$/),
      name: 'nightly',
      scopes: ['read:attribution', 'export:create'],
      expires_at: expect.any(String),
      created_at: expect.any(String),
      last_four: secret.slice(-4),
      status: 'active',
      last_used_at: null,
      ingestion_layers: null,
      trusts_cost: true,
      is_gateway: false,
      billing: 'auto',
    })
    expect(Date.parse(shown.created_at)).toBeGreaterThanOrEqual(before)
    expect(Date.parse(shown.expires_at) - Date.parse(shown.created_at)).toBe(365 * DAY_MS)
    expect(await opens(secret)).toBe(true)
    expect(await get(shown.id)).toEqual(shown)
    expect(JSON.stringify(await stored(shown.id))).not.toContain(secret.slice(-58, -6))
  })

  test('may expire before the maximum, and ingest only some layers', async () => {
    const expires_at = new Date(Date.now() + DAY_MS).toISOString()
    const { status, json } = await create({ expires_at, ingestion_layers: ['gateway'] })

    expect(status).toBe(201)
    expect(json).toMatchObject({ expires_at, ingestion_layers: ['gateway'] })
    expect((await create({ ingestion_layers: [] })).json.ingestion_layers).toEqual([])
  })

  test.each([
    ['no scopes', { scopes: [] }, 'NO_SCOPE'],
    ['scopes that are null', { scopes: null }, 'NO_SCOPE'],
    ['an unknown scope', { scopes: ['read:everything'] }, 'VALIDATION_FAILED'],
    ['scopes that are no list', { scopes: 'admin:config' }, 'VALIDATION_FAILED'],
    ['an expiry that has passed', { expires_at: '2026-01-01T00:00:00Z' }, 'VALIDATION_FAILED'],
    ['an expiry beyond the maximum', { expires_at: '2036-01-01T00:00:00Z' }, 'VALIDATION_FAILED'],
    ['an expiry that is not a time', { expires_at: 'tomorrow' }, 'VALIDATION_FAILED'],
    ['no name', { name: '' }, 'VALIDATION_FAILED'],
  ])('is refused with %s', async (_, body, code) => {
    expect(refusalOf(await create(body))).toEqual([422, code])
  })

  test('is refused with NO_SCOPE for an empty body', async () => {
    expect(refusalOf(await ask('POST', PATH, {}))).toEqual([422, 'NO_SCOPE'])
  })

  test('is the same key with the same secret when the request is repeated', async () => {
    const again = { 'idempotency-key': randomUUID() }

    const [first, second] = [await create({}, again), await create({}, again)]

    expect(second.headers.get('idempotency-replayed')).toBe('true')
    expect(second.json).toEqual(first.json)
  })

  test('is the same key with the same secret when the first attempt crashed before its reply', async () => {
    let isDying = true
    const dying = await start({
      keys: (real) => ({
        ...real,
        async createOnce(key, record) {
          const made = await real.createOnce(key, record)
          if (isDying) throw new Error('died here')
          return made
        },
      }),
    })
    const again = { 'idempotency-key': randomUUID() }

    const first = await create({}, again, dying)
    isDying = false
    const second = await create({}, again)

    expect([first.status, second.status]).toEqual([500, 201])
    expect(await opens(second.json.secret)).toBe(true)
    const all = (await ask('GET', `${PATH}?limit=200`)).json.data as { id: string; created_at: string }[]
    expect(all.filter(({ created_at }) => created_at === second.json.created_at)).toHaveLength(1)
  })

  test('is audited with its scopes, never with its secret', async () => {
    const { json } = await create({ name: 'audited' })

    expect(gateway.audited.at(-1)).toMatchObject({
      action: 'api_key.create',
      outcome: 'succeeded',
      target: json.id,
      changes: { after: { id: json.id, name: 'audited', scopes: ['read:attribution'], expires_at: json.expires_at } },
    })
    expect(JSON.stringify(gateway.audited)).not.toContain(json.secret.slice(-58, -6))
  })
})

describe('API keys', () => {
  test('are listed newest first, each once, page by page', async () => {
    const made: string[] = []
    for (let i = 0; i < 5; i++) made.push((await create({ name: `page ${i}` })).json.id)
    const seen: string[] = []
    let query = 'limit=2'
    for (;;) {
      const { json } = await ask('GET', `${PATH}?${query}`)
      seen.push(...(json.data as { id: string }[]).map(({ id }) => id))
      if (!json.page.has_more) break
      query = `limit=2&cursor=${json.page.next_cursor}`
    }

    expect(seen.filter((id) => made.includes(id))).toEqual(made.reverse())
    expect(new Set(seen).size).toBe(seen.length)
  })

  test('of another tenant look like invented ones, and cannot be changed', async () => {
    const { stored: foreign } = apiKey({ id: randomId('key', idsOf('tnt_other')), tenant_id: 'tnt_other' })
    const bucket = await broker.bucket(API_KEYS)
    await bucket.create(foreign.id, JSON.stringify(foreign))
    const invented = randomId('key', idsOf('tnt_other'))
    const unknown = randomId('key', idsOf(TENANT))

    for (const [id, expected] of [
      [foreign.id, [403, 'TENANT_MISMATCH']],
      [invented, [403, 'TENANT_MISMATCH']],
      [unknown, [404, 'NOT_FOUND']],
      ['key_x', [404, 'NOT_FOUND']],
    ] as const) {
      expect(refusalOf(await ask('GET', `${PATH}/${id}`))).toEqual(expected)
      expect(refusalOf(await ask('DELETE', `${PATH}/${id}`))).toEqual(expected)
      expect(refusalOf(await rotate(id))).toEqual(expected)
    }
    const listed = (await ask('GET', `${PATH}?limit=200`)).json.data as { id: string }[]
    expect(listed.map(({ id }) => id)).not.toContain(foreign.id)
    expect(await stored(foreign.id)).toEqual(foreign)
  })

  test('of another tenant whose id has our tag by chance are refused', async () => {
    const { stored: chance } = apiKey({ id: randomId('key', idsOf(TENANT)), tenant_id: 'tnt_other' })
    await (await broker.bucket(API_KEYS)).create(chance.id, JSON.stringify(chance))

    expect((await ask('DELETE', `${PATH}/${chance.id}`)).status).toBe(404)
    expect((await rotate(chance.id)).status).toBe(404)
    expect((await ask('GET', `${PATH}/${chance.id}`)).status).toBe(404)
    expect(await stored(chance.id)).toEqual(chance)
  })

  test('need admin:config, and a recent sign-in to be changed', async () => {
    const { id } = (await create()).json
    const stale = { 'x-api-key': `admin:config@${Math.floor(Date.now() / 1_000) - 901}` }
    const other = { 'x-api-key': SCOPES.filter((scope) => scope !== 'admin:config').join() }

    for (const [headers, expected] of [
      [stale, [401, 'STEP_UP_REQUIRED']],
      [other, [403, 'INSUFFICIENT_SCOPE']],
    ] as const) {
      expect(refusalOf(await create({}, headers))).toEqual(expected)
      expect(refusalOf(await rotate(id, {}, headers))).toEqual(expected)
      expect(refusalOf(await ask('DELETE', `${PATH}/${id}`, undefined, headers))).toEqual(expected)
    }
    expect((await ask('GET', PATH, undefined, stale)).status).toBe(200)
    expect((await ask('GET', PATH, undefined, other)).status).toBe(403)
  })
})

describe('an API key that is revoked', () => {
  test('stays revoked, and revoking it again succeeds', async () => {
    const { id } = (await create()).json

    expect((await ask('DELETE', `${PATH}/${id}`)).status).toBe(204)
    const first = await stored(id)
    expect((await ask('DELETE', `${PATH}/${id}`)).status).toBe(204)

    expect(await get(id)).toMatchObject({ id, status: 'revoked' })
    expect(await stored(id)).toEqual(first)
    expect(gateway.audited.at(-1)).toMatchObject({ action: 'api_key.revoke', target: id, outcome: 'succeeded' })
  })
})

describe('an API key that is rotated', () => {
  test('is revoked at once and replaced by one with a new id and secret and the same other fields', async () => {
    const old = (await create({ ingestion_layers: ['proxy'], billing: 'seat' })).json

    const { status, headers, json } = await rotate(old.id)

    expect(status).toBe(201)
    expect(headers.get('location')).toBe(`${PATH}/${json.id}`)
    expect(json.id).not.toBe(old.id)
    expect(json).toMatchObject({
      name: old.name,
      scopes: old.scopes,
      expires_at: old.expires_at,
      ingestion_layers: ['proxy'],
      billing: 'seat',
      status: 'active',
    })
    expect(await opens(json.secret)).toBe(true)
    expect(await get(old.id)).toMatchObject({ status: 'revoked' })
    expect(gateway.audited.at(-1)).toMatchObject({
      action: 'api_key.rotate',
      target: old.id,
      changes: { before: { id: old.id }, after: { id: json.id } },
    })
  })

  test('may get other scopes, another expiry and another payer', async () => {
    const { id } = (await create({ billing: 'seat' })).json
    const expires_at = new Date(Date.now() + DAY_MS).toISOString()

    const { json } = await rotate(id, { scopes: ['export:create'], expires_at, billing: 'api' })

    expect(json).toMatchObject({ scopes: ['export:create'], expires_at, billing: 'api' })
  })

  test.each([
    [{ scopes: [] }, 'NO_SCOPE'],
    [{ scopes: ['x'] }, 'VALIDATION_FAILED'],
    [{ overlap_seconds: 86_401 }, 'VALIDATION_FAILED'],
    [{ overlap_seconds: -1 }, 'VALIDATION_FAILED'],
    [{ expires_at: '2036-01-01T00:00:00Z' }, 'VALIDATION_FAILED'],
  ])('is not with %j', async (body, code) => {
    const { id } = (await create()).json

    expect(refusalOf(await rotate(id, body))).toEqual([422, code])
    expect(await get(id)).toMatchObject({ status: 'active' })
  })

  test('stays valid for the overlap, unless it expires sooner', async () => {
    const [long, short] = [
      (await create()).json,
      (await create({ expires_at: new Date(Date.now() + 60_000).toISOString() })).json,
    ]
    const before = Date.now()

    await rotate(long.id, { overlap_seconds: 3_600 })
    await rotate(short.id, { overlap_seconds: 3_600 })

    const left = Date.parse((await get(long.id)).expires_at) - before
    expect(left).toBeGreaterThanOrEqual(3_600_000)
    expect(left).toBeLessThan(3_660_000)
    expect(await get(long.id)).toMatchObject({ status: 'active' })
    expect(await get(short.id)).toMatchObject({ status: 'active', expires_at: short.expires_at })
  })

  test('is rotated only once, and only while it is active', async () => {
    const [overlapped, revoked] = [(await create()).json, (await create()).json]
    await rotate(overlapped.id, { overlap_seconds: 60 })
    await ask('DELETE', `${PATH}/${revoked.id}`)

    expect(refusalOf(await rotate(overlapped.id))).toEqual([409, 'CONFLICT'])
    expect(refusalOf(await rotate(revoked.id))).toEqual([409, 'CONFLICT'])
    expect(await rotationsOf(revoked.id)).toEqual([])
  })

  test('by simultaneous requests is replaced by one key, and the others leave none', async () => {
    const { id } = (await create()).json
    const other = await start()

    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => rotate(id, { overlap_seconds: 60 }, {}, i % 2 === 0 ? gateway : other)),
    )

    const made = answers.filter(({ status }) => status === 201)
    expect(made).toHaveLength(1)
    expect(
      new Set(
        answers
          .filter((answer) => answer !== made[0])
          .map(refusalOf)
          .map(String),
      ),
    ).toEqual(new Set(['409,CONFLICT']))
    expect((await stored(id))?.replaced_by).toBe(made[0]?.json.id)
    expect(await rotationsOf(id)).toHaveLength(1)
    const bucket = await broker.bucket(API_KEYS)
    const kept: string[] = []
    for await (const key of await bucket.keys()) kept.push((await stored(key))?.created_at ?? '')
    expect(kept.filter((createdAt) => createdAt >= made[0]?.json.created_at)).toHaveLength(1)
  })

  test('is published as an event without a secret', async () => {
    const { id } = (await create()).json
    const { json } = await rotate(id)

    expect(await rotationsOf(id)).toEqual([
      {
        sequence: expect.any(Number),
        id: expect.stringMatching(/^evt_/),
        event: {
          id: expect.stringMatching(/^evt_/),
          type: 'apikey.rotated',
          tenant_id: TENANT,
          data: { old_key_id: id, new_key_id: json.id },
        },
      },
    ])
  })

  test.each(['made the new key', 'ended the old key', 'told the event'])(
    'is rotated once when the first attempt died after it had %s',
    async (when) => {
      let isDying = true
      const die = (at: string): void => {
        if (isDying && at === when) throw new Error('died here')
      }
      const dying = await start({
        keys: (real) => ({
          ...real,
          async createOnce(key, record) {
            const made = await real.createOnce(key, record)
            die('made the new key')
            return made
          },
          async change(key, change) {
            const changed = await real.change(key, change)
            die('ended the old key')
            return changed
          },
        }),
        publishEvent: (real) => async (event) => {
          await real(event)
          die('told the event')
        },
      })
      const old = (await create()).json
      const again = { 'idempotency-key': randomUUID() }

      const first = await rotate(old.id, { overlap_seconds: 60 }, again, dying)
      isDying = false
      const second = await rotate(old.id, { overlap_seconds: 60 }, again)

      expect([first.status, second.status]).toEqual([500, 201])
      expect(await opens(second.json.secret)).toBe(true)
      expect((await stored(old.id))?.replaced_by).toBe(second.json.id)
      expect(await rotationsOf(old.id)).toHaveLength(1)
      expect((await rotate(old.id)).status).toBe(409)
    },
  )
})
