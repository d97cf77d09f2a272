import { beforeEach, describe, expect, test } from 'vitest'
import type { IdentityEntry } from '../../../../internal/directory/directory.js'
import { directoryKey } from '../../../../internal/directory/directory-key.js'
import { entryId } from '../../../../internal/directory/entry-index.js'
import { PeopleIndex } from '../../../../internal/directory/people.js'
import { GroupIndex, type ScimGroup } from '../../../../internal/directory/scim/scim-group.js'
import { groupsOf } from '../../../../internal/directory/scim/scim-group-routes.js'
import { listed, queryOf, searchOf } from '../../../../internal/directory/scim/scim-query.js'
import type { ScimDeps } from '../../../../internal/directory/scim/scim-route.js'
import { usersOf } from '../../../../internal/directory/scim/scim-user-routes.js'
import { TENANT, TENANT_IDS } from '../../../support/api-keys.js'

const PEOPLE = 3_000
const GROUPS = 150
/** Of the group 0; each other group has one. */
const MEMBERS = 1_000

/** Fields of entries that were read since the last list began: what a list costs, whatever the clock says. */
let reads = 0

const counted = (entry: IdentityEntry): IdentityEntry =>
  new Proxy(entry, {
    get(target, field) {
      reads++
      return Reflect.get(target, field)
    },
  })
const nameOf = (i: number): string => `person-${String(i).padStart(5, '0')}@example.com`
const groupId = (i: number): string => `grp_${i}`
const groupsFor = (i: number): readonly string[] =>
  [...(i < MEMBERS ? [0] : []), ...(i > 0 && i < GROUPS ? [i] : [])].map(groupId)

const people = new PeopleIndex(() => TENANT_IDS)
const groupIndex = new GroupIndex()
const groups = new Map<string, ScimGroup>()
for (let i = 0; i < PEOPLE; i++) {
  const name = nameOf(i)
  people.apply(directoryKey(TENANT, 'identities', name), counted({ name, groups: groupsFor(i), external_id: `x${i}` }))
}
for (let i = 0; i < GROUPS; i++) {
  const group = { id: groupId(i), tenant_id: TENANT, name: `Team ${String(i).padStart(3, '0')}`, created_at: '' }
  groups.set(group.id, group)
  groupIndex.apply(group.id, group)
}
const deps = { people, groupIndex, groups } as unknown as ScimDeps

/** As a client whose mapping gives everybody the same id of its own. */
const peopleOfOneId = new PeopleIndex(() => TENANT_IDS)
for (let i = 0; i < PEOPLE; i++) {
  const entry = counted({ name: nameOf(i), groups: groupsFor(i), external_id: 'shared' })
  peopleOfOneId.apply(directoryKey(TENANT, 'identities', nameOf(i)), entry)
}

interface Listed {
  readonly totalResults: number
  readonly Resources: readonly { readonly id: string; readonly members?: readonly object[] }[]
}
function list(kinds: 'users' | 'groups' | 'all', query: string): Listed {
  const read = queryOf({ query })
  if ('code' in read) throw new Error(read.detail)
  const [users, teams] = [usersOf(TENANT, deps), groupsOf(TENANT, deps)]
  const found = listed(kinds === 'users' ? [users] : kinds === 'groups' ? [teams] : [users, teams], read)
  if ('code' in found) throw new Error(String(found.members?.['scimType']))
  return found as unknown as Listed
}

beforeEach(() => {
  reads = 0
})

describe('a list reads no more than it shows', () => {
  /** Fields of one entry that its row needs. */
  const OF_A_ROW = 12

  test.each([
    ['users', 'startIndex=2901&count=10', 10, PEOPLE],
    ['users', 'count=0', 0, PEOPLE],
    ['users', 'filter=userName eq "PERSON-00007@example.com"', 1, 1],
    ['users', 'filter=externalId eq "x9" and active eq true', 1, 1],
    ['users', 'filter=emails[type eq "work"].value eq "a"', 0, 0],
    ['groups', 'count=200&excludedAttributes=members', GROUPS, GROUPS],
    ['groups', 'count=200&attributes=displayName', GROUPS, GROUPS],
    ['groups', 'filter=displayName eq "team 001"&excludedAttributes=members', 1, 1],
    ['all', 'startIndex=2999&count=5&excludedAttributes=members', 5, PEOPLE + GROUPS],
    ['all', 'filter=displayName eq "Team 001"', 1, 1],
  ] as const)('of %s by %s', (kinds, query, rows, total) => {
    const { Resources, totalResults } = list(kinds, query)

    expect([Resources.length, totalResults]).toEqual([rows, total])
    expect(reads).toBeLessThanOrEqual(OF_A_ROW * rows)
  })

  test('also with members, and when it asks whether somebody is one', () => {
    const shown = list('groups', 'count=200').Resources
    const members = shown.flatMap((group) => group.members ?? [])
    expect(members).toHaveLength(MEMBERS + GROUPS - 1)
    expect(reads).toBeLessThanOrEqual(OF_A_ROW * members.length)

    reads = 0
    const id = entryId('identities', nameOf(3), TENANT_IDS)
    const asked = `filter=id eq "grp_0" and members eq "${id}"&excludedAttributes=members`
    expect(list('groups', asked).totalResults).toBe(1)
    expect(list('groups', `filter=members.value eq "${id}"&excludedAttributes=members`).totalResults).toBe(2)
    expect(reads).toBeLessThanOrEqual(2 * OF_A_ROW)
  })

  test.each([
    ['users', Array.from({ length: 120 }, () => 'externalId eq "shared"').join(' or ')],
    ['users', 'externalId eq "shared" and active eq true'],
    ['groups', `id eq "grp_0" and (${Array.from({ length: 100 }, (_, i) => `members co "${i}"`).join(' or ')})`],
    ['groups', 'id eq "grp_0" and not (members.value ne "x")'],
    ['all', 'displayName eq "Team 000" and members[value sw "idn"]'],
  ] as const)('one of %s that would read very many is refused: %s', (kinds, filter) => {
    const filed = { ...deps, people: peopleOfOneId }
    const collections = [usersOf(TENANT, filed), groupsOf(TENANT, filed)]
    const query = queryOf({ query: `filter=${filter}` })
    if ('code' in query) throw new Error(query.detail)

    expect(listed(kinds === 'groups' ? [groupsOf(TENANT, filed)] : collections, query)).toMatchObject({
      members: { scimType: 'invalidFilter' },
    })
    expect(reads).toBe(0)
  })

  test('whether a group has members is known without reading them', () => {
    expect(list('groups', 'filter=id eq "grp_0" and members pr&excludedAttributes=members').totalResults).toBe(1)
    expect(reads).toBe(0)
  })

  test.each(['userName sw "p"', 'active eq true', 'not (userName eq "x")'])('%s is refused', (filter) => {
    expect(() => list('users', `filter=${filter}`)).toThrow('invalidFilter')
    expect(reads).toBe(0)
  })
})

test('a page ends early where its groups have very many members, and goes on behind them', () => {
  const many = new PeopleIndex(() => TENANT_IDS)
  for (let i = 0; i < 3_000; i++) {
    many.apply(directoryKey(TENANT, 'identities', nameOf(i)), {
      name: nameOf(i),
      groups: [...groups.keys()].slice(0, 10),
    })
  }
  const teams = groupsOf(TENANT, { ...deps, people: many })
  const pages: number[] = []
  let startIndex = 1
  while (startIndex <= 10) {
    const query = queryOf({ query: `startIndex=${startIndex}&count=200` })
    if ('code' in query) throw new Error(query.detail)
    const page = listed([teams], query) as unknown as Listed
    expect(page.totalResults).toBe(GROUPS)
    pages.push(page.Resources.length)
    startIndex += page.Resources.length
  }
  expect(pages[0]).toBe(6)
})

test.each([
  ['', { startIndex: 1, count: 100 }],
  ['startIndex=0&count=-3', { startIndex: 1, count: 0 }],
  ['startIndex=3&count=9999999999999999999999', { startIndex: 3, count: 200 }],
  ['startIndex=x&count=', { startIndex: 1, count: 100 }],
])('a page asked for by %j', (query, page) => {
  expect(queryOf({ query })).toMatchObject(page)
})

test.each([{ count: { toString: 1 } }, { startIndex: [{ toString: 1 }] }])('a search by %j is refused', (search) => {
  expect(searchOf(Buffer.from(JSON.stringify(search)))).toMatchObject({ members: { scimType: 'invalidValue' } })
})
