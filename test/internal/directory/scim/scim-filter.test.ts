import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type Filter,
  isSelected,
  lookupsOf,
  readFilter,
  readPath,
} from '../../../../internal/directory/scim/scim-filter.js'

type Resource = Readonly<Record<string, readonly (string | boolean)[] | ReadonlySet<string>>>
const ADA: Resource = {
  id: ['1'],
  username: ['Ada@Example.com'],
  externalid: ['X'],
  active: [true],
  members: new Set(['m']),
}
const selects = (text: string, resource = ADA): boolean => {
  const filter = readFilter(text)
  if (filter === undefined) throw new Error(`no filter: ${text}`)
  return isSelected(filter, (attribute) => resource[attribute])
}

test.each([
  'userName eq "ada@example.com"',
  'USERNAME Eq "ADA@EXAMPLE.COM"',
  'urn:ietf:params:scim:schemas:core:2.0:User:userName eq "ada@example.com"',
  'userName eq "Ada@Example.com" and active eq True',
  'externalId eq "X" or externalId eq "Y"',
  '(id eq "1" and members eq "m")',
  'not (userName eq "bob") and userName pr',
  'userName sw "ADA" and userName co "@" and userName ew ".com" and userName ne "x"',
  'nickName eq null',
  'userName eq ada@example.com and (externalId eq X)',
  'id eq "2" or id eq "1" and active eq true',
])('the filter %s finds her', (text) => {
  expect(selects(text)).toBe(true)
})

test.each([
  'externalId eq "x"',
  'active eq false',
  'emails[type eq "work"].value eq "ada@example.com"',
  'emails[type eq "work" and value co "@"]',
  'nickName pr',
  'members eq "M"',
  '(id eq "2" or id eq "1") and active eq false',
])('the filter %s does not', (text) => {
  expect(selects(text)).toBe(false)
})

test.each([
  '',
  'userName',
  'userName eq',
  'userName like "x"',
  'a eq "1" and',
  '(a eq "1"',
  'a eq "1")',
  `${'('.repeat(40)}a pr${')'.repeat(40)}`,
  `a eq "${'x'.repeat(5_000)}"`,
])('%j is no filter', (text) => {
  expect(readFilter(text)).toBeUndefined()
})

test('any text is a filter or none, and a path or none', () => {
  const word = fc.constantFrom(
    'userName',
    'eq',
    '"x"',
    'and',
    'or',
    'not',
    '(',
    ')',
    '[',
    ']',
    'pr',
    '.value',
    'true',
    '1',
    '{',
  )
  const text = fc.oneof(
    fc.string(),
    fc.array(word, { maxLength: 12 }).map((words) => words.join(' ')),
  )
  fc.assert(
    fc.property(text, (one) => {
      readFilter(one)
      readPath(one)
    }),
  )
})

describe('what is looked up', () => {
  const isIndexed = (attribute: string) =>
    ({ id: true, username: true, externalid: true, active: false, members: true })[attribute]
  const lookups = (text: string) => lookupsOf(readFilter(text) as Filter, isIndexed)

  test.each([
    ['id eq "g" and members eq "m"', [{ attribute: 'id', value: 'g' }]],
    ['active eq true and id eq "g"', [{ attribute: 'id', value: 'g' }]],
    ['nickName eq "x"', []],
    ['userName sw "a"', undefined],
    ['not (id eq "g")', undefined],
    ['id eq "g" or active eq true', undefined],
    ['active pr', undefined],
  ])('by %s', (text, found) => {
    expect(lookups(text)).toEqual(found)
  })

  test('leaves out nothing that a filter selects', () => {
    const value = fc.constantFrom('a', 'A', 'b')
    const compare = fc.record({
      kind: fc.constant('compare' as const),
      attribute: fc.constantFrom('id', 'username', 'active', 'nickname'),
      by: fc.constantFrom('eq' as const, 'ne' as const, 'sw' as const),
      to: value,
    })
    const { filter } = fc.letrec<{ filter: Filter }>((tie) => ({
      filter: fc.oneof(
        { maxDepth: 3 },
        compare,
        fc.record({ kind: fc.constant('and' as const), left: tie('filter'), right: tie('filter') }),
        fc.record({ kind: fc.constant('or' as const), left: tie('filter'), right: tie('filter') }),
        fc.record({ kind: fc.constant('not' as const), of: tie('filter') }),
      ),
    }))
    fc.assert(
      fc.property(filter, value, value, (sought, id, userName) => {
        const resource: Resource = { id: [id], username: [userName], active: [true] }
        const found = lookupsOf(sought, isIndexed)
        fc.pre(found !== undefined)
        const isFound = found?.some(({ attribute, value: text }) =>
          attribute === 'username' ? userName.toLowerCase() === text.toLowerCase() : id === text,
        )
        expect(isFound === true || !isSelected(sought, (attribute) => resource[attribute])).toBe(true)
      }),
    )
  })
})

test('a path has an attribute, a filter and a part', () => {
  expect(readPath('urn:ietf:params:scim:schemas:core:2.0:Group:members')).toEqual({ attribute: 'members' })
  expect(readPath('members[value eq "x"].display')).toMatchObject({ attribute: 'members', sub: 'display' })
  for (const text of ['', '"x"', 'members[value eq "x"', 'members value', 'a]']) expect(readPath(text)).toBeUndefined()
})
