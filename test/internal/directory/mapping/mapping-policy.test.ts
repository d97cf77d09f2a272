import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { mappingPolicy, type TestedCall, WatchedRules } from '../../../../internal/directory/mapping/mapping-policy.js'
import {
  changedRule,
  type RuleChanges,
  type RuleFields,
  type StoredRule,
  storedRule,
} from '../../../../internal/directory/mapping/mapping-rule.js'

const AT_MS = Date.UTC(2026, 10, 20)
const rule = (name: string, when: RuleFields['when'], stated: Partial<RuleFields> = {}): StoredRule =>
  storedRule({ name, when, set: { service: name }, ...stated }, `mrl_${name}`, 'tnt_one', AT_MS)
const changed = (one: StoredRule, ...changes: readonly RuleChanges[]): StoredRule =>
  changes.reduce((last, each) => changedRule(last, each, AT_MS), one)
const found = (rules: readonly StoredRule[], call: Partial<TestedCall>): string | undefined =>
  mappingPolicy(rules).find({ eventTimeMs: AT_MS, ...call })?.version.set.service

describe('conditions', () => {
  test.each<[RuleFields['when'][number], Partial<TestedCall>, Partial<TestedCall>]>([
    [
      { field: 'tag', key: 'Env', match: 'exact', value: 'Prod' },
      { tags: { ' ENV': 'prod ' } },
      { tags: { env: 'prod2' } },
    ],
    [
      { field: 'key_alias', match: 'prefix', value: 'shop-' },
      { tags: { key_alias: 'Shop-7' } },
      { tags: { team: 'shop-' } },
    ],
    [{ field: 'team', match: 'exact', value: 'shop' }, { tags: { team: 'shop' } }, { tags: { key_alias: 'shop' } }],
    [
      { field: 'namespace', match: 'glob', value: 'pay*-prod' },
      { k8sNamespace: 'payments-prod' },
      { k8sNamespace: 'pay' },
    ],
    [
      { field: 'user_agent', match: 'prefix', value: 'claude-code/' },
      { tags: { 'caller.user-agent': 'Claude-Code/2.1' } },
      { tags: { user_agent: 'claude-code/2.1' } },
    ],
    [{ field: 'identity', match: 'exact', value: 'Ada' }, { attributedIdentity: ' ada' }, { attributedIdentity: 'ad' }],
    [{ field: 'model', match: 'exact', value: 'gpt-4o' }, { servedModel: 'GPT-4o' }, { servedModel: 'gpt-4o-mini' }],
    [{ field: 'model', match: 'exact', value: 'alias' }, { requestedModel: 'alias', servedModel: 'x' }, {}],
  ])('%j', (condition, met, unmet) => {
    expect(found([rule('a', [condition])], met)).toBe('a')
    expect(found([rule('a', [condition])], unmet)).toBeUndefined()
  })

  test('of an identity test every name that the directory has of it', () => {
    const policy = mappingPolicy([rule('a', [{ field: 'identity', match: 'prefix', value: 'Ada.L' }])])
    const call = { eventTimeMs: AT_MS, attributedIdentity: 'ada' }

    expect(policy.find(call, { name: 'ada', renamed: ['ada.lovelace'] })?.version.set.service).toBe('a')
    expect(policy.find(call, { name: 'ada' })).toBeUndefined()
  })

  test('must all be met', () => {
    const both = rule('a', [
      { field: 'team', match: 'exact', value: 'shop' },
      { field: 'namespace', match: 'exact', value: 'prod' },
    ])

    expect(found([both], { tags: { team: 'shop' }, k8sNamespace: 'prod' })).toBe('a')
    expect(found([both], { tags: { team: 'shop' } })).toBeUndefined()
  })
})

const ANY: RuleFields['when'] = [{ field: 'model', match: 'glob', value: '*' }]
const CALL = { requestedModel: 'gpt-4o' }

test('rules are tried by priority, then by name, in whatever order they are stored', () => {
  const rules = [rule('b', ANY), rule('a', ANY), rule('z', ANY, { priority: 1 })]

  expect(found(rules, CALL)).toBe('z')
  expect(found(rules.slice(0, 2), CALL)).toBe('a')
  expect(found(rules.toReversed(), CALL)).toBe('z')
})

test('rules that are read together take the call that the first one takes by itself', () => {
  const pattern = fc
    .array(fc.constantFrom('*', '?', 'a', 'b'), { minLength: 1, maxLength: 5 })
    .map((parts) => parts.join(''))
  const condition = fc.record({
    field: fc.constantFrom('team' as const, 'namespace' as const, 'model' as const),
    match: fc.constantFrom('glob' as const, 'glob' as const, 'prefix' as const),
    value: pattern,
  })
  const when = fc.array(condition, { minLength: 1, maxLength: 2 })
  const drawn = fc.array(fc.tuple(when, fc.option(when)), { maxLength: 6 }).map((rules) =>
    rules.map(([first, later], i) => {
      const one = rule(`r${i}`, first)
      return later === null ? one : changed(one, { from: '2026-11-15T00:00:00Z', when: later })
    }),
  )
  const text = fc.array(fc.constantFrom('a', 'b'), { maxLength: 5 }).map((parts) => parts.join(''))
  const call = fc.record({
    eventTimeMs: fc.constantFrom(Date.UTC(2026, 10, 10), AT_MS),
    tags: text.map((team) => ({ team })),
    k8sNamespace: text,
    requestedModel: text,
    servedModel: text,
  })
  fc.assert(
    fc.property(drawn, call, (rules, each) => {
      expect(found(rules, each)).toBe(rules.map((one) => found([one], each)).find((name) => name !== undefined))
    }),
    { numRuns: 1_000 },
  )
})

describe('a rule', () => {
  const dated = rule('a', ANY, { from: '2026-11-01T00:00:00Z', to: '2026-12-01T00:00:00Z' })
  const at = (...day: [number, number, number]) => ({ ...CALL, eventTimeMs: Date.UTC(...day) })

  test('holds from its start up to its end, by the time of the call', () => {
    expect(found([dated], at(2026, 9, 31))).toBeUndefined()
    expect(found([dated], at(2026, 10, 1))).toBe('a')
    expect(found([dated], at(2026, 11, 1))).toBeUndefined()
  })

  test('that changes from a time on keeps what it said for calls from before', () => {
    const renamed = changed(rule('a', ANY), { from: '2026-11-15T00:00:00Z', set: { service: 'b' } })

    expect(renamed.versions.map(({ version }) => version)).toEqual([1, 2])
    expect(found([renamed], at(2026, 10, 14))).toBe('a')
    expect(found([renamed], at(2026, 10, 15))).toBe('b')
  })

  test('that is corrected for the same time, or an earlier one, forgets what it said', () => {
    const corrected = changed(
      rule('a', ANY),
      { from: '2026-11-15T00:00:00Z', set: { service: 'b' } },
      { set: { service: 'c' } },
    )
    expect(corrected.versions.map(({ version, set }) => [version, set.service])).toEqual([
      [1, 'a'],
      [3, 'c'],
    ])

    const throughout = changed(corrected, { from: null, set: { service: 'd' } })
    expect(throughout.versions.map(({ version }) => version)).toEqual([4])
    expect(found([throughout], at(2020, 0, 1))).toBe('d')
  })

  test('that ends does not begin again with an older version', () => {
    const ended = changed(rule('a', ANY), { from: '2026-11-10T00:00:00Z', to: '2026-11-20T00:00:00Z' })

    expect(found([ended], at(2026, 10, 9))).toBe('a')
    expect(found([ended], at(2026, 10, 19))).toBe('a')
    expect(found([ended], at(2026, 10, 20))).toBeUndefined()
  })

  test('that is changed twice by the same request has one more version', () => {
    const change: RuleChanges = { priority: 7 }
    const once = changed(rule('a', ANY), change)

    expect(changed(once, change)).toEqual(once)
  })
})

test('a draft replaces one rule of one tenant; nothing is saved', () => {
  const watched = new WatchedRules()
  watched.apply('mrl_a', rule('a', ANY))
  watched.apply('mrl_b', { ...rule('b', ANY), tenant_id: 'tnt_two' })
  const call = { eventTimeMs: AT_MS, ...CALL }
  const draft = { id: 'mrl_a', rule: rule('c', ANY) }

  expect(watched.with(draft, 'tnt_one').find(call)?.rule.name).toBe('c')
  expect(watched.with({ id: 'mrl_a' }, 'tnt_one').find(call)).toBeUndefined()
  expect(watched.of('tnt_one').find(call)?.rule.name).toBe('a')
  expect(watched.of('tnt_two').find(call)?.rule.name).toBe('b')

  watched.apply('mrl_a', undefined)
  expect(watched.of('tnt_one').find(call)).toBeUndefined()
})
