import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { SCOPES } from '../../../../internal/auth/scopes.js'
import type { Tenant } from '../../../../internal/auth/tenant.js'
import { bucketRecords } from '../../../../internal/broker/records.js'
import { TENANTS } from '../../../../streams/buckets.js'
import { type AccessOptions, accessRoutes } from '../../../support/access-gateway.js'
import { type Asked, ask, refusalOf } from '../../../support/ask.js'
import type { MutationGateway } from '../../../support/mutation-gateway.js'
import { ownGateways } from '../../../support/own-gateways.js'
import { TENANT } from '../../../support/scope-keys.js'

const PATH = '/api/v1/users'
const ALL = SCOPES.join(',')
const ADMIN = 'admin:config'

const start = ownGateways<AccessOptions>(accessRoutes)
let gateway: MutationGateway
let other: MutationGateway
beforeAll(async () => {
  gateway = await start({ delegation: 'held' })
  other = await start()
})

const as = (credential: string, method: string, path: string, body?: unknown, at = gateway): Promise<Asked> =>
  ask(at.url, method, path, { 'x-api-key': credential }, body)
let named = 0
const create = (credential: string, body: object = {}): Promise<Asked> =>
  as(credential, 'POST', PATH, { username: `person${named++}`, scopes: [ADMIN], ...body })
/** A token of the person that carries `admin:config` alone, as of a recent sign-in. */
const tokenOf = (id: string, scopes = ADMIN): string => `${scopes}@${Math.floor(Date.now() / 1_000)}#${id}`
const ownersOf = async (): Promise<readonly string[]> =>
  (await as(ADMIN, 'GET', `${PATH}?limit=200`)).json.data
    .filter(({ owner }: { owner: boolean }) => owner)
    .map(({ id }: { id: string }) => id)

beforeEach(async () => {
  const tenants = bucketRecords<Tenant>(await gateway.broker.bucket(TENANTS), async () => undefined)
  await tenants.change(TENANT, ({ owners: _, ...tenant }) => tenant)
  while ((await ownersOf()).length > 0);
})

describe('the first owner', () => {
  test('is the first administrator that a credential with all scopes creates', async () => {
    const reader = await create(ALL, { scopes: ['read:attribution'] })
    const first = await create(ALL)
    const second = await create(ALL)

    expect([reader, first, second].map(({ json }) => json.owner)).toEqual([false, true, false])
    expect((await as(ADMIN, 'GET', `${PATH}/${first.json.id}`)).json.owner).toBe(true)
    expect(await ownersOf()).toEqual([first.json.id])
    expect(gateway.audited.filter(({ target }) => target === first.json.id)).toMatchObject([
      { changes: { after: { owner: true } } },
    ])
  })

  test('is no administrator that a lesser credential creates, which would give itself more by that', async () => {
    expect((await create(ADMIN)).json.owner).toBe(false)
    expect(refusalOf(await create(ADMIN, { owner: true }))).toEqual([403, 'INSUFFICIENT_SCOPE'])
    expect(await ownersOf()).toEqual([])
  })

  test('can be a person who exists already', async () => {
    const { id } = (await create(ALL, { owner: false })).json

    expect(refusalOf(await as(ADMIN, 'PATCH', `${PATH}/${id}`, { owner: true }))).toEqual([403, 'INSUFFICIENT_SCOPE'])
    expect((await as(ALL, 'PATCH', `${PATH}/${id}`, { owner: true })).json.owner).toBe(true)
    expect(await ownersOf()).toEqual([id])
  })

  test('is an administrator', async () => {
    expect(refusalOf(await create(ALL, { owner: true, scopes: ['read:attribution'] }))).toEqual([
      422,
      'VALIDATION_FAILED',
    ])
  })
})

describe('an owner', () => {
  let owner: string
  beforeEach(async () => {
    owner = (await create(ALL)).json.id
  })

  test('gives scopes that the token does not carry; another administrator does not', async () => {
    const administrator = (await create(ALL)).json.id

    expect((await create(tokenOf(owner), { scopes: SCOPES })).status).toBe(201)
    const refused = await create(tokenOf(administrator), { scopes: SCOPES })
    expect(refusalOf(refused)).toEqual([403, 'INSUFFICIENT_SCOPE'])
    expect(refused.json.detail).toContain('read:attribution, read:reporting, export:create, webhooks:manage.')
    const client = { name: 'Job', scopes: SCOPES }
    expect((await as(tokenOf(owner), 'POST', '/api/v1/clients', client)).status).toBe(201)
    expect(refusalOf(await as(tokenOf(administrator), 'POST', '/api/v1/clients', client))).toEqual([
      403,
      'INSUFFICIENT_SCOPE',
    ])
  })

  test('gives and takes the flag, which nobody else does', async () => {
    const { id } = (await create(ALL)).json
    const path = `${PATH}/${id}`

    expect(refusalOf(await as(ALL, 'PATCH', path, { owner: true }))).toEqual([403, 'INSUFFICIENT_SCOPE'])
    expect((await as(tokenOf(owner), 'PATCH', path, { owner: true })).json.owner).toBe(true)
    for (const [method, body] of [
      ['PATCH', { owner: false }],
      ['PATCH', { password: 'correct horse battery staple' }],
      ['PATCH', { status: 'disabled', owner: false }],
      ['DELETE', undefined],
    ] as const) {
      expect(refusalOf(await as(ALL, method, path, body)), JSON.stringify(body)).toEqual([403, 'INSUFFICIENT_SCOPE'])
    }
    expect((await as(tokenOf(owner), 'PATCH', path, { owner: false })).json.owner).toBe(false)
    expect(await ownersOf()).toEqual([owner])
  })

  test('is neither disabled nor less than an administrator', async () => {
    for (const body of [{ status: 'disabled' }, { scopes: ['read:attribution'] }]) {
      expect(refusalOf(await as(tokenOf(owner), 'PATCH', `${PATH}/${owner}`, body))).toEqual([409, 'CONFLICT'])
    }
  })

  test('who is the last one stays', async () => {
    expect(refusalOf(await as(tokenOf(owner), 'PATCH', `${PATH}/${owner}`, { owner: false }))).toEqual([
      409,
      'CONFLICT',
    ])
    expect(refusalOf(await as(tokenOf(owner), 'DELETE', `${PATH}/${owner}`))).toEqual([409, 'CONFLICT'])

    const { id } = (await create(tokenOf(owner), { owner: true })).json
    expect((await as(tokenOf(id), 'DELETE', `${PATH}/${owner}`)).status).toBe(204)
    expect(await ownersOf()).toEqual([id])
  })

  test('of two who give up the flag at once at two gateways, one stays', async () => {
    const { id } = (await create(tokenOf(owner), { owner: true })).json

    const both = await Promise.all([
      as(tokenOf(owner), 'PATCH', `${PATH}/${owner}`, { owner: false }),
      as(tokenOf(id), 'PATCH', `${PATH}/${id}`, { owner: false }, other),
    ])

    expect(both.map(({ status }) => status).sort()).toEqual([200, 409])
    expect(await ownersOf()).toHaveLength(1)
  })
})

test('to set a password or to enable a person needs all that the person may do', async () => {
  const { id } = (await create(ALL, { owner: false, scopes: ['admin:config', 'export:create'] })).json
  const patch = (credential: string, body: object) => as(credential, 'PATCH', `${PATH}/${id}`, body)

  expect(refusalOf(await patch(ADMIN, { password: 'correct horse battery staple' }))).toEqual([
    403,
    'INSUFFICIENT_SCOPE',
  ])
  expect((await patch(ADMIN, { status: 'disabled' })).status).toBe(200)
  expect(refusalOf(await patch(ADMIN, { status: 'active' }))).toEqual([403, 'INSUFFICIENT_SCOPE'])
  expect((await patch('admin:config,export:create', { status: 'active' })).status).toBe(200)
  expect((await patch(ADMIN, { scopes: ['export:create'] })).json.scopes).toEqual(['export:create'])
})

test('an OAuth client is widened only by a caller who holds its scopes', async () => {
  const { id } = (await as(ALL, 'POST', '/api/v1/clients', { name: 'Job', scopes: ['export:create'] })).json
  const path = `/api/v1/clients/${id}`

  expect(refusalOf(await as(ADMIN, 'POST', `${path}/rotate-secret`))).toEqual([403, 'INSUFFICIENT_SCOPE'])
  expect(
    refusalOf(
      await as(ADMIN, 'PATCH', path, {
        grant_types: ['authorization_code'],
        redirect_uris: ['https://app.example/callback'],
      }),
    ),
  ).toEqual([403, 'INSUFFICIENT_SCOPE'])
  expect((await as(ADMIN, 'PATCH', path, { name: 'Nightly job', status: 'disabled' })).status).toBe(200)
  expect(refusalOf(await as(ADMIN, 'PATCH', path, { status: 'active' }))).toEqual([403, 'INSUFFICIENT_SCOPE'])
  expect((await as('admin:config,export:create', 'POST', `${path}/rotate-secret`)).status).toBe(200)
})
