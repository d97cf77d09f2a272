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

/** One day of 500 people who use 40 services and 4 models in 300,000 calls; a hundredth of the calls name nobody. */
const CALLS = 300_000
const DAY = 'from=2026-11-01&to=2026-11-02'
const SNAPSHOT_MS = Date.UTC(2026, 10, 3)

let store: Database
let reads: ReportReads
let of: ReportOf

beforeAll(async () => {
  store = await openDatabase()
  const { client } = store
  // Only the records are read.
  for (const { name } of await (
    await client.query({
      query: "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine = 'MaterializedView'",
      format: 'JSONEachRow',
    })
  ).json<{ name: string }>()) {
    await client.command({ query: `DROP TABLE ${name}` })
  }
  await client.command({
    query: `INSERT INTO attributions (tenant_id, id, event_time, valid_from, provider, served_model, service, owner,
            cost_usd, confidence,
              confidence_band, stage_origin, output_state, export_eligibility, cost_basis, input_tokens, identity_hash,
              requested_model, operation_id)
            WITH number % 40 AS s, cityHash64(number) % 500 + 1 AS person
            SELECT 'tnt', sipHash128(number), toDateTime64('2026-11-01 00:00:00', 3, 'UTC') + number % 86400,
              toDateTime64('2026-11-02 00:00:00', 3, 'UTC'),
              if(s = 0, 'rare', 'openai'), concat('model-', toString(number % 4)), concat('service-', toString(s)),
                concat('team-', toString(s % 7)),
              toDecimal128('0.000000000000000001', 18) * (number + 1), 0.9, 'chargeback_ready', 'stage_a',
                'deterministically_resolved', 'eligible', 'price_book', 10,
              if(number % 100 = 7, toFixedString('', 16), sipHash128(if(s = 0, person % 3 + 1000, person))),
              concat('asked-', toString(number % 1999)), concat('operation-', toString(number))
            FROM numbers(${CALLS})`,
  })
  reads = {
    weights: async () => undefined,
    holdingFilters: (...asked) => countHoldingFilters(client, ...asked),
    hasClosed: (asked, signal) => hasClosedIn(client, asked, signal),
    read: (query, limit, signal) => readAnswer(client, query, limit, signal),
    stage: (query, signal) => stageAnswer(client, query, signal),
    readStaged: (...asked) => readStaged(client, ...asked),
  }
  of = { tenantId: 'tnt', snapshotMs: SNAPSHOT_MS, notPeople: [], cohortMin: 5, months: [] }
})

const NEVER = new AbortController().signal
function question(query: string): ReportQuestion {
  const read = readReport('usage', `${DAY}&${query}`, SNAPSHOT_MS)
  if (!read.ok) throw new Error(read.problem.detail)
  return read.question
}
const page = (query: string, limit: number) => firstPage(question(query), of, limit, reads, NEVER)

/** 10^-18 USD. */
const steps = (usd: string): bigint => {
  const [whole = '0', fraction = ''] = usd.split('.')
  return BigInt(whole + fraction.padEnd(18, '0'))
}
const TOTAL = (BigInt(CALLS) * BigInt(CALLS + 1)) / 2n

test('a day of 500 people, 40 services, 4 models and 300,000 calls is answered', async () => {
  const byService = await page('group_by=service', 200)
  const all = await page('', 200)

  expect(all.rows.map(({ people, figures }) => [people, steps(figures.cost_usd)])).toEqual([[503, TOTAL]])
  // The service of three people, and the smallest of the others.
  expect(byService.rows.filter(({ isFolded }) => isFolded).map(({ groups }) => groups)).toEqual([2])
  expect(byService.rows).toHaveLength(39)
  expect(byService.rows.reduce((sum, { figures }) => sum + steps(figures.cost_usd), 0n)).toBe(TOTAL)
})

test('each row of a large answer is on exactly one page, in one order, and the sum is exact', async () => {
  const asked = question('group_by=owner,service,served_model&interval=hour&sort=-calls')
  let walked = await firstPage(asked, of, 200, reads, NEVER)
  const { rows: count } = walked.totals
  const rows = [...walked.rows]
  while (walked.next !== undefined) {
    const next = await laterPage(asked, of, walked.next, 200, reads, NEVER)
    if (next === undefined) throw new Error('the answer has expired')
    walked = next
    rows.push(...walked.rows)
  }

  expect(rows).toHaveLength(count)
  expect(count).toBeGreaterThan(900)
  const calls = rows.map(({ figures }) => Number(figures.calls))
  expect(calls).toEqual(calls.toSorted((a, b) => b - a))
  expect(rows.reduce((sum, { figures }) => sum + steps(figures.cost_usd), 0n)).toBe(TOTAL)
  expect(rows.filter(({ people }) => people > 0 && people < 5)).toEqual([])
})

test('a page of an answer that has expired is undefined', async () => {
  const asked = question('group_by=owner,service')
  const position = { answer: '00'.repeat(16), row: 1, filtersApplied: 0 }

  expect(await laterPage(asked, of, position, 2, reads, NEVER)).toBeUndefined()
})

test('a filter on three people, or on all others, is answered by their parent, one on many is applied', async () => {
  const few = await page('filter[service][eq]=service-0', 10)
  const others = await page('filter[provider][eq]=openai', 10)
  const many = await page('filter[owner][eq]=team-1', 10)
  const both = await page('filter[owner][eq]=team-1&filter[service][in]=service-8,service-15', 10)

  expect([few.filtersApplied, steps(few.rows[0]?.figures.cost_usd ?? '')]).toEqual([0, TOTAL])
  expect([others.filtersApplied, others.rows[0]?.people]).toEqual([0, 503])
  expect([many.filtersApplied, many.rows[0]?.people]).toEqual([1, 500])
  expect(both.filtersApplied).toBe(2)
})

test.each([
  ['one whose every value is one call', ['operation_id']],
  ['one that makes too many combinations of values', ['requested_model']],
  [
    'eight of them',
    [
      ...['provider', 'served_model', 'owner', 'region', 'service_tier', 'cost_basis'],
      ...['output_state', 'stage_origin'],
    ],
  ],
])(
  'a filter on a service of the folded row is dropped beside filters that select everything: %s',
  async (_, fields) => {
    const values: Record<string, string> = { cost_basis: 'unpriced', output_state: 'disputed', stage_origin: 'stage_c' }
    const noOps = fields.map((field) => `filter[${field}][ne]=${values[field] ?? 'none'}`).join('&')

    // The cheapest service joins that of three people: the row minus this answer would be theirs.
    const joined = await page(`${noOps}&filter[service][eq]=service-1`, 200)
    const alone = await page(`${noOps}&filter[service][eq]=service-2`, 200)

    expect(joined.filtersApplied).toBe(fields.length)
    expect(alone.filtersApplied).toBe(Math.min(fields.length + 1, 8))
    expect(steps(joined.rows[0]?.figures.cost_usd ?? '')).toBe(TOTAL)
  },
)

test('with filters an interval of fewer people folds into the period', async () => {
  const { rows } = await page('filter[service][eq]=service-1&filter[served_model][eq]=model-1&interval=15m', 200)

  expect(rows.filter(({ people }) => people > 0 && people < 5)).toEqual([])
  expect(rows.filter(({ interval }) => interval === undefined).length).toBeLessThanOrEqual(1)
})

test('a higher cohort minimum folds more', async () => {
  const { rows } = await firstPage(question('group_by=service'), { ...of, cohortMin: 50 }, 200, reads, NEVER)

  expect(rows.every(({ people }) => people === 0 || people >= 50)).toBe(true)
})
