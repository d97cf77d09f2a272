import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compareKeys, SortedRecords } from '../../../../internal/http/resource/sorted-records.js'

const keys = fc.tuple(fc.constantFrom('a', 'b', 'ä', '🦊', ''), fc.integer({ min: 0, max: 30 }).map(String))
const steps = fc.array(fc.tuple(keys, fc.boolean()), { maxLength: 200 })

/** The expected order, computed by a plain sort. */
const sorted = (plain: ReadonlyMap<string, number>) =>
  [...plain]
    .map(([key, record]) => ({ key: JSON.parse(key) as string[], record }))
    .sort((one, other) => compareKeys(one.key, other.key))

describe('sorted records', () => {
  test('are returned in either order after any key, up to the requested number', () => {
    fc.assert(
      fc.property(steps, keys, fc.integer({ min: 1, max: 40 }), (changes, from, count) => {
        const records = new SortedRecords<number>()
        const plain = new Map<string, number>()
        changes.forEach(([key, isSet], step) => {
          if (isSet) records.set(key, step)
          else records.delete(key)
          if (isSet) plain.set(JSON.stringify(key), step)
          else plain.delete(JSON.stringify(key))
        })
        const rows = sorted(plain)

        expect(records.size).toBe(rows.length)
        expect(records.after(undefined, 'ascending', 1_000)).toEqual(rows)
        expect(records.after(undefined, 'descending', count)).toEqual(rows.toReversed().slice(0, count))
        const later = rows.filter(({ key }) => compareKeys(key, from) > 0)
        const earlier = rows.filter(({ key }) => compareKeys(key, from) < 0).reverse()
        expect(records.after(from, 'ascending', count)).toEqual(later.slice(0, count))
        expect(records.after(from, 'descending', count)).toEqual(earlier.slice(0, count))
        const even = later.filter(({ record }) => record % 2 === 0)
        expect(records.after(from, 'ascending', count, (record) => record % 2 === 0)).toEqual(even.slice(0, count))
        const all = rows.map(({ record }) => record)
        expect(records.at(count, count)).toEqual(all.slice(count, 2 * count))
      }),
    )
  })

  test('are returned across chunks, in any order of insertions and deletions', () => {
    const numbers = Array.from({ length: 5_000 }, (_, i) => (i * 3_571) % 5_000)
    const keyOf = (number: number) => [String(number).padStart(4, '0')]
    const records = new SortedRecords<number>()
    for (const number of numbers) records.set(keyOf(number), number)
    for (const number of numbers)
      if (number % 3 === 0 || (number > 1_000 && number < 3_000)) records.delete(keyOf(number))
    const left = numbers
      .filter((number) => number % 3 !== 0 && (number <= 1_000 || number >= 3_000))
      .sort((a, b) => a - b)

    for (const place of [0, 511, 512, 1_500, 2_900, 9_999]) {
      expect(records.at(place, 600)).toEqual(left.slice(place, place + 600))
    }
    const all = (order: 'ascending' | 'descending') => {
      const seen: number[] = []
      let after: readonly string[] | undefined
      for (;;) {
        const rows = records.after(after, order, 70)
        seen.push(...rows.map(({ record }) => record))
        after = rows.at(-1)?.key
        if (after === undefined) return seen
      }
    }

    expect(records.size).toBe(left.length)
    expect(all('ascending')).toEqual(left)
    expect(all('descending')).toEqual(left.toReversed())
  })
})

test('a page of 100,000 sorted records is found without reading all of them', () => {
  const records = new SortedRecords<number>()
  let compared = 0
  const keyOf = (number: number): readonly string[] => {
    const text = `person-${String(number).padStart(6, '0')}@example.com`
    return Object.defineProperty([text], '0', {
      get() {
        compared++
        return text
      },
    })
  }
  for (let i = 0; i < 100_000; i++) records.set(keyOf(i), i)
  compared = 0

  const rows = records.after(keyOf(60_000), 'ascending', 201)

  expect(rows.map(({ record }) => record)).toEqual(Array.from({ length: 201 }, (_, i) => 60_001 + i))
  expect(compared).toBeLessThan(100)
})
