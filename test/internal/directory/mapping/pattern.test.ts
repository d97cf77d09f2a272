import fc from 'fast-check'
import { expect, test } from 'vitest'
import { matches } from '../../../../internal/directory/mapping/pattern.js'

test.each([
  ['*', '', true],
  ['*', 'anything', true],
  ['pay*', 'payments', true],
  ['pay*', 'repay', false],
  ['*-prod', 'checkout-prod', true],
  ['*-prod', 'checkout-prod-2', false],
  ['a*b*c', 'a-b-b-c', true],
  ['a*b*c', 'a-c-b', false],
  ['team-?', 'team-7', true],
  ['team-?', 'team-', false],
  ['team-?', 'team-77', false],
  ['a.c', 'abc', false],
  ['(x+)+', '(x+)+', true],
])('the glob %s and the text %s: %s', (pattern, text, expected) => {
  expect(matches('glob', pattern, text)).toBe(expected)
})

test('a glob means what the same regular expression means', () => {
  const piece = fc.constantFrom('*', '?', 'a', 'b', '.')
  const text = fc.array(fc.constantFrom('a', 'b', '.'), { maxLength: 12 }).map((parts) => parts.join(''))
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 8 }).map((parts) => parts.join('')),
      text,
      (pattern, tested) => {
        const same = new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('*', '.*').replaceAll('?', '.')}$`, 's')
        expect(matches('glob', pattern, tested)).toBe(same.test(tested))
      },
    ),
  )
})

test('the costliest pattern of the longest texts takes milliseconds', () => {
  const start = performance.now()
  expect(matches('glob', `${'*a'.repeat(127)}*b`, 'a'.repeat(256))).toBe(false)
  expect(performance.now() - start).toBeLessThan(100)
})
