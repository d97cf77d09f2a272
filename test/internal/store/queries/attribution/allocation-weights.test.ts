import { beforeAll, expect, test, vi } from 'vitest'
import {
  type TrailingWeightsDeps,
  trailingWeights,
  weightsInstant,
} from '../../../../../internal/attribution/pools/trailing-weights.js'
import { toRow, type Verdict } from '../../../../../internal/attribution/records/row.js'
import { identityHash } from '../../../../../internal/ids/identity-hash.js'
import { WEIGHT_WINDOW_MS } from '../../../../../internal/records/allocation-weights.js'
import {
  findAllocationWeights,
  findSpreadWeights,
  lastWeightsInstant,
  resolvedCosts,
} from '../../../../../internal/store/queries/attribution/allocation-weights.js'
import { insertRows } from '../../../../../internal/store/sink.js'
import { ALLOCATION_WEIGHTS } from '../../../../../internal/store/tables/allocation-weights.js'
import { ATTRIBUTIONS } from '../../../../../internal/store/tables/attributions.js'
import { CLOSED } from '../../../../../internal/store/tables/closed.js'
import { parseQuantity, type Quantity, zero } from '../../../../../internal/units/quantity.js'
import { type Database, openDatabase } from '../../../../support/database.js'
import { admitted, idOf, NOW_MS } from '../../../../support/invocations.js'
import { ROW_DEPS } from '../../../../support/stages.js'

let store: Database

beforeAll(async () => {
  store = await openDatabase()
})

const usd = (text: string): Quantity<'USD'> => parseQuantity<'USD'>(text) ?? zero()
const RESOLVED: Verdict = {
  service: 'search',
  owner: 'team-search',
  stageOrigin: 'stage_a',
  evidenceBasis: 'service_resolved',
  confidence: 9_000,
  outputState: 'deterministically_resolved',
  modelVersion: 'rules-7',
  degradationState: 'none',
  evidence: {},
}

interface Stated {
  readonly tenantId?: string
  readonly identity?: string
  readonly cost: string
  readonly verdict?: Partial<Verdict>
  readonly validFromMs?: number
  readonly eventTimeMs?: number
}
function row(
  number: number,
  { tenantId = 'tnt_one', identity, cost, verdict, validFromMs = NOW_MS, eventTimeMs = NOW_MS }: Stated,
) {
  const deps = {
    ...ROW_DEPS,
    consumptionOf: (of: ReturnType<typeof admitted>) => ({ ...ROW_DEPS.consumptionOf(of), costUsd: usd(cost) }),
  }
  const event = admitted({ tenantId, id: idOf(number), invocation: { attributedIdentity: identity, eventTimeMs } })
  return toRow(event, { ...RESOLVED, ...verdict }, { partition: 0, validFromMs }, deps)
}

test('the cost of what was attributed for certain, by service and owner, as of the end of the window', async () => {
  const toMs = NOW_MS + 10
  const closed = row(9, { cost: '1000' })
  const rows = [
    row(1, { cost: '0.100000000000000001' }),
    row(2, { cost: '0.2' }),
    row(3, { cost: '0.7', verdict: { service: 'chat', owner: 'team-chat' } }),
    row(4, { cost: '0.000000000000000001', verdict: { service: 'chat', owner: 'team-chat' } }),
    row(5, { cost: '50', verdict: { confidence: 7_999 } }),
    row(6, { cost: '50', verdict: { outputState: 'disputed' } }),
    row(7, { cost: '50', tenantId: 'tnt_two' }),
    row(8, { cost: '50', validFromMs: toMs + 1, eventTimeMs: toMs + 1 }),
    closed,
    row(10, { cost: '0', verdict: { service: 'free' } }),
    // Attributed again within the window, and made before it.
    row(11, { cost: '50', eventTimeMs: NOW_MS - 1 }),
  ]
  await insertRows(store.client, ATTRIBUTIONS, rows, 'rows')
  const end = { closedAtMs: toMs, change: 'override', changeId: 'one', actor: 'key_one' } as const
  await insertRows(store.client, CLOSED, [{ version: closed, ...end }], 'closed')

  const { costs, totalSteps } = await resolvedCosts(store.client, 'tnt_one', { fromMs: NOW_MS, toMs }, 10, [], 5)
  const [dearest] = (await resolvedCosts(store.client, 'tnt_one', { fromMs: NOW_MS, toMs }, 1, [], 5)).costs

  expect(costs).toEqual([
    { service: 'chat', owner: 'team-chat', costSteps: usd('0.700000000000000001'), isShown: true },
    { service: 'search', owner: 'team-search', costSteps: usd('0.300000000000000001'), isShown: true },
  ])
  expect(totalSteps).toBe(usd('1.000000000000000002'))
  expect(dearest).toEqual(costs[0])
  expect(await resolvedCosts(store.client, 'tnt_one', { fromMs: toMs + 1, toMs: toMs + 1 }, 10, [], 5)).toEqual({
    costs: [{ service: 'search', owner: 'team-search', costSteps: usd('50'), isShown: true }],
    totalSteps: usd('50'),
  })
})

const { signal } = new AbortController()
const failed = (_tenantId: string, _asOfMs: number, cause: unknown) => {
  throw cause
}
/** Of a process that has known none before, the instant of the weights that it has kept. */
async function worked(deps: Pick<TrailingWeightsDeps, 'costsOf' | 'keep'>, tenantId: string, nowMs: number) {
  const weightsAsOf = trailingWeights({ ...deps, lastKept: async () => undefined, failed })
  return vi.waitFor(
    async () => {
      const asOfMs = await weightsAsOf(tenantId, nowMs)
      if (asOfMs === undefined) throw new Error('no weights')
      return asOfMs
    },
    { timeout: 20_000 },
  )
}

test('weights are kept once an hour, sum to 1, and stay what they were', async () => {
  const at = NOW_MS + 2 * 3_600_000
  const keep = (rows: Parameters<Parameters<typeof trailingWeights>[0]['keep']>[0], token: string) =>
    insertRows(store.client, ALLOCATION_WEIGHTS, rows, token)
  const costsOf = (tenantId: string, window: { fromMs: number; toMs: number }, limit: number) =>
    resolvedCosts(store.client, tenantId, window, limit, [], 5)

  const asOfMs = await worked({ costsOf, keep }, 'tnt_two', at)
  const kept = await findAllocationWeights(store.client, 'tnt_two', asOfMs, signal)
  // Another process, which sees more by now.
  await insertRows(
    store.client,
    ATTRIBUTIONS,
    [row(12, { cost: '7', tenantId: 'tnt_two', verdict: { service: 'new' } })],
    'late',
  )
  await worked({ costsOf, keep }, 'tnt_two', at)

  expect(asOfMs).toBe(weightsInstant(at))
  expect(asOfMs - WEIGHT_WINDOW_MS).toBeLessThan(NOW_MS)
  expect(kept).toEqual([{ service: 'search', owner: 'team-search', weight: '1' }])
  expect(await findAllocationWeights(store.client, 'tnt_two', asOfMs, signal)).toEqual(kept)
  expect(await findAllocationWeights(store.client, 'tnt_one', asOfMs, signal)).toEqual([])
  expect(await lastWeightsInstant(store.client, 'tnt_two', asOfMs)).toBe(asOfMs)
  expect(await lastWeightsInstant(store.client, 'tnt_two', asOfMs - 1)).toBeUndefined()
  expect(await lastWeightsInstant(store.client, 'tnt_one', asOfMs)).toBeUndefined()
})

test('amounts that together have more digits than one may have are shares of their sum', async () => {
  const tenantId = 'tnt_large'
  const of = (service: string) => ({ tenantId, cost: '60000000000000000000', verdict: { service } })
  await insertRows(store.client, ATTRIBUTIONS, [row(20, of('a')), row(21, of('b')), row(22, of('c'))], 'large')

  const window = { fromMs: NOW_MS, toMs: NOW_MS }
  const { costs, totalSteps } = await resolvedCosts(store.client, tenantId, window, 2, [], 5)

  expect(costs.map(({ costSteps }) => costSteps)).toEqual([usd('60000000000000000000'), usd('60000000000000000000')])
  expect(totalSteps).toBe(3n * usd('60000000000000000000'))
})

test('reports spread by the weights of five people and of nobody, as of a time or the newest before', async () => {
  const tenantId = 'tnt_three'
  const of = (service: string) => ({ tenantId, cost: '1', verdict: { service, owner: `team-${service}` } })
  const rows = [
    ...Array.from({ length: 9 }, (_, i) => row(100 + i, { ...of('search'), identity: `person-${i}` })),
    ...Array.from({ length: 3 }, (_, i) => row(200 + i, { ...of('tiny'), identity: `person-${i}` })),
    ...Array.from({ length: 6 }, (_, i) => row(300 + i, { ...of('chat'), identity: `person-${20 + i}` })),
    row(400, of('sync')),
    row(401, { ...of('robots'), identity: 'robot' }),
  ]
  await insertRows(store.client, ATTRIBUTIONS, rows, 'three')
  const robot = Buffer.from(identityHash(ROW_DEPS.identityKeyOf(tenantId), 'robot')).toString('hex')
  const deps = {
    costsOf: (of: string, window: { fromMs: number; toMs: number }, limit: number) =>
      resolvedCosts(store.client, of, window, limit, [robot], 5),
    keep: (kept: Parameters<Parameters<typeof trailingWeights>[0]['keep']>[0], token: string) =>
      insertRows(store.client, ALLOCATION_WEIGHTS, kept, token),
  }
  const at = NOW_MS + 2 * 3_600_000
  const asOfMs = await worked(deps, tenantId, at)
  const { signal } = new AbortController()
  const spread = (byMs: number) => findSpreadWeights(store.client, tenantId, byMs, signal)

  expect(await findSpreadWeights(store.client, 'tnt_none', at, signal)).toBeUndefined()
  expect(await spread(at)).toEqual({
    asOfMs,
    weights: [
      { service: 'robots', owner: 'team-robots', parts: 50_000_000_000n },
      { service: 'search', owner: 'team-search', parts: 450_000_000_000n },
      { service: 'sync', owner: 'team-sync', parts: 50_000_000_000n },
    ],
  })
  const later = await worked(deps, tenantId, at + 3_600_000)
  expect((await spread(at + 3_600_000))?.asOfMs).toBe(later)
  expect((await spread(later - 1))?.asOfMs).toBe(asOfMs)
  // Older calls are spread by the first that there are.
  expect((await spread(asOfMs - 1))?.asOfMs).toBe(asOfMs)
})
