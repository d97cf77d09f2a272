import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { IdentityEntry } from '../../../internal/directory/directory.js'
import { directoryKey } from '../../../internal/directory/directory-key.js'
import { EntryIndex, entryId } from '../../../internal/directory/entry-index.js'
import { directoryPeople, type OpenDirectory } from '../../../internal/directory/open-directory.js'
import { PeopleIndex } from '../../../internal/directory/people.js'
import { comparableName } from '../../../internal/text/comparable-name.js'
import { TENANT, TENANT_IDS } from '../../support/api-keys.js'

const indexed = (...entries: readonly IdentityEntry[]) => {
  const people = new PeopleIndex(() => TENANT_IDS)
  for (const entry of entries) people.apply(directoryKey(TENANT, 'identities', entry.name), entry)
  return people.of(TENANT)
}
const names = (found: readonly { readonly entry: IdentityEntry }[]): string[] => found.map(({ entry }) => entry.name)

/** Who has left is asked of this alone. */
const hasLeft = (...entries: readonly IdentityEntry[]) => {
  const people = new PeopleIndex(() => TENANT_IDS)
  for (const entry of entries) people.apply(directoryKey(TENANT, 'identities', entry.name), entry)
  const directory = { people, entries: new EntryIndex(() => TENANT_IDS), recordsOf: {} } as unknown as OpenDirectory
  return (name: string): boolean => directoryPeople(directory, () => TENANT_IDS).hasLeft(TENANT, name)
}

describe('a person', () => {
  test('is found by each of their names in any spelling, by external id and by group', () => {
    const anna = {
      name: 'Anna.Muster@Example.com',
      renamed: ['anna.neumann@example.com'],
      external_id: 'Ext',
      groups: ['g'],
    }
    const people = indexed(anna, { name: 'bob@example.com' })

    for (const name of ['anna.muster@example.com', 'ANNA.NEUMANN@EXAMPLE.COM']) {
      expect(names(people.named(name))).toEqual([anna.name])
    }
    expect(names(people.withExternalId('Ext'))).toEqual([anna.name])
    expect(people.withExternalId('ext')).toEqual([])
    expect(people.memberIds('g').size).toBe(1)
  })

  test('who has left does not return by another spelling, or by an earlier name', () => {
    const left = hasLeft({ name: 'Zoë.Straße@Example.com', renamed: ['zoe@example.com'], inactive: true })
    for (const name of [
      'zoë.straße@example.com',
      'ZOË.STRASSE@EXAMPLE.COM',
      ' Zoe\u0308.Strasse@example.com',
      'ZOE@example.com',
    ]) {
      expect(left(name)).toBe(true)
    }
    expect(left('zoo@example.com')).toBe(false)
    // Another entry in another spelling does not bring them back.
    expect(hasLeft({ name: 'ada', inactive: true }, { name: 'ADA' })('ADA')).toBe(true)
  })

  test('in any spelling has left exactly if one of theirs has', () => {
    const spelled = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
    fc.assert(
      fc.property(spelled, fc.constantFrom('NFC', 'NFD'), fc.boolean(), (name, form, upper) => {
        const other = upper ? name.normalize(form).toUpperCase() : name.normalize(form).toLowerCase()
        // Not every letter comes back from its capital: those are other names.
        fc.pre(comparableName(other) === comparableName(name))
        expect(hasLeft({ name, inactive: true })(` ${other} `)).toBe(true)
        expect(hasLeft({ name })(other)).toBe(false)
      }),
    )
  })
})

test('the index knows what reading through all entries finds, whatever changes came before', () => {
  const entry = fc.record(
    {
      name: fc.constantFrom('a', 'A', 'b', 'c'),
      renamed: fc.array(fc.constantFrom('b', 'B', 'd'), { maxLength: 2 }),
      external_id: fc.constantFrom('x', 'y'),
      groups: fc.uniqueArray(fc.constantFrom('g', 'h'), { maxLength: 2 }),
      is_workload: fc.constant(true as const),
    },
    { requiredKeys: ['name'] },
  )
  const change = fc.record({ entry, isDeleted: fc.boolean() })
  fc.assert(
    fc.property(fc.array(change, { maxLength: 20 }), (changes) => {
      const people = new PeopleIndex(() => TENANT_IDS)
      const model = new Map<string, IdentityEntry>()
      for (const { entry: one, isDeleted } of changes) {
        people.apply(directoryKey(TENANT, 'identities', one.name), isDeleted ? undefined : one)
        if (isDeleted) model.delete(one.name)
        else model.set(one.name, one)
      }
      const all = [...model.values()].filter((one) => one.is_workload !== true)
      const sought = (found: readonly { readonly id: string }[]) => found.map(({ id }) => id).sort()
      const expected = (is: (one: IdentityEntry) => boolean) =>
        all
          .filter(is)
          .map(({ name }) => entryId('identities', name, TENANT_IDS))
          .sort()
      const of = people.of(TENANT)

      for (const name of ['a', 'b', 'd']) {
        expect(sought(of.named(name))).toEqual(
          expected((one) => [one.name, ...(one.renamed ?? [])].some((each) => each.toLowerCase() === name)),
        )
      }
      expect(sought(of.withExternalId('x'))).toEqual(expected((one) => one.external_id === 'x'))
      expect([...of.memberIds('g')].sort()).toEqual(expected((one) => one.groups?.includes('g') === true))
      expect(of.sorted.size).toBe(all.length)
    }),
  )
})
