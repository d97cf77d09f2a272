import { expect, test } from 'vitest'
import { outageOf } from '../../../../internal/console/figures/outage.js'

const SINCE = '2026-11-21T12:44:48.677Z'
const dependency = (name: string, status: 'up' | 'down') => ({ name, status, since: SINCE })
const UP = ['broker', 'store', 'credentials'].map((name) => dependency(name, 'up'))

test('while all answer, or the service says nothing of them, there is no outage', () => {
  expect(outageOf(UP, true)).toBeUndefined()
  expect(outageOf(undefined, undefined)).toBeUndefined()
  expect(outageOf([dependency('something else', 'down')], true)).toBeUndefined()
})

test('a stopped store is named with since when, and that calls are kept', () => {
  expect(outageOf([dependency('broker', 'up'), dependency('store', 'down')], true)).toEqual({
    what: 'The store of calls does not answer',
    sinceMs: Date.parse(SINCE),
    meaning: expect.stringMatching(/^New calls are taken and kept meanwhile/),
  })
})

test('where calls are refused, it says so, and where that is not known, nothing of it', () => {
  expect(outageOf([dependency('broker', 'down')], false)?.meaning).toMatch(/^New calls are refused meanwhile/)
  expect(outageOf([dependency('broker', 'down')], undefined)?.meaning).not.toMatch(/refused|kept/)
})

test('of several, the one that matters most to figures is said', () => {
  const all = UP.map(({ name }) => dependency(name, 'down'))

  expect(outageOf(all, true)?.what).toContain('store')
})
