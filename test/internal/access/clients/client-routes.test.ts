import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { isClientSecret, type StoredClient } from '../../../../internal/access/oauth/clients.js'
import { randomId } from '../../../../internal/ids/ids.js'
import { CLIENTS } from '../../../../streams/buckets.js'
import { type AccessOptions, accessRoutes } from '../../../support/access-gateway.js'
import { type Asked, ask as askAt, refusalOf } from '../../../support/ask.js'
import { idsOf } from '../../../support/key-gateway.js'
import type { MutationGateway } from '../../../support/mutation-gateway.js'
import { ownGateways } from '../../../support/own-gateways.js'
import { TENANT } from '../../../support/scope-keys.js'

const PATH = '/api/v1/clients'
const CALLBACK = 'https://app.example/callback'
const NATIVE = 'com.example.app:/callback'

const start = ownGateways<AccessOptions>(accessRoutes)
let gateway: MutationGateway

beforeAll(async () => {
  gateway = await start()
})

const ask = (method: string, path: string, body?: unknown, more: Record<string, string> = {}, at = gateway) =>
  askAt(at.url, method, path, { 'x-api-key': 'admin:config', ...more }, body)
const create = (body: object = {}, more?: Record<string, string>, at?: MutationGateway): Promise<Asked> =>
  ask('POST', PATH, { name: 'job', scopes: ['read:reporting'], ...body }, more, at)

/** Whether the secret matches the stored client. */
async function opens(id: string, secret: string): Promise<boolean> {
  const entry = await (await gateway.broker.bucket(CLIENTS)).get(id)
  return isClientSecret('production', entry?.operation === 'PUT' ? entry.json<StoredClient>() : undefined, secret)
}

describe('an OAuth client that is registered', () => {
  test('is shown with its secret once, and can get tokens for itself', async () => {
    const { status, headers, json } = await create()

    expect(status).toBe(201)
    expect(headers.get('location')).toBe(`${PATH}/${json.id}`)
    const { client_secret: secret, ...shown } = json
    expect(secret).toMatch(/^cs_live_[0-9a-z]{52}$/)
    expect(shown).toEqual({
      id: expect.stringMatching(/^cli_[0-9a-z]{26}$/),
      name: 'job',
      type: 'confidential',
      scopes: ['read:reporting'],
      grant_types: ['client_credentials'],
      redirect_uris: [],
      trusts_cost: true,
      is_gateway: false,
      billing: 'auto',
      status: 'active',
      created_at: expect.any(String),
      last_four: secret.slice(-4),
    })
    expect(await opens(shown.id, secret)).toBe(true)
    expect((await ask('GET', `${PATH}/${shown.id}`)).json).toEqual(shown)
    expect((await ask('GET', `${PATH}?limit=1`)).json.data).toEqual([shown])
    expect(JSON.stringify(gateway.audited)).not.toContain(secret)
  })

  test('that is public has no secret, neither at first nor later, and never acts for itself', async () => {
    const { status, json } = await create({ type: 'public', redirect_uris: [NATIVE] })

    expect(status).toBe(201)
    expect(json).toMatchObject({ type: 'public', grant_types: ['authorization_code'], last_four: null })
    expect(json).not.toHaveProperty('client_secret')
    const path = `${PATH}/${json.id}`
    expect(gateway.audited.at(-1)).toMatchObject({
      changes: { after: { type: 'public', redirect_origins: ['com.example.app:'] } },
    })
    expect(refusalOf(await ask('POST', `${path}/rotate-secret`))).toEqual([409, 'CONFLICT'])
    expect(refusalOf(await ask('PATCH', path, { grant_types: ['client_credentials'] }))).toEqual([
      422,
      'VALIDATION_FAILED',
    ])
    expect((await ask('GET', path)).json).toEqual(json)
  })

  test('may redirect people to its own addresses', async () => {
    const body = { grant_types: ['authorization_code', 'refresh_token'], redirect_uris: [CALLBACK] }

    expect((await create(body)).json).toMatchObject(body)
    // The audit log keeps only the origin of an address.
    expect(gateway.audited.at(-1)).toMatchObject({ changes: { after: { redirect_origins: ['https://app.example'] } } })
  })

  test.each([
    [{ scopes: [] }, 'NO_SCOPE'],
    [{ scopes: undefined }, 'NO_SCOPE'],
    [{ scopes: ['x'] }, 'VALIDATION_FAILED'],
    [{ name: undefined }, 'VALIDATION_FAILED'],
    [{ grant_types: ['authorization_code'], redirect_uris: [NATIVE] }, 'VALIDATION_FAILED'],
    [{ type: 'public' }, 'VALIDATION_FAILED'],
    [{ type: 'public', grant_types: ['client_credentials'] }, 'VALIDATION_FAILED'],
    [
      { type: 'public', grant_types: ['authorization_code', 'client_credentials'], redirect_uris: [NATIVE] },
      'VALIDATION_FAILED',
    ],
    [{ type: 'public', redirect_uris: ['myapp:/callback'] }, 'VALIDATION_FAILED'],
    [{ grant_types: [] }, 'VALIDATION_FAILED'],
    [{ grant_types: ['password'] }, 'VALIDATION_FAILED'],
    [{ grant_types: ['authorization_code'] }, 'VALIDATION_FAILED'],
    [{ grant_types: ['client_credentials', 'refresh_token'] }, 'VALIDATION_FAILED'],
    [{ redirect_uris: ['http://app.example/'] }, 'VALIDATION_FAILED'],
    [{ redirect_uris: ['https://app.example/#part'] }, 'VALIDATION_FAILED'],
    [{ redirect_uris: Array(21).fill(CALLBACK) }, 'VALIDATION_FAILED'],
  ])('is refused with %j', async (body, code) => {
    expect(refusalOf(await create(body))).toEqual([422, code])
  })

  test('is one client with one secret when the first attempt crashed before its reply', async () => {
    let isDying = true
    const dying = await start({
      clients: (real) => ({
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
    const [second, third] = [await create({}, again), await create({}, again)]

    expect([first.status, second.status]).toEqual([500, 201])
    expect(await opens(second.json.id, second.json.client_secret)).toBe(true)
    expect(third.json).toEqual(second.json)
    const { data } = (await ask('GET', `${PATH}?limit=200`)).json as { data: { created_at: string }[] }
    expect(data.filter(({ created_at }) => created_at >= second.json.created_at)).toHaveLength(1)
  })
})

describe('an OAuth client', () => {
  test('is changed only in the given fields, and only in mutable ones', async () => {
    const scopes = ['read:attribution', 'read:reporting', 'export:create']
    const { client_secret: _, ...before } = (await create({ scopes })).json
    const path = `${PATH}/${before.id}`

    const patch = { scopes: ['export:create', 'read:attribution'], status: 'disabled', billing: 'api' }
    const { status, json } = await ask('PATCH', path, patch)

    expect(status).toBe(200)
    expect(json).toEqual({
      ...before,
      scopes: ['read:attribution', 'export:create'],
      status: 'disabled',
      billing: 'api',
    })
    expect(gateway.audited.at(-1)).toMatchObject({
      action: 'client.update',
      target: before.id,
      changes: { before: { status: 'active' }, after: { status: 'disabled' } },
    })
    for (const [body, code] of [
      [{ scopes: [] }, 'NO_SCOPE'],
      [{ scopes }, 'VALIDATION_FAILED'],
      [{ scopes: ['admin:config'], status: 'active' }, 'VALIDATION_FAILED'],
      [{ grant_types: ['authorization_code'] }, 'VALIDATION_FAILED'],
      [{ status: 'deleted' }, 'VALIDATION_FAILED'],
      [{ client_secret: 'mine' }, 'VALIDATION_FAILED'],
      [{ id: 'cli_other' }, 'VALIDATION_FAILED'],
    ] as const) {
      expect(refusalOf(await ask('PATCH', path, body))).toEqual([422, code])
    }
    expect((await ask('GET', path)).json).toEqual(json)
  })

  test('gets a new secret, once per request, and the old one is refused', async () => {
    const { id, client_secret: old } = (await create()).json
    const again = { 'idempotency-key': randomUUID() }

    const first = await ask('POST', `${PATH}/${id}/rotate-secret`, undefined, again)
    const replayed = await ask('POST', `${PATH}/${id}/rotate-secret`, undefined, again)

    expect(first.status).toBe(200)
    expect(first.json.client_secret).not.toBe(old)
    expect(replayed.json).toEqual(first.json)
    expect(await opens(id, first.json.client_secret)).toBe(true)
    expect(await opens(id, old)).toBe(false)
    expect((await ask('GET', `${PATH}/${id}`)).json.last_four).toBe(first.json.client_secret.slice(-4))
  })

  test('gets additional scopes only together with a new secret', async () => {
    const { id, client_secret: old } = (await create()).json
    const rotate = (body?: object) => ask('POST', `${PATH}/${id}/rotate-secret`, body)

    const widened = await rotate({ scopes: ['export:create', 'read:reporting'] })

    expect(widened).toMatchObject({ status: 200, json: { scopes: ['read:reporting', 'export:create'] } })
    expect(await opens(id, widened.json.client_secret)).toBe(true)
    expect(await opens(id, old)).toBe(false)
    expect(gateway.audited.at(-1)).toMatchObject({
      action: 'client.rotate_secret',
      changes: { before: { scopes: ['read:reporting'] }, after: { scopes: ['read:reporting', 'export:create'] } },
    })
    expect((await rotate()).json.scopes).toEqual(['read:reporting', 'export:create'])
    expect(refusalOf(await rotate({ scopes: [] }))).toEqual([422, 'NO_SCOPE'])
    expect(refusalOf(await rotate({ scopes: ['x'] }))).toEqual([422, 'VALIDATION_FAILED'])
  })

  test('is deleted permanently', async () => {
    const { id } = (await create()).json
    const again = { 'idempotency-key': randomUUID() }

    expect((await ask('DELETE', `${PATH}/${id}`, undefined, again)).status).toBe(204)
    expect((await ask('DELETE', `${PATH}/${id}`, undefined, again)).status).toBe(204)

    for (const [method, path, body] of [
      ['GET', `${PATH}/${id}`],
      ['PATCH', `${PATH}/${id}`, { name: 'x' }],
      ['POST', `${PATH}/${id}/rotate-secret`],
      ['DELETE', `${PATH}/${id}`],
    ] as const) {
      expect(refusalOf(await ask(method, path, body))).toEqual([404, 'NOT_FOUND'])
    }
  })

  test('of another tenant cannot be read or changed, nor can an unknown one', async () => {
    const bucket = await gateway.broker.bucket(CLIENTS)
    const [foreign, chance] = [randomId('cli', idsOf('tnt_other')), randomId('cli', idsOf(TENANT))]
    for (const id of [foreign, chance]) await bucket.create(id, JSON.stringify({ id, tenant_id: 'tnt_other' }))

    for (const [id, expected] of [
      [foreign, [403, 'TENANT_MISMATCH']],
      [randomId('cli', idsOf('tnt_other')), [403, 'TENANT_MISMATCH']],
      [chance, [404, 'NOT_FOUND']],
    ] as const) {
      for (const [method, path, body] of [
        ['GET', `${PATH}/${id}`],
        ['PATCH', `${PATH}/${id}`, { status: 'disabled' }],
        ['POST', `${PATH}/${id}/rotate-secret`],
        ['DELETE', `${PATH}/${id}`],
      ] as const) {
        expect(refusalOf(await ask(method, path, body))).toEqual(expected)
      }
    }
    for (const id of [foreign, chance]) expect((await bucket.get(id))?.json()).toEqual({ id, tenant_id: 'tnt_other' })
  })

  test('can be changed only after a recent sign-in', async () => {
    const { id } = (await create()).json
    const stale = { 'x-api-key': `admin:config@${Math.floor(Date.now() / 1_000) - 901}` }

    for (const answer of [
      await create({}, stale),
      await ask('PATCH', `${PATH}/${id}`, { name: 'x' }, stale),
      await ask('POST', `${PATH}/${id}/rotate-secret`, undefined, stale),
      await ask('DELETE', `${PATH}/${id}`, undefined, stale),
    ]) {
      expect(refusalOf(answer)).toEqual([401, 'STEP_UP_REQUIRED'])
    }
  })
})
