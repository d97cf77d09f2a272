import { afterAll, beforeAll, expect, test } from 'vitest'
import { closeRecords, generateRecords, LAST_AT_MS } from '../../../../../bench/query/generate.js'
import { parseFilters } from '../../../../../internal/filters/parse.js'
import { roughly, sampleRecords } from '../../../../../internal/store/queries/records/record-sample.js'
import { launchMigratedStore, type RunningStore, stopStore } from '../../../../support/store.js'

const ROWS = 150_000
const SMALL_ROWS = 2_000
const NEVER = new AbortController().signal

let store: RunningStore
beforeAll(async () => {
  store = await launchMigratedStore()
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
afterAll(() => stopStore(store))

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
