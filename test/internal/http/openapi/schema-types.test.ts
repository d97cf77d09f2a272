import { expect, test } from 'vitest'
import { typesOf } from '../../../../internal/http/openapi/schema-types.js'

test('each schema is a type, which follows the one that its name ends with', () => {
  const names = ['Event', 'Budget', 'PartnerEvent', 'NewPartnerEvent', 'NewBudget', 'Page']
  const text = typesOf(Object.fromEntries(names.map((name) => [name, { type: 'string' }])))

  expect([...text.matchAll(/^export type (\w+) = string$/gm)].map(([, name]) => name)).toEqual([
    ...['Event', 'PartnerEvent', 'NewPartnerEvent'],
    ...['Budget', 'NewBudget', 'Page'],
  ])
})
