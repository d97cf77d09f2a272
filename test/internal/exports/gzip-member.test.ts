import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { gzipMember } from '../../../internal/exports/gzip-member.js'

async function packed(parts: readonly Uint8Array[]): Promise<Buffer> {
  const members: Uint8Array[] = []
  for await (const part of gzipMember(
    (async function* () {
      yield* parts
    })(),
  ))
    members.push(Buffer.from(part))
  return Buffer.concat(members)
}

const lines = Buffer.from(
  Array.from({ length: 30_000 }, (_, i) => `${i * 7},"row ${i % 97}","${'x'.repeat(i % 31)}"\r\n`).join(''),
)

test('the same bytes come to the same member, however they come, and unpack to themselves', async () => {
  const whole = await packed([lines])
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 0, max: lines.length }), { maxLength: 20 }), async (cuts) => {
      const places = [0, ...cuts.toSorted((a, b) => a - b), lines.length]
      const parts = places.slice(1).map((end, i) => lines.subarray(places[i], end))

      expect((await packed(parts)).equals(whole)).toBe(true)
    }),
    { numRuns: 30 },
  )
  expect(gunzipSync(whole).equals(lines)).toBe(true)
})

test('members behind each other unpack to what they hold together', async () => {
  const members = await Promise.all(
    [Buffer.from('header\r\n'), lines, Buffer.alloc(0), Buffer.from('last\r\n')].map((part) => packed([part])),
  )

  expect(gunzipSync(Buffer.concat(members)).toString()).toBe(`header\r\n${lines}last\r\n`)
})

test('a source that fails fails the member', async () => {
  const failing = async function* () {
    yield lines
    throw new Error('the source is gone')
  }
  const read = async () => {
    for await (const _ of gzipMember(failing()));
  }

  await expect(read()).rejects.toThrow('the source is gone')
})
