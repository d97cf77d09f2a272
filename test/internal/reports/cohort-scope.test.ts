import { afterAll, beforeAll, expect, test } from 'vitest'
import { createCursorCodec } from '../../../internal/http/resource/pages.js'
import { type OpenReports, openReports } from '../../../internal/reports/open-reports.js'
import { BOOK } from '../../support/generated-company.js'
import { TENANT } from '../../support/scope-keys.js'
import { serveRoutes } from '../../support/serve-routes.js'
import { launchMigratedStore, type RunningStore, stopStore } from '../../support/store.js'

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

let store: RunningStore
let reports: OpenReports
let url: string
beforeAll(async () => {
  store = await launchMigratedStore()
  const values = CALLS.flatMap(([service, owner, people]) =>
    Array.from({ length: people }, (_, i) => ({
      ...{ tenant_id: TENANT, service, owner, cost_usd: '1', stage_origin: 'stage_a' },
      id: `${service}-${i}`.padStart(16, '0').slice(0, 16),
      event_time: '2026-10-05 10:00:00.000',
      valid_from: '2026-10-05 10:00:01.000',
      identity_hash: `${i}-${service}`.padEnd(16, 'x').slice(0, 16),
    })),
  )
  await store.client.insert({ table: 'attributions', values, format: 'JSONEachRow' })
  reports = openReports({
    storeConnection: store.connection,
    prices: { bookAt: () => BOOK, pricesOf: () => undefined },
    notPeople: () => [],
    dimensionsOf: () => [],
    credentialNames: () => new Map(),
    cohortMin: () => 5,
    costObjectsOf: () => ({
      services: ['search', 'tiny', 'notes', 'chat'],
      owners: ['team-search', 'team-tiny', 'team-chat'],
    }),
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
