import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { readReport } from '../../../../../internal/reports/question.js'
import { firstPage } from '../../../../../internal/reports/report.js'
import { type AnswerPage, hasClosedIn, readAnswer } from '../../../../../internal/store/queries/reports/answer.js'
import { figureSteps } from '../../../../../internal/store/queries/reports/figures.js'
import { isFlat, readFlatAnswer } from '../../../../../internal/store/queries/reports/flat-answer.js'
import { countHoldingFilters } from '../../../../../internal/store/queries/reports/holding-filters.js'
import { type Database, openDatabase } from '../../../../support/database.js'
import { drawn } from '../../../../support/run/rings.js'

const DAY = 'from=2026-11-01&to=2026-11-02'
const SNAPSHOT_MS = Date.UTC(2026, 10, 3)

let store: Database
beforeAll(async () => {
  store = await openDatabase()
})

const SERVICES = ['a', 'b', 'c', 'ß', 'é', '\u{1F600}', '\uFF5E'] as const
/** A person of 0 is nobody, 9 a workload. */
const calls = fc.array(
  fc.record({
    service: fc.constantFrom(...SERVICES),
    person: fc.integer({ min: 0, max: 9 }),
    day: fc.constantFrom('2026-11-01', '2026-11-01', '2026-10-20'),
    hour: fc.integer({ min: 0, max: 3 }),
    cost: fc.constantFrom('0', '1', '0.000000000000000001', '2.5'),
    tokens: fc.constantFrom(0, 1, 7),
  }),
  { minLength: 1, maxLength: 60, size: 'max' },
)
const SORTS = [
  '',
  '&sort=service',
  '&sort=-service',
  '&sort=people',
  '&sort=-cost_usd',
  '&sort=-cost_usd_per_1k_tokens',
] as const
const BEFORE = 'compare_from=2026-10-20&compare_to=2026-10-21'
const COMPARED_SORTS = [
  '',
  '&sort=-change.cost_usd',
  '&sort=change.people',
  '&sort=-change_percent.cost_usd',
  '&sort=change_percent.calls',
  '&sort=change.cost_usd_per_1k_tokens',
] as const
const asked = fc.oneof(
  fc.constantFrom(...SORTS).map((sort) => `group_by=service${sort}`),
  fc.constantFrom('', 'interval=hour', 'interval=hour&sort=-from', 'group_by=provider&sort=-calls'),
  fc
    .constantFrom('', '&interval=hour', '&interval=15m&sort=-people', '&group_by=service&sort=confidence')
    .map((rest) => `filter[service][in]=a,b,c,ß${rest}`),
  fc
    .tuple(fc.constantFrom('', 'group_by=service', 'group_by=provider'), fc.constantFrom(...COMPARED_SORTS))
    .map(([group, sort]) => `${BEFORE}&${group}${sort}`),
  fc.constantFrom('a', 'a,b,c,ß').map((names) => `${BEFORE}&filter[service][in]=${names}&group_by=service`),
)

test('an answer that is folded here equals the one that the engine folds, in every figure and in order', async () => {
  const cases = fc.sample(fc.record({ calls, asked, cohortMin: fc.integer({ min: 2, max: 5 }) }), {
    numRuns: drawn(120),
    seed: 7,
  })
  const { client } = store
  await client.insert({
    table: 'attributions',
    values: cases.flatMap(({ calls: own }, number) =>
      own.map(({ service, person, day, hour, cost, tokens }, i) => ({
        tenant_id: `tnt-${number}`,
        id: String(number * 100 + i).padStart(16, '0'),
        event_time: `${day} 0${hour}:00:00.000`,
        valid_from: '2026-11-02 00:00:00.000',
        service,
        provider: `provider-${person % 2}`,
        cost_usd: cost,
        // Equal quotients may differ in the engine, which divides floats.
        confidence: 0.9 - SERVICES.indexOf(service) / 100,
        input_tokens: tokens,
        identity_hash: person === 0 ? '\0'.repeat(16) : String(person).padStart(16, 'x').split('').reverse().join(''),
      })),
    ),
    format: 'JSONEachRow',
  })

  let folded = 0
  const compared = { both: 0, new: 0, gone: 0, not_shown: 0 }
  for (const [number, { asked: query, cohortMin }] of cases.entries()) {
    const read = readReport('usage', `${DAY}&${query}`, SNAPSHOT_MS)
    if (!read.ok) throw new Error(`${query}: ${read.problem.detail}`)
    const workload = Buffer.from(`9${'x'.repeat(15)}`).toString('hex')
    const of = { tenantId: `tnt-${number}`, snapshotMs: SNAPSHOT_MS, notPeople: [workload], cohortMin, months: [] }
    await firstPage(
      read.question,
      of,
      200,
      {
        weights: async () => undefined,
        holdingFilters: (...asked) => countHoldingFilters(client, ...asked),
        hasClosed: (period, signal) => hasClosedIn(client, period, signal),
        async read(each, limit, signal) {
          const [flat, engine] = await Promise.all([
            readFlatAnswer(client, each, limit, signal),
            readAnswer(client, each, limit, signal),
          ])

          expect(isFlat(each)).toBe(true)
          if (flat === undefined) throw new Error('too many groups')
          expect(comparable(flat), `${number} ${query}`).toEqual(comparable(engine))
          for (const { previous } of flat.rows) if (previous) compared[previous.compared]++
          folded += flat.rows.filter(({ isFolded }) => isFolded).length
          return flat
        },
        stage: () => Promise.reject(new Error('staged')),
        readStaged: () => Promise.reject(new Error('staged')),
      },
      new AbortController().signal,
    )
  }
  expect(folded).toBeGreaterThan(drawn(20))
  for (const kind of ['both', 'not_shown'] as const) expect(compared[kind], kind).toBeGreaterThan(drawn(20))
})

/** What must not be shown of the period before is no part of an answer. */
const comparable = ({ rows, totals: { previousCostUsd, ...totals } }: AnswerPage) => ({
  totals: {
    ...totals,
    costUsd: figureSteps(totals.costUsd),
    previousCostUsd: previousCostUsd && figureSteps(previousCostUsd),
    sums: totals.sums && { now: stepsOf(totals.sums.now), before: stepsOf(totals.sums.before) },
  },
  rows: rows.map(({ previous, ...row }) => ({
    ...row,
    figures: stepsOf(row.figures),
    previous:
      previous === undefined || previous.compared === 'not_shown'
        ? previous?.compared
        : { ...previous, figures: stepsOf(previous.figures) },
  })),
})

const stepsOf = (figures: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(figures).map(([name, text]) => [name, figureSteps(text)]))
