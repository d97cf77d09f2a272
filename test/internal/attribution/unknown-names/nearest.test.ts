import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  COMPARED_MAX,
  editsBetween,
  type KnownName,
  NEAREST_MAX,
  NearestNames,
} from '../../../../internal/attribution/unknown-names/nearest.js'
import { drawn } from '../../../support/run/rings.js'

function namesOf(known: readonly KnownName[]): NearestNames {
  const names = new NearestNames()
  for (const each of known) names.add(each)
  return names
}

const KNOWN = namesOf([
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

/** Every pair of places, without a limit. */
function editsByHand(one: string, other: string): number {
  const rows = Array.from({ length: one.length + 1 }, (_, i) => [i])
  const of = (i: number, j: number): number => rows[i]?.[j] ?? Number.POSITIVE_INFINITY
  for (let j = 1; j <= other.length; j++) (rows[0] as number[])[j] = j
  for (let i = 1; i <= one.length; i++) {
    for (let j = 1; j <= other.length; j++) {
      const isSame = one[i - 1] === other[j - 1]
      const isSwapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]
      const edits = [of(i - 1, j) + 1, of(i, j - 1) + 1, of(i - 1, j - 1) + (isSame ? 0 : 1)]
      ;(rows[i] as number[])[j] = Math.min(...edits, isSwapped ? of(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY)
    }
  }
  return of(one.length, other.length)
}

/** Texts of few letters, so that many are close to each other. */
const text = fc
  .array(fc.constantFrom('a', 'b', 'ab', 'ba', 'c', '-', 'api'), { minLength: 1, maxLength: 12 })
  .map((parts) => parts.join(''))

test('edits are counted up to a limit', () => {
  fc.assert(
    fc.property(text, text, fc.nat(3), (one, other, most) => {
      const edits = editsByHand(one, other)
      expect(editsBetween(one, other, most)).toBe(edits <= most ? edits : undefined)
    }),
    { numRuns: drawn(2_000) },
  )
})

/** Compares with each known name: what the index must find. */
function nearestByHand(known: readonly KnownName[], sought: string): readonly string[] {
  const wordsOf = (name: string): ReadonlySet<string> => new Set(name.split('-').filter((word) => word !== ''))
  const distances = new Map<string, number>()
  for (const { name, service } of known) {
    const edits = editsByHand(sought, name)
    const most = Math.min(3, Math.floor(Math.min(sought.length, name.length) / 4))
    const [one, other] = [wordsOf(sought), wordsOf(name)]
    const common = [...one].filter((word) => other.has(word)).length
    const share = common === 0 ? 0 : common / (one.size + other.size - common)
    const isClose = edits <= most && Math.max(sought.length, name.length) >= 4
    const distance = Math.min(isClose ? edits / Math.max(sought.length, name.length) : 1, share >= 0.5 ? 1 - share : 1)
    if (distance < (distances.get(service) ?? 1)) distances.set(service, distance)
  }
  const sorted = [...distances].sort(([one, near], [other, far]) => near - far || (one < other ? -1 : 1))
  return sorted.slice(0, NEAREST_MAX).map(([service]) => service)
}

test('the index finds what a look at every name finds, also after names were taken out', () => {
  const named = fc.record({ name: text, service: fc.constantFrom('s1', 's2', 's3', 's4', 's5') })
  fc.assert(
    fc.property(fc.array(named, { maxLength: 40 }), fc.array(named, { maxLength: 20 }), text, (stay, leave, sought) => {
      const names = namesOf([...stay, ...leave])
      const isSame = (one: KnownName, other: KnownName) => one.name === other.name && one.service === other.service
      const left = stay.filter((each) => !leave.some((other) => isSame(each, other)))
      for (const each of leave) names.delete(each)

      expect(names.of(sought)).toEqual(nearestByHand(left, sought))
    }),
    { numRuns: drawn(2_000) },
  )
})

test.each([
  ['names of the same letters', (i: number) => `${'a'.repeat(58)}${i.toString(36).padStart(5, 'b')}`],
  ['names of the same words', (i: number) => `prod-eu-west-1-team-api-svc-v2-${i}`],
])('10,000 %s cost a question a bounded number of comparisons', (_, nameOf) => {
  const all = Array.from({ length: 10_000 }, (_, i) => nameOf(i))
  const names = namesOf(all.map((name) => ({ name, service: name })))

  const found = names.of(nameOf(10_001))

  expect(found).toHaveLength(NEAREST_MAX)
  expect(names.compared).toBeLessThanOrEqual(COMPARED_MAX)
})

test('in a directory of 10,000 names that are much alike, a misspelt one is found', () => {
  const names = Array.from({ length: 10_000 }, (_, i) => `payments-gateway-${(i * 7919).toString(36)}-${i % 97}`)
  const known = namesOf(names.map((name) => ({ name, service: name })))
  for (let i = 0; i < 200; i++) {
    const name = names[i * 47] as string
    const at = 3 + (i % (name.length - 4))
    expect(known.of(`${name.slice(0, at)}${name.slice(at + 1)}`)).toContain(name)
  }

  expect(known.compared / 200).toBeLessThanOrEqual(COMPARED_MAX)
})
