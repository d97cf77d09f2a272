import { describe, expect, test } from 'vitest'
import type { SortField } from '../../../../../internal/filters/filter-fields.js'
import { parseFilters, type Sort } from '../../../../../internal/filters/parse.js'
import {
  likelyEnd,
  matchSample,
  mostSelectiveFirst,
  type PlannedQuestion,
  planReading as planFrom,
  recordsLeftOfValue,
} from '../../../../../internal/store/queries/records/reading-plan.js'
import type { RecordSample, SampledRecord } from '../../../../../internal/store/queries/records/record-sample.js'

const ROWS = 3_000
const FIRST_MS = Date.UTC(2026, 0, 1)
const DAY_MS = 86_400_000

/** Ten million records of a year. Costs are spread evenly in every span of time, and providers are many. */
const sampleWith = (change: (i: number) => Partial<SampledRecord>, rowsOfEach = 3_333): RecordSample => ({
  rowsOfEach,
  closedRows: 0,
  records: Array.from({ length: ROWS }, (_, i) => {
    const atMs = FIRST_MS + Math.floor((i * 365 * DAY_MS) / ROWS)
    const known: SampledRecord = {
      id: (((i * 7_919) % ROWS) / ROWS).toString(16).slice(2).padEnd(32, '0'),
      invocation_id: '',
      dimensions: [],
      provider: `provider-${i % 7}`,
      served_model: `model-${i % 11}`,
      service: `service-${i % 13}`,
      owner: `team-${i % 17}`,
      cost_usd: ((i * 1_237) % ROWS) / ROWS,
      energy_wh: 1,
      carbon_gco2e: 1,
      confidence: 0.9,
      confidence_band: 'chargeback_ready',
      stage_origin: 'stage_a',
      evidence_basis: 'service_resolved',
      degradation_state: 'none',
      export_eligibility: 'eligible',
      pathway_category: 'application_direct',
      output_state: 'deterministically_resolved',
      contested: '',
      usage_basis: 'reported',
      outcome: 'success',
      event_time: atMs,
      materialized_at: atMs + 4_000,
      trace_id: '',
      operation_id: '',
      credential: 'key_1',
      requested_model: `model-${i % 11}`,
      ingestion_layer: 'gateway',
      service_tier: '',
      region: '',
      cost_basis: 'price_book',
      pool: '',
    }
    return { ...known, ...change(i) } as SampledRecord
  }),
})

const conditionsOf = (...parameters: readonly (readonly [string, string])[]) => {
  const read = parseFilters(parameters.map(([name, value]) => [`filter${name}`, value]))
  if (!read.ok) throw new Error(read.fault.detail)
  return read.value
}
const BY_COST: Sort = { field: 'cost_usd', isDescending: true }
const question = (
  parameters: readonly (readonly [string, string])[],
  sort = BY_COST,
  afterValue?: string,
): PlannedQuestion => ({ conditions: conditionsOf(...parameters), sort, afterValue, limit: 51 })
const planReading = (asked: PlannedQuestion, sample: RecordSample | undefined) =>
  planFrom(asked, matchSample(asked.conditions, sample))

describe('a page is looked for', () => {
  test('in the order of the sort, without indexes, where many records match', () => {
    const plan = planReading(
      question([['[provider][eq]', 'provider-3']]),
      sampleWith(() => ({})),
    )

    expect(plan).toMatchObject({ table: 'attributions_by_cost_usd', byGranules: false })
  })

  test('in the order of a filter where few match', () => {
    const sample = sampleWith((i) => (i % 1_000 === 0 ? { owner: 'person-1' } : {}))

    expect(planReading(question([['[owner][eq]', 'person-1']]), sample)).toMatchObject({
      table: 'attributions_by_owner',
      byGranules: false,
    })
    expect(planReading(question([['[owner][eq]', 'nobody']]), sample)?.table).toBe('attributions_by_owner')
  })

  test("in a filter's order by the indexes of granules where nothing of it meets the other filter", () => {
    const apart = sampleWith((i) => ({ provider: i % 2 === 0 ? 'even' : 'odd', served_model: `model-${i % 4}` }))
    const filters = (model: string) => [['[provider][eq]', 'even'] as const, ['[served_model][eq]', model] as const]

    expect(planReading(question(filters('model-1')), apart)).toMatchObject({
      table: 'attributions_by_served_model',
      byGranules: true,
    })
    expect(planReading(question(filters('model-2')), apart)).toMatchObject({
      table: 'attributions_by_cost_usd',
      byGranules: false,
    })
  })

  test('in the order of a filter where few are not what it leaves out', () => {
    const sample = sampleWith((i) => ({ provider: i % 1_000 === 0 ? 'small' : 'big' }))

    expect(planReading(question([['[provider][ne]', 'big']]), sample)).toMatchObject({
      table: 'attributions_by_provider',
      byGranules: false,
    })
    expect(planReading(question([['[provider][ne]', 'small']]), sample)?.table).toBe('attributions_by_cost_usd')
  })

  test('in the order of the labels where a rare label is asked for, alone or with a common one', () => {
    const sample = sampleWith(() => ({}))
    const disputed = ['[output_state][eq]', 'disputed'] as const

    for (const filters of [[disputed], [disputed, ['[stage_origin][eq]', 'stage_a'] as const]]) {
      expect(planReading(question(filters), sample)).toMatchObject({
        table: 'attributions_by_labels',
        byGranules: false,
      })
    }
  })

  test('by the indexes of granules where all that matches lies far back in the order', () => {
    const cheap = sampleWith((i) => ({ provider: (i * 1_237) % ROWS < ROWS / 2 ? 'cheap' : 'dear' }))

    expect(planReading(question([['[provider][eq]', 'cheap']]), cheap)).toMatchObject({
      table: 'attributions_by_cost_usd',
      byGranules: true,
    })
    const ascending = { ...BY_COST, isDescending: false }
    expect(planReading(question([['[provider][eq]', 'cheap']], ascending), cheap)?.byGranules).toBe(false)
    // The page before ended where they begin.
    expect(planReading(question([['[provider][eq]', 'cheap']], BY_COST, '0.5'), cheap)?.byGranules).toBe(false)
  })

  test('by the indexes of granules where all that matches is of a short time: other parts hold none', () => {
    const recent = sampleWith((i) => (i > ROWS * 0.9 ? { provider: 'new' } : {}))

    expect(planReading(question([['[provider][eq]', 'new']]), recent)).toMatchObject({ byGranules: true })
  })

  test('in the order of time where a span is short, be there a place of the sample in it or not', () => {
    const atMs = (i: number): number => FIRST_MS + Math.floor(i / 16) * 2 * DAY_MS + (i % 16) * 1_000
    const places = sampleWith((i) => ({ event_time: atMs(i), materialized_at: atMs(i) }))
    const span = (fromMs: number, toMs: number) =>
      planReading(
        question([
          ['[event_time][gte]', new Date(fromMs).toISOString()],
          ['[event_time][lt]', new Date(toMs).toISOString()],
        ]),
        places,
      )?.table
    const placeMs = FIRST_MS + 100 * DAY_MS

    expect(span(placeMs - DAY_MS / 24, placeMs + DAY_MS / 24)).toBe('attributions')
    expect(span(placeMs + DAY_MS, placeMs + 2 * DAY_MS - 1)).toBe('attributions')
    expect(span(placeMs, placeMs + 200 * DAY_MS)).toBe('attributions_by_cost_usd')
  })

  test('not in the order of time for all but an instant of it', () => {
    const late = new Date(FIRST_MS + 364 * DAY_MS).toISOString()
    const rare = sampleWith((i) => (i % 100 === 0 ? { provider: 'rare' } : {}))
    const tableFor = (...parameters: readonly (readonly [string, string])[]) =>
      planReading(question([['[provider][eq]', 'rare'], ...parameters]), rare)?.table

    expect(tableFor(['[event_time][ne]', late])).toBe('attributions_by_cost_usd')
    expect(tableFor(['[event_time][ne]', late], ['[event_time][gte]', new Date(FIRST_MS).toISOString()])).toBe(
      'attributions_by_cost_usd',
    )
  })

  test('nowhere in particular where nothing is known or nothing is cheap', () => {
    const sample = sampleWith(() => ({}))
    const some = question([['[provider][eq]', 'provider-3']])

    expect(planReading(some, undefined)).toBeUndefined()
    expect(planReading(question([['[trace_id][eq]', 'none']]), sample)).toBeUndefined()
  })

  test('where a filter is on the field that is sorted by, in what the primary key leaves', () => {
    const plan = planReading(
      question([['[cost_usd][gt]', '0.9999']]),
      sampleWith(() => ({})),
    )

    expect(plan).toMatchObject({ table: 'attributions_by_cost_usd', byGranules: false })
  })
})

test('the conditions that fewest records meet are looked at first', () => {
  const conditions = conditionsOf(
    ['[confidence][gte]', '0.5'],
    ['[provider][eq]', 'provider-3'],
    ['[owner][eq]', 'nobody'],
  )

  const [first, second, third] = mostSelectiveFirst(
    conditions,
    matchSample(
      conditions,
      sampleWith(() => ({})),
    ),
  )

  expect([first?.field, second?.field, third?.field]).toEqual(['owner', 'provider', 'confidence'])
  expect(mostSelectiveFirst(conditions, undefined)).toEqual(conditions)
})

test('what is left of a value are those asked for that have it and come behind', () => {
  const look = (...parameters: readonly (readonly [string, string])[]) =>
    matchSample(
      conditionsOf(...parameters),
      sampleWith((i) => ({
        id: i.toString(16).padStart(32, '0'),
        served_model: `model-${i % 2}`,
        confidence: i % 2 === 0 ? 0.9 : 0.3,
      })),
    )
  const left = (field: SortField, value: string, isDescending: boolean, of: ReturnType<typeof look>): number =>
    recordsLeftOfValue({ value, idHex: (300).toString(16).padStart(32, '0') }, { field, isDescending }, of)

  expect(left('served_model', 'model-1', true, look())).toBe(150 * 3_333)
  expect(left('served_model', 'model-1', false, look())).toBe(1_350 * 3_333)
  expect(left('served_model', 'model-2', true, look())).toBe(0)
  expect(left('confidence', '0.9000', true, look(['[served_model][eq]', 'model-0']))).toBe(150 * 3_333)
  expect(left('confidence', '0.9000', true, look(['[served_model][eq]', 'model-1']))).toBe(0)
  expect(left('served_model', 'model-1', true, undefined)).toBe(0)
})

describe('a page by time likely ends', () => {
  const byTime = (isDescending: boolean): Sort => ({ field: 'event_time', isDescending })
  const endOf = (asked: PlannedQuestion, rowsOfEach?: number) =>
    likelyEnd(
      asked,
      matchSample(
        asked.conditions,
        sampleWith(() => ({}), rowsOfEach),
      ),
    )
  const timeOf = (i: number): number => FIRST_MS + Math.floor((i * 365 * DAY_MS) / ROWS)

  test('at the eighth match of a sample, in the order of the sort and behind the page before', () => {
    expect(endOf(question([], byTime(true)))).toBe(timeOf(ROWS - 8))
    expect(endOf(question([], byTime(false)))).toBe(timeOf(7))
    expect(endOf(question([['[service][eq]', 'service-1']], byTime(false)))).toBe(timeOf(7 * 13 + 1))
    expect(endOf(question([], byTime(false), String(timeOf(100))))).toBe(timeOf(107))
  })

  test('later where each record of the sample is one of few', () => {
    expect(endOf(question([], byTime(false)), 8)).toBe(timeOf(50))
  })

  test('nowhere in particular where too few match, nothing is known, or the order is none of time', () => {
    expect(endOf(question([], byTime(false), String(timeOf(ROWS - 7))))).toBeUndefined()
    expect(endOf(question([], BY_COST))).toBeUndefined()
    expect(likelyEnd(question([], byTime(true)), undefined)).toBeUndefined()
  })
})
