import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import {
  ALL_METERS,
  type CountedMeter,
  countedMeters,
  FIRST_TOOL_METER,
  METERS,
} from '../../../../../internal/store/queries/prices/meters.js'
import { METERED_COLUMNS } from '../../../../../internal/store/queries/prices/priced-kinds.js'
import { repricedFigures, type UsdPerUnit } from '../../../../../internal/store/queries/reports/priced-figures.js'
import { type TokenParts, tokenParts } from '../../../../../internal/valuation/cost/token-parts.js'
import { type Database, openDatabase } from '../../../../support/database.js'

/** The tokens of a record by meter, in SQL, against the parts that the price book prices. */

const part = fc.oneof({ weight: 2, arbitrary: fc.constant(undefined) }, fc.integer({ min: 0, max: 40 }))
const counters = fc.record({
  inputTokens: fc.integer({ min: 60, max: 260 }),
  outputTokens: fc.integer({ min: 0, max: 100 }),
  cachedInputTokens: fc.integer({ min: 0, max: 120 }),
  cachedAudioInputTokens: part,
  cachedImageInputTokens: part,
  cacheWrite5mTokens: part,
  cacheWrite1hTokens: part,
  cacheWriteTtlSeconds: fc.constantFrom(undefined, 300, 3_600),
  reasoningTokens: part,
  audioInputTokens: part,
  audioOutputTokens: part,
  imageInputTokens: part,
  imageOutputTokens: part,
  unstatedWrites: fc.integer({ min: -5, max: 20 }),
})
/** Admission states the total of the writes wherever it states one of their counters. */
const CALLS = fc.sample(counters, { numRuns: 3_000, seed: 1 }).map(({ unstatedWrites, ...call }) => {
  const written = (call.cacheWrite5mTokens ?? 0) + (call.cacheWrite1hTokens ?? 0) + unstatedWrites
  return { ...call, cacheWriteTokens: Math.max(0, written) }
})
type Call = (typeof CALLS)[number]
const partsOf = (call: Call): TokenParts | undefined => tokenParts(call, call.inputTokens, call.outputTokens)
const columnOf = (fact: string): string => fact.replace(/(?:5m|1h|[A-Z])/g, (part) => `_${part.toLowerCase()}`)
const rowOf = (call: Call, i: number) => ({
  tenant_id: 'ten_meters',
  id: String(i).padStart(16, '0'),
  event_time: '2026-10-05 10:00:00.000',
  ...Object.fromEntries(Object.entries(call).map(([fact, count]) => [columnOf(fact), count ?? null])),
})

let store: Database
beforeAll(async () => {
  store = await openDatabase()
  await store.client.insert({ table: 'attributions', values: CALLS.map(rowOf), format: 'JSONEachRow' })
})

const NO_USD = Object.fromEntries(METERS.map((meter) => [meter, '0'])) as UsdPerUnit

async function ofEach<T>(columns: readonly string[], grouping = ''): Promise<T[]> {
  const result = await store.client.query({
    query: `SELECT ${columns.join(', ')} FROM attributions WHERE tenant_id = 'ten_meters' ${grouping} ORDER BY id`,
    format: 'JSONCompactEachRow',
  })
  return result.json<T>()
}

const isOfTokens = ({ number }: CountedMeter): boolean => number < FIRST_TOOL_METER

const partOf = (call: Call, { meter }: CountedMeter): number | undefined => partsOf(call)?.[meter as keyof TokenParts]

test.each([
  ['all meters', ALL_METERS],
  ['the meters that occur', countedMeters([{ occurring: METERED_COLUMNS }])],
])('the tokens by %s are those that the price book prices', async (_, all) => {
  const meters = all.filter(isOfTokens)
  const priced = CALLS.flatMap((call, i) => (partsOf(call) === undefined ? [] : [{ call, i }]))
  expect(priced.filter(({ call }) => (call.cachedAudioInputTokens ?? 0) > 0).length).toBeGreaterThan(50)

  const counted = await ofEach<string[]>(meters.map(({ units }) => units))

  expect(priced.map(({ call, i }) => ({ call, tokens: counted[i]?.map(Number) }))).toEqual(
    priced.map(({ call }) => ({ call, tokens: meters.map((meter) => partOf(call, meter)) })),
  )
})

test('calls are priced anew where the price book could price their counts', async () => {
  const { sql } = repricedFigures([{ overTokens: -1, usdPerUnit: NO_USD }])
  const counted = await ofEach<string[]>([sql.repriced_calls ?? ''], 'GROUP BY id')

  expect(counted.map(([calls]) => Number(calls))).toEqual(CALLS.map((call) => (partsOf(call) === undefined ? 0 : 1)))
})
