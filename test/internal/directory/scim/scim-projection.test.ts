import { expect, test } from 'vitest'
import { isAskedFor, projected, projectionOf } from '../../../../internal/directory/scim/scim-projection.js'

const TEAM = {
  schemas: ['urn:x'],
  id: 'g',
  displayName: 'shop',
  members: [{ value: 'u', display: 'ada' }],
  meta: { resourceType: 'Group', location: '/g' },
}

test.each([
  [{}, TEAM],
  [{ attributes: 'DISPLAYNAME' }, { schemas: ['urn:x'], id: 'g', displayName: 'shop' }],
  [
    { attributes: ['urn:ietf:params:scim:schemas:core:2.0:Group:members.value', 'x'] },
    { schemas: ['urn:x'], id: 'g', members: [{ value: 'u' }] },
  ],
  [{ excluded: 'members,meta,id,schemas' }, { schemas: ['urn:x'], id: 'g', displayName: 'shop' }],
  [{ excluded: 'meta.location, members' }, { ...TEAM, members: undefined, meta: { resourceType: 'Group' } }],
  [
    { attributes: 'meta,displayName', excluded: 'displayName,meta.location' },
    { schemas: ['urn:x'], id: 'g', displayName: 'shop', meta: { resourceType: 'Group' } },
  ],
])('%j of a resource', (stated, shown) => {
  expect(JSON.parse(JSON.stringify(projected(TEAM, projectionOf(stated))))).toEqual(JSON.parse(JSON.stringify(shown)))
})

test('what nobody asks for need not be read', () => {
  expect(isAskedFor('members', projectionOf({}))).toBe(true)
  expect(isAskedFor('members', projectionOf({ attributes: 'members.value' }))).toBe(true)
  expect(isAskedFor('members', projectionOf({ attributes: 'displayName' }))).toBe(false)
  expect(isAskedFor('members', projectionOf({ excluded: 'members' }))).toBe(false)
})
