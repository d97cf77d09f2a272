import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { type Ask, askAs, refusalOf } from '../support/ask.js'
import { attributed } from '../support/attributed.js'
import { wireEvent } from '../support/invocations.js'
import { intakeOfProduct, newTenantOfProduct } from '../support/product.js'
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

  await expect.poll(pathways).toEqual([
    {
      pathway: 'gateway_mediated',
      status: 'degraded',
      layers_deployed: ['gateway'],
      layers_missing: ['edge-gateway'],
      discovery_only: [],
      last_event_at: calledAt,
      unattributed_share: '0.0000',
      passed_over: [],
    },
    expect.objectContaining({ pathway: 'other', status: 'discovery_only', discovery_only: ['dns-log'] }),
    expect.objectContaining({ pathway: 'proxy_mediated', status: 'discovery_only', discovery_only: ['firewall'] }),
  ])
})

test('a declared source is deployed as soon as it sends a call, whatever its layer is called', async () => {
  await attributed(ask, { ingestion_timestamp: now(), attributed_service: 'search', ingestion_layer: 'edge-gateway' })

  await expect
    .poll(async () => (await pathways())[0])
    .toMatchObject({
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

  expect(before.json.data).toMatchObject([{ service: null, folded: true, cost_usd: '3' }])
  await expect
    .poll(async () => (await ask('GET', `/v1/reports/usage?${period}`)).json.data)
    .toMatchObject([{ service: 'nightly', folded: false, cost_usd: '3' }])
})

test('agents, tools and metrics that telemetry holds are counted on the pathway of their layer, by kind', async () => {
  const { baseUrl, credentials } = await newTenantOfProduct()
  const coverage = async () =>
    (await askAs(baseUrl, { 'x-api-key': credentials.api_key })('GET', '/api/v1/coverage')).json.data
  const spanOf = (operation: string) => ({
    traceId: randomUUID().replaceAll('-', ''),
    spanId: randomUUID().replaceAll('-', '').slice(0, 16),
    startTimeUnixNano: `${Date.now()}000000`,
    attributes: [{ key: 'gen_ai.operation.name', value: { stringValue: operation } }],
  })
  const exportTo = (path: string, body: unknown) =>
    fetch(`${intakeOfProduct()}${path}`, {
      method: 'POST',
      headers: { 'x-api-key': credentials.api_key, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const spansOf = (name: string, operations: readonly string[]) => ({
    resourceSpans: [{ scopeSpans: [{ scope: { name }, spans: operations.map(spanOf) }] }],
  })
  const before = Date.now()

  for (const _ of ['first', 'second']) {
    expect(
      (await exportTo('/v1/traces', spansOf('app', ['invoke_agent', 'execute_tool', 'invoke_agent']))).status,
    ).toBe(200)
  }
  await exportTo('/v1/traces', spansOf('litellm', ['invoke_workflow']))
  await exportTo('/v1/metrics', {})
  const counted = { count: expect.any(Number), last_at: expect.any(String) }
  const application = [
    { layer: 'application', kind: 'agent', ...counted, count: 4 },
    { layer: 'application', kind: 'metrics_request', ...counted, count: 1 },
    { layer: 'application', kind: 'tool', ...counted, count: 2 },
  ]
  const nothingElse = { status: 'silent', layers_deployed: [], layers_missing: [], last_event_at: null }

  await expect.poll(coverage, { timeout: 60_000, interval: 250 }).toEqual([
    expect.objectContaining({ ...nothingElse, pathway: 'application_direct', passed_over: application }),
    expect.objectContaining({
      ...nothingElse,
      pathway: 'gateway_mediated',
      passed_over: [{ layer: 'gateway', kind: 'workflow', ...counted, count: 1 }],
    }),
  ])
  for (const { passed_over } of await coverage()) {
    for (const { last_at } of passed_over) expect(Date.parse(last_at)).toBeGreaterThanOrEqual(before)
  }
})
