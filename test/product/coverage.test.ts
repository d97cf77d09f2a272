import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import { type Ask, askAs, refusalOf } from '../support/ask.js'
import { attributed } from '../support/attributed.js'
import { wireEvent } from '../support/invocations.js'
import { newTenantOfProduct } from '../support/product.js'
import type { Instance } from '../support/service.js'

let service: Instance
let ask: Ask

beforeAll(async () => {
  service = await newTenantOfProduct()
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
})

const now = () => new Date().toISOString()
const pathways = async () => (await ask('GET', '/api/v1/coverage')).json.data

test('coverage shows deployed layers, missing layers and discovery-only sources', async () => {
  for (const source of [
    { name: 'edge-gateway', pathway: 'gateway_mediated' },
    { name: 'firewall', pathway: 'proxy_mediated', is_discovery_only: true },
  ]) {
    expect((await ask('POST', '/api/v1/directory/sources', source)).status).toBe(201)
  }
  const calledAt = new Date(Date.now() - 3_600_000).toISOString()
  await attributed(ask, { ingestion_timestamp: calledAt, attributed_service: 'search' })
  const observation = { event_id: randomUUID(), type: 'flow', occurred_at: now(), source: 'dns-log', data: {} }
  expect((await ask('POST', '/api/v1/events', observation)).status).toBe(202)
  while (!(await pathways()).some(({ pathway }: { pathway: string }) => pathway === 'other')) await sleep(50)

  expect(await pathways()).toEqual([
    {
      pathway: 'gateway_mediated',
      status: 'degraded',
      layers_deployed: ['gateway'],
      layers_missing: ['edge-gateway'],
      discovery_only: [],
      last_event_at: calledAt,
      unattributed_share: '0.0000',
    },
    expect.objectContaining({ pathway: 'other', status: 'discovery_only', discovery_only: ['dns-log'] }),
    expect.objectContaining({ pathway: 'proxy_mediated', status: 'discovery_only', discovery_only: ['firewall'] }),
  ])
})

test('a declared source is deployed as soon as it sends a call, whatever its layer is called', async () => {
  await attributed(ask, { ingestion_timestamp: now(), attributed_service: 'search', ingestion_layer: 'edge-gateway' })

  expect((await pathways())[0]).toMatchObject({
    pathway: 'gateway_mediated',
    status: 'covered',
    layers_deployed: ['edge-gateway', 'gateway'],
    layers_missing: [],
  })
})

test('an invocation of a discovery-only source is refused, alone and in bulk', async () => {
  const event = () => wireEvent({ event_id: randomUUID(), ingestion_timestamp: now(), ingestion_layer: 'firewall' })

  const alone = await ask('POST', '/api/v1/invocations', event())
  const among = await ask('POST', '/api/v1/invocations', [event(), { ...event(), ingestion_layer: 'gateway' }])

  expect(refusalOf(alone)).toEqual([422, 'VALIDATION_FAILED'])
  expect(alone.json.errors).toEqual([
    { pointer: '/ingestion_layer', detail: 'must not be a source that only discovers traffic' },
  ])
  expect([among.status, among.json.accepted, among.json.rejected]).toEqual([202, 1, 1])
})

test('an identity that is a workload is not counted as a person in reports', async () => {
  const period = 'from=2026-07-01&to=2026-08-01&group_by=service'
  const call = { attributed_service: 'nightly', attributed_identity: 'cron@example.com', estimated_cost_usd: '3' }
  await attributed(ask, { ...call, ingestion_timestamp: '2026-07-05T10:00:00Z' })
  const before = await ask('GET', `/v1/reports/usage?${period}`)
  await ask('POST', '/api/v1/directory/identities', { name: 'cron@example.com', is_workload: true })

  const after = await ask('GET', `/v1/reports/usage?${period}`)

  expect(before.json.data).toMatchObject([{ service: null, folded: true, cost_usd: '3' }])
  expect(after.json.data).toMatchObject([{ service: 'nightly', folded: false, cost_usd: '3' }])
})
