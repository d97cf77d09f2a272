import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { type ReportQuestion, readReport } from '../../../../../internal/reports/question.js'
import { firstPage, laterPage, type ReportOf, type ReportReads } from '../../../../../internal/reports/report.js'
import {
  hasClosedIn,
  readAnswer,
  readStaged,
  stageAnswer,
} from '../../../../../internal/store/queries/reports/answer.js'
import { countHoldingFilters } from '../../../../../internal/store/queries/reports/holding-filters.js'
import { type Database, openDatabase } from '../../../../support/database.js'

const SNAPSHOT_MS = Date.UTC(2027, 0, 3)
const NEVER = new AbortController().signal

let store: Database
let reads: ReportReads
const of: ReportOf = { tenantId: 'tnt', snapshotMs: SNAPSHOT_MS, notPeople: [], cohortMin: 5, months: [] }

/** Calls of people by service in a month: each person once, for a dollar. */
const CALLS = {
  '2026-10': {
    steady: [1, 6],
    gone: [1, 6],
    cheap: [1, 5],
    grows: [1, 2],
    shrinks: [1, 9],
    'gone-few': [1, 1],
    idle: [0, 0],
  },
  '2026-11': { steady: [1, 7], new: [1, 5], grows: [1, 8], shrinks: [1, 3], idle: [0, 0], 'new-idle': [0, 0] },
  '2026-12': { steady: [1, 7] },
} as const

beforeAll(async () => {
  store = await openDatabase()
  const { client } = store
  const values = Object.entries(CALLS).flatMap(([month, services]) =>
    Object.entries(services).flatMap(([service, [from, to]]) =>
      Array.from({ length: to - from + 1 }, (_, i) => ({
        tenant_id: 'tnt',
        id: `${month}${service}${i}`.padEnd(16).slice(-16),
        event_time: `${month}-15 10:00:00`,
        valid_from: `${month}-15 10:00:01`,
        service,
        owner: `team-${service}`,
        cost_usd: '1',
        input_tokens: 10,
        identity_hash: from === 0 ? '\0'.repeat(16) : String(from + i).padEnd(16, '-'),
      })),
    ),
  )
  await client.insert({ table: 'attributions', values, format: 'JSONEachRow' })
  reads = {
    weights: async () => undefined,
    holdingFilters: (...asked) => countHoldingFilters(client, ...asked),
    hasClosed: (asked, signal) => hasClosedIn(client, asked, signal),
    read: (query, limit, signal) => readAnswer(client, query, limit, signal),
    stage: (query, signal) => stageAnswer(client, query, signal),
    readStaged: (...asked) => readStaged(client, ...asked),
  }
})

function question(query: string): ReportQuestion {
  const read = readReport('usage', query, SNAPSHOT_MS)
  if (!read.ok) throw new Error(read.problem.detail)
  return read.question
}
const page = (query: string, limit = 50, tenantId = 'tnt') =>
  firstPage(question(query), { ...of, tenantId }, limit, reads, NEVER)
type Page = Awaited<ReturnType<typeof page>>
const told = ({ rows }: Pick<Page, 'rows'>) =>
  rows.map(({ labels, isFolded, figures, previous }) => [
    isFolded ? '…' : labels.join('/'),
    figures.cost_usd,
    previous?.compared,
    previous?.compared === 'not_shown' ? undefined : previous?.figures.cost_usd,
  ])

const NOVEMBER = 'from=2026-11-01&to=2026-12-01&compare=previous'

test('each row has what it had in the month before, only where it had a row of its own then', async () => {
  const answer = await page(`${NOVEMBER}&group_by=service&sort=service`)

  // In November three people shrink, with whom the cheapest of the others folds; in October two grow.
  expect(told(answer)).toEqual([
    ['…', '8', 'not_shown', undefined],
    ['gone', '0', 'gone', '6'],
    ['grows', '8', 'not_shown', undefined],
    ['idle', '1', 'both', '1'],
    ['new-idle', '1', 'new', '0'],
    ['steady', '7', 'both', '6'],
  ])
  expect(answer.totals).toMatchObject({ rows: 6, costUsd: '25', previousCostUsd: '30' })
})

test('rows are sorted by their change, and paged like others', async () => {
  const query = `${NOVEMBER}&group_by=service,owner&sort=-change.cost_usd`
  const whole = await page(query)
  const walked: unknown[] = []
  let part = await page(query, 2)
  walked.push(...told(part))
  while (part.next !== undefined) {
    const next = await laterPage(question(query), of, part.next, 2, reads, NEVER)
    if (next === undefined) throw new Error('the answer has expired')
    part = next
    walked.push(...told(part))
    expect(part.totals).toEqual(whole.totals)
  }

  expect(walked).toEqual(told(whole))
  const changes = whole.rows.map(({ figures, previous }) =>
    previous?.compared === 'not_shown' ? null : Number(figures.cost_usd) - Number(previous?.figures.cost_usd),
  )
  const numbers = changes.filter((change) => change !== null)
  expect(numbers).toEqual(numbers.toSorted((a, b) => b - a))
  expect(changes.slice(numbers.length).every((change) => change === null)).toBe(true)
})

test('in intervals each row is compared with the interval before', async () => {
  const { rows } = await page('from=2026-11-01&to=2027-01-01&interval=month&group_by=service&compare=previous')

  const ofSteady = rows.filter(({ labels }) => labels[0] === 'steady')
  expect(
    ofSteady.map(({ interval, figures, previous }) => [interval?.fromMs, figures.cost_usd, previous?.figures.cost_usd]),
  ).toEqual([
    [Date.UTC(2026, 10, 1), '7', '6'],
    [Date.UTC(2026, 11, 1), '7', '7'],
  ])
  const goneInDecember = rows.filter(
    ({ interval, previous }) => interval?.fromMs === Date.UTC(2026, 11, 1) && previous?.compared === 'gone',
  )
  expect(goneInDecember.map(({ labels }) => labels[0]).sort()).toEqual(['grows', 'idle', 'new-idle'])
})

test('a filter that selects too few people in the month before shows nothing of it', async () => {
  const answer = await page(`${NOVEMBER}&group_by=owner&filter[service][in]=grows,gone-few`)

  expect(told(answer)).toEqual([['team-grows', '8', 'not_shown', undefined]])
  expect(answer.totals.previousCostUsd).toBeUndefined()
})

test('nothing is said of a month before that has too few people, also where this one has nobody', async () => {
  const answer = await page(`${NOVEMBER}&filter[service][eq]=gone-few`)

  expect(answer.rows).toEqual([])
  expect(answer.totals.previousCostUsd).toBeUndefined()
})

test('with filters, rows that fold in one of the intervals are not compared', async () => {
  const { rows } = await page(
    'from=2026-11-01&to=2027-01-01&interval=month&filter[service][in]=steady,shrinks,new&group_by=service&compare=previous',
  )

  // In November two fold, as one is too small.
  expect(rows.map(({ labels, isFolded, previous }) => [labels[0], isFolded, previous?.compared])).toEqual([
    [undefined, true, 'not_shown'],
    ['steady', false, 'both'],
    ['steady', false, 'both'],
  ])
})

test('without groups two whole periods are compared', async () => {
  expect(told(await page(NOVEMBER))).toEqual([['', '25', 'both', '30']])
})

test('a previous figure is that of the previous report; new and gone rows had or have no calls', async () => {
  const MONTHS = ['2026-10', '2026-11'] as const
  const calls = fc.array(
    fc.record({
      month: fc.constantFrom(...MONTHS),
      owner: fc.constantFrom('x', 'y'),
      service: fc.constantFrom('a', 'b', 'c', 'd'),
      person: fc.integer({ min: 0, max: 9 }),
      cost: fc.integer({ min: 0, max: 3 }),
    }),
    { minLength: 1, maxLength: 60 },
  )
  const cases = fc.sample(calls, { numRuns: 12, seed: 7 })
  await store.client.insert({
    table: 'attributions',
    values: cases.flatMap((all, i) =>
      all.map(({ month, owner, service, person, cost }, j) => ({
        tenant_id: `tnt_${i}`,
        id: `${i}-${j}`.padEnd(16),
        event_time: `${month}-15 10:00:00`,
        valid_from: `${month}-15 10:00:01`,
        service,
        owner,
        cost_usd: String(cost),
        identity_hash: person === 0 ? '\0'.repeat(16) : String(person).padEnd(16, '-'),
      })),
    ),
    format: 'JSONEachRow',
  })
  const states = new Set<unknown>()
  for (const [i, all] of cases.entries()) {
    const of = (query: string) => page(`group_by=owner,service&${query}`, 100, `tnt_${i}`)
    const [compared, now, before] = await Promise.all([
      of(NOVEMBER),
      of('from=2026-11-01&to=2026-12-01'),
      of('from=2026-10-01&to=2026-11-01'),
    ])
    const hasCalls = (month: string, [owner, service]: readonly string[]) =>
      all.some((call) => call.month === month && call.owner === owner && call.service === service)
    const find = ({ rows }: Page, labels: readonly string[]) =>
      rows.find((row) => !row.isFolded && row.labels.join('/') === labels.join('/'))

    const isHere = (row: Page['rows'][number]) => row.previous?.compared !== 'gone'
    expect(compared.rows.filter(isHere).map(({ previous, ...row }) => row)).toEqual(
      expect.arrayContaining(now.rows.map((row) => row)),
    )
    expect(compared.rows.filter(isHere)).toHaveLength(now.rows.length)
    for (const { labels, isFolded, previous } of compared.rows) {
      const then = isFolded ? undefined : find(before, labels)
      states.add(previous?.compared)
      switch (previous?.compared) {
        case 'both':
          expect([previous.people, previous.figures]).toEqual([then?.people, then?.figures])
          break
        case 'gone':
          expect([previous.people, previous.figures]).toEqual([then?.people, then?.figures])
          expect(hasCalls('2026-11', labels)).toBe(false)
          break
        case 'new':
          expect(hasCalls('2026-10', labels)).toBe(false)
          break
        default:
          expect(isFolded || (then === undefined && hasCalls('2026-10', labels))).toBe(true)
      }
    }
    const gone = before.rows.filter(({ isFolded, labels }) => !isFolded && !hasCalls('2026-11', labels))
    expect(compared.rows.filter((row) => !isHere(row)).map(({ labels }) => labels.join())).toEqual(
      expect.arrayContaining(gone.map(({ labels }) => labels.join())),
    )
    if (compared.rows.length > 0) expect(compared.totals.previousCostUsd).toBe(before.totals.costUsd)
  }
  expect(states.size).toBe(4)
})
