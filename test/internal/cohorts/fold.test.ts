import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { foldLeaves, type Leaf } from '../../../internal/cohorts/fold.js'
import { peopleOf, unionOf } from '../../../internal/cohorts/people.js'

/** A group with so many people of its own. */
let nextPerson = 1
const some = (count: number) => peopleOf(Array.from({ length: count }, () => nextPerson++))
const leaf = (path: string, people: Leaf['people']): Leaf => ({ path: path.split('/'), people })
const keptOf = (leaves: readonly Leaf[]) =>
  Object.fromEntries(foldLeaves(leaves).map((labels, i) => [leaves[i]?.path.join('/'), labels]))

describe('one level below the root', () => {
  test('groups of five and more, and of nobody, are shown; of one to four they are not', () => {
    const leaves = [
      leaf('a', some(5)),
      leaf('b', some(9)),
      leaf('none', some(0)),
      leaf('c', some(4)),
      leaf('d', some(1)),
    ]

    expect(keptOf(leaves)).toEqual({ a: 1, b: 1, none: 1, c: 0, d: 0 })
  })

  test('one hidden group takes the next smallest with it', () => {
    expect(keptOf([leaf('a', some(7)), leaf('b', some(3)), leaf('c', some(6))])).toEqual({ a: 1, b: 0, c: 0 })
  })

  test('several hidden groups of fewer than five people together take one more with them', () => {
    const leaves = [leaf('a', some(1)), leaf('b', some(2)), leaf('c', some(8)), leaf('d', some(9))]

    expect(keptOf(leaves)).toEqual({ a: 0, b: 0, c: 0, d: 1 })
  })

  test('the same people in several groups count once', () => {
    const three = some(3)

    expect(keptOf([leaf('a', three), leaf('b', three), leaf('c', some(5)), leaf('d', some(6))])).toEqual({
      a: 0,
      b: 0,
      c: 0,
      d: 1,
    })
  })

  test('a root of fewer than five people shows what runs by itself, but never just the difference', () => {
    expect(keptOf([leaf('a', some(3)), leaf('job', some(0)), leaf('sync', some(0))])).toEqual({ a: 0, job: 0, sync: 1 })
  })
})

test('below a folded group everything is folded into the same ancestor', () => {
  const leaves = [
    leaf('team/small', some(2)),
    leaf('team/large', some(8)),
    leaf('other/one', some(1)),
    leaf('other/two', some(2)),
    leaf('third/one', some(6)),
  ]

  // `other` has three people, so it is hidden; `third` is, so that the difference tells nothing.
  expect(keptOf(leaves)).toEqual({
    'team/small': 1,
    'team/large': 1,
    'other/one': 0,
    'other/two': 0,
    'third/one': 0,
  })
})

const labels = fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 3, maxLength: 3 })
const anyLeaves = fc.uniqueArray(
  fc.record({ path: labels, people: fc.array(fc.integer({ min: 1, max: 14 }), { maxLength: 8 }).map(peopleOf) }),
  {
    selector: ({ path }) => path.join('/'),
    minLength: 1,
    maxLength: 20,
  },
)

test('no row covers one to four people, whether it is a group or the hidden rest of its parent', () => {
  fc.assert(
    fc.property(anyLeaves, (leaves) => {
      const kept = foldLeaves(leaves)
      const everyone = unionOf(leaves.map(({ people }) => people))
      if (everyone.length < 5) return
      const rows = new Map<string, number[]>()
      for (const [i, { path }] of leaves.entries()) {
        const key = path.slice(0, kept[i]).join('/')
        rows.set(key, [...(rows.get(key) ?? []), i])
      }
      for (const members of rows.values()) {
        const count = unionOf(members.map((i) => leaves[i]?.people ?? [])).length
        expect(count === 0 || count >= 5).toBe(true)
      }
    }),
    { numRuns: 2_000 },
  )
})

test('the order of the leaves does not matter', () => {
  fc.assert(
    fc.property(anyLeaves, (leaves) => {
      expect(keptOf([...leaves].reverse())).toEqual(keptOf(leaves))
    }),
  )
})
