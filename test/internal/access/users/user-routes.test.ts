import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { isPasswordOf } from '../../../../internal/access/oauth/passwords.js'
import { type StoredUser, userKey } from '../../../../internal/access/oauth/users.js'
import { randomId } from '../../../../internal/ids/ids.js'
import { USERS } from '../../../../streams/buckets.js'
import { type AccessOptions, accessRoutes } from '../../../support/access-gateway.js'
import { type Asked, ask as askAt, refusalOf } from '../../../support/ask.js'
import { idsOf } from '../../../support/key-gateway.js'
import type { MutationGateway } from '../../../support/mutation-gateway.js'
import { ownGateways } from '../../../support/own-gateways.js'
import { TENANT } from '../../../support/scope-keys.js'

const PATH = '/api/v1/users'
const PASSWORD = 'correct horse battery staple'

const start = ownGateways<AccessOptions>(accessRoutes)
let gateway: MutationGateway

beforeAll(async () => {
  gateway = await start()
})

const ask = (method: string, path: string, body?: unknown, more: Record<string, string> = {}, at = gateway) =>
  askAt(at.url, method, path, { 'x-api-key': 'admin:config', ...more }, body)
let named = 0
const create = (body: object = {}, more?: Record<string, string>, at?: MutationGateway): Promise<Asked> =>
  ask('POST', PATH, { username: `person${named++}`, scopes: ['read:reporting'], ...body }, more, at)

async function stored(username: string): Promise<StoredUser | undefined> {
  const entry = await (await gateway.broker.bucket(USERS)).get(userKey(TENANT, username))
  return entry?.operation === 'PUT' ? entry.json<StoredUser>() : undefined
}
const opens = async (username: string, password: string): Promise<boolean> =>
  isPasswordOf((await stored(username))?.password, password)

test('people are found by a part of their name, in any case', async () => {
  for (const username of ['zoe@example.org', 'mazoe@example.org', 'yan@example.org']) await create({ username })

  const { json } = await ask('GET', `${PATH}?contains=ZOE`)

  const names = json.data.map(({ username }: { readonly username: string }) => username)
  expect(names.sort()).toEqual(['mazoe@example.org', 'zoe@example.org'])
  expect(refusalOf(await ask('GET', `${PATH}?starts=zoe`))).toEqual([400, 'INVALID_FILTER'])
})

describe('a person who is created', () => {
  test('has the given password, which is never shown', async () => {
    const { status, headers, json } = await create({ username: 'Ada@Example.org', password: PASSWORD })

    expect(status).toBe(201)
    expect(headers.get('location')).toBe(`${PATH}/${json.id}`)
    expect(json).toEqual({
      id: expect.stringMatching(/^usr_[0-9a-z]{26}$/),
      username: 'ada@example.org',
      scopes: ['read:reporting'],
      status: 'active',
      owner: false,
      signs_in_by: 'password',
      second_factor: false,
      created_at: expect.any(String),
    })
    expect(await opens('ada@example.org', PASSWORD)).toBe(true)
    expect((await ask('GET', `${PATH}/${json.id}`)).json).toEqual(json)
    expect((await ask('GET', `${PATH}?limit=1`)).json.data).toEqual([json])
    expect(JSON.stringify(gateway.audited)).not.toContain(PASSWORD)
  })

  test('has a generated password by default, shown once and the same for a repeated request', async () => {
    let isDying = true
    const dying = await start({
      users: (real) => ({
        ...real,
        async createOnce(key, record) {
          const made = await real.createOnce(key, record)
          if (isDying) throw new Error('died here')
          return made
        },
      }),
    })
    const again = { 'idempotency-key': randomUUID() }
    const body = { username: 'grace' }

    const first = await create(body, again, dying)
    isDying = false
    const [second, third] = [await create(body, again), await create(body, again)]

    expect([first.status, second.status]).toEqual([500, 201])
    expect(second.json.password).toMatch(/^[0-9a-z]{24}$/)
    expect(await opens('grace', second.json.password)).toBe(true)
    expect(third.json).toEqual(second.json)
    expect((await ask('GET', `${PATH}/${second.json.id}`)).json.password).toBeUndefined()
  })

  test('has a username that is unique within the tenant', async () => {
    await create({ username: 'taken' })

    expect(refusalOf(await create({ username: 'TAKEN' }))).toEqual([409, 'CONFLICT'])
    const both = await Promise.all([create({ username: 'raced' }), create({ username: 'raced' })])
    expect(both.map(({ status }) => status).sort()).toEqual([201, 409])
  })

  test.each([
    [{ scopes: [] }, 'NO_SCOPE'],
    [{ scopes: ['x'] }, 'VALIDATION_FAILED'],
    [{ username: '' }, 'VALIDATION_FAILED'],
    [{ username: 'a b' }, 'VALIDATION_FAILED'],
    [{ username: 'a'.repeat(129) }, 'VALIDATION_FAILED'],
    [{ password: 'short' }, 'VALIDATION_FAILED'],
    [{ password: 'Qwertyqwerty' }, 'VALIDATION_FAILED'],
    [{ password: 'x'.repeat(257) }, 'VALIDATION_FAILED'],
  ])('is not with %j', async (body, code) => {
    expect(refusalOf(await create(body))).toEqual([422, code])
  })
})

test('a tenant that sets many passwords at once gets RATE_LIMITED, and can repeat the request later', async () => {
  const requests = Array.from({ length: 8 }, () => {
    const [key, username] = [randomUUID(), `person${named++}`]
    return () => create({ username, password: PASSWORD }, { 'idempotency-key': key })
  })

  const answers = await Promise.all(requests.map((request) => request()))

  const limited = requests.filter((_, at) => answers[at]?.status === 429)
  expect(limited.length).toBeGreaterThanOrEqual(1)
  expect(answers.map(({ status }) => status)).toEqual(expect.arrayContaining([201, 429]))
  for (const request of limited) expect((await request()).status).toBe(201)
})

describe('a person', () => {
  test('is changed only in the given fields, and only in mutable ones', async () => {
    const { password: _, ...before } = (await create()).json
    const path = `${PATH}/${before.id}`

    const { status, json } = await ask('PATCH', path, { scopes: ['admin:config'], status: 'disabled' })

    expect(status).toBe(200)
    expect(json).toEqual({ ...before, scopes: ['admin:config'], status: 'disabled' })
    for (const [body, code] of [
      [{ scopes: [] }, 'NO_SCOPE'],
      [{ username: 'other' }, 'VALIDATION_FAILED'],
      [{ password: 'short' }, 'VALIDATION_FAILED'],
      [{ password: '1q2w3e4r5t6y' }, 'VALIDATION_FAILED'],
    ] as const) {
      expect(refusalOf(await ask('PATCH', path, body))).toEqual([422, code])
    }
  })

  test('gets a new password, which invalidates earlier sign-ins', async () => {
    const { id, username } = (await create({ password: PASSWORD })).json
    const before = Math.floor(Date.now() / 1_000)

    const { status, json } = await ask('PATCH', `${PATH}/${id}`, { password: `${PASSWORD}!` })

    expect(status).toBe(200)
    expect(JSON.stringify(json)).not.toContain(PASSWORD)
    expect(await opens(username, `${PASSWORD}!`)).toBe(true)
    expect((await stored(username))?.signed_in_from).toBeGreaterThan(before)
    expect(gateway.audited.at(-1)).toMatchObject({ action: 'user.update', changes: { after: { password: 'changed' } } })
    expect(JSON.stringify(gateway.audited)).not.toContain(PASSWORD)
  })

  test('that was disabled must sign in again after being enabled', async () => {
    const { id, username } = (await create()).json
    const before = Math.floor(Date.now() / 1_000)

    await ask('PATCH', `${PATH}/${id}`, { status: 'disabled' })
    const { signed_in_from: since } = (await stored(username)) ?? {}
    await ask('PATCH', `${PATH}/${id}`, { status: 'active' })

    expect(since).toBeGreaterThan(before)
    expect(await stored(username)).toMatchObject({ status: 'active', signed_in_from: since })
  })

  test('is deleted, and the username is free for another person with a new id', async () => {
    const { id, username } = (await create()).json
    expect((await ask('DELETE', `${PATH}/${id}`)).status).toBe(204)
    const other = (await create({ username })).json

    for (const [method, body] of [['GET'], ['PATCH', { status: 'disabled' }], ['DELETE']] as const) {
      expect(refusalOf(await ask(method, `${PATH}/${id}`, body))).toEqual([404, 'NOT_FOUND'])
    }
    expect((await ask('GET', `${PATH}/${other.id}`)).json).toMatchObject({ id: other.id, status: 'active' })
  })

  test('of another tenant cannot be read or changed', async () => {
    const theirs = randomId('usr', idsOf('tnt_other'))

    for (const [method, body] of [['GET'], ['PATCH', { status: 'disabled' }], ['DELETE']] as const) {
      expect(refusalOf(await ask(method, `${PATH}/${theirs}`, body))).toEqual([403, 'TENANT_MISMATCH'])
      expect(refusalOf(await ask(method, `${PATH}/usr_x`, body))).toEqual([404, 'NOT_FOUND'])
    }
  })

  test('can be changed only after a recent sign-in', async () => {
    const { id } = (await create()).json
    const stale = { 'x-api-key': `admin:config@${Math.floor(Date.now() / 1_000) - 901}` }

    for (const answer of [
      await create({}, stale),
      await ask('PATCH', `${PATH}/${id}`, { status: 'disabled' }, stale),
      await ask('DELETE', `${PATH}/${id}`, undefined, stale),
    ]) {
      expect(refusalOf(answer)).toEqual([401, 'STEP_UP_REQUIRED'])
    }
  })
})
