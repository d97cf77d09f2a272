import { expect, test } from 'vitest'
import { type RuleFields, type StoredRule, storedRule } from '../../../../internal/directory/mapping/mapping-rule.js'
import { refusalOfRule } from '../../../../internal/directory/mapping/mapping-rule-routes.js'

const rule = (name: string, when: RuleFields['when']): StoredRule =>
  storedRule({ name, when, set: { service: name } }, `mrl_${name}`, 'tnt_one', 0)
const globs = (name: string, count: number, value: string): StoredRule =>
  rule(
    name,
    Array.from({ length: count }, () => ({ field: 'team' as const, match: 'glob' as const, value })),
  )
const refusal = (one: StoredRule, known: readonly StoredRule[]) => refusalOfRule(one, known, () => false)?.code

test('what the globs of a tenant cost a call is bounded over all of its rules', () => {
  // 129 places each: before, between and behind 128 characters.
  const known = Array.from({ length: 254 }, (_, i) => globs(`r${i}`, 1, `*${'a'.repeat(127)}b*`))

  expect(refusal(globs('new', 1, 'a*'), known)).toBeUndefined()
  expect(refusal(globs('new', 1, `*${'a'.repeat(127)}b*`), known)).toBe('CONFLICT')
  // In its own place, and without globs, a rule does not count.
  expect(refusal(globs('r7', 1, `*${'b'.repeat(127)}a*`), known)).toBeUndefined()
  expect(refusal(rule('new', [{ field: 'team', match: 'exact', value: 'shop' }]), known)).toBeUndefined()
})

test('500 rules of the usual kind are within the limit', () => {
  const known = Array.from({ length: 499 }, (_, i) => globs(`r${i}`, 2, `*-team-${i}-prod-*`))

  expect(refusal(globs('new', 2, 'eu-*-team-?-checkout'), known)).toBeUndefined()
})

test('an older version that costs more counts as it does for calls of its time', () => {
  const cheap = globs('old', 1, 'a*')
  const costly = { ...cheap, versions: [...globs('old', 8, `*${'a'.repeat(250)}*`).versions, ...cheap.versions] }
  const known = Array.from({ length: 17 }, (_, i) => ({ ...costly, id: `mrl_${i}` }))

  expect(refusal(cheap, known)).toBe('CONFLICT')
})

test('a tenant above the limit, from before there was one, can change whatever costs no more', () => {
  const known = Array.from({ length: 260 }, (_, i) => globs(`r${i}`, 1, `*${'a'.repeat(127)}b*`))

  expect(refusal(globs('r7', 1, `*${'b'.repeat(127)}a*`), known)).toBeUndefined()
  expect(refusal(globs('r7', 1, 'b*'), known)).toBeUndefined()
  expect(refusal(globs('r7', 2, `*${'b'.repeat(127)}a*`), known)).toBe('CONFLICT')
  expect(refusal(globs('new', 1, 'b*'), known)).toBe('CONFLICT')
})
