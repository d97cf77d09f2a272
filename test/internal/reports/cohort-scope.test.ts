import type { ClickHouseClient } from '@clickhouse/client'
import { beforeAll, expect, test } from 'vitest'
import { TENANT } from '../../support/scope-keys.js'
import { serveReports } from '../../support/serve-reports.js'

/** A tenant that lets its directory's services and teams be named, however few people they have. */

const NOW_MS = Date.UTC(2026, 10, 2)
/** Service, owner and number of people, each with a call of a dollar. */
const CALLS = [
  ['search', 'team-search', 9],
  ['tiny', 'team-tiny', 2],
  ['notes', 'ada@example.com', 1],
  ['unheard-of', 'team-search', 3],
  ['chat', 'team-chat', 7],
] as const

let client: ClickHouseClient
let url: string
beforeAll(async () => {
  ;({ client, url } = await serveReports(NOW_MS, {
    costObjectsOf: () => ({
      services: ['search', 'tiny', 'notes', 'chat'],
      owners: ['team-search', 'team-tiny', 'team-chat'],
    }),
  }))
  const values = CALLS.flatMap(([service, owner, people]) =>
    Array.from({ length: people }, (_, i) => ({
      ...{ tenant_id: TENANT, service, owner, cost_usd: '1', stage_origin: 'stage_a' },
      id: `${service}-${i}`.padStart(16, '0').slice(0, 16),
      event_time: '2026-10-05 10:00:00.000',
      valid_from: '2026-10-05 10:00:01.000',
      identity_hash: `${i}-${service}`.padEnd(16, 'x').slice(0, 16),
    })),
  )
  await client.insert({ table: 'attributions', values, format: 'JSONEachRow' })
})

async function ask(query: string, report = 'usage') {
  const answer = await fetch(`${url}/v1/reports/${report}?from=2026-10-01&to=2026-11-01&${query}`, {
    headers: { 'x-api-key': 'read:reporting' },
  })
  expect(answer.status).toBe(200)
  // biome-ignore lint/suspicious/noExplicitAny: the answer is what is being checked
  return (await answer.json()) as any
}
const costs = (json: { data: Record<string, string>[] }, label: string) =>
  Object.fromEntries(json.data.map((row) => [row['folded'] ? '…' : row[label], row['cost_usd']]))

test('what the directory lists is named; a name that it does not list folds, and a person', async () => {
  const byService = await ask('group_by=service')
  const byOwner = await ask('group_by=owner')

  expect(byService.report.cohort_scope).toBe('people')
  // Three people behind the unlisted name; nobody is counted behind the others, so that none has to join.
  expect(costs(byService, 'service')).toEqual({ search: '9', tiny: '2', notes: '1', chat: '7', '…': '3' })
  expect(costs(byOwner, 'owner')).toEqual({ 'team-search': '12', 'team-tiny': '2', 'team-chat': '7', '…': '1' })
  expect(byService.data.every(({ people }: { people: unknown }) => people === null)).toBe(true)
})

test('filters on what is listed hold on both sides; one on a person does not', async () => {
  const others = await ask('filter[service][ne]=tiny')
  const few = await ask('filter[owner][eq]=team-tiny&group_by=service')
  const person = await ask('filter[owner][ne]=ada@example.com')
  const unlisted = await ask('filter[service][in]=tiny,unheard-of')

  expect([others.suppressed, others.data[0].cost_usd]).toEqual([undefined, '20'])
  expect(costs(few, 'service')).toEqual({ tiny: '2' })
  expect(person.suppressed).toMatchObject({ reason: 'cohort_too_small', applied: [] })
  expect(unlisted.suppressed).toMatchObject({ reason: 'cohort_too_small', applied: [] })
})

test('adoption is about people: it folds as ever, and says so', async () => {
  const { data, report } = await ask('group_by=service', 'adoption')

  expect(report.cohort_scope).toBe('all')
  expect(Object.fromEntries(data.map((row: Record<string, unknown>) => [row['service'], row['people']]))).toEqual({
    search: 9,
    chat: 7,
    null: 6,
  })
})
