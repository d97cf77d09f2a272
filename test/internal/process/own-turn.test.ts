import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { ownTurn } from '../../../internal/process/own-turn.js'

test('slices of works that run at the same time have a turn of the event loop each, one work after the other', async () => {
  const slices: string[] = []
  const work = async (name: string): Promise<void> => {
    for (let slice = 0; slice < 3; slice++) {
      await ownTurn()
      slices.push(name)
    }
  }
  const perTurn: number[] = []

  const all = Promise.all(['one', 'two', 'three'].map(work))
  while (slices.length < 9) {
    const before = slices.length
    await nextTurn()
    perTurn.push(slices.length - before)
  }
  await all

  expect(Math.max(...perTurn)).toBe(1)
  expect(slices).toEqual(Array.from({ length: 3 }, () => ['one', 'two', 'three']).flat())
})

test('a work that begins later waits for one slice of each of the others', async () => {
  const slices: string[] = []
  const work = async (name: string, count: number): Promise<void> => {
    for (let slice = 0; slice < count; slice++) {
      await ownTurn()
      slices.push(name)
    }
  }

  const long = [work('one', 20), work('other', 20)]
  await ownTurn()
  await work('late', 1)

  expect(slices.indexOf('late')).toBeLessThanOrEqual(4)
  await Promise.all(long)
})
