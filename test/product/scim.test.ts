import { beforeAll, expect, test } from 'vitest'
import { type Ask, askAs } from '../support/ask.js'
import { listedAll } from '../support/attributed.js'
import { newTenantOfProduct } from '../support/product.js'
import type { Instance } from '../support/service.js'

/** Identities and teams from an identity provider, as one speaks SCIM 2.0. */

let service: Instance
let ask: Ask
const CANARY = 'Ada Lovelace'

beforeAll(async () => {
  service = await newTenantOfProduct()
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
})

/** As SCIM clients send: with a bearer token, their own media type and no Idempotency-Key. */
async function scim(method: string, path: string, body?: unknown, key = service.credentials.api_key) {
  const answer = await fetch(`${service.baseUrl}/scim/v2/${path}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/scim+json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (text !== '') expect(answer.headers.get('content-type')).toBe('application/scim+json')
  expect(text).not.toContain(CANARY)
  return { status: answer.status, headers: answer.headers, json: text === '' ? undefined : JSON.parse(text) }
}

const user = (userName: string, stated: object = {}) => ({
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
  userName,
  name: { givenName: 'Ada', familyName: 'Lovelace', formatted: CANARY },
  displayName: CANARY,
  emails: [{ value: 'private@example.com', primary: true }],
  externalId: '00u1',
  active: true,
  ...stated,
})
const identity = async (name: string) =>
  (await ask('GET', `/api/v1/directory/identities?name=${encodeURIComponent(name)}`)).json.data[0]
const replace = (path: string, value: unknown) => ({ Operations: [{ op: 'Replace', path, value }] })

test('a user is added, found, deactivated and removed; only name and state are kept', async () => {
  const made = await scim('POST', 'Users', user('ada@example.com'))
  expect(made.status).toBe(201)
  expect(made.json).toEqual({
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
    id: made.json.id,
    externalId: '00u1',
    userName: 'ada@example.com',
    active: true,
    groups: [],
    meta: { resourceType: 'User', location: `${service.baseUrl}/scim/v2/Users/${made.json.id}` },
  })
  expect(made.headers.get('location')).toBe(`${service.baseUrl}/scim/v2/Users/${made.json.id}`)
  expect(await identity('ada@example.com')).toMatchObject({ id: made.json.id, is_active: true, is_workload: false })
  const path = `Users/${made.json.id}`

  const again = await scim('POST', 'Users', user('ada@example.com'))
  expect(again).toMatchObject({ status: 409, json: { status: '409', scimType: 'uniqueness' } })
  expect(again.json.schemas).toEqual(['urn:ietf:params:scim:api:messages:2.0:Error'])
  const found = await scim('GET', 'Users?filter=userName%20eq%20%22ada%40example.com%22')
  expect(found.json).toMatchObject({ totalResults: 1, Resources: [{ id: made.json.id }] })
  expect((await scim('GET', 'Users?filter=userName%20sw%20%22a%22')).json).toMatchObject({ scimType: 'invalidFilter' })

  expect((await scim('PATCH', path, replace('active', 'False'))).json).toMatchObject({ active: false })
  expect(await identity('ada@example.com')).toMatchObject({ is_active: false })
  expect((await scim('PATCH', path, replace('nickName', CANARY))).json).toMatchObject({ active: false })
  expect((await scim('PUT', path, user('ada@example.com'))).json).toMatchObject({ active: true })
  expect((await scim('PATCH', path, { Operations: [{ op: 'remove', path: 'active' }] })).json).not.toHaveProperty(
    'active',
  )

  expect((await scim('DELETE', path)).status).toBe(204)
  expect((await scim('GET', path)).status).toBe(404)
  expect(await identity('ada@example.com')).toBeUndefined()
})

test('groups are teams: members have their first group as owner, also when it is renamed or goes', async () => {
  const ids: string[] = []
  for (const name of ['g-1@example.com', 'g-2@example.com', 'g-3@example.com']) {
    ids.push((await scim('POST', 'Users', user(name))).json.id)
  }
  const member = (i: number) => ({ value: ids[i], display: CANARY })
  const shop = await scim('POST', 'Groups', { displayName: 'shop', members: [member(0), member(1)] })
  expect(shop).toMatchObject({ status: 201, json: { displayName: 'shop' } })
  const search = await scim('POST', 'Groups', { displayName: 'search', externalId: 'x' })
  expect((await scim('POST', 'Groups', { displayName: 'shop' })).status).toBe(409)
  const owners = async () => {
    const all = await Promise.all([1, 2, 3].map((i) => identity(`g-${i}@example.com`)))
    return all.map(({ owner }) => owner)
  }
  expect(await owners()).toEqual(['shop', 'shop', null])

  const added = { Operations: [{ op: 'Add', path: 'members', value: [member(1), member(2)] }] }
  expect((await scim('PATCH', `Groups/${search.json.id}`, added)).status).toBe(204)
  expect(await owners()).toEqual(['shop', 'shop', 'search'])
  expect((await scim('GET', `Users/${ids[1]}`)).json.groups.map(({ display }: { display: string }) => display)).toEqual(
    ['shop', 'search'],
  )
  const removed = { Operations: [{ op: 'remove', path: `members[value eq "${ids[1]}"]` }] }
  expect((await scim('PATCH', `Groups/${shop.json.id}`, removed)).status).toBe(204)
  expect(await owners()).toEqual(['shop', 'search', 'search'])

  expect((await scim('PATCH', `Groups/${search.json.id}`, replace('displayName', 'finding'))).status).toBe(204)
  expect(await owners()).toEqual(['shop', 'finding', 'finding'])
  const shown = await scim('GET', `Groups/${search.json.id}`)
  const shownIds = shown.json.members.map(({ value }: { value: string }) => value)
  expect(shownIds.sort()).toEqual([ids[1], ids[2]].sort()) // unordered: RFC 7643, section 2.4
  const list = await scim('GET', 'Groups?excludedAttributes=members&filter=displayName%20eq%20%22finding%22')
  expect(list.json.Resources).toMatchObject([{ id: search.json.id }])
  expect(list.json.Resources[0]).not.toHaveProperty('members')

  // An import of the same people says nothing of their groups.
  await fetch(`${service.baseUrl}/api/v1/directory/import?keep_missing=true`, {
    method: 'PUT',
    headers: { 'x-api-key': service.credentials.api_key, 'content-type': 'text/csv' },
    body: 'kind,name,owner,service\nidentities,g-3@example.com,finding,indexer\n',
  })
  expect((await scim('GET', `Users/${ids[2]}`)).json.groups).toHaveLength(1)
  expect((await scim('DELETE', `Groups/${search.json.id}`)).status).toBe(204)
  expect(await owners()).toEqual(['shop', null, null])
  expect(await identity('g-3@example.com')).toMatchObject({ service: 'indexer' })
  expect(
    await scim('PATCH', `Groups/${shop.json.id}`, {
      Operations: [{ op: 'add', path: 'members', value: [{ value: 'idn_0' }] }],
    }),
  ).toMatchObject({
    status: 400,
    json: { scimType: 'invalidValue', detail: 'members must be ids of users' },
  })
})

test('a user is one person under each of their names, and no other user gets one of them', async () => {
  const { id } = (await scim('POST', 'Users', user('Anna.Muster@Example.com'))).json
  const found = async (name: string) => (await scim('GET', `Users?filter=USERNAME+Eq+%22${name}%22`)).json.totalResults
  expect(await found('anna.muster@example.com')).toBe(1)
  expect(await scim('POST', 'Users', user('anna.muster@example.com'))).toMatchObject({ status: 409 })

  const renamed = await scim('PUT', `Users/${id}`, user('anna.neumann@example.com'))
  expect(renamed).toMatchObject({ status: 200, json: { id, userName: 'anna.neumann@example.com' } })
  expect([await found('Anna.Neumann@example.com'), await found('anna.muster@example.com')]).toEqual([1, 0])
  const team = { displayName: 'research', members: [{ value: id }] }
  expect((await scim('POST', 'Groups', team)).status).toBe(201)
  const calls = ['anna.muster@example.com', 'anna.neumann@example.com', 'Anna.Neumann@Example.com']
  const stated = calls.map((attributed_identity) => ({
    attributed_identity,
    ingestion_timestamp: new Date().toISOString(),
  }))
  expect((await listedAll(ask, stated)).map(({ owner }) => owner)).toEqual(['research', 'research', 'research'])

  // Her earlier calls have the earlier name.
  for (const name of ['ANNA.MUSTER@example.com', 'anna.neumann@example.com']) {
    expect(await scim('POST', 'Users', user(name))).toMatchObject({ status: 409, json: { scimType: 'uniqueness' } })
  }
  const other = (await scim('POST', 'Users', user('bea@example.com'))).json
  expect(await scim('PATCH', `Users/${other.id}`, replace('userName', 'Anna.Muster@example.com'))).toMatchObject({
    status: 409,
  })
})

test('of requests at once for a name in several spellings exactly one makes a user', async () => {
  const spellings = ['carla@example.com', 'Carla@example.com', 'CARLA@example.com', 'carla@EXAMPLE.com']
  const made = await Promise.all(spellings.map((name) => scim('POST', 'Users', user(name))))

  expect(made.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409])
  const found = await scim('GET', 'Users?filter=userName+eq+%22carla%40example.com%22')
  expect(found.json.totalResults).toBe(1)
})

test('a key ends, renames and deletes no owner, also not by giving somebody else the name', async () => {
  const { credentials } = await newTenantOfProduct()
  const key = credentials.api_key
  const asKey = askAs(service.baseUrl, { 'x-api-key': key })
  const owner = (await asKey('GET', '/api/v1/users')).json.data.find((each: { owner: boolean }) => each.owner)
  const spelled = owner.username.toUpperCase()
  const other = (await scim('POST', 'Users', user('other@example.com'), key)).json

  const refused = { status: 403, json: { status: '403' } }
  expect(await scim('POST', 'Users', user(spelled, { active: false }), key)).toMatchObject(refused)
  expect(await scim('PATCH', `Users/${other.id}`, replace('userName', spelled), key)).toMatchObject(refused)
  const path = `Users/${(await scim('POST', 'Users', user(spelled), key)).json.id}`
  expect(await scim('PATCH', path, replace('active', 'False'), key)).toMatchObject(refused)
  expect(await scim('PUT', path, user('other.name@example.com'), key)).toMatchObject(refused)
  expect(await scim('DELETE', path, undefined, key)).toMatchObject(refused)
  expect((await scim('GET', path, undefined, key)).json).toMatchObject({ userName: spelled, active: true })
  // Groups give no rights: their team has the name, they nothing more.
  const group = await scim('POST', 'Groups', { displayName: 'admins', members: [{ value: other.id }] }, key)
  expect(group.status).toBe(201)
  expect((await asKey('GET', '/api/v1/users')).json.data).toHaveLength(1)
})

test('pages go by index; workloads are no users; other tenants have other users', async () => {
  await ask('POST', '/api/v1/directory/identities', { name: 'ci-bot', is_workload: true })
  const all = (await scim('GET', 'Users?count=200')).json
  expect(all.Resources.map(({ userName }: { userName: string }) => userName)).not.toContain('ci-bot')
  const second = await scim('GET', 'Users?startIndex=2&count=1')
  expect(second.json).toMatchObject({ startIndex: 2, itemsPerPage: 1, totalResults: all.totalResults })
  expect(second.json.Resources).toEqual(all.Resources.slice(1, 2))
  expect((await scim('GET', 'Users?count=0')).json.Resources).toEqual([])
  expect((await scim('GET', 'Users?count=-1&startIndex=-5')).json).toMatchObject({ startIndex: 1, Resources: [] })
  expect((await scim('GET', 'Users?startIndex=99999999999999')).json).toMatchObject({ itemsPerPage: 0 })
  const searched = await scim('POST', '.search', { startIndex: 2, count: 1, attributes: ['userName'] })
  const { id, userName, schemas } = all.Resources[1]
  expect(searched.json.Resources).toEqual([{ schemas, id, userName }])

  const other = await newTenantOfProduct()
  const theirs = await scim('GET', `Users/${all.Resources[0].id}`, undefined, other.credentials.api_key)
  expect(theirs.status).toBe(403)
  expect((await scim('GET', 'Users', undefined, other.credentials.api_key)).json.totalResults).toBe(0)
})

test('errors have SCIM’s own form, also without a right', async () => {
  const { json } = await ask('POST', '/api/v1/api-keys', { name: 'reader', scopes: ['read:attribution'] })
  expect(await scim('GET', 'Users', undefined, json.secret)).toMatchObject({ status: 403, json: { status: '403' } })
  expect(await scim('POST', 'Users', user('x'), json.secret)).toMatchObject({ status: 403 })
  const refused = async () => {
    const { json: log } = await ask('GET', '/api/v1/audit-log?limit=20')
    return log.data.find(({ outcome }: { outcome: string }) => outcome === 'refused')
  }
  // The log shows an entry a moment after it is durable.
  let entry = await refused()
  while (entry?.actor !== json.id) entry = await refused()
  expect(entry).toMatchObject({ action: 'directory.put', error_code: 'INSUFFICIENT_SCOPE' })
  expect(await scim('GET', 'Users', undefined, 'ak_live_wrong')).toMatchObject({ status: 401, json: { status: '401' } })
  expect(await scim('POST', 'Users', { displayName: 'x' })).toMatchObject({
    status: 400,
    json: { scimType: 'invalidValue' },
  })
  expect(await scim('PATCH', 'Users/idn_0', { Operations: [{ op: 'move' }] })).toMatchObject({ status: 400 })
  expect((await scim('GET', 'ServiceProviderConfig')).json).toMatchObject({
    patch: { supported: true },
    bulk: { supported: false },
  })
  expect((await scim('GET', 'ResourceTypes')).json.Resources).toHaveLength(2)
  const { Resources: schemas } = (await scim('GET', 'Schemas')).json
  expect(schemas).toHaveLength(2)
  for (const { id } of schemas) expect((await scim('GET', `Schemas/${encodeURIComponent(id)}`)).json.id).toBe(id)
  expect((await scim('GET', 'ResourceTypes/Group')).json).toMatchObject({ name: 'Group' })
  const refusals = [
    ['GET', 'Schemas/urn:none', 404],
    ['GET', 'Schemas?filter=id+pr', 403],
    ['GET', 'Nothing', 404],
    ['DELETE', 'Schemas', 405],
    ['GET', 'Me', 501],
    ['POST', 'Bulk', 501],
  ] as const
  for (const [method, path, status] of refusals) {
    const { json } = await scim(method, path, method === 'POST' ? {} : undefined)
    expect(json).toEqual({
      schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
      status: String(status),
      detail: json.detail,
    })
  }
  const { json: description } = await ask('GET', '/openapi.json')
  expect(Object.keys(description.paths).filter((path) => path.startsWith('/scim'))).toEqual([])
})
