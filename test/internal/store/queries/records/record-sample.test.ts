import { beforeAll, expect, test } from 'vitest'
import { closeRecords, generateRecords, LAST_AT_MS } from '../../../../../bench/query/generate.js'
import { parseFilters } from '../../../../../internal/filters/parse.js'
import type { RecordSample } from '../../../../../internal/store/queries/records/record-sample.js'
import {
  keepRecordSamples,
  roughly,
  sampleRecords,
} from '../../../../../internal/store/queries/records/record-sample.js'
import { type Database, openDatabase } from '../../../../support/database.js'

const ROWS = 150_000
const SMALL_ROWS = 2_000
const NEVER = new AbortController().signal

let store: Database
beforeAll(async () => {
  store = await openDatabase()
  for (const [tenantId, rows] of [
    ['tnt_a', ROWS],
    ['tnt_b', SMALL_ROWS],
    ['tnt_c', ROWS],
  ] as const) {
    for (let from = 0; from < rows; from += 50_000) {
      await generateRecords(store.client, { tenantId, from, to: Math.min(rows, from + 50_000), total: rows })
    }
  }
})

const share = async (tenantId: string, name: string, value: string): Promise<number> => {
  const sample = await sampleRecords(store.client, tenantId, NEVER)
  const read = parseFilters([[name, value]])
  if (sample === undefined || !read.ok || read.value[0] === undefined) throw new Error('no sample')
  return sample.records.filter(roughly(read.value[0])).length / sample.records.length
}

test('a sample stands for all of a tenant, over all its time, whichever other tenants are in the table', async () => {
  const middle = new Date(LAST_AT_MS - 30 * 86_400_000).toISOString()
  for (const tenantId of ['tnt_a', 'tnt_c']) {
    const sample = await sampleRecords(store.client, tenantId, NEVER)
    const count = sample?.records.length ?? 0

    expect(count).toBeGreaterThan(700)
    expect(count).toBeLessThan(10_000)
    expect(count * (sample?.rowsOfEach ?? 0)).toBeGreaterThan(ROWS * 0.9)
    expect(count * (sample?.rowsOfEach ?? 0)).toBeLessThan(ROWS * 1.2)
    expect(await share(tenantId, 'filter[stage_origin][eq]', 'stage_a')).toBeCloseTo(0.8, 1)
    expect(await share(tenantId, 'filter[confidence][gte]', '0.9')).toBeCloseTo(0.7, 1)
    expect(await share(tenantId, 'filter[event_time][lt]', middle)).toBeCloseTo(0.5, 1)
    expect(await share(tenantId, 'filter[provider][contains]', 'provider')).toBe(1)
  }
})

test('a sample tells how many versions are closed', async () => {
  expect((await sampleRecords(store.client, 'tnt_c', NEVER))?.closedRows).toBe(0)

  await closeRecords(store.client, 'tnt_c', 500, ROWS)
  const closedRows = (await sampleRecords(store.client, 'tnt_c', NEVER))?.closedRows ?? 0
  expect(closedRows).toBeGreaterThan(400)
  expect(closedRows).toBeLessThan(600)
})

test('there is none of a tenant with few records, nor of one without', async () => {
  expect(await sampleRecords(store.client, 'tnt_b', NEVER)).toBeUndefined()
  expect(await sampleRecords(store.client, 'tnt_d', NEVER)).toBeUndefined()
})

const sample = (rowsOfEach: number): RecordSample => ({ rowsOfEach, closedRows: 0, records: [] })

/** Samples that are given when the test says so. */
function waiting() {
  const asked: { readonly tenantId: string; readonly give: (sample?: RecordSample | Error) => Promise<void> }[] = []
  const load = (tenantId: string): Promise<RecordSample | undefined> =>
    new Promise((resolve, reject) => {
      const give = async (given?: RecordSample | Error): Promise<void> => {
        if (given instanceof Error) reject(given)
        else resolve(given)
        for (let turn = 0; turn < 10; turn++) await Promise.resolve()
      }
      asked.push({ tenantId, give })
    })
  return { asked, load }
}
const begun = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve()
}

test('a tenant has a sample once it is made, and nobody waits for it', async () => {
  const { asked, load } = waiting()
  const samples = keepRecordSamples(load)

  expect(samples.of('tnt_one')).toBeUndefined()
  expect(samples.of('tnt_one')).toBeUndefined()
  await begun()
  await asked[0]?.give(sample(1))

  expect(samples.of('tnt_one')).toEqual(sample(1))
  expect(asked).toHaveLength(1)
})

test('an old one is used until the next is made, or when none could be', async () => {
  let nowMs = 0
  const { asked, load } = waiting()
  const samples = keepRecordSamples(load, () => nowMs)
  samples.of('tnt_one')
  await begun()
  await asked[0]?.give(sample(1))

  nowMs += 11 * 60_000
  expect(samples.of('tnt_one')).toEqual(sample(1))
  await begun()
  await asked[1]?.give(new Error('away'))
  expect(samples.of('tnt_one')).toEqual(sample(1))
  expect(asked).toHaveLength(2)

  nowMs += 11 * 60_000
  samples.of('tnt_one')
  await begun()
  await asked[2]?.give(sample(2))
  expect(samples.of('tnt_one')).toEqual(sample(2))
})

test('one is made at a time, and the tenant that has not asked for longest is forgotten', async () => {
  const { asked, load } = waiting()
  const samples = keepRecordSamples(load)
  const tenants = Array.from({ length: 33 }, (_, i) => `tnt_${i}`)
  for (const tenantId of tenants) {
    samples.of(tenantId)
    await begun()
    expect(asked.map(({ tenantId: of }) => of)).toEqual(['tnt_0'])
  }
  for (let i = 0; i < tenants.length; i++) await asked[i]?.give(sample(i))

  expect(samples.of('tnt_1')).toEqual(sample(1))
  expect(samples.of('tnt_0')).toBeUndefined()
})

test('record samples that wait when the reader closes are not loaded', async () => {
  const { asked, load } = waiting()
  const samples = keepRecordSamples(load)

  samples.of('tnt_one')
  samples.of('tnt_two')
  samples.close()
  await begun()
  await asked[0]?.give(sample(1))

  expect(asked.map(({ tenantId }) => tenantId)).toEqual(['tnt_one'])
})
