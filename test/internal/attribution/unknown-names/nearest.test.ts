import fc from 'fast-check'
import { expect, test } from 'vitest'
import { editsBetween, NearestNames } from '../../../../internal/attribution/unknown-names/nearest.js'

const KNOWN = new NearestNames([
  { name: 'checkout', service: 'checkout' },
  { name: 'kasse', service: 'checkout' },
  { name: 'search-api', service: 'search-api' },
  { name: 'support-chat', service: 'support-chat' },
  { name: 'api', service: 'api' },
])

test.each([
  ['chekout', ['checkout']],
  ['Chekcout', ['checkout']],
  ['kase', ['checkout']],
  ['search-api-prod', ['search-api']],
  ['api search', ['search-api', 'api']],
  ['suport_chat', ['support-chat']],
  ['billing', []],
  ['ap', []],
  ['', []],
])('%s is close to %j', (name, services) => {
  expect(KNOWN.of(name)).toEqual(services)
})

test.each([
  ['chekout', 'checkout', 1],
  ['chekcout', 'checkout', 1],
  ['', 'abc', 3],
  ['same', 'same', 0],
  ['kitten', 'sitting', 3],
])('%s becomes %s in %i edits', (one, other, edits) => {
  expect(editsBetween(one, other)).toBe(edits)
})

test('edits are counted the same both ways, and one edit is never more than one', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), fc.string(), fc.nat(), (one, other, at) => {
      expect(editsBetween(one, other)).toBe(editsBetween(other, one))
      const i = at % one.length
      expect(editsBetween(one, one.slice(0, i) + one.slice(i + 1))).toBe(1)
    }),
  )
})

test('a page of names is compared with the largest directory within a second', () => {
  const names = Array.from({ length: 10_000 }, (_, i) => `service-${(i * 7919).toString(36)}-${i % 97}`)
  const known = new NearestNames(names.map((name) => ({ name, service: name })))
  const startedAt = performance.now()
  for (let i = 0; i < 200; i++) known.of(`servce-${i}-unheard-of`)
  // Loaded machines are several times slower than the tenth of a second that it takes.
  expect(performance.now() - startedAt).toBeLessThan(5_000)
})
