import { beforeAll, expect, test } from 'vitest'
import { readUint64, streamFixedRows } from '../../../internal/store/fixed-rows.js'
import { type Database, openDatabase } from '../../support/database.js'

let store: Database

beforeAll(async () => {
  store = await openDatabase()
})

/** Of rows that are one number each. */
async function sumOf(query: string, params: Readonly<Record<string, unknown>> = {}): Promise<number> {
  let sum = 0
  for await (const value of streamFixedRows(store.client, query, params, 8, readUint64)) sum += value
  return sum
}

test('rows come back whole, wherever the answer was cut', async () => {
  expect(await sumOf('SELECT number FROM numbers({count:UInt32})', { count: 1_000_000 })).toBe(499_999_500_000)
  expect(await sumOf('SELECT number FROM numbers(0)')).toBe(0)
})

test('a number of more than 32 bits is read as itself', async () => {
  expect(await sumOf('SELECT toUInt64(9007199254740991)')).toBe(Number.MAX_SAFE_INTEGER)
})

test('a query that only reads cannot write', async () => {
  await expect(sumOf('CREATE TABLE t (x UInt64) ENGINE = MergeTree ORDER BY x --')).rejects.toThrow(/readonly/i)
})

test('a query that fails at once fails', async () => {
  await expect(sumOf('SELECT number FROM nowhere')).rejects.toThrow()
})

test('one that fails after its first rows fails too: its words are not taken for rows', async () => {
  const query = "SELECT number + throwIf(number = 3000000, 'on purpose') FROM system.numbers LIMIT 5000000"

  await expect(sumOf(query)).rejects.toThrow()
})
