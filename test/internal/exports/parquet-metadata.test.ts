import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { withMetadata } from '../../../internal/exports/parquet-metadata.js'
import { drawn } from '../../support/run/rings.js'

const folder = mkdtempSync(join(tmpdir(), 'attribution-parquet-'))
let files = 0
let duckdb: DuckDBConnection
let file: Buffer

beforeAll(async () => {
  duckdb = await (await DuckDBInstance.create()).connect()
  const plain = join(folder, 'plain.parquet')
  await duckdb.run(`COPY (SELECT range AS n, 'row ' || range AS name FROM range(5000)) TO '${plain}' (FORMAT parquet)`)
  file = readFileSync(plain)
})
afterAll(() => {
  duckdb.closeSync()
  rmSync(folder, { recursive: true })
})

async function* from(parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts
}
async function read(parts: readonly Uint8Array[], metadata: Readonly<Record<string, string>>): Promise<Buffer> {
  const read: Uint8Array[] = []
  for await (const part of withMetadata(from(parts), metadata)) read.push(Buffer.from(part))
  return Buffer.concat(read)
}
const rows = async (sql: string): Promise<unknown[][]> => (await duckdb.runAndReadAll(sql)).getRowsJson() as unknown[][]

const text = fc.string({ unit: fc.constantFrom(...'abcXYZ019._-'), minLength: 1, maxLength: 40 })

test('a reader finds the metadata, and the rows as they were, however the file is chunked', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(text, text, { minKeys: 1, maxKeys: 3 }),
      fc.array(fc.integer({ min: 0, max: file.length }), { maxLength: 20 }),
      fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 3 }),
      async (metadata, cuts, ends) => {
        const places = [0, ...[...cuts, ...ends.map((end) => file.length - end)].toSorted((a, b) => a - b), file.length]
        // DuckDB remembers what it has read of a path.
        const path = join(folder, `${files++}.parquet`)
        writeFileSync(
          path,
          await read(
            places.slice(1).map((end, i) => file.subarray(places[i], end)),
            metadata,
          ),
        )

        const found = await rows(`SELECT decode(key), decode(value) FROM parquet_kv_metadata('${path}')`)
        expect(Object.fromEntries(found)).toEqual({ ...metadata })
        expect(await rows(`SELECT count(*), sum(n)::VARCHAR, max(name) FROM '${path}'`)).toEqual([
          ['5000', '12497500', 'row 999'],
        ])
      },
    ),
    { numRuns: drawn(50) },
  )
})

test('what is no Parquet file is refused', async () => {
  for (const bytes of [Buffer.alloc(0), Buffer.from('PAR1'), file.subarray(0, -1)])
    await expect(read([bytes], { FocusVersion: '1.4' })).rejects.toThrow('no Parquet file')
})
