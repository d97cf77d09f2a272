import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ClickHouseClient, ClickHouseError } from '@clickhouse/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { launchStore, type RunningStore, stopStore } from '../../support/store.js'

let store: RunningStore
let client: ClickHouseClient

beforeAll(async () => {
  store = await launchStore()
  client = store.client
})

afterAll(async () => {
  await stopStore(store)
  await rm(store.dataDir, { recursive: true, force: true })
})

const rows = async (query: string, query_params: Record<string, unknown> = {}): Promise<unknown[]> =>
  (await client.query({ query, query_params, format: 'JSONEachRow' })).json()

test('the store answers a ping, with credentials and without', async () => {
  const plain = await client.ping()
  const byQuery = await client.ping({ select: true })

  expect(plain).toEqual({ success: true })
  expect(byQuery).toEqual({ success: true })
})

test('bound parameters arrive unchanged, whatever they contain', async () => {
  const text = `it's "quoted"\n\ttabbed \\ back — and {n:UInt8}`
  const values = {
    text,
    big: '18446744073709551615',
    money: '12345678901.000000001',
    list: ['a', "b'c", ''],
    at: '2026-03-01 12:34:56.789',
    nothing: null,
  }

  const found = await rows(
    `SELECT {text:String} AS text, {big:UInt64} AS big, {money:Decimal(38, 9)} AS money, {list:Array(String)} AS list,
       {at:DateTime64(3)} AS at, {nothing:Nullable(String)} AS nothing`,
    values,
  )

  expect(found).toEqual([values])
})

test('64-bit integers and decimals arrive as text', async () => {
  const found = await rows(
    `SELECT toUInt64('18446744073709551615') AS u, toInt64('-9223372036854775808') AS i,
       toDecimal64('0.000000001', 9) AS small, toDecimal128('123456789012345678901234.5', 9) AS big, count() AS n`,
  )

  expect(found).toEqual([
    {
      u: '18446744073709551615',
      i: '-9223372036854775808',
      small: '0.000000001',
      big: '123456789012345678901234.5',
      n: '1',
    },
  ])
})

test('the time zone of the store is UTC', async () => {
  const found = await rows(`SELECT timezone() AS zone, toUnixTimestamp(toDateTime('2026-01-01 00:00:00')) AS at`)

  expect(found).toEqual([{ zone: 'UTC', at: Date.UTC(2026, 0, 1) / 1000 }])
})

test('a select of a million rows can be read as a stream', async () => {
  const result = await client.query({ query: 'SELECT number FROM numbers(1000000)', format: 'JSONCompactEachRow' })

  let count = 0
  let sum = 0
  for await (const chunk of result.stream<[string]>()) {
    for (const row of chunk) {
      count++
      sum += Number(row.json()[0])
    }
  }

  expect(count).toBe(1_000_000)
  expect(sum).toBe(499_999_500_000)
})

test('rows can be inserted as RowBinary', async () => {
  await client.command({ query: 'CREATE TABLE binary_rows (n UInt64, name String) ENGINE = MergeTree ORDER BY n' })
  const name = Buffer.from("ä 'quoted'\n")
  const row = (n: number): Buffer => {
    const bytes = Buffer.alloc(9 + name.length)
    bytes.writeBigUInt64LE(2n ** 63n + BigInt(n))
    bytes.writeUInt8(name.length, 8)
    name.copy(bytes, 9)
    return bytes
  }
  const bodies = Array.from({ length: 50 }, (_, i) =>
    Buffer.concat(Array.from({ length: 1_000 }, (_, j) => row(i * 1_000 + j))),
  )

  const { stream } = await client.exec({
    query: 'INSERT INTO binary_rows FORMAT RowBinary',
    values: Readable.from(bodies, { objectMode: false }),
  })
  stream.resume()

  const found = await rows(
    'SELECT count() AS total, max(n) AS top, uniqExact(name) AS names, any(name) AS example FROM binary_rows',
  )
  expect(found).toEqual([{ total: '50000', top: String(2n ** 63n + 49_999n), names: '1', example: name.toString() }])
})

test.each([
  ['SELECT * FROM no_such_table', '60', 'UNKNOWN_TABLE'],
  ['SELEKT 1', '62', 'SYNTAX_ERROR'],
  ['SELECT throwIf(number = 3) FROM numbers(5)', '395', 'FUNCTION_THROW_IF_VALUE_IS_NON_ZERO'],
  [`SELECT * FROM file('/etc/passwd', LineAsString)`, '497', 'ACCESS_DENIED'],
  [`SELECT * FROM url('http://127.0.0.1:1', LineAsString)`, '497', 'ACCESS_DENIED'],
])('%s fails with code %s', async (query, code, type) => {
  const failed = rows(query)

  await expect(failed).rejects.toBeInstanceOf(ClickHouseError)
  await expect(failed).rejects.toMatchObject({ code, type })
})

test('the service user cannot shut the engine down', async () => {
  const failed = client.command({ query: 'SYSTEM SHUTDOWN' })

  await expect(failed).rejects.toMatchObject({ code: '497', type: 'ACCESS_DENIED' })
})

test('a query cannot write, an insert can', async () => {
  await client.command({ query: 'CREATE TABLE written (a UInt8) ENGINE = MergeTree ORDER BY a' })

  await expect(rows('INSERT INTO written SELECT 1')).rejects.toMatchObject({ code: '164', type: 'READONLY' })
  await client.insert({ table: 'written', values: [{ a: 2 }], format: 'JSONEachRow' })

  expect(await rows('SELECT a FROM written')).toEqual([{ a: 2 }])
})

test('an error after the first rows fails the query instead of ending its result', async () => {
  const result = await client.query({
    query: 'SELECT number, throwIf(number = 500000) FROM numbers(1000000) SETTINGS max_block_size = 1000',
    format: 'JSONCompactEachRow',
  })

  const read = async (): Promise<void> => {
    for await (const _ of result.stream());
  }

  await expect(read()).rejects.toMatchObject({ code: '395' })
})

test('settings of one query do not leak into the next', async () => {
  const wanted = `SELECT value FROM system.settings WHERE name = 'max_block_size'`
  const before = await rows(wanted)

  const during = await client.query({
    query: wanted,
    format: 'JSONEachRow',
    clickhouse_settings: { max_block_size: '77' },
  })
  const after = await rows(wanted)

  expect(await during.json()).toEqual([{ value: '77' }])
  expect(after).toEqual(before)
})

test('queries during inserts see each insert whole or not at all', async () => {
  await client.command({ query: 'CREATE TABLE busy (batch UInt32, n UInt32) ENGINE = MergeTree ORDER BY (batch, n)' })
  const insert = (batch: number) =>
    client.insert({
      table: 'busy',
      values: Array.from({ length: 2_000 }, (_, n) => ({ batch, n })),
      format: 'JSONEachRow',
    })
  const partOfABatch = () => rows('SELECT batch, count() AS n FROM busy GROUP BY batch HAVING n != 2000')

  const batches = Array.from({ length: 20 }, (_, batch) => batch)
  const [seen] = await Promise.all([Promise.all(batches.map(partOfABatch)), Promise.all(batches.map(insert))])

  expect(seen.flat()).toEqual([])
  expect(await rows('SELECT count() AS n, uniqExact(batch) AS batches FROM busy')).toEqual([
    { n: '40000', batches: '20' },
  ])
})

test('a query stops when its reader disconnects', async () => {
  const query_id = randomUUID()
  const running = async (): Promise<boolean> => {
    const found = await rows('SELECT 1 FROM system.processes WHERE query_id = {query_id:String}', { query_id })
    return found.length > 0
  }
  const reader = new AbortController()
  const query = client.query({
    query: 'SELECT count() FROM system.numbers WHERE sipHash64(number) = 0',
    query_id,
    abort_signal: reader.signal,
  })
  const ended = expect(query).rejects.toThrow()
  while (!(await running())) await sleep(10)

  reader.abort()

  await ended
  while (await running()) await sleep(10)
})
