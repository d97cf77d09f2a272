import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Broker } from '../../internal/broker/connect.js'
import type { EventEnvelope } from '../../internal/events/event-contract.js'
import { EVENTS, eventsSubject } from '../../streams/events.js'
import { type Ask, type Asked, askAs } from '../support/ask.js'
import { wireEvent } from '../support/gateway.js'
import { addTenant, connectTo, setRegion, untilKnown } from '../support/instance.js'
import { newTenantOfProduct, REGION } from '../support/product.js'
import type { Instance } from '../support/service.js'

const PARTNER = '/api/partner/v1'
const CONNECTORS = '/api/v1/connectors'

let service: Instance
let broker: Broker
let tenant: { readonly id: string; readonly apiKey: string }
let asTenant: Ask

beforeAll(async () => {
  service = await newTenantOfProduct()
  broker = await connectTo(service)
})
afterAll(() => broker.close())

/** Each test has a tenant of its own. */
beforeEach(async () => {
  tenant = await addTenant(broker, service)
  await untilKnown(service.baseUrl, tenant.apiKey)
  asTenant = askAs(service.baseUrl, { 'x-api-key': tenant.apiKey })
})

interface Partner {
  readonly id: string
  readonly client_id: string
  readonly client_secret: string
}

async function register(stated: Record<string, unknown> = {}): Promise<Partner> {
  const wanted = { name: 'Marketplace', scopes: ['read:attribution'], source_systems: ['data-cloud'] }
  const { status, json } = await asTenant('POST', CONNECTORS, { ...wanted, ...stated })
  expect(status).toBe(201)
  return json
}

async function tokenAt(path: string, { client_id, client_secret }: Omit<Partner, 'id'>) {
  const answer = await fetch(service.baseUrl + path, {
    method: 'POST',
    headers: { accept: 'application/json' },
    body: new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret }),
  })
  const json = (await answer.json()) as { access_token: string; error?: string; scope: string }
  return { status: answer.status, ...json }
}

const bearer = (token: string) => askAs(service.baseUrl, { authorization: `Bearer ${token}` })
const asPartner = async (partner: Partner): Promise<Ask> =>
  bearer((await tokenAt(`${PARTNER}/oauth/token`, partner)).access_token)
const codeOf = ({ status, json }: Asked) => `${status} ${json?.error_code}`

/** Sends an event, and waits for its record. */
async function attributed(ask: Ask, path: string, fields: Record<string, unknown>) {
  const taken = await ask('POST', path, wireEvent(fields))
  expect(taken.status).toBe(202)
  const id = taken.json.invocation_id.replace('inv_', 'attr_') as string
  for (;;) {
    const { status, json } = await asTenant('GET', `/v1/attribution/${id}`)
    if (status === 200) return json
    await sleep(20)
  }
}
const idsIn = ({ json }: Asked): string[] => json.data.map(({ id }: { id: string }) => id)

describe('credentials', () => {
  test('credentials of a connector are valid at the partner API only', async () => {
    const partner = await register()
    const { status, access_token, scope } = await tokenAt(`${PARTNER}/oauth/token`, partner)

    expect({ status, scope }).toEqual({ status: 200, scope: 'read:attribution' })
    expect((await bearer(access_token)('GET', `${PARTNER}/connector`)).status).toBe(200)
    expect(codeOf(await bearer(access_token)('GET', '/v1/attribution'))).toBe('401 INVALID_CREDENTIALS')
    expect(codeOf(await bearer(access_token)('POST', '/api/v1/invocations', wireEvent()))).toBe(
      '401 INVALID_CREDENTIALS',
    )
    expect(await tokenAt('/v1/oauth/token', partner)).toMatchObject({ status: 401, error: 'invalid_client' })
  })

  test('credentials of the tenant are not valid at the partner API', async () => {
    const { status, access_token } = await tokenAt('/v1/oauth/token', service.credentials)

    expect(status).toBe(200)
    expect(codeOf(await bearer(access_token)('GET', `${PARTNER}/connector`))).toBe('401 INVALID_CREDENTIALS')
    expect(codeOf(await asTenant('GET', `${PARTNER}/connector`))).toBe('401 INVALID_CREDENTIALS')
    expect(await tokenAt(`${PARTNER}/oauth/token`, service.credentials)).toMatchObject({ status: 401 })
  })

  test('credentials end at once when their connector is disabled or deleted', async () => {
    const partner = await register()
    const ask = await asPartner(partner)
    const status = async () => (await ask('GET', `${PARTNER}/connector`)).status

    await asTenant('PATCH', `${CONNECTORS}/${partner.id}`, { status: 'disabled' })
    expect(await status()).toBe(401)
    expect((await tokenAt(`${PARTNER}/oauth/token`, partner)).status).toBe(401)
    await asTenant('PATCH', `${CONNECTORS}/${partner.id}`, { status: 'active' })
    expect(await status()).toBe(200)
    await asTenant('DELETE', `${CONNECTORS}/${partner.id}`)
    expect(await status()).toBe(401)
  })

  test('a connector can revoke its own tokens, and no other client can', async () => {
    const [partner, another] = [await register(), await register()]
    const { access_token: token } = await tokenAt(`${PARTNER}/oauth/token`, partner)
    const revoke = async ({ client_id, client_secret }: Omit<Partner, 'id'>, path = `${PARTNER}/oauth/revoke`) =>
      (
        await fetch(service.baseUrl + path, {
          method: 'POST',
          body: new URLSearchParams({ client_id, client_secret, token }),
        })
      ).status
    const status = async () => (await bearer(token)('GET', `${PARTNER}/connector`)).status

    expect(await revoke(another)).toBe(400)
    expect(await revoke(service.credentials)).toBe(401)
    // The tenants' own endpoint knows no connectors, and takes a partner's token for none.
    expect(await revoke(partner, '/v1/oauth/revoke')).toBe(401)
    expect(await revoke(service.credentials, '/v1/oauth/revoke')).toBe(200)
    expect(await status()).toBe(200)
    expect(await revoke(partner)).toBe(200)
    expect(await status()).toBe(401)
    expect(await revoke(partner)).toBe(200)
  })

  test('credentials of a connector show its registration', async () => {
    const partner = await register({ residency_lane: 'us-east-1' })

    expect((await (await asPartner(partner))('GET', `${PARTNER}/connector`)).json).toEqual({
      id: partner.id,
      tenant_id: tenant.id,
      name: 'Marketplace',
      scopes: ['read:attribution'],
      source_systems: ['data-cloud'],
      residency_lane: 'us-east-1',
      health: { status: 'unknown', since: expect.any(String), reason: null, reported_at: null },
    })
  })
})

describe('events that a connector sends', () => {
  test('events of a connector are attributed as imports, to the service in the tenant’s directory', async () => {
    const partner = await register()
    const ask = await asPartner(partner)
    const told = { principal_id: partner.id, service: 'warehouse' }
    expect((await asTenant('POST', '/api/v1/directory/principals', told)).status).toBe(201)
    const send = () =>
      attributed(ask, `${PARTNER}/invocations`, { ingestion_layer: 'data-cloud', attributed_service: undefined })

    // The attributor hears of the entry within milliseconds.
    let record = await send()
    while (record.service !== 'warehouse') record = await send()

    expect(record).toMatchObject({ pathway_category: 'connector_import', output_state: 'deterministically_resolved' })
  })

  test('costs that a connector states count unless it is not trusted with them', async () => {
    const partner = await register({ trusts_cost: false })
    const ask = await asPartner(partner)
    const send = () =>
      attributed(ask, `${PARTNER}/invocations`, { ingestion_layer: 'data-cloud', estimated_cost_usd: '0.00003' })

    const { cost_usd: priced, cost_basis } = await send()
    expect([cost_basis, priced]).toEqual(['price_book', '0.000021'])
    const { json } = await asTenant('PATCH', `${CONNECTORS}/${partner.id}`, { trusts_cost: true })
    expect(json).toMatchObject({ trusts_cost: true })

    // Gateways hear of the change within milliseconds.
    let record = await send()
    while (record.cost_basis !== 'client_estimate') record = await send()
    expect(record.cost_usd).toBe('0.00003')
  })

  test('events of other source systems are refused, alone and in bulk', async () => {
    const ask = await asPartner(await register())
    const of = (layer: string) => wireEvent({ ingestion_layer: layer })

    expect(codeOf(await ask('POST', `${PARTNER}/invocations`, of('gateway')))).toBe('403 INSUFFICIENT_SCOPE')
    const mixed = await ask('POST', `${PARTNER}/invocations`, [of('data-cloud'), of('gateway')])
    expect(mixed).toMatchObject({
      status: 202,
      json: { accepted: 1, rejected: 1, results: [{ index: 0 }, { index: 1, error_code: 'INSUFFICIENT_SCOPE' }] },
    })
  })

  test('events under one key are accepted once', async () => {
    const ask = await asPartner(await register())
    const key = { 'idempotency-key': randomUUID() }
    const event = wireEvent({ ingestion_layer: 'data-cloud' })

    const first = await ask('POST', `${PARTNER}/invocations`, event, key)
    const again = await ask('POST', `${PARTNER}/invocations`, event, key)
    const other = await ask('POST', `${PARTNER}/invocations`, { ...event, provider: 'other' }, key)

    expect([first.status, again.status]).toEqual([202, 202])
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect(again.json).toEqual(first.json)
    expect(codeOf(other)).toBe('422 IDEMPOTENCY_CONFLICT')
  })
})

describe('records that a connector reads', () => {
  const LIST = `${PARTNER}/attribution`

  test('a connector reads the records of its source systems and its tenant, whichever client sent them', async () => {
    const ask = await asPartner(await register())
    const own = await attributed(ask, `${PARTNER}/invocations`, { ingestion_layer: 'data-cloud' })
    const ofTenant = await attributed(asTenant, '/api/v1/invocations', { ingestion_layer: 'data-cloud' })
    const ofOther = await attributed(asTenant, '/api/v1/invocations', { ingestion_layer: 'gateway' })

    const seen = idsIn(await ask('GET', LIST))

    expect(seen.sort()).toEqual([own.id, ofTenant.id].sort())
    expect(idsIn(await asTenant('GET', '/v1/attribution'))).toContain(ofOther.id)
    // Another tenant's connector of the same source system.
    tenant = await addTenant(broker, service)
    await untilKnown(service.baseUrl, tenant.apiKey)
    asTenant = askAs(service.baseUrl, { 'x-api-key': tenant.apiKey })
    expect(idsIn(await (await asPartner(await register()))('GET', LIST))).toEqual([])
  })

  test('reading records needs the scope in both the connector and the token', async () => {
    const ask = await asPartner(await register({ scopes: ['read:reporting'] }))

    expect(codeOf(await ask('GET', LIST))).toBe('403 INSUFFICIENT_SCOPE')
  })

  test('a cursor of records is valid for its connector only', async () => {
    const [one, other] = [await asPartner(await register()), await asPartner(await register())]
    for (let i = 0; i < 3; i++) {
      await attributed(one, `${PARTNER}/invocations`, { ingestion_layer: 'data-cloud' })
    }
    const first = await one('GET', `${LIST}?limit=2`)
    const rest = `?limit=2&cursor=${first.json.page.next_cursor}`

    expect(idsIn(await one('GET', LIST + rest))).toHaveLength(1)
    expect(codeOf(await other('GET', LIST + rest))).toBe('400 INVALID_CURSOR')
    expect(codeOf(await asTenant('GET', `/v1/attribution${rest}`))).toBe('400 INVALID_CURSOR')
  })

  test('records stay in the tenant’s region, at the API and on the event stream', async () => {
    const partner = await register({ residency_lane: REGION })
    const ask = await asPartner(partner)
    const lane = (residency_lane: string | null) => asTenant('PATCH', `${CONNECTORS}/${partner.id}`, { residency_lane })
    expect((await ask('GET', LIST)).status).toBe(200)

    await setRegion(service, asTenant, REGION)
    expect((await ask('GET', LIST)).status).toBe(200)
    for (const elsewhere of ['us-east-1', null]) {
      await lane(elsewhere)
      expect(codeOf(await ask('GET', LIST))).toBe('409 RESIDENCY_BLOCKED')
    }
    await setRegion(service, asTenant, 'us-east-1')
    await lane('us-east-1')
    // The lane is in the tenant's region now, and this instance is not.
    expect(codeOf(await ask('GET', LIST))).toBe('409 RESIDENCY_BLOCKED')
    await setRegion(service, asTenant, null)
    while ((await ask('GET', LIST)).status !== 200);
  })

  test('records of calls in another region are accepted but not shown to the connector', async () => {
    const ask = await asPartner(await register({ residency_lane: REGION }))
    await setRegion(service, asTenant, REGION)
    const send = (region: string) =>
      attributed(ask, `${PARTNER}/invocations`, { ingestion_layer: 'data-cloud', region })

    // The attributor hears of the setting within milliseconds.
    let away = await send('us-east-1')
    while (away.interpretation.export_eligibility !== 'residency_restricted') away = await send('us-east-1')
    const home = await send(REGION)

    expect(home.interpretation.export_eligibility).toBe('eligible')
    const seen = idsIn(await ask('GET', LIST))
    expect(seen).toContain(home.id)
    expect(seen).not.toContain(away.id)
    expect(idsIn(await asTenant('GET', '/v1/attribution'))).toContain(away.id)
  })
})

test('a change of a connector’s health is stored and emitted to subscribers', async () => {
  const partner = await register()
  const ask = await asPartner(partner)
  const report = (status: string, reason?: string) => ask('POST', `${PARTNER}/connector/health`, { status, reason })

  await report('healthy')
  await report('healthy')
  const degraded = await report('degraded', 'upstream_timeout')

  expect(degraded).toMatchObject({ status: 200, json: { health: { status: 'degraded', reason: 'upstream_timeout' } } })
  expect((await asTenant('GET', `${CONNECTORS}/${partner.id}`)).json.health).toEqual(degraded.json.health)
  expect(codeOf(await report('on fire'))).toBe('422 VALIDATION_FAILED')
  expect(codeOf(await report('failing', 'The customer wrote: hello'))).toBe('422 VALIDATION_FAILED')

  const told: EventEnvelope[] = []
  const { state } = await broker.manager.streams.info(EVENTS.name)
  for (let seq = Math.max(1, state.first_seq); seq <= state.last_seq; seq++) {
    const message = await broker.manager.streams.getMessage(EVENTS.name, { seq })
    if (message?.subject === eventsSubject(tenant.id, 'connector.health.changed')) told.push(message.json())
  }
  expect(told).toEqual([
    {
      id: expect.stringMatching(/^evt_/),
      type: 'connector.health.changed',
      tenant_id: tenant.id,
      data: { connector_id: partner.id, from: 'unknown', to: 'healthy' },
    },
    expect.objectContaining({ data: { connector_id: partner.id, from: 'healthy', to: 'degraded' } }),
  ])
})
