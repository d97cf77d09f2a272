import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Broker } from '../../internal/broker/connect.js'
import { type Ask, askAs } from '../support/ask.js'
import { attributed, listedAll, type ShownRecord, untilAttributed } from '../support/attributed.js'
import { degradationEvents } from '../support/degradation-events.js'
import { connectTo } from '../support/instance.js'
import { newTenantOfProduct } from '../support/product.js'
import type { Instance } from '../support/service.js'

/** How stage B serves a tenant that has no model yet: by the baseline, or not at all. */

let service: Instance
let broker: Broker
let ask: Ask
let otherKey: Ask

beforeAll(async () => {
  service = await newTenantOfProduct()
  broker = await connectTo(service)
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  const key = await ask('POST', '/api/v1/api-keys', { name: 'Another', scopes: ['read:attribution'] })
  otherKey = askAs(service.baseUrl, { 'x-api-key': key.json.secret })
})
afterAll(async () => {
  await broker.close()
})

const NOW = new Date().toISOString()
const stated = (service: string) => ({ ingestion_timestamp: NOW, attributed_service: service })
const UNSTATED = { ingestion_timestamp: NOW }

test('the baseline infers, as advice, the service of most resolved calls of the same credential', async () => {
  await listedAll(ask, [
    ...Array.from({ length: 14 }, () => stated('search')),
    ...Array.from({ length: 6 }, () => stated('chat')),
  ])

  const isInferred = ({ output_state }: ShownRecord) => output_state === 'inferred'
  const record = await untilAttributed(ask, UNSTATED, isInferred)

  expect(record).toMatchObject({
    service: 'search',
    output_state: 'inferred',
    interpretation: {
      stage_origin: 'stage_b',
      evidence_basis: 'heuristic_baseline',
      confidence: 0.6,
      confidence_band: 'provisional',
      degradation_state: 'degraded_serving',
      export_eligibility: 'advisory',
      model_version: 'baseline-1',
    },
    explanation: {
      evidence: { most_frequent_of: 'principal', resolved_records: 20, of_this_class: 14 },
      alternatives: [{ service: 'chat', probability: '0.3000' }],
    },
  })
})

test('calls of a credential without resolved calls go to allocation, and their records are not eligible', async () => {
  expect(await attributed(otherKey, UNSTATED)).toMatchObject({
    service: 'unallocated',
    output_state: 'unresolved',
    interpretation: {
      stage_origin: 'stage_c',
      confidence_band: 'estimated',
      degradation_state: 'degraded_serving',
      export_eligibility: 'advisory',
    },
  })
})

test('a tenant that disables inference gets none, and each change emits one event', async () => {
  const tenantId = service.credentials.tenant_id
  expect(await degradationEvents(broker, tenantId)).toEqual([])

  await ask('PATCH', '/api/v1/settings', { stage_b_enabled: false })
  while ((await degradationEvents(broker, tenantId)).length < 1) await sleep(20)

  expect(await attributed(ask, UNSTATED)).toMatchObject({
    service: 'unallocated',
    output_state: 'unresolved',
    interpretation: {
      stage_origin: 'stage_c',
      evidence_basis: 'default_pool',
      degradation_state: 'disabled',
      export_eligibility: 'unpriced',
    },
  })

  await ask('PATCH', '/api/v1/settings', { stage_b_enabled: true })
  while ((await degradationEvents(broker, tenantId)).length < 2) await sleep(20)

  const again = await untilAttributed(ask, UNSTATED, ({ service }) => service === 'search')
  expect(again.interpretation.degradation_state).toBe('degraded_serving')
  expect(await degradationEvents(broker, tenantId)).toEqual(['degraded_serving disabled', 'disabled degraded_serving'])
})
