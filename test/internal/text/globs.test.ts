import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Globs, placesOf } from '../../../internal/text/globs.js'
import { drawn } from '../../support/run/rings.js'

const matches = (pattern: string, text: string): boolean => {
  const globs = new Globs([pattern])
  return globs.isMatch(globs.read(text), 0)
}

test.each([
  ['*', '', true],
  ['*', 'anything', true],
  ['', '', true],
  ['', 'a', false],
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
  ['zürich-*', 'zürich-ost', true],
  ['??', '🙂', true],
  [`*${'a'.repeat(127)}b`, `${'a'.repeat(200)}b`, true],
  [`*${'a'.repeat(127)}b`, `${'a'.repeat(126)}b`, false],
])('the glob %s and the text %s: %s', (pattern, text, expected) => {
  expect(matches(pattern, text)).toBe(expected)
})

/** By its definition, one unit or star after the other. */
function matchesByHand(pattern: string, text: string): boolean {
  if (pattern === '') return text === ''
  const rest = pattern.slice(1)
  if (pattern[0] === '*') {
    return Array.from({ length: text.length + 1 }, (_, taken) => text.slice(taken)).some((left) =>
      matchesByHand(rest, left),
    )
  }
  return text !== '' && (pattern[0] === '?' || pattern[0] === text[0]) && matchesByHand(rest, text.slice(1))
}

const joined = (pieces: readonly string[], maxLength: number) =>
  fc.array(fc.constantFrom(...pieces), { maxLength }).map((parts) => parts.join(''))

test('a glob matches what its definition says', () => {
  fc.assert(
    fc.property(joined(['*', '?', 'a', 'b', 'ü'], 8), joined(['a', 'b', 'ü', '.'], 10), (pattern, text) => {
      expect(matches(pattern, text)).toBe(matchesByHand(pattern, text))
    }),
    { numRuns: drawn(2_000) },
  )
})

test('a long glob, too, means what the same regular expression means', () => {
  const long = ['*', 'a?a', 'ab'.repeat(20), 'a'.repeat(31), 'b'.repeat(32), 'c']
  fc.assert(
    fc.property(
      joined(long, 5),
      joined(['ab'.repeat(20), 'a'.repeat(31), 'b'.repeat(32), 'aba', 'c'], 5),
      (...both) => {
        const [pattern, text] = both
        const same = new RegExp(`^${pattern.replace(/\*+/g, '.*').replaceAll('?', '.')}$`, 's')
        expect(matches(pattern, text)).toBe(same.test(text))
      },
    ),
    { numRuns: drawn(2_000) },
  )
})

test('patterns that are read together match as each does alone', () => {
  const pattern = joined(['*', '?', 'a', 'b', 'ü', 'a'.repeat(30)], 6)
  const text = joined(['a', 'b', 'ü', '.', 'a'.repeat(30)], 8)
  fc.assert(
    fc.property(fc.array(pattern, { maxLength: 12 }), text, (patterns, read) => {
      const globs = new Globs(patterns)
      const reached = globs.read(read)
      expect(patterns.map((_, number) => globs.isMatch(reached, number))).toEqual(
        patterns.map((each) => matches(each, read)),
      )
    }),
    { numRuns: drawn(2_000) },
  )
})

test('each unit of a text is read once, whatever pattern and text say', () => {
  const tenants = ['*', '?', '*a', 'a'.repeat(40), 'b']
  fc.assert(
    fc.property(joined(tenants, 12), joined(['a'.repeat(60), 'b'], 6), (pattern, text) => {
      let read = 0
      const counted = {
        length: text.length,
        charCodeAt(i: number) {
          read++
          return text.charCodeAt(i)
        },
      }
      new Globs([pattern, '*']).read(counted as unknown as string)

      expect(read).toBe(text.length)
      expect(placesOf(pattern)).toBeLessThanOrEqual(pattern.length + 1)
    }),
  )
})
