import fc from 'fast-check'
import { expect, test } from 'vitest'
import { TESTED_FIELDS } from '../../../../internal/directory/mapping/mapping-rule.js'
import { isVouched } from '../../../../internal/directory/mapping/vouched-fields.js'

const INTAKES = ['otlp', 'litellm', 'kong', 'apim', 'envoy', 'bedrock-log', 'portkey', 'cloudevents'] as const
const NONE: readonly string[] = []

test.each([
  ['otlp', 'team', undefined],
  ['otlp', 'key_alias', undefined],
  ['otlp', 'identity', undefined],
  ['otlp', 'namespace', undefined],
  ['otlp', 'tag', 'project'],
  ['litellm', 'tag', 'caller.team'],
  ['envoy', 'tag', 'session'],
  ['bedrock-log', 'tag', 'caller.team'],
  ['portkey', 'team', undefined],
  ['cloudevents', 'team', undefined],
  [undefined, 'user_agent', undefined],
  [undefined, 'tag', 'Caller.team'],
] as const)('of %s, %s %s is what a caller could have written', (intake, field, key) => {
  expect(isVouched({ field, ...(key !== undefined && { key }) }, intake, NONE)).toBe(false)
})

test.each([
  ['litellm', 'key_alias', undefined],
  ['litellm', 'tag', 'Team'],
  ['kong', 'identity', undefined],
  ['apim', 'tag', 'gateway_product'],
  ['envoy', 'tag', 'gateway_route'],
  ['otlp', 'model', undefined],
  [undefined, 'team', undefined],
] as const)('of %s, only the gateway writes %s %s', (intake, field, key) => {
  expect(isVouched({ field, ...(key !== undefined && { key }) }, intake, NONE)).toBe(true)
})

test('a tenant adds fields of an intake, none of another, and never what callers say of themselves', () => {
  const fields = fc.oneof(
    fc.constantFrom(...TESTED_FIELDS).map((field) => ({ field, name: field as string })),
    fc
      .constantFrom('project', 'caller.team', 'caller.user-agent')
      .map((key) => ({ field: 'tag' as const, key, name: `tag.${key}` })),
  )
  fc.assert(
    fc.property(fields, fc.constantFrom(...INTAKES), fc.constantFrom(...INTAKES), (condition, intake, listed) => {
      const before = isVouched(condition, intake, NONE)
      const after = isVouched(condition, intake, [`${listed}.${condition.name}`])
      const isOfCaller = condition.field === 'user_agent' || condition.name.startsWith('tag.caller.')

      expect(after).toBe(before || (intake === listed && !isOfCaller))
    }),
  )
})

test.each([
  ['otlp.tag.Project', 'tag', 'project'],
  ['otlp.tag.project', 'tag', 'PROJECT '],
  ['otlp.tag.team', 'team', undefined],
  ['otlp.tag.Key_Alias', 'key_alias', undefined],
  ['otlp.team', 'tag', 'Team'],
  ['otlp.tag.a.tag.B', 'tag', 'A.tag.b'],
] as const)('listed as %s: %s %s, however it is spelt', (listed, field, key) => {
  const condition = { field, ...(key !== undefined && { key }) }

  expect(isVouched(condition, 'otlp', [listed])).toBe(true)
  expect(isVouched(condition, 'litellm', ['otlp.tag.other'])).toBe(isVouched(condition, 'litellm', NONE))
})
