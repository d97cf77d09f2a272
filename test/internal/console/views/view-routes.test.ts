import { beforeAll, expect, test } from 'vitest'
import { refuseView, storedView, VIEWS_OF_ONE_MAX } from '../../../../internal/console/views/view.js'
import { randomId } from '../../../../internal/ids/ids.js'
import { type AccessOptions, accessRoutes } from '../../../support/access-gateway.js'
import { ask, refusalOf } from '../../../support/ask.js'
import { idsOf } from '../../../support/key-gateway.js'
import type { MutationGateway } from '../../../support/mutation-gateway.js'
import { ownGateways } from '../../../support/own-gateways.js'
import { TENANT } from '../../../support/scope-keys.js'

const PATH = '/api/v1/views'
const start = ownGateways<AccessOptions>(accessRoutes)
let gateway: MutationGateway
beforeAll(async () => {
  gateway = await start()
})

/** Asks as a person, or another credential, with scopes. */
const as =
  (principal: string, scopes = 'read:reporting', tenant = TENANT) =>
  (method: string, path = PATH, body?: unknown) =>
    ask(gateway.url, method, path, { 'x-api-key': `${tenant}:${scopes}#${principal}` }, body)
const someone = () => randomId('usr', idsOf(TENANT))
const admin = as('key_admin', 'admin:config')

const QUERY = 'filter[service][eq]=checkout&period=last-month'
const view = (more: object = {}) => ({ name: 'Checkout', page: 'explorer', query: QUERY, shared: false, ...more })
const idsIn = async (person: ReturnType<typeof as>): Promise<string[]> => {
  const { json } = await person('GET', `${PATH}?limit=200`)
  return json.data.map(({ id }: { readonly id: string }) => id)
}

test('a view that is not shared exists for its owner alone', async () => {
  const [ada, grace] = [as(someone()), as(someone())]
  const { status, json } = await ada('POST', PATH, view())

  expect(status).toBe(201)
  expect(json).toMatchObject(view({ owner_name: null }))
  expect((await ada('GET', `${PATH}/${json.id}`)).json).toEqual(json)
  expect(await idsIn(ada)).toEqual([json.id])
  for (const other of [grace, admin]) {
    expect(await idsIn(other)).not.toContain(json.id)
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      const body = method === 'PATCH' ? { shared: true } : undefined
      expect(refusalOf(await other(method, `${PATH}/${json.id}`, body))).toEqual([404, 'NOT_FOUND'])
    }
  }
  expect((await ada('DELETE', `${PATH}/${json.id}`)).status).toBe(204)
})

test('a shared view is seen by all of the tenant, and changed by its owner and administrators', async () => {
  const [ada, grace] = [as(someone()), as(someone(), 'export:create')]
  const { json } = await ada('POST', PATH, view({ shared: true }))
  const path = `${PATH}/${json.id}`

  expect(await idsIn(grace)).toContain(json.id)
  expect(refusalOf(await grace('PATCH', path, { name: 'Mine' }))).toEqual([403, 'INSUFFICIENT_SCOPE'])
  expect(refusalOf(await grace('DELETE', path))).toEqual([403, 'INSUFFICIENT_SCOPE'])
  expect((await ada('PATCH', path, { query: '' })).json).toEqual({ ...json, query: '' })
  expect((await admin('PATCH', path, { name: 'Pay' })).json).toMatchObject({ name: 'Pay', owner: json.owner })
  expect(await idsIn(as(someone(), 'read:reporting', 'tnt_two'))).toEqual([])
  expect((await admin('DELETE', path)).status).toBe(204)
})

test('views are listed by name, page by page, without those of others', async () => {
  const [ada, grace] = [as(someone()), as(someone())]
  for (const name of ['c', 'a', 'd']) await ada('POST', PATH, view({ name }))
  await grace('POST', PATH, view({ name: 'b' }))

  const first = (await ada('GET', `${PATH}?limit=2`)).json
  const second = (await ada('GET', `${PATH}?limit=2&cursor=${first.page.next_cursor}`)).json

  const names = [first, second].map(({ data }) => data.map(({ name }: { readonly name: string }) => name))
  expect(names).toEqual([['a', 'c'], ['d']])
  expect(second.page.has_more).toBe(false)
})

test('the audit log says that a view was saved; its query, and what only its owner sees, stay out of it', async () => {
  const ada = as(someone())
  const own = (await ada('POST', PATH, view({ name: 'nobody else knows' }))).json
  const shared = (await ada('POST', PATH, view({ name: 'known', shared: true }))).json

  const entries = gateway.audited.filter(({ action }) => action === 'view.create').slice(-2)
  expect(entries.map(({ target, changes }) => [target, changes])).toEqual([
    [own.id, { after: { shared: false } }],
    [shared.id, { after: { name: 'known', page: 'explorer', shared: true } }],
  ])
})

test.each([
  ['a query with a space', { query: 'filter[service][eq]=a b' }],
  ['a page elsewhere', { page: '../../evil' }],
  ['a long name', { name: 'x'.repeat(257) }],
  ['a long query', { query: 'x'.repeat(2_049) }],
  ['an unknown member', { owner: 'usr_x' }],
])('%s is refused', async (_, wrong) => {
  expect(refusalOf(await as(someone())('POST', PATH, view(wrong)))).toEqual([422, 'VALIDATION_FAILED'])
})

test('a program has only shared views: no person could see another', async () => {
  const program = as('key_program')

  expect(refusalOf(await program('POST', PATH, view()))).toEqual([422, 'VALIDATION_FAILED'])
  expect((await program('POST', PATH, view({ shared: true }))).status).toBe(201)
})

test('a program sees its own views alone: those of people have their names', async () => {
  const [ada, program, other] = [as(someone()), as('key_one'), as('cli_two', 'read:reporting,read:attribution')]
  const { json } = await ada('POST', PATH, view({ shared: true }))
  const { json: own } = await program('POST', PATH, view({ shared: true }))

  expect(await idsIn(program)).toEqual([own.id])
  expect(await idsIn(other)).toEqual([])
  for (const method of ['GET', 'DELETE']) {
    expect(refusalOf(await program(method, `${PATH}/${json.id}`))).toEqual([404, 'NOT_FOUND'])
  }
  for (const each of [ada, admin]) expect(await idsIn(each)).toEqual(expect.arrayContaining([json.id, own.id]))
})

test('one person cannot use up the views of the tenant', async () => {
  const ada = as(someone())
  const { json: first } = await ada('POST', PATH, view())
  for (let made = 1; made < VIEWS_OF_ONE_MAX; made++) {
    expect((await ada('POST', PATH, view({ name: `view ${made}` }))).status).toBe(201)
  }

  expect(refusalOf(await ada('POST', PATH, view()))).toEqual([409, 'CONFLICT'])
  expect((await ada('PATCH', `${PATH}/${first.id}`, { name: 'still mine' })).status).toBe(200)
  expect((await as(someone())('POST', PATH, view())).status).toBe(201)
})

test('who was handed over more views than one may save can change them', () => {
  const saved = (id: string) =>
    storedView({ ...view(), shared: true }, id, { tenantId: TENANT, owner: 'usr_heir', nowMs: 0 })
  const all = Array.from({ length: VIEWS_OF_ONE_MAX + 1 }, (_, at) => saved(`view_${at}`))

  expect(refuseView({ ...saved('view_0'), name: 'renamed' }, all)).toBeUndefined()
  expect(refuseView(saved('view_new'), all)).toMatchObject({ code: 'CONFLICT' })
})

test('of a person who is deleted, what they shared is handed over and the rest deleted', async () => {
  const person = { username: 'leaver@example.org', scopes: ['read:reporting'] }
  const { id: userId } = (await admin('POST', '/api/v1/users', person)).json
  const leaver = as(userId)
  const own = (await leaver('POST', PATH, view())).json
  const shared = (await leaver('POST', PATH, view({ shared: true }))).json
  expect(shared).toMatchObject({ owner: userId, owner_name: 'leaver@example.org' })

  expect((await admin('DELETE', `/api/v1/users/${userId}`)).status).toBe(204)

  expect((await admin('GET', `${PATH}/${shared.id}`)).json).toEqual({
    ...shared,
    owner: 'key_admin',
    owner_name: null,
  })
  expect(refusalOf(await leaver('GET', `${PATH}/${own.id}`))).toEqual([404, 'NOT_FOUND'])
})
