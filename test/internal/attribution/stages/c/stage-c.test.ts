import { describe, expect, test } from 'vitest'
import { allocationPolicy } from '../../../../../internal/attribution/pools/pool-policy.js'
import { stageC } from '../../../../../internal/attribution/stages/c/stage-c.js'
import { batchOf, event, kindsOf, STAGE_C_DEPS } from '../../../../support/stages.js'

const POOL = {
  id: 'pool_one',
  tenant_id: 'tnt_one',
  name: 'shared-proxy',
  owner: 'team-platform',
  priority: 100,
  rules: [{ provider: 'nobody' }, { ingestion_layer: 'proxy' }],
  created_at: '2026-11-01T00:00:00.000Z',
}

describe('stage C', () => {
  test('calls without a matching rule go to the default pool, with a confidence far below provisional', async () => {
    const { handle } = await stageC(STAGE_C_DEPS).open(2)

    const dispositions = await handle(batchOf('c', [event(1, 0, { attributionConfidence: 0.95 })]))

    expect(dispositions).toMatchObject([
      {
        kind: 'resolved',
        row: {
          service: 'unallocated',
          owner: 'unallocated',
          stageOrigin: 'stage_c',
          evidenceBasis: 'default_pool',
          confidence: 1_000,
          confidenceBand: 'estimated',
          outputState: 'unresolved',
          degradationState: 'disabled',
          exportEligibility: 'below_floor',
        },
      },
    ])
  })

  test('stage C says of a call with an identity that nobody knows the identity', async () => {
    const { handle } = await stageC(STAGE_C_DEPS).open(2)

    const [stated, silent] = await handle(batchOf('c', [event(1, 0, { attributedIdentity: 'ada' }), event(2, 1)]))

    const evidenceOf = (one: typeof stated) => JSON.parse(one?.kind === 'resolved' ? one.row.evidence : '')
    expect(evidenceOf(stated)).toMatchObject({ pool: 'unallocated', unknown_identity: true })
    expect(evidenceOf(silent)).not.toHaveProperty('unknown_identity')
    expect(JSON.stringify(evidenceOf(stated))).not.toContain('ada')
  })

  test('stage C puts calls with a matching rule into its pool, below 0.50, and explains rule and weights', async () => {
    const { handle } = await stageC({ ...STAGE_C_DEPS, policyOf: () => allocationPolicy([POOL]) }).open(2)

    const [taken, left] = await handle(
      batchOf('c', [event(1, 0, { ingestionLayer: 'proxy' }), event(2, 1, { ingestionLayer: 'gateway' })]),
    )

    expect(taken).toMatchObject({
      row: {
        service: 'shared-proxy',
        owner: 'team-platform',
        evidenceBasis: 'allocation_policy',
        confidence: 3_000,
        confidenceBand: 'estimated',
        outputState: 'allocated',
        exportEligibility: 'below_floor',
      },
    })
    expect(JSON.parse(taken?.kind === 'resolved' ? taken.row.evidence : '')).toEqual({
      pool: 'shared-proxy',
      pool_id: 'pool_one',
      rule: { ingestion_layer: 'proxy' },
      weights_as_of: '2026-11-03T11:00:00.000Z',
      confidence: '0.3000',
    })
    expect(left).toMatchObject({ row: { service: 'unallocated' } })
  })

  test('stage C reads each tenant’s weights once per batch, as of the batch’s own time', async () => {
    const queries: [string, number][] = []
    const weightsAsOf = async (tenantId: string, nowMs: number) => {
      queries.push([tenantId, nowMs])
      return 0
    }
    const { handle } = await stageC({ ...STAGE_C_DEPS, weightsAsOf }).open(2)
    const batch = batchOf('c', [event(1, 0), event(2, 1)])

    await handle(batch)

    expect(queries).toEqual([[batch.invocations[0]?.tenantId, batch.validFromMs]])
  })

  test('stage C gives no weights if none could be computed', async () => {
    const { handle } = await stageC({ ...STAGE_C_DEPS, weightsAsOf: async () => undefined }).open(2)

    const [kept] = await handle(batchOf('c', [event(1, 0)]))

    expect(JSON.parse(kept?.kind === 'resolved' ? kept.row.evidence : '')).toEqual({
      pool: 'unallocated',
      rule: 'default',
      confidence: '0.1000',
    })
  })

  test('stage C marks records as index_stale while the mirror of the pools lags', async () => {
    const { handle } = await stageC({ ...STAGE_C_DEPS, isIndexStale: () => true }).open(2)

    expect(await handle(batchOf('c', [event(1, 0)]))).toMatchObject([{ row: { freshness: 'index_stale' } }])
  })

  test('stage C says of a call whose trace has several services that they contradict each other', async () => {
    const { handle } = await stageC(STAGE_C_DEPS).open(2)

    const [row] = (await handle(batchOf('c', [{ ...event(1, 0), traceServices: ['chat', 'search'] }]))).flatMap(
      (each) => (each.kind === 'resolved' ? [each.row] : []),
    )

    expect(row).toMatchObject({ service: 'unallocated', contested: 'trace' })
    expect(JSON.parse(row?.evidence ?? '')).toMatchObject({ conflict: { by: 'trace', services: ['chat', 'search'] } })
  })

  test('stage C hands nothing over', async () => {
    expect(stageC(STAGE_C_DEPS).next).toBeUndefined()
    const { handle } = await stageC(STAGE_C_DEPS).open(2)

    expect(kindsOf(await handle(batchOf('c', [event(1, 0), event(2, 1, { provider: 'broken' })])))).toEqual([
      'resolved',
      'failed',
    ])
  })
})
