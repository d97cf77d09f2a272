import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Broker } from '../../internal/broker/connect.js'
import { COST_BASES, FOOTPRINT_BASES } from '../../internal/records/bases.js'
import {
  CONFIDENCE_BANDS,
  DEGRADATION_STATES,
  EVIDENCE_BASES,
  EXPORT_ELIGIBILITIES,
  FRESHNESSES,
  OUTPUT_STATES,
  PATHWAY_CATEGORIES,
  STAGE_ORIGINS,
} from '../../internal/records/interpretation.js'
import { loadPriceBookFile } from '../../internal/valuation/cost/price-book.js'
import { type Ask, askAs, refusalOf } from '../support/ask.js'
import { attributed, attributedAll, type ShownRecord } from '../support/attributed.js'
import { faultsOf } from '../support/by-hand.js'
import { addTenant, command, connectTo, untilKnown } from '../support/instance.js'
import { untilFirstTraining } from '../support/model-instance.js'
import { plantedCall, sendPlanted } from '../support/planted-calls.js'
import { newTenantOfProduct } from '../support/product.js'
import { drawn } from '../support/run/rings.js'
import { type Instance, launchService } from '../support/service.js'

/**
 * The evidence card on the running pipeline: every value of every closed list is brought about by real events, and
 * every number of every record that is met is worked out again from what the record shows.
 */

let service: Instance
let broker: Broker
let ask: Ask
/** A tenant that takes a service only from its directory, names nobody by identity alone, and stays in a region. */
let strict: Ask
/** A tenant whose calls a model can learn from; its calls are sent and counted while other tests run. */
let learning: Promise<{ readonly learner: Ask; readonly tenantId: string }>
const VARIED = drawn(150)
/** Every record that was met. */
const met: ShownRecord[] = []

beforeAll(async () => {
  service = await newTenantOfProduct()
  broker = await connectTo(service)
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  const settings = {
    require_directory: true,
    owner_fallback: 'unassigned',
    residency_region: 'eu-central-1',
    stage_b_enabled: false,
  } as const
  learning = plantLearner()
  // The test that awaits it reports its failure.
  learning.catch(() => undefined)
  const { apiKey } = await addTenant(broker, service, settings)
  await untilKnown(service.baseUrl, apiKey)
  strict = askAs(service.baseUrl, { 'x-api-key': apiKey })

  const services = '/api/v1/directory/services'
  await ask('POST', services, { name: 'checkout', owner: 'team-shop', aliases: ['checkout-v2'] })
  await strict('POST', services, { name: 'checkout', owner: 'team-shop' })
  await ask('POST', '/api/v1/directory/identities', { name: 'bot-7', owner: 'team-bots', service: 'crawler' })
  await ask('POST', '/api/v1/directory/identities', { name: 'ada', owner: 'team-ada' })
  await strict('POST', '/api/v1/pools', {
    name: 'shared-proxy',
    owner: 'team-platform',
    rules: [{ ingestion_layer: 'proxy' }],
  })
  await ask('POST', '/api/v1/prices', {
    provider: 'mistral',
    model: 'mistral-large-latest',
    valid_from: '2026-01-01T00:00:00Z',
    usd_per_million: { input_tokens: '1.25', output_tokens: '3.333333' },
  })
  // All of them have come to the attributor when the last ones have.
  await until(ask, { attributed_identity: 'bot-7' }, ({ service: name }) => name === 'crawler')
  await until(strict, { ingestion_layer: 'proxy' }, ({ service: name }) => name === 'shared-proxy')
  await until(ask, MISTRAL, ({ cost_basis }) => cost_basis === 'tenant_price')
})
afterAll(async () => {
  await broker.close()
})

const HOUR_MS = 60 * 60 * 1000
/** A full hour: the baseline counts the calls before the hour's end. */
const START_MS = Math.floor(Date.now() / HOUR_MS - 3) * HOUR_MS

async function plantLearner() {
  const { id: tenantId, apiKey } = await addTenant(broker, service)
  await untilKnown(service.baseUrl, apiKey)
  const learner = askAs(service.baseUrl, { 'x-api-key': apiKey })
  await untilFirstTraining(broker, tenantId)
  await sendPlanted(learner, 6_000, START_MS)
  return { learner, tenantId }
}

const TOKENS = { input_tokens: 1200, output_tokens: 250 }
const MISTRAL = { ...TOKENS, provider: 'mistral', requested_model: 'mistral-large-latest' }
const now = () => ({ ...TOKENS, ingestion_timestamp: new Date().toISOString() })

async function until(as: Ask, call: object, shows: (record: ShownRecord) => boolean): Promise<void> {
  for (const end = Date.now() + 120_000; !shows(await attributed(as, { ...call })); )
    expect(Date.now()).toBeLessThan(end)
}

/** The record of a new call. */
async function recordOf(stated: object, as = ask): Promise<ShownRecord> {
  const record = await attributed(as, { ...now(), ...stated })
  met.push(record)
  return record
}

async function shownAgain(id: string, shows: (record: ShownRecord) => boolean = () => true): Promise<ShownRecord> {
  for (;;) {
    const { json } = await ask('GET', `/v1/attribution/${id}`)
    if (shows(json)) {
      met.push(json)
      return json
    }
    await sleep(20)
  }
}

const card = (evidence_basis: string, confidence: number, export_eligibility = 'eligible') => ({
  interpretation: { evidence_basis, confidence, export_eligibility },
})
const isOverridden = ({ output_state }: ShownRecord): boolean => output_state === 'overridden'
const SERVED = { attributed_service: 'checkout-v2' }

describe('the confidence table', () => {
  test('stated identity and service have confidence 0.95; alias gives the service, directory the owner', async () => {
    expect(await recordOf({ ...SERVED, attributed_identity: 'ada' })).toMatchObject({
      service: 'checkout',
      owner: 'team-shop',
      output_state: 'deterministically_resolved',
      ...card('identity_and_service_resolved', 0.95),
      explanation: { evidence: { service_from: 'directory_alias', owner_from: 'directory_service' } },
    })
  })

  test('a stated service has confidence 0.90', async () => {
    expect(await recordOf(SERVED)).toMatchObject({ service: 'checkout', ...card('service_resolved', 0.9) })
  })

  test('a stated person whose owner the directory knows: the owner, 0.85, and no service', async () => {
    expect(await recordOf({ attributed_identity: 'ada' })).toMatchObject({
      service: 'unassigned',
      owner: 'team-ada',
      interpretation: { evidence_basis: 'owner_resolved', confidence: 0.85 },
    })
  })

  test('an identity that the directory maps has confidence 0.85', async () => {
    expect(await recordOf({ attributed_identity: 'bot-7' })).toMatchObject({
      service: 'crawler',
      owner: 'team-bots',
      ...card('identity_resolved', 0.85),
    })
  })

  test('a service from another event of the trace has confidence 0.82, whichever event comes first', async () => {
    const trace_id = randomUUID()
    const before = await recordOf({ trace_id })
    await recordOf({ ...SERVED, trace_id })

    const after = { service: 'checkout', owner: 'team-shop', ...card('trace_correlated', 0.82) }
    expect(await recordOf({ trace_id })).toMatchObject(after)
    expect(await shownAgain(before.id, ({ service: name }) => name === 'checkout')).toMatchObject(after)
  })

  test('the default service of a credential has confidence 0.80', async () => {
    const made = await ask('POST', '/api/v1/api-keys', { name: 'Jobs', scopes: ['read:attribution'] })
    await ask('POST', '/api/v1/directory/principals', { principal_id: made.json.id, service: 'batch-jobs' })
    const asJobs = askAs(service.baseUrl, { 'x-api-key': made.json.secret })
    await untilKnown(service.baseUrl, made.json.secret)
    await until(asJobs, {}, ({ service: name }) => name === 'batch-jobs')

    expect(await recordOf({}, asJobs)).toMatchObject({ service: 'batch-jobs', ...card('principal_resolved', 0.8) })
  })

  test('a mapping rule has confidence 0.90 where a gateway sent the call', async () => {
    const gateway = { name: 'Gateway', scopes: ['read:attribution'], is_gateway: true }
    const made = await ask('POST', '/api/v1/api-keys', gateway)
    const when = [{ field: 'team', match: 'exact', value: 'mapped' }]
    await ask('POST', '/api/v1/mapping-rules', { name: 'mapped', when, set: { service: 'mapped', owner: 'team-m' } })
    const asGateway = askAs(service.baseUrl, { 'x-api-key': made.json.secret })
    await untilKnown(service.baseUrl, made.json.secret)
    const call = { tags: { team: 'mapped' } }
    await until(asGateway, call, ({ service: name }) => name === 'mapped')

    expect(await recordOf(call, asGateway)).toMatchObject({ owner: 'team-m', ...card('mapping_rule', 0.9) })
  })

  test('a service missing in a required directory has confidence 0.70, no eligibility and no owner', async () => {
    expect(await recordOf({ attributed_service: 'rogue', attributed_identity: 'eve' }, strict)).toMatchObject({
      service: 'rogue',
      owner: 'unassigned',
      ...card('service_declared', 0.7, 'below_floor'),
    })
  })

  test('what contradicts a stated service keeps it below the floor, and the card names it', async () => {
    const contested = (contested: string, evidence: object) => ({
      interpretation: {
        confidence: 0.7,
        export_eligibility: 'below_floor',
        evidence_basis: 'service_declared',
        contested,
      },
      explanation: { evidence },
    })
    await ask('POST', '/api/v1/directory/identities', { name: 'sa-crawler', service: 'crawler', is_workload: true })
    const byWorkload = { attributed_service: 'checkout', attributed_identity: 'sa-crawler' }
    await until(ask, byWorkload, ({ interpretation }) => interpretation.confidence < 0.8)

    expect(await recordOf({ attributed_service: 'chekout' })).toMatchObject(
      contested('undeclared_service', { conflict: { by: 'undeclared_service' } }),
    )
    const made = await recordOf(byWorkload)
    expect(made).toMatchObject({
      service: 'checkout',
      ...contested('workload_identity', { conflict: { by: 'workload_identity', service: 'crawler' } }),
    })
    expect(made.explanation.suggested_services).not.toContain('checkout')
    expect(await recordOf({ attributed_service: 'shared-proxy' }, strict)).toMatchObject(
      contested('misleading_name', { conflict: { name: 'pool_name' } }),
    )
    expect(await recordOf({ attributed_service: 'che\u0441kout' })).toMatchObject(
      contested('misleading_name', { conflict: { name: 'mixed_scripts' } }),
    )
    expect(await recordOf({ attributed_service: ' Checkout ' })).toMatchObject({
      service: 'checkout',
      interpretation: { evidence_basis: 'service_resolved', contested: null },
    })
  })

  test('a call whose trace names several services goes to the pool, and names them', async () => {
    const traceId = 'workflow-of-two-services'
    await ask('POST', '/api/v1/directory/services', { name: 'basket', owner: 'team-shop' })
    const basket = { attributed_service: 'basket' }
    await until(ask, basket, ({ interpretation }) => interpretation.evidence_basis === 'service_resolved')
    await recordOf({ ...basket, trace_id: traceId })
    await recordOf({ attributed_service: 'checkout', trace_id: traceId })

    const made = await recordOf({ trace_id: traceId })

    expect(made).toMatchObject({
      output_state: 'unresolved',
      interpretation: { stage_origin: 'stage_c', contested: 'trace' },
      explanation: { evidence: { conflict: { by: 'trace', services: ['basket', 'checkout'] } } },
    })
    expect(made.explanation.summary).toContain('the calls of its trace belong to several ("basket", "checkout")')
  })

  test('records and reports are filtered by what contradicts them, and reports grouped by it', async () => {
    const byWorkload = { attributed_service: 'checkout', attributed_identity: 'sa-crawler' }
    await until(ask, byWorkload, ({ interpretation }) => interpretation.contested === 'workload_identity')
    const listed = async (filter: string) =>
      (await ask('GET', `/v1/attribution?limit=200&${filter}`)).json.data.map(
        ({ interpretation }: ShownRecord) => interpretation.contested,
      )
    const selected = 'filter[contested][in]=workload_identity,misleading_name'
    const totalOf = (rows: readonly ShownRecord[]) => rows.reduce((sum, { calls }) => sum + calls, 0)

    expect(new Set(await listed('filter[contested][eq]=workload_identity'))).toEqual(new Set(['workload_identity']))
    expect(await listed('filter[contested][ne]=workload_identity')).toContain(null)
    expect(await listed('filter[contested][ne]=workload_identity')).not.toContain('workload_identity')
    expect(refusalOf(await ask('GET', '/v1/attribution?filter[contested][eq]=nothing'))).toEqual([
      400,
      'INVALID_FILTER',
    ])

    // Enough people on the other side that the report keeps the filter.
    await attributedAll(
      ask,
      Array.from({ length: 5 }, (_, i) => ({
        ...now(),
        attributed_service: 'checkout',
        attributed_identity: `p${i}@example.com`,
      })),
    )
    const { json } = await ask('GET', `/v1/reports/usage?group_by=contested,service&${selected}`)
    expect(json.data).toContainEqual(
      expect.objectContaining({ contested: 'workload_identity', service: 'checkout', folded: false }),
    )
    expect(totalOf(json.data)).toBe((await listed(selected)).length)
    const grouped = (await ask('GET', '/v1/reports/usage?group_by=contested')).json
    expect(totalOf(grouped.data)).toBe((await ask('GET', '/v1/reports/usage')).json.data[0].calls)
  })

  test('a credential of one service alone wins over a claim, which the card shows', async () => {
    const made = await ask('POST', '/api/v1/api-keys', { name: 'Bound', scopes: ['read:attribution'] })
    await ask('POST', '/api/v1/directory/principals', {
      principal_id: made.json.id,
      service: 'batch-jobs',
      exclusive: true,
    })
    const asBound = askAs(service.baseUrl, { 'x-api-key': made.json.secret })
    await untilKnown(service.baseUrl, made.json.secret)
    await until(asBound, SERVED, ({ service: name }) => name === 'batch-jobs')

    expect(await recordOf(SERVED, asBound)).toMatchObject({
      service: 'batch-jobs',
      interpretation: {
        evidence_basis: 'exclusive_principal_resolved',
        confidence: 0.8,
        contested: 'exclusive_principal',
      },
      explanation: { evidence: { stated_service: 'checkout-v2', conflict: { service: 'checkout' } } },
    })
  })

  test('an identity that the directory does not know resolves nothing', async () => {
    const { interpretation } = await recordOf({ attributed_identity: 'nobody@example.com' }, strict)
    expect(interpretation.stage_origin).toBe('stage_c')
  })

  test('the owner is the team of the identity, else the identity itself', async () => {
    const unlisted = { attributed_service: 'unlisted' }
    expect(await recordOf({ ...unlisted, attributed_identity: 'ada' })).toMatchObject({ owner: 'team-ada' })
    expect(await recordOf({ ...unlisted, attributed_identity: 'eve' })).toMatchObject({ owner: 'eve' })
    expect(await recordOf(unlisted)).toMatchObject({ owner: 'unassigned' })
  })

  test.concurrent.each([
    [0.95, 0.95, 'chargeback_ready'],
    [0.8, 0.8, 'chargeback_ready'],
    [0.7999, 0.7999, 'provisional'],
    [0.5, 0.5, 'provisional'],
    [0.4999, 0.4999, 'estimated'],
    [0, 0, 'estimated'],
  ])(
    'confidence is capped by the producer’s attribution_confidence %s',
    async (attribution_confidence, confidence, band) => {
      const stated = { ...SERVED, attributed_identity: 'ada', attribution_confidence }
      expect(await recordOf(stated)).toMatchObject({ interpretation: { confidence, confidence_band: band } })
    },
  )
})

describe('allocation of calls without a name', () => {
  test('a call without a name goes to the pool of the matching rule, with confidence 0.30', async () => {
    expect(await recordOf({ ingestion_layer: 'proxy' }, strict)).toMatchObject({
      service: 'shared-proxy',
      owner: 'team-platform',
      output_state: 'allocated',
      ...card('allocation_policy', 0.3, 'below_floor'),
      explanation: { evidence: { rule: { ingestion_layer: 'proxy' } }, allocation: { pool: 'shared-proxy' } },
    })
  })

  test('a call without a name and a matching rule goes to the default pool', async () => {
    expect(await recordOf({ ingestion_layer: 'sdk' }, strict)).toMatchObject({
      service: 'unallocated',
      output_state: 'unresolved',
      ...card('default_pool', 0.1, 'below_floor'),
    })
  })
})

describe('pathways', () => {
  test.concurrent.each([
    ['application_direct', { ingestion_layer: 'application' }],
    ['gateway_mediated', { ingestion_layer: 'gateway' }],
    ['proxy_mediated', { ingestion_layer: 'proxy' }],
    ['connector_import', { ingestion_layer: 'connector' }],
    ['other', { ingestion_layer: 'something-else' }],
    ['batch', { ingestion_layer: 'gateway', service_tier: 'batch' }],
    ['agent_workflow', { ingestion_layer: 'gateway', trace_id: 'workflow', parent_span_id: '1' }],
  ])('%s', async (pathway_category, stated) => {
    expect(await recordOf({ ...SERVED, ...stated })).toMatchObject({ pathway_category })
  })
})

describe('freshness', () => {
  const ago = (ms: number) => new Date(Date.now() - ms).toISOString()

  test('an event is fresh within an hour of its time and source_stale after it', async () => {
    const fresh = await recordOf({ ...SERVED, ingestion_timestamp: ago(3_500_000) })
    const stale = await recordOf({ ...SERVED, ingestion_timestamp: ago(3_700_000) })

    expect(fresh.interpretation.freshness).toBe('fresh')
    expect(stale.interpretation.freshness).toBe('source_stale')
  })

  test('a record is index_stale when the mirror of the directory lags by more than index-stale-seconds', async () => {
    const hasty = await launchService({ roles: [], args: ['--tuning', 'index-stale-seconds=0'] })
    const asHasty = askAs(hasty.baseUrl, { 'x-api-key': hasty.credentials.api_key })
    const record = await recordOf({ attributed_service: 'checkout' }, asHasty)
    await hasty.stop()

    expect(record).toMatchObject({ service: 'checkout', interpretation: { freshness: 'index_stale' } })
  })
})

describe('cost', () => {
  test.concurrent.each([
    ['client_estimate', '0.0123', { estimated_cost_usd: '0.0123' }],
    ['client_estimate', '0.5', { estimated_cost_usd: '0.5', requested_model: 'in-house' }],
    ['tenant_price', '0.00233333325', MISTRAL],
    ['price_book', '0.0055', { provider: 'openai', requested_model: 'gpt-4o' }],
    ['local_cache', '0', { served_from_cache: true, estimated_cost_usd: '1' }],
    ['notional', '0', { is_cost_notional: true, estimated_cost_usd: '0.0123' }],
    ['unpriced', '0', { requested_model: 'in-house' }],
    ['unpriced', '0', { output_tokens: undefined }],
  ])('%s %s', async (cost_basis, cost_usd, stated) => {
    expect(await recordOf({ ...SERVED, ...stated })).toMatchObject({ cost_basis, cost_usd })
  })

  test('a client estimate is shown with the price-book cost and their difference', async () => {
    const { explanation } = await recordOf({ ...SERVED, estimated_cost_usd: '0.005' })
    expect(explanation.cost).toMatchObject({
      total_usd: '0.005',
      price_usd: '0.0055',
      estimate_difference_usd: '-0.0005',
    })
  })

  test('a call billed to nobody costs nothing, is not charged back, and shows stated cost and price', async () => {
    const notional = await recordOf({ ...SERVED, is_cost_notional: true, estimated_cost_usd: '0.0123' })
    const { cost, summary } = notional.explanation

    expect(notional).toMatchObject(card('service_resolved', 0.9, 'notional'))
    expect(cost).toMatchObject({ total_usd: '0', stated_usd: '0.0123', price_usd: '0.0055' })
    expect(summary).toContain('because nobody is billed for it')
  })

  test('a stated cost far from the price, or above a call’s ceiling, counts but waits for an override', async () => {
    const implausible = { cost_basis: 'client_estimate', ...card('service_resolved', 0.9, 'implausible_cost') }
    expect(await recordOf({ ...SERVED, estimated_cost_usd: '0.11' })).toMatchObject(card('service_resolved', 0.9))
    const tooHigh = await recordOf({ ...SERVED, estimated_cost_usd: '0.1101' })
    expect(tooHigh).toMatchObject({
      cost_usd: '0.1101',
      ...implausible,
      explanation: { cost: { stated_usd: '0.1101', price_usd: '0.0055', details: { stated_cost: 'implausible' } } },
    })
    expect(await recordOf({ ...SERVED, estimated_cost_usd: '0.000274' })).toMatchObject(implausible)
    const inHouse = { ...SERVED, requested_model: 'in-house' }
    expect(await recordOf({ ...inHouse, estimated_cost_usd: '1000' })).toMatchObject(card('service_resolved', 0.9))
    expect(await recordOf({ ...inHouse, estimated_cost_usd: '1000.01' })).toMatchObject(implausible)

    const reason = 'A flat fee of the reseller.'
    await ask('POST', `/v1/attribution/${tooHigh.id}/override`, { service: 'checkout', owner: 'team-shop', reason })
    expect(await shownAgain(tooHigh.id, isOverridden)).toMatchObject({
      cost_usd: '0.1101',
      ...card('manual_override', 0.95),
    })
    await ask('DELETE', `/v1/attribution/${tooHigh.id}/override`)
    expect(await shownAgain(tooHigh.id, (record) => !isOverridden(record))).toMatchObject(implausible)
  })

  test('counts that their sender estimated are priced, and never charged back', async () => {
    const { explanation, ...estimated } = await recordOf({ ...SERVED, usage_basis: 'estimated' })
    expect(estimated).toMatchObject({
      cost_usd: '0.0055',
      usage_basis: 'estimated',
      ...card('service_resolved', 0.9, 'advisory'),
    })
    expect(explanation.summary).toContain('is not charged back, because its sender estimated the counts')
  })

  test('counts that can be read in two ways are priced both ways, and wait for a convention', async () => {
    const two = { ...SERVED, alternative_input_tokens: 1_600, alternative_output_tokens: 250 }
    const { explanation, ...ambiguous } = await recordOf(two)
    expect(ambiguous).toMatchObject({
      cost_usd: '0.0055',
      usage_basis: 'ambiguous',
      ...card('service_resolved', 0.9, 'ambiguous_usage'),
    })
    expect(explanation.cost.readings).toEqual([
      { input_tokens: 1_200, output_tokens: 250, cost_usd: '0.0055' },
      { input_tokens: 1_600, output_tokens: 250, cost_usd: '0.0065' },
    ])
    expect(explanation.summary).toContain('or as 1600 input and 250 output tokens for 0.0065 USD')

    const near = { usage_basis: 'reported', ...card('service_resolved', 0.9), explanation: { cost: { readings: [] } } }
    expect(await recordOf({ ...two, alternative_input_tokens: 1_210 })).toMatchObject(near)
    expect(await recordOf({ ...two, estimated_cost_usd: '0.0055' })).toMatchObject(near)

    const decided = { service: 'checkout', owner: 'team-shop', reason: 'It is theirs.' }
    await ask('POST', `/v1/attribution/${ambiguous.id}/override`, decided)
    expect(await shownAgain(ambiguous.id, isOverridden)).toMatchObject(card('manual_override', 0.95, 'ambiguous_usage'))
  })

  test('cached tokens without a known rate are an upper bound, charged back only if the tenant says so', async () => {
    const price = { provider: 'mistral', model: 'magistral-next', valid_from: '2026-01-01T00:00:00Z' }
    const usd_per_million = { input_tokens: '2', output_tokens: '8' }
    expect((await ask('POST', '/api/v1/prices', { ...price, usd_per_million })).status).toBe(201)
    const uncached = { ...MISTRAL, ...SERVED, requested_model: 'magistral-next' }
    await until(ask, uncached, ({ cost_basis }) => cost_basis === 'tenant_price')
    expect(await recordOf(uncached)).toMatchObject({ cost_bound: null, ...card('service_resolved', 0.9) })
    const call = { ...uncached, cached_input_tokens: 900 }
    const { explanation, ...upper } = await recordOf(call)

    expect(upper).toMatchObject({
      cost_usd: '0.0044',
      cost_bound: 'upper',
      ...card('service_resolved', 0.9, 'cost_upper_bound'),
    })
    expect(explanation.cost.assumptions).toEqual([
      'No rate for cache reads is known. Cached tokens at the input rate: an upper bound.',
    ])
    expect(explanation.summary).toContain('It is not charged back, because its cost is an upper bound')
    const { json } = await ask('GET', '/v1/attribution?filter[export_eligibility][eq]=cost_upper_bound')
    expect(json.data).toMatchObject([{ id: upper['id'], cost_bound: 'upper' }])
    expect(await recordOf({ ...call, estimated_cost_usd: '0.003' })).toMatchObject({
      cost_bound: null,
      ...card('service_resolved', 0.9),
    })

    const decided = { service: 'checkout', owner: 'team-shop', reason: 'It is theirs.' }
    await ask('POST', `/v1/attribution/${upper['id']}/override`, decided)
    expect(await shownAgain(upper['id'], isOverridden)).toMatchObject(card('manual_override', 0.95, 'cost_upper_bound'))
    const set = await ask('PATCH', '/api/v1/settings', { charge_upper_bounds: true })
    expect(set.json).toMatchObject({ charge_upper_bounds: true })
    await until(ask, call, ({ interpretation }) => interpretation.export_eligibility === 'eligible')
    const charged = await recordOf(call)
    expect(charged).toMatchObject({ cost_bound: 'upper', ...card('service_resolved', 0.9) })
    expect(charged.explanation.summary).toContain('it may be charged back; its cost is an upper bound')
    await ask('PATCH', '/api/v1/settings', { charge_upper_bounds: false })
    await until(ask, call, ({ interpretation }) => interpretation.export_eligibility === 'cost_upper_bound')
  })

  test('a tenant sets how far a stated cost may be from the price', async () => {
    const call = { ...TOKENS, ...SERVED, estimated_cost_usd: '0.5' }
    expect(await recordOf(call)).toMatchObject(card('service_resolved', 0.9, 'implausible_cost'))

    const { json } = await ask('PATCH', '/api/v1/settings', { stated_cost_factor: 200 })
    expect(json).toMatchObject({ stated_cost_factor: 200, stated_cost_ceiling_usd: '1000' })
    await until(ask, call, ({ interpretation }) => interpretation.export_eligibility === 'eligible')
    await ask('PATCH', '/api/v1/settings', { stated_cost_factor: 20 })
    await until(ask, call, ({ interpretation }) => interpretation.export_eligibility === 'implausible_cost')
  })

  test('a stated cost of zero needs a price of zero: a negotiated one says that calls are free', async () => {
    const call = { ...TOKENS, ...SERVED, estimated_cost_usd: '0' }
    const doubted = await recordOf(call)
    expect(doubted).toMatchObject({ cost_usd: '0', ...card('service_resolved', 0.9, 'implausible_cost') })
    expect(doubted.explanation.summary).toContain('states, 0 USD, cannot be right beside its price of 0.0055 USD.')
    expect(await recordOf({ ...call, served_from_cache: true })).toMatchObject({
      cost_basis: 'local_cache',
      ...card('service_resolved', 0.9),
    })

    const price = { provider: 'openai', model: 'gpt-4o', region: 'free-tier', valid_from: '2026-01-01T00:00:00Z' }
    const free = { input_tokens: '0', output_tokens: '0' }
    expect((await ask('POST', '/api/v1/prices', { ...price, usd_per_million: free })).status).toBe(201)
    await until(ask, { ...call, region: 'free-tier' }, ({ cost_basis, interpretation }) => {
      return cost_basis === 'client_estimate' && interpretation.export_eligibility === 'eligible'
    })
  })

  test('a cost stated by a credential without trust is shown beside the price, which counts', async () => {
    const scopes = ['read:attribution']
    const made = await ask('POST', '/api/v1/api-keys', { name: 'Gateway', scopes, trusts_cost: false })
    expect(made.json).toMatchObject({ trusts_cost: false })
    await untilKnown(service.baseUrl, made.json.secret)
    const asUntrusted = askAs(service.baseUrl, { 'x-api-key': made.json.secret })

    expect(await recordOf({ ...SERVED, estimated_cost_usd: '0.01' }, asUntrusted)).toMatchObject({
      cost_basis: 'price_book',
      cost_usd: '0.0055',
      ...card('service_resolved', 0.9),
      explanation: { cost: { total_usd: '0.0055', stated_usd: '0.01', details: { stated_cost: 'untrusted' } } },
    })
    const inHouse = { ...SERVED, requested_model: 'in-house', estimated_cost_usd: '0.01' }
    expect(await recordOf(inHouse, asUntrusted)).toMatchObject({ cost_basis: 'unpriced', cost_usd: '0' })
  })

  test('tokens that contradict each other have no price; a stated cost still counts', async () => {
    const inconsistent = { ...SERVED, cached_input_tokens: 1201 }
    expect(await recordOf(inconsistent)).toMatchObject({
      cost_basis: 'unpriced',
      cost_usd: '0',
      ...card('service_resolved', 0.9, 'unpriced'),
      explanation: { cost: { details: { reason: 'inconsistent_tokens' } } },
    })
    expect(await recordOf({ ...inconsistent, estimated_cost_usd: '0.02' })).toMatchObject({
      cost_basis: 'client_estimate',
      cost_usd: '0.02',
      ...card('service_resolved', 0.9),
    })
  })

  test('an unpriced record gives the reason and is not eligible', async () => {
    const record = await recordOf({ ...SERVED, requested_model: 'in-house' })
    expect(record).toMatchObject({
      cost_bound: 'lower',
      interpretation: { export_eligibility: 'unpriced', confidence: 0.9 },
      explanation: { cost: { details: { reason: 'unknown_model' } } },
    })
  })
})

describe('energy and carbon', () => {
  test.concurrent.each([
    ['measured', 'measured', { energy_wh: '1.5', carbon_gco2e: '0.7' }],
    ['measured', 'modelled', { energy_wh: '1.5', region: 'eu-north-1' }],
    ['measured', 'unknown', { energy_wh: '1.5', region: 'mars' }],
    ['modelled', 'measured', { carbon_gco2e: '0.1' }],
    ['modelled', 'modelled', { latency_ms: 900 }],
    ['modelled', 'unknown', { region: 'mars' }],
    ['class_estimate', 'class_estimate', { provider: 'xai', requested_model: 'grok-4' }],
    ['class_estimate', 'unknown', { requested_model: 'o3', region: 'mars' }],
    ['class_estimate', 'measured', { requested_model: 'o3', carbon_gco2e: '0.1' }],
    ['unknown', 'unknown', { requested_model: 'in-house', estimated_cost_usd: '1' }],
    ['unknown', 'measured', { requested_model: 'in-house', carbon_gco2e: '0.1' }],
  ])(
    '%s energy, %s carbon; confidence and eligibility of the attribution are untouched',
    async (energy_basis, carbon_basis, stated) => {
      const record = await recordOf({ ...SERVED, estimated_cost_usd: '0.005', ...stated })
      expect(record).toMatchObject({ energy_basis, carbon_basis, ...card('service_resolved', 0.9) })
    },
  )
})

test('a model of unknown size has an estimate for its class, and the card says what it is of', async () => {
  const record = await recordOf({ ...SERVED, provider: 'xai', requested_model: 'grok-4' })
  const { energy_wh: energy, uncertainty, details } = record.explanation.footprint

  expect(uncertainty).toMatch(/^not modelled, .* an estimate for models of the price class large \(it costs USD 15 /)
  expect(details.model).toMatchObject({ found_by: 'class', class: { by: 'price', name: 'large' } })
  expect(Number(details.confidence)).toBeLessThan(0.35)
  expect(Number(energy.max)).toBeGreaterThan(10 * Number(energy.min))

  const asked = `group_by=served_model&filter[provider][eq]=xai&from=${record.event_time.slice(0, 10)}`
  const { data } = (await ask('GET', `/v1/reports/usage?${asked}`)).json
  expect(data[0].energy_class_estimate_wh).toBe(data[0].energy_wh)
  expect(data[0].lower_bounds).toEqual([])
})

describe('eligibility', () => {
  test('a call of another region is residency_restricted', async () => {
    const record = await recordOf({ attributed_service: 'checkout', region: 'us-east-1' }, strict)
    expect(record).toMatchObject(card('service_resolved', 0.9, 'residency_restricted'))
  })

  test('a disputed record is not eligible, and an overridden one has the basis manual_override', async () => {
    const record = await recordOf(SERVED)
    await ask('POST', `/v1/attribution/${record.id}/dispute`, { reason: 'This is not our job.' })
    expect(await shownAgain(record.id, ({ output_state }) => output_state === 'disputed')).toMatchObject({
      output_state: 'disputed',
      ...card('service_resolved', 0.9, 'disputed'),
    })

    await ask('DELETE', `/v1/attribution/${record.id}/dispute`)
    await shownAgain(record.id, ({ output_state }) => output_state !== 'disputed')
    await ask('POST', `/v1/attribution/${record.id}/override`, { service: 'a', owner: 'b', reason: 'c' })
    expect(await shownAgain(record.id, isOverridden)).toMatchObject({
      service: 'a',
      owner: 'b',
      output_state: 'overridden',
      ...card('manual_override', 0.95),
    })
  })
})

describe('inference', () => {
  let learner: Ask
  let tenantId = ''
  const model = async (...args: string[]) => {
    const { code, lines } = await command(service, ['model', ...args])
    expect([code, lines]).toEqual([0, lines])
    return lines
  }
  const train = async (seed: string): Promise<void> => {
    expect(JSON.parse((await model('train', '--tenant', tenantId, '--seed', seed, '--json'))[0] ?? '')).toMatchObject({
      outcome: 'promoted',
    })
  }
  const untilState = (state: string) =>
    until(
      learner,
      plantedCall(1, START_MS, false).call,
      ({ interpretation }) => interpretation.degradation_state === state,
    )

  test('inference by the baseline is advisory', async () => {
    ;({ learner, tenantId } = await learning)
    const { call } = plantedCall(1, START_MS, false)
    // What the calls before were counted from is used again for a while.
    await until(learner, call, ({ interpretation }) => interpretation.evidence_basis === 'heuristic_baseline')

    expect(await recordOf(call, learner)).toMatchObject({
      output_state: 'inferred',
      interpretation: {
        stage_origin: 'stage_b',
        evidence_basis: 'heuristic_baseline',
        degradation_state: 'degraded_serving',
        export_eligibility: 'advisory',
      },
    })
  })

  test('inference uses the validated model, the previous one after a recall, and none when disabled', async () => {
    await train('1')
    await untilState('none')
    const inferred = await recordOf(plantedCall(2, START_MS, false).call, learner)
    expect(inferred).toMatchObject({
      output_state: 'inferred',
      interpretation: { evidence_basis: 'trained_inference', degradation_state: 'none' },
      explanation: { inference: { compared_with: { classes: expect.any(Number) } } },
    })
    const [reason] = inferred.explanation.inference.reasons
    expect(reason.text).toMatch(/ times likelier in calls of this service than in others$/)
    expect(inferred.explanation.summary).toContain(`; the strongest sign is that ${reason.text}.`)
    const unsure = { ...plantedCall(2, START_MS, false).call, attribution_confidence: 0.4 }
    const pooled = await recordOf(unsure, learner)
    expect(pooled.interpretation.stage_origin).toBe('stage_c')
    expect(pooled.explanation.best_guess).toMatchObject({ model: inferred.interpretation.model_version })
    expect(pooled.explanation.summary).toMatch(/the model's best guess was|none of the services it knows/)

    await train('2')
    const { data } = (await learner('GET', '/v1/models')).json
    await model('recall', data[0].id)
    await untilState('model_recalled')
    expect(await recordOf(plantedCall(2, START_MS, false).call, learner)).toMatchObject({
      interpretation: { evidence_basis: 'trained_inference', model_version: data[1].id },
    })

    await learner('PATCH', '/api/v1/settings', { stage_b_enabled: false })
    await untilState('disabled')
    await recordOf(plantedCall(2, START_MS, false).call, learner)
  })
})

test(`${VARIED} varied calls match a calculation by hand, to the last digit`, async () => {
  const book = loadPriceBookFile()
  const rows = book.models.filter(
    ({ region, input, output }) => region === undefined && input !== undefined && output !== undefined,
  )
  const calls = Array.from({ length: VARIED }, (_, i) => {
    const row = rows[(i * 997) % rows.length]
    const input = (i * 7919) % 400_000
    const cached = i % 3 === 0 ? Math.floor(input / 3) : undefined
    const written = i % 4 === 0 ? Math.floor(input / 5) : undefined
    const output = 1 + ((i * 104_729) % 9_000)
    return {
      ...SERVED,
      provider: row?.provider,
      requested_model: row?.model,
      input_tokens: input,
      output_tokens: output,
      cached_input_tokens: cached,
      cache_write_tokens: written,
      cache_write_ttl_seconds: i % 8 === 0 ? 3_600 : undefined,
      reasoning_tokens: i % 5 === 0 ? Math.floor(output / 2) : undefined,
      latency_ms: i % 2 === 0 ? (i * 613) % 60_000 : undefined,
      region: ['eu', 'us', 'eu-north-1', undefined][i % 4],
      service_tier: (['batch', 'priority', 'flex'] as const)[i % 13],
      estimated_cost_usd: i % 10 === 0 ? `0.0${i}1` : undefined,
      ingestion_timestamp: new Date(Date.UTC(2026, i % 10, 1 + (i % 28), i % 24)).toISOString(),
      attribution_confidence: i % 6 === 0 ? 0.57 : undefined,
    }
  })
  const records = await attributedAll(ask, calls)
  met.push(...records)

  expect(records.filter(({ cost_basis }) => cost_basis === 'price_book').length).toBeGreaterThan(drawn(90))
  expect(records.filter(({ energy_basis }) => energy_basis === 'modelled').length).toBeGreaterThan(drawn(40))
  expect(records.flatMap(faultsOf)).toEqual([])
})

describe('of all records that were met', () => {
  test('every number of every record matches a calculation by hand', () => {
    expect(met.flatMap(faultsOf)).toEqual([])
  })

  test('each summary says who it is attributed to, and whether it may be charged back', () => {
    for (const { service: name, owner, interpretation, explanation } of met) {
      expect(explanation.summary).toContain(JSON.stringify(name === 'unassigned' ? owner : name))
      expect(/may be charged back/.test(explanation.summary)).toBe(interpretation.export_eligibility === 'eligible')
    }
    if (process.env['SHOW_SUMMARIES']) {
      const shown = new Map(met.map((one) => [one.interpretation.evidence_basis, one.explanation.summary]))
      for (const summary of shown.values()) console.log(summary)
    }
  })

  test.each<[string, readonly string[], (record: ShownRecord) => string]>([
    ['evidence basis', EVIDENCE_BASES, ({ interpretation }) => interpretation.evidence_basis],
    ['stage', STAGE_ORIGINS, ({ interpretation }) => interpretation.stage_origin],
    ['band', CONFIDENCE_BANDS, ({ interpretation }) => interpretation.confidence_band],
    ['degradation state', DEGRADATION_STATES, ({ interpretation }) => interpretation.degradation_state],
    ['freshness', FRESHNESSES, ({ interpretation }) => interpretation.freshness],
    ['export eligibility', EXPORT_ELIGIBILITIES, ({ interpretation }) => interpretation.export_eligibility],
    ['output state', OUTPUT_STATES, ({ output_state }) => output_state],
    ['pathway', PATHWAY_CATEGORIES, ({ pathway_category }) => pathway_category],
    ['cost basis', COST_BASES, ({ cost_basis }) => cost_basis],
    ['energy basis', FOOTPRINT_BASES, ({ energy_basis }) => energy_basis],
    ['carbon basis', FOOTPRINT_BASES, ({ carbon_basis }) => carbon_basis],
  ])('the records show every %s of its closed list, and no other', (_, all, shownOf) => {
    expect([...new Set(met.map(shownOf))].sort()).toEqual([...all].sort())
  })
})
