import { describe, expect, test } from 'vitest'
import { GroupIndex, inGroups, type ScimGroup } from '../../../../internal/directory/scim/scim-group.js'

describe('an identity', () => {
  const nameOf = (id: string) => ({ g1: 'shop', g2: 'search' })[id]

  test('belongs to the first group that it has joined and not left', () => {
    const joined = inGroups({ name: 'ada', service: 'x' }, ['g1', 'g2'], nameOf)
    expect(joined).toEqual({ name: 'ada', service: 'x', owner: 'shop', groups: ['g1', 'g2'] })
    expect(inGroups(joined, ['g2'], nameOf)).toEqual({ name: 'ada', service: 'x', owner: 'search', groups: ['g2'] })
    expect(inGroups(joined, [], nameOf)).toEqual({ name: 'ada', service: 'x' })
  })

  test('keeps the team that no group gave', () => {
    expect(inGroups({ name: 'ada', owner: 'own' }, [], nameOf)).toEqual({ name: 'ada', owner: 'own' })
    expect(inGroups({ name: 'ada', owner: 'own' }, ['gone'], nameOf)).toEqual({ name: 'ada', owner: 'own' })
  })
})

test('groups are found by name in any spelling and by external id, as they are now', () => {
  const index = new GroupIndex()
  const group = (stated: Partial<ScimGroup>): ScimGroup => ({
    ...{ id: 'g', tenant_id: 't', name: 'Shop', created_at: '' },
    ...stated,
  })
  index.apply('g', group({ external_id: 'x' }))
  expect(index.named('t', 'SHOP')).toHaveLength(1)
  expect(index.withExternalId('t', 'x')).toHaveLength(1)
  expect(index.named('other', 'shop')).toEqual([])

  index.apply('g', group({ name: 'search' }))
  expect(index.named('t', 'shop')).toEqual([])
  expect(index.withExternalId('t', 'x')).toEqual([])
  expect(index.sorted('t').at(0, 9)).toEqual([group({ name: 'search' })])

  index.apply('g', undefined)
  expect(index.sorted('t').size).toBe(0)
})
