import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { checksum, compressedBlock } from '../../../internal/sql/compressed-block.js'
import { drawn } from '../../support/run/rings.js'
import { launchStore, type RunningStore, STORE_PASSWORD, stopStore } from '../../support/store.js'

let store: RunningStore
beforeAll(async () => {
  store = await launchStore()
})
afterAll(() => stopStore(store))

/** What the engine answers with to a query that comes or goes in its blocks. */
async function ask(search: string, body: string | Buffer): Promise<Buffer> {
  const answer = await fetch(`http://127.0.0.1:${store.port}/?${search}`, {
    method: 'POST',
    headers: { 'x-clickhouse-user': 'attribution', 'x-clickhouse-key': STORE_PASSWORD },
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
