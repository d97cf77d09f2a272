import fc from 'fast-check'
import { expect, test } from 'vitest'
import { HeldRecords } from '../../../../internal/ingest/keys/held-records.js'

const TEXT = 'x'.repeat(850)
/** Room for ten records of that text and a key of few characters, of about a kilobyte each. */
const BYTES_MAX = 10_100
const AGE_MS_MAX = 5

test('as many of the last ones as there is room for are held, until they are too old', () => {
  const steps = fc.array(fc.record({ key: fc.nat(30).map(String), waitMs: fc.nat(2), isGone: fc.boolean() }), {
    maxLength: 60,
  })
  fc.assert(
    fc.property(steps, (taken) => {
      let now = 0
      const held = new HeldRecords({ bytesMax: BYTES_MAX, ageMsMax: AGE_MS_MAX, clock: () => now })
      let model: { readonly key: string; readonly atMs: number }[] = []
      const isYoung = ({ atMs }: { readonly atMs: number }): boolean => now - atMs <= AGE_MS_MAX
      for (const { key, waitMs, isGone } of taken) {
        now += waitMs
        model = model.filter((one) => one.key !== key)
        if (isGone) {
          held.delete(key)
        } else {
          held.set(key, TEXT)
          model = [...model, { key, atMs: now }].slice(-10)
        }
        const young = model.filter(isYoung).map((one) => one.key)
        for (let i = 0; i <= 30; i++) expect(held.get(String(i))).toBe(young.includes(String(i)) ? TEXT : undefined)
        expect(held.oldest(3).map(([oldest]) => oldest)).toEqual(young.slice(0, 3))
      }
    }),
  )
})

test('dropped records are counted, deleted ones are not', () => {
  const held = new HeldRecords({ bytesMax: BYTES_MAX, ageMsMax: AGE_MS_MAX, clock: () => 0 })
  for (let i = 0; i < 12; i++) held.set(String(i), TEXT)
  held.delete('11')

  expect([held.size, held.dropped, held.get('1'), held.get('2')]).toEqual([9, 2, undefined, TEXT])
})
