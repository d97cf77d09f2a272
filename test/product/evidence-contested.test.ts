import { beforeAll, describe, expect, test } from 'vitest'
import { FRESHNESSES, PATHWAY_CATEGORIES } from '../../internal/records/interpretation.js'
import { type Ask, askAs, refusalOf } from '../support/ask.js'
import { attributedAll, type ShownRecord } from '../support/attributed.js'
import { type Cards, describeAllMet, now, openCards, SERVED, until } from '../support/evidence-cards.js'
import { launchService } from '../support/service.js'

/** Evidence cards of calls whose evidence contradicts itself, of every pathway, and as old as they can be. */

let ask: Ask
let strict: Ask
let recordOf: Cards['recordOf']
/** Every record that was met. */
const met: ShownRecord[] = []

beforeAll(async () => {
  ;({ ask, strict, recordOf } = await openCards(met))
})

describe('what contradicts', () => {
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

describeAllMet(met, [
  ['freshness', FRESHNESSES, ({ interpretation }) => interpretation.freshness],
  ['pathway', PATHWAY_CATEGORIES, ({ pathway_category }) => pathway_category],
])
