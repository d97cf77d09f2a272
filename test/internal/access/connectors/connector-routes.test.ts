import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { clientOf, type WatchedConnectors, watchConnectors } from '../../../../internal/access/connectors/connector.js'
import { connectorRoutes } from '../../../../internal/access/connectors/connector-routes.js'
import { delegationChecks } from '../../../../internal/access/delegation/delegation.js'
import { isClientSecret } from '../../../../internal/access/oauth/clients.js'
import { createCursorCodec } from '../../../../internal/http/resource/pages.js'
import { formatId, tenantIdsCache } from '../../../../internal/ids/ids.js'
import { CONNECTORS } from '../../../../streams/buckets.js'
import { type Ask, type Asked, askAs } from '../../../support/ask.js'
import { launchBroker } from '../../../support/broker.js'
import { type MutationGateway, SECRET, startMutationGateway } from '../../../support/mutation-gateway.js'
import { tenantRecords } from '../../../support/tenant-records.js'

let gateway: MutationGateway
let ask: Ask
let open: WatchedConnectors
let isOver = false
const forgotten: string[] = []

beforeAll(async () => {
  const { url } = await launchBroker()
  gateway = await startMutationGateway(url, async (mutate, broker) => {
    const onLost = (cause: unknown) => isOver || fail(cause)
    open = await watchConnectors(await broker.bucket(CONNECTORS), onLost, (clientId) => forgotten.push(clientId))
    return connectorRoutes({
      mutate,
      mode: 'production',
      connectors: open.connectors,
      delegationCheckOf: delegationChecks((await tenantRecords(broker)).tenants.read),
      residencyRegionOf: () => 'eu-central-1',
      idsOf: tenantIdsCache(SECRET),
      cursors: createCursorCodec(SECRET),
      clock: Date.now,
    })
  })
  ask = askAs(gateway.url, { 'x-api-key': 'admin:config' })
})
afterAll(async () => {
  isOver = true
  await gateway.stop()
})

const fail = (cause: unknown): never => {
  throw cause
}

const PATH = '/api/v1/connectors'
const wanted = (stated: Record<string, unknown> = {}) => ({
  name: 'Marketplace',
  scopes: ['read:attribution'],
  source_systems: ['data-cloud'],
  ...stated,
})
const codeOf = ({ status, json }: Asked) => `${status} ${json?.error_code}`
const register = async (stated?: Record<string, unknown>) => (await ask('POST', PATH, wanted(stated))).json

/** Whether the connector can authenticate with the secret now. */
const opens = (clientId: string, secret: string): boolean => {
  const connector = open.withClient(clientId)
  return isClientSecret('production', connector && clientOf(connector), secret)
}

describe('a connector that is registered', () => {
  test('is shown with its secret once, which authenticates at once', async () => {
    const made = await ask('POST', PATH, wanted())

    const { client_secret, ...shown } = made.json
    expect(made.status).toBe(201)
    expect(made.headers.get('location')).toBe(`${PATH}/${shown.id}`)
    expect(shown).toEqual({
      id: expect.stringMatching(/^con_[0-9a-z]{26}$/),
      name: 'Marketplace',
      scopes: ['read:attribution'],
      source_systems: ['data-cloud'],
      residency_lane: 'eu-central-1',
      trusts_cost: true,
      status: 'active',
      client_id: expect.stringMatching(/^cli_[0-9a-z]{26}$/),
      last_four: client_secret.slice(-4),
      health: { status: 'unknown', since: expect.any(String), reason: null, reported_at: null },
      created_at: expect.any(String),
    })
    expect((await ask('GET', `${PATH}/${shown.id}`)).json).toEqual(shown)
    expect((await ask('GET', PATH)).json.data).toContainEqual(shown)
    expect(opens(shown.client_id, client_secret)).toBe(true)
    expect(JSON.stringify(open.connectors.get(shown.id))).not.toContain(client_secret)
  })

  test('is the same connector with the same secret when the request is repeated', async () => {
    const key = { 'idempotency-key': randomUUID() }

    const [one, other] = await Promise.all([
      ask('POST', PATH, wanted({ name: 'twice' }), key),
      ask('POST', PATH, wanted({ name: 'twice' }), key),
    ])

    expect(one.json).toEqual(other.json)
    const named = [...open.connectors.of('tnt_one')].filter(({ name }) => name === 'twice')
    expect(named).toHaveLength(1)
  })

  test.each([
    [{ scopes: [] }, '422 NO_SCOPE'],
    [{ scopes: undefined }, '422 NO_SCOPE'],
    [{ scopes: ['admin:config'] }, '422 VALIDATION_FAILED'],
    [{ scopes: ['read:everything'] }, '422 VALIDATION_FAILED'],
    [{ source_systems: [] }, '422 VALIDATION_FAILED'],
    [{ source_systems: undefined }, '422 VALIDATION_FAILED'],
    [{ residency_lane: 'Europe!' }, '422 VALIDATION_FAILED'],
  ])('with %j is refused', async (stated, expected) => {
    expect(codeOf(await ask('POST', PATH, wanted(stated)))).toBe(expected)
  })
})

test('a change of a connector applies at once, and its tokens are checked again', async () => {
  const { id, client_id, client_secret } = await register()
  forgotten.length = 0

  const changed = await ask('PATCH', `${PATH}/${id}`, { status: 'disabled', source_systems: ['a', 'a', 'b'] })

  expect(changed).toMatchObject({ status: 200, json: { status: 'disabled', source_systems: ['a', 'b'] } })
  expect(forgotten).toContain(client_id)
  expect(opens(client_id, client_secret)).toBe(false)
  await ask('PATCH', `${PATH}/${id}`, { status: 'active', residency_lane: null })
  expect(opens(client_id, client_secret)).toBe(true)
  expect(open.connectors.get(id)).toMatchObject({ residency_lane: null, source_systems: ['a', 'b'] })
})

test.each([{ scopes: ['read:reporting'] }, { client_id: 'cli_x' }, { tenant_id: 'tnt_two' }])(
  'a connector refuses the change %j',
  async (change) => {
    const { id } = await register()

    expect(codeOf(await ask('PATCH', `${PATH}/${id}`, change))).toBe('422 VALIDATION_FAILED')
  },
)

test('a new secret of a connector replaces the old one, and may add scopes', async () => {
  const { id, client_id, client_secret } = await register()

  const rotated = await ask('POST', `${PATH}/${id}/rotate-secret`, { scopes: ['export:create', 'read:attribution'] })

  expect(rotated).toMatchObject({ status: 200, json: { client_id, scopes: ['read:attribution', 'export:create'] } })
  expect(opens(client_id, client_secret)).toBe(false)
  expect(opens(client_id, rotated.json.client_secret)).toBe(true)
  expect((await ask('POST', `${PATH}/${id}/rotate-secret`)).json.scopes).toEqual(['read:attribution', 'export:create'])
  expect(codeOf(await ask('POST', `${PATH}/${id}/rotate-secret`, { scopes: [] }))).toBe('422 NO_SCOPE')
})

test('a connector can be changed only after a recent sign-in', async () => {
  const { id } = await register()
  const stale = { 'x-api-key': `admin:config@${Math.floor(Date.now() / 1_000) - 901}` }

  for (const answer of [
    await ask('POST', PATH, wanted(), stale),
    await ask('PATCH', `${PATH}/${id}`, { source_systems: ['more'] }, stale),
    await ask('POST', `${PATH}/${id}/rotate-secret`, undefined, stale),
    await ask('DELETE', `${PATH}/${id}`, undefined, stale),
  ]) {
    expect(codeOf(answer)).toBe('401 STEP_UP_REQUIRED')
  }
})

test('a deleted connector cannot authenticate', async () => {
  const { id, client_id, client_secret } = await register()
  forgotten.length = 0

  expect((await ask('DELETE', `${PATH}/${id}`)).status).toBe(204)

  expect(open.withClient(client_id)).toBeUndefined()
  expect(opens(client_id, client_secret)).toBe(false)
  expect(forgotten).toContain(client_id)
  expect(codeOf(await ask('GET', `${PATH}/${id}`))).toBe('404 NOT_FOUND')
  expect(codeOf(await ask('DELETE', `${PATH}/${id}`))).toBe('404 NOT_FOUND')
})

test.each([
  ['GET', ''],
  ['PATCH', ''],
  ['DELETE', ''],
  ['POST', '/rotate-secret'],
])('%s of an unknown or another tenant’s connector is refused', async (method, below) => {
  const body = method === 'PATCH' ? {} : undefined
  const foreign = formatId('con', new Uint8Array(16))

  expect(codeOf(await ask(method, `${PATH}/${foreign}${below}`, body))).toBe('403 TENANT_MISMATCH')
  expect(codeOf(await ask(method, `${PATH}/nothing${below}`, body))).toBe('404 NOT_FOUND')
})

test('the audit log has the scopes of a connector, and no secret', async () => {
  const { id, client_secret } = await register({ name: 'audited' })
  await ask('PATCH', `${PATH}/${id}`, { name: 'audited too' })
  const rotated = await ask('POST', `${PATH}/${id}/rotate-secret`)
  await ask('DELETE', `${PATH}/${id}`)

  const entries = gateway.audited.filter(({ target }) => target === id)

  expect(entries).toMatchObject([
    { action: 'connector.create', changes: { after: { name: 'audited', scopes: ['read:attribution'] } } },
    { action: 'connector.update', changes: { before: { name: 'audited' }, after: { name: 'audited too' } } },
    { action: 'client.rotate_secret' },
    { action: 'connector.delete', changes: { before: { name: 'audited too' } } },
  ])
  for (const secret of [
    client_secret,
    rotated.json.client_secret,
    open.connectors.get(id)?.client.hash ?? 'x'.repeat(9),
  ])
    expect(JSON.stringify(entries)).not.toContain(secret)
})
