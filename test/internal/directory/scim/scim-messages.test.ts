import { describe, expect, test } from 'vitest'
import { inGroups } from '../../../../internal/directory/scim/scim-group.js'
import { equalIn, flagIn, idsIn, readPatch } from '../../../../internal/directory/scim/scim-messages.js'

const patch = (...operations: readonly unknown[]) =>
  readPatch(Buffer.from(JSON.stringify({ schemas: [], Operations: operations })))

describe('a PATCH', () => {
  test('is read in the spellings of Entra ID and Okta', () => {
    expect(patch({ op: 'Replace', path: 'active', value: 'False' })).toEqual([
      { op: 'replace', attribute: 'active', value: 'False' },
    ])
    expect(patch({ op: 'replace', value: { active: false, displayName: 'x' } })).toEqual([
      { op: 'replace', attribute: 'active', value: false },
      { op: 'replace', attribute: 'displayname', value: 'x' },
    ])
    expect(patch({ op: 'remove', path: 'members[value eq "idn_1"]' })).toEqual([
      { op: 'remove', attribute: 'members', value: [{ value: 'idn_1' }] },
    ])
    expect(patch({ op: 'Add', path: 'members', value: [{ value: 'idn_1', display: 'Ada' }] })).toEqual([
      { op: 'add', attribute: 'members', value: [{ value: 'idn_1', display: 'Ada' }] },
    ])
  })

  test.each([[{ op: 'move', path: 'a' }], [{ op: 'remove' }], ['x'], [{ op: 'add', path: 7, value: 1 }]])(
    'that is none is not read: %j',
    (operation) => {
      expect(patch(operation)).toBeUndefined()
    },
  )

  test('without operations is none', () => {
    expect(readPatch(Buffer.from('{}'))).toBeUndefined()
    expect(readPatch(Buffer.from('[]'))).toBeUndefined()
  })
})

test('members are lists of values, in whatever case; flags may be texts', () => {
  expect(idsIn([{ value: 'a' }, { Value: 'b', $ref: 'x' }, 'c', { display: 'd' }, 7])).toEqual(['a', 'b', 'c'])
  expect(idsIn({ value: 'a' })).toEqual(['a'])
  expect(idsIn(undefined)).toEqual([])
  expect([true, 'True', 'false', 'yes', 1].map(flagIn)).toEqual([true, true, false, undefined, undefined])
})

test.each([
  ['userName eq "ada@example.com"', 'ada@example.com'],
  ['USERNAME EQ "a\\"b"', 'a"b'],
  ['userName sw "a"', null],
  ['externalId eq "a"', null],
  ['userName eq "a" and active eq true', null],
])('the filter %s', (filter, value) => {
  expect(equalIn(filter, 'userName')).toBe(value)
})

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
