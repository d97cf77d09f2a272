import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { countingRows } from '../../../internal/exports/export-files.js'
import { drawn } from '../../support/run/rings.js'

async function* from(parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts
}

async function read(parts: AsyncIterable<Uint8Array>): Promise<{ readonly bytes: Buffer; readonly rows: number }> {
  const counted = { rows: 0 }
  const passed: Uint8Array[] = []
  for await (const part of countingRows(parts, counted)) passed.push(Buffer.from(part))
  return { bytes: Buffer.concat(passed), rows: counted.rows }
}

const ROWS = 30_000
const packed = gzipSync(
  Array.from({ length: ROWS }, (_, i) => `${i * 7},"row ${i % 97}","${'x'.repeat(i % 31)}"\r\n`).join(''),
)

test('a gzip member is passed through unchanged and its rows are counted, however it is chunked', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 0, max: packed.length }), { maxLength: 20 }), async (cuts) => {
      const places = [0, ...cuts.toSorted((a, b) => a - b), packed.length]
      const { bytes, rows } = await read(from(places.slice(1).map((end, i) => packed.subarray(places[i], end))))

      expect([bytes.equals(packed), rows]).toEqual([true, ROWS])
    }),
    { numRuns: drawn(30) },
  )
})

test('empty input has no rows', async () => {
  expect(await read(from([]))).toEqual({ bytes: Buffer.alloc(0), rows: 0 })
})

test('input that is not a complete gzip member fails', async () => {
  const altered = Buffer.from(packed)
  altered[packed.length - 5] = ~(packed[packed.length - 5] ?? 0)
  for (const bytes of [Buffer.from('a,b\r\n'), packed.subarray(0, -1), packed.subarray(0, 1_000), altered]) {
    await expect(read(from([bytes]))).rejects.toMatchObject({ reason: 'internal_error' })
    // The same with its bytes split over several chunks.
    await expect(read(from([bytes.subarray(0, 3), bytes.subarray(3), Buffer.alloc(0)]))).rejects.toMatchObject({
      reason: 'internal_error',
    })
  }
})

test('an error of the source is passed on', async () => {
  const failing = async function* () {
    yield packed.subarray(0, 1_000)
    throw new Error('the source failed')
  }

  await expect(read(failing())).rejects.toThrow('the source failed')
})
