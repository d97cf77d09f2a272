import { afterAll, beforeAll, expect, test } from 'vitest'
import { createCursorCodec } from '../../../internal/http/resource/pages.js'
import { type OpenReports, openReports } from '../../../internal/reports/open-reports.js'
import { BOOK } from '../../support/generated-company.js'
import { TENANT } from '../../support/scope-keys.js'
import { serveRoutes } from '../../support/serve-routes.js'
import { launchMigratedStore, type RunningStore, stopStore } from '../../support/store.js'

/** What an allocated report says of the dollars that are still with pools. */

const WITHOUT_WEIGHTS = 'tnt_two'
const NOW_MS = Date.UTC(2026, 9, 20)

let store: RunningStore
let reports: OpenReports
let url: string
beforeAll(async () => {
  store = await launchMigratedStore()
  const call = (id: string, tenant: string, cost: string, pooled: boolean) => ({
    tenant_id: tenant,
    id: id.padStart(16, '0'),
    event_time: '2026-09-05 10:00:00.000',
    valid_from: '2026-09-05 10:00:01.000',
    service: pooled ? 'unallocated' : 'search',
    owner: pooled ? 'unallocated' : 'team-search',
    stage_origin: pooled ? 'stage_c' : 'stage_a',
    cost_usd: cost,
  })
  await store.client.insert({
    table: 'attributions',
    values: [call('1', WITHOUT_WEIGHTS, '5', true), call('2', TENANT, '4', true), call('3', TENANT, '3', false)],
    format: 'JSONEachRow',
  })
  await store.client.insert({
    table: 'allocation_weights',
    values: [
      {
        tenant_id: TENANT,
        as_of: '2026-09-30 22:00:00.000',
        service: 'search',
        owner: 'team-search',
        weight: '0.75',
        is_shown: true,
      },
      { tenant_id: TENANT, as_of: '2026-09-30 22:00:00.000', service: '', owner: '', weight: '0.25', is_shown: true },
    ],
    format: 'JSONEachRow',
  })
  reports = openReports({
    storeConnection: store.connection,
    prices: { bookAt: () => BOOK, pricesOf: () => undefined },
    notPeople: () => [],
    dimensionsOf: () => [],
    credentialNames: () => new Map(),
    cohortMin: () => 5,
    costObjectsOf: () => undefined,
    watermark: { latest: async () => NOW_MS },
    cursors: createCursorCodec(new Uint8Array(32)),
    clock: () => NOW_MS,
  })
  url = (await serveRoutes(reports.routes)).url
})
afterAll(async () => {
  await reports.close()
  await stopStore(store)
})

async function ask(tenant: string) {
  const query = 'from=2026-09-01&to=2026-10-01&group_by=service&allocate=true'
  const answer = await fetch(`${url}/v1/reports/usage?${query}`, {
    headers: { 'x-api-key': `${tenant}:read:reporting` },
  })
  // biome-ignore lint/suspicious/noExplicitAny: the answer is what is being checked
  const json = (await answer.json()) as any
  expect(answer.status, JSON.stringify(json)).toBe(200)
  return json
}
const left = (json: { data: Record<string, string>[] }) =>
  Object.fromEntries(json.data.map((row) => [row['service'], [row['cost_usd'], row['not_spread_usd']]]))

test('what the weights leave with a pool is said, of its row and in all', async () => {
  const september = await ask(TENANT)

  expect(left(september)).toEqual({ search: ['6', '0'], unallocated: ['1', '1'] })
  expect(september.report).toMatchObject({ total_cost_usd: '7', not_spread_usd: '1' })
})

test('pools without weights are not spread yet, and the answer says how much that is', async () => {
  const september = await ask(WITHOUT_WEIGHTS)

  expect(left(september)).toEqual({ unallocated: ['5', '5'] })
  expect(september.report).toMatchObject({ not_spread_usd: '5', allocation_weights: [{ as_of: null }] })
})
