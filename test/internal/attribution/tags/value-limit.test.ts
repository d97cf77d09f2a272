import { describe, expect, test } from 'vitest'
import { ValueLimit, type ValueLimitDeps } from '../../../../internal/attribution/tags/value-limit.js'
import type { AttributionRow } from '../../../../internal/store/tables/attributions.js'
import { finishedRow } from '../../../support/rows.js'

const rowsOf = (...dimensions: readonly (readonly string[])[]): AttributionRow[] =>
  dimensions.map((pairs) => ({ ...finishedRow(), dimensions: pairs }))

/** A limit of three values over a store that several processes write to. */
function limitOver(stored: string[], deps: Partial<ValueLimitDeps> = {}) {
  let nowMs = 0
  let reads = 0
  const warned: string[] = []
  const limit = new ValueLimit({
    storedPairs: async (_, key, max) => {
      reads += 1
      return stored.filter((pair) => pair.startsWith(`${key}\t`)).slice(0, max)
    },
    warn: (_, key) => void warned.push(key),
    clock: () => nowMs,
    valuesMax: 3,
    ...deps,
  })
  const apply = async (...dimensions: readonly (readonly string[])[]) =>
    (await limit.apply(rowsOf(...dimensions))).map((row) => row.dimensions)
  return { apply, warned, reads: () => reads, pass: (ms: number) => (nowMs += ms) }
}

describe('the values of a tag key', () => {
  test('are kept up to the limit, and the next one is one of the other values, for good', async () => {
    const { apply, warned } = limitOver([])

    expect(await apply(['team\ta'], ['team\tb'], ['team\ta'], ['team\tc'], ['team\td'], ['team\tb'])).toEqual([
      ['team\ta'],
      ['team\tb'],
      ['team\ta'],
      ['team\tc'],
      ['team\t(other values)'],
      ['team\tb'],
    ])
    expect(await apply(['team\td'], ['team\tc'])).toEqual([['team\t(other values)'], ['team\tc']])
    expect(warned).toEqual(['team', 'team'])
  })

  test('do not count those of other keys, calls without the tag, or the other values', async () => {
    const { apply } = limitOver(['team\t', 'team\t(other values)', 'env\ta', 'env\tb', 'env\tc'])

    expect(await apply(['team\ta', 'env\td'], ['team\tb', 'env\t'], ['team\tc', 'env\ta'])).toEqual([
      ['team\ta', 'env\t(other values)'],
      ['team\tb', 'env\t'],
      ['team\tc', 'env\ta'],
    ])
  })

  test('that are stored count after a restart, and those of other processes before one is let through', async () => {
    const stored = ['team\ta']
    const { apply, pass } = limitOver(stored)
    expect(await apply(['team\tb'])).toEqual([['team\tb']])

    stored.push('team\tb', 'team\tother-process')
    pass(1_000)

    expect(await apply(['team\tc'], ['team\tother-process'])).toEqual([
      ['team\t(other values)'],
      ['team\tother-process'],
    ])
  })

  test('of a batch that is tried again are let through as before, even if it was not stored', async () => {
    const { apply, pass } = limitOver([])
    const first = await apply(['team\ta'], ['team\tb'], ['team\tc'], ['team\td'])
    pass(60_000)

    expect(await apply(['team\ta'], ['team\tb'], ['team\tc'], ['team\td'])).toEqual(first)
  })

  test('may be others once retention has removed some', async () => {
    const stored = ['team\ta', 'team\tb', 'team\tc']
    const { apply, pass } = limitOver(stored)
    expect(await apply(['team\td'])).toEqual([['team\t(other values)']])

    stored.length = 1
    pass(10 * 60 * 1_000)

    expect(await apply(['team\td'])).toEqual([['team\td']])
  })

  test('are read only for a value that is new, and at most once per second', async () => {
    const { apply, pass, reads } = limitOver(['team\ta'])

    await apply(['team\ta'], ['team\t'])
    pass(5_000)
    await apply(['team\ta'])
    expect(reads()).toBe(1)
    await apply(['team\tb'])
    await apply(['team\tc'])
    expect(reads()).toBe(2)
    await apply([], [])
    expect(reads()).toBe(2)
  })
})

test('a failure to read the stored values fails the batch, which is then retried', async () => {
  const cause = new Error('the store is unavailable')
  const { apply } = limitOver([], { storedPairs: () => Promise.reject(cause) })

  await expect(apply(['team\ta'])).rejects.toBe(cause)
})
