import { expect, test } from 'vitest'
import { namesAfter, unknownNames } from '../../../../internal/attribution/unknown-names/unknown-names.js'

const stated = (service: string, cost_usd: string) => ({ service, calls: '3', cost_usd })

test('known names are left out; the most costly come first, equals by name, page after page', () => {
  const names = unknownNames(
    [stated('b', '2'), stated('known', '9'), stated('a', '2.0'), stated('c', '10')],
    (name) => name === 'known',
  )

  expect(names).toEqual([
    { name: 'c', calls: 3, cost_usd: '10' },
    { name: 'a', calls: 3, cost_usd: '2' },
    { name: 'b', calls: 3, cost_usd: '2' },
  ])
  const namesBehind = (key?: readonly string[]) => namesAfter(names, key).map(({ name }) => name)
  expect([namesBehind(), namesBehind(['10', 'c']), namesBehind(['2', 'a']), namesBehind(['2', 'b'])]).toEqual([
    ['c', 'a', 'b'],
    ['a', 'b'],
    ['b'],
    [],
  ])
})
