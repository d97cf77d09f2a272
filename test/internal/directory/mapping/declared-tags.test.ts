import { expect, test } from 'vitest'
import { declaredKeys } from '../../../../internal/directory/mapping/declared-tags.js'
import type { Condition, StoredRule } from '../../../../internal/directory/mapping/mapping-rule.js'

const rule = (...versions: readonly (readonly Condition[])[]) =>
  ({ versions: versions.map((when) => ({ when })) }) as unknown as StoredRule
const tests = (key: string): Condition => ({ field: 'tag', key, match: 'exact', value: 'x' })

test('keys are declared as dimensions, and by what any version of a mapping rule tests', () => {
  const rules = [
    rule([tests('old')], [tests('Caller.Team '), { field: 'model', match: 'prefix', value: 'gpt' }]),
    rule([tests('feature')]),
  ]

  const declared = [...declaredKeys([{ key: 'Cost_Center' }], rules)].sort()
  expect(declared).toEqual(['caller.team', 'cost_center', 'feature', 'old'])
  expect(declaredKeys([], []).size).toBe(0)
})
