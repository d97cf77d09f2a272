import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readPatch } from '../../../../internal/directory/scim/scim-patch.js'

const patch = (...operations: readonly unknown[]) =>
  readPatch(Buffer.from(JSON.stringify({ schemas: [], Operations: operations })))
const refusalOf = (read: ReturnType<typeof patch>) => ('code' in read ? read.members?.['scimType'] : undefined)
const USER = 'urn:ietf:params:scim:schemas:core:2.0:User'

test('a PATCH is read in the spellings of Entra ID, Okta and others', () => {
  expect(patch({ op: 'Replace', path: 'active', value: 'False' })).toEqual([
    { op: 'replace', attribute: 'active', value: 'False', hasPath: true },
  ])
  expect(patch({ op: 'replace', value: { active: false, [`${USER}:userName`]: 'x' } })).toEqual([
    { op: 'replace', attribute: 'active', value: false, hasPath: false },
    { op: 'replace', attribute: 'username', value: 'x', hasPath: false },
  ])
  expect(patch({ OP: 'ADD', Path: `${USER}:active`, Value: true })).toEqual([
    { op: 'add', attribute: 'active', value: true, hasPath: true },
  ])
  expect(patch({ op: 'remove', path: 'Members[Value EQ "idn_1"].display' })).toMatchObject([
    { op: 'remove', attribute: 'members', filter: { attribute: 'value', by: 'eq', to: 'idn_1' }, sub: 'display' },
  ])
  expect(patch({ op: 'add', value: { 'emails[type eq "work"].value': 'x', 'name.givenName': 'y' } })).toMatchObject([
    { attribute: 'emails', value: 'x' },
    { attribute: 'name.givenname', value: 'y' },
  ])
})

test.each([
  ['invalidSyntax', { op: 'move', path: 'a' }],
  ['invalidSyntax', 'x'],
  ['noTarget', { op: 'remove' }],
  ['invalidPath', { op: 'add', path: 7, value: 1 }],
  ['invalidPath', { op: 'add', path: 'members[value eq', value: 1 }],
  ['invalidValue', { op: 'add', value: 'x' }],
])('one that is none is refused as %s: %j', (scimType, operation) => {
  expect(refusalOf(patch(operation))).toBe(scimType)
})

test('without operations it is none, and whatever is sent is read or refused', () => {
  expect(refusalOf(patch())).toBe('invalidValue')
  expect(refusalOf(readPatch(Buffer.from('[]')))).toBe('invalidSyntax')
  fc.assert(
    fc.property(fc.string(), fc.anything(), (path, value) => {
      const read = patch({ op: 'Replace', path, value })
      if ('code' in read) expect(refusalOf(read)).toMatch(/^invalid(Path|Value)$/)
    }),
  )
})
