import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { checksum, compressedBlock } from '../../../internal/sql/compressed-block.js'
import { type Database, openDatabase } from '../../support/database.js'
import { drawn } from '../../support/run/rings.js'

let store: Database
beforeAll(async () => {
  store = await openDatabase()
})

/** What the engine answers with to a query that comes or goes in its blocks. */
async function ask(search: string, body: string | Buffer): Promise<Buffer> {
  const { url, user, password } = store.connection
  const answer = await fetch(`${url}/?${search}`, {
    method: 'POST',
    headers: { 'x-clickhouse-user': user, 'x-clickhouse-key': password },
    body: typeof body === 'string' ? body : new Uint8Array(body),
  })
  return Buffer.from(await answer.arrayBuffer())
}

test('the checksum is that of the engine’s own blocks, whatever their length', async () => {
  for (const length of [150, 160, 176, 200, 255, 256, 271, 272, 400, 511, 1_000, 5_000]) {
    const answer = await ask(
      'compress=1&network_compression_method=NONE',
      `SELECT hex(randomString(${length})) FORMAT TSVRaw`,
    )
    expect(checksum(answer.subarray(16)).toString('hex'), `${length}`).toBe(answer.subarray(0, 16).toString('hex'))
  }
})

test('the engine reads what is written as a block', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'grapheme', maxLength: 700 }), async (text) => {
      const query = `SELECT '${Buffer.from(text).toString('hex')}'`
      const answer = await ask('decompress=1', compressedBlock(query))
      expect(answer.toString()).toBe(`${Buffer.from(text).toString('hex')}\n`)
    }),
    { numRuns: drawn(60) },
  )
})

test('a text shows in its block without being decompressed', () => {
  const text = `Code: 497. DB::Exception: ${'x'.repeat(400)}`
  expect(compressedBlock(text).toString('latin1')).toContain(text)
})
