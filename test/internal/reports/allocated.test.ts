import type { ClickHouseClient } from '@clickhouse/client'
import { beforeAll, expect, test } from 'vitest'
import { TENANT } from '../../support/scope-keys.js'
import { serveReports } from '../../support/serve-reports.js'

/** What an allocated report says of the dollars that are still with pools. */

const WITHOUT_WEIGHTS = 'tnt_two'
const NOW_MS = Date.UTC(2026, 9, 20)

let client: ClickHouseClient
let url: string
beforeAll(async () => {
  ;({ client, url } = await serveReports(NOW_MS))
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
  await client.insert({
    table: 'attributions',
    values: [call('1', WITHOUT_WEIGHTS, '5', true), call('2', TENANT, '4', true), call('3', TENANT, '3', false)],
    format: 'JSONEachRow',
  })
  await client.insert({
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
