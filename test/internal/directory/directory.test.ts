import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type IdentityEntry, type ServiceEntry, WatchedDirectory } from '../../../internal/directory/directory.js'
import { directoryKey, directoryOf } from '../../support/directory.js'

const SEARCH: ServiceEntry = { name: 'search', owner: 'team-search', aliases: ['search-api', 'finder'] }

describe('a service', () => {
  test('is found by its name and by each of its aliases', () => {
    const directory = directoryOf({ services: [SEARCH] })

    for (const name of ['search', 'search-api', 'finder'])
      expect(directory.serviceEntry('tnt_one', name)).toEqual(SEARCH)
    for (const name of ['searc', '', 'toString', '__proto__'])
      expect(directory.serviceEntry('tnt_one', name)).toBeUndefined()
  })

  test('is found trimmed and without case, unless another service has exactly that name', () => {
    const capital = { name: 'FINDER', owner: 'team-other' }
    const directory = directoryOf({ services: [SEARCH, capital] })

    expect(directory.serviceEntry('tnt_one', ' Search-API ')).toEqual(SEARCH)
    expect(directory.serviceEntry('tnt_one', 'FINDER')).toEqual(capital)
    directory.apply(directoryKey('services', 'FINDER'), undefined)
    expect(directory.serviceEntry('tnt_one', 'FINDER')).toEqual(SEARCH)
  })

  test('is tried with another owner and name, or without, while the directory itself stays as it is', () => {
    const directory = directoryOf({ services: [SEARCH], principals: [{ id: 'key_one', service: 'search' }] })
    const key = directoryKey('services', 'search')
    const dated = [{ from: '2026-11-01T00:00:00Z', owner: 'team-x' }]

    const changed = directory.with(key, { name: 'search', owner: 'team-y', changes: dated })
    const removed = directory.with(key, undefined)

    expect(changed.service('tnt_one', 'search', Date.parse('2026-10-01'))?.owner).toBe('team-y')
    expect(changed.service('tnt_one', 'search', Date.parse('2026-12-01'))?.owner).toBe('team-x')
    expect(changed.serviceEntry('tnt_one', 'finder')).toBeUndefined()
    expect(changed.principal('tnt_one', 'key_one')?.service).toBe('search')
    expect(removed.serviceEntry('tnt_one', 'finder')).toBeUndefined()
    expect(directory.serviceEntry('tnt_one', 'finder')).toEqual(SEARCH)
  })

  test('is not found by another tenant', () => {
    const directory = directoryOf({ services: [SEARCH] })

    expect(directory.serviceEntry('tnt_two', 'search')).toBeUndefined()
    expect(directory.serviceEntry('tnt_two', 'finder')).toBeUndefined()
  })

  test('may have any name', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (name) => {
        const service = { name, owner: 'team' }

        expect(directoryOf({ services: [service] }).serviceEntry('tnt_one', name)).toEqual(service)
      }),
    )
  })

  test('that was deleted is found neither by name nor by alias', () => {
    const directory = directoryOf({ services: [SEARCH] })

    directory.apply(directoryKey('services', 'search'), undefined)

    for (const name of ['search', 'search-api', 'finder'])
      expect(directory.serviceEntry('tnt_one', name)).toBeUndefined()
  })

  test('that was replaced keeps only its new aliases', () => {
    const directory = directoryOf({ services: [SEARCH] })
    const renamed = { ...SEARCH, aliases: ['finder', 'lookup'] }

    directory.apply(directoryKey('services', 'search'), renamed)

    expect(directory.serviceEntry('tnt_one', 'search-api')).toBeUndefined()
    for (const name of ['search', 'finder', 'lookup']) expect(directory.serviceEntry('tnt_one', name)).toEqual(renamed)
  })
})

describe('an alias', () => {
  const BILLING: ServiceEntry = { name: 'billing', owner: 'team-money' }

  test('yields to a service with the same name', () => {
    const finder = { name: 'finder', owner: 'team-finder' }

    expect(directoryOf({ services: [finder, SEARCH] }).serviceEntry('tnt_one', 'finder')).toEqual(finder)
    expect(directoryOf({ services: [SEARCH, finder] }).serviceEntry('tnt_one', 'finder')).toEqual(finder)
  })

  test.each(['first', 'last'])(
    'that moves to another service is found there, even if the update of its former service arrives %s',
    (order) => {
      const directory = directoryOf({ services: [SEARCH, BILLING] })
      const left = { ...SEARCH, aliases: ['search-api'] }
      const joined = { ...BILLING, aliases: ['finder'] }

      for (const entry of order === 'first' ? [left, joined] : [joined, left]) {
        directory.apply(directoryKey('services', entry.name), entry)
      }

      expect(directory.serviceEntry('tnt_one', 'finder')).toEqual(joined)
    },
  )

  test('resolves to the same service in every process, in any order of updates', () => {
    const services = fc.uniqueArray(
      fc.record({
        name: fc.constantFrom('a', 'b', 'c', 'd'),
        owner: fc.constantFrom('one', 'two'),
        aliases: fc.uniqueArray(fc.constantFrom('a', 'x', 'y', 'z')),
      }),
      { selector: ({ name }) => name },
    )
    const changes = fc.array(
      fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.uniqueArray(fc.constantFrom('x', 'y', 'z'))),
    )
    fc.assert(
      fc.property(services, changes, (final, history) => {
        const lived = new WatchedDirectory()
        for (const [name, aliases] of history)
          lived.apply(directoryKey('services', name), { name, owner: 'old', aliases })
        for (const name of ['a', 'b', 'c', 'd']) {
          lived.apply(
            directoryKey('services', name),
            final.find((service) => service.name === name),
          )
        }
        const started = directoryOf({ services: final.toReversed() })

        for (const name of ['a', 'b', 'c', 'd', 'x', 'y', 'z']) {
          expect(lived.serviceEntry('tnt_one', name)).toEqual(started.serviceEntry('tnt_one', name))
        }
      }),
    )
  })
})

test('directory identities and principals can be found by name, replaced and deleted', () => {
  const ada = { name: 'ada@example.com', owner: 'team-a', service: 'search' }
  const directory = directoryOf({ identities: [ada], principals: [{ id: 'key_1', service: 'search' }] })
  expect(directory.identity('tnt_one', 'ada@example.com')).toEqual(ada)
  expect(directory.principal('tnt_one', 'key_1')).toEqual({ id: 'key_1', service: 'search' })
  expect(directory.identity('tnt_two', 'ada@example.com')).toBeUndefined()
  expect(directory.principal('tnt_two', 'key_1')).toBeUndefined()

  directory.apply(directoryKey('identities', 'ada@example.com'), { ...ada, owner: 'team-b' })
  directory.apply(directoryKey('principals', 'key_1'), undefined)

  expect(directory.identity('tnt_one', 'ada@example.com')).toEqual({ ...ada, owner: 'team-b' })
  expect(directory.principal('tnt_one', 'key_1')).toBeUndefined()
})

test('a directory entry of an unknown kind is ignored', () => {
  const directory = directoryOf({ services: [SEARCH] })

  directory.apply('tnt_one.pools.c2VhcmNo', { name: 'search' })
  directory.apply('nonsense', { name: 'search' })

  expect(directory.serviceEntry('tnt_one', 'search')).toEqual(SEARCH)
})

describe('an identity', () => {
  const ANNA: IdentityEntry = {
    name: 'Anna.Muster@Example.com',
    owner: 'research',
    renamed: ['anna.neumann@example.com'],
  }

  test('is found by each of its names in any spelling, unless another entry has exactly that name', () => {
    const directory = directoryOf({ identities: [ANNA] })
    for (const name of [ANNA.name, 'anna.muster@example.com', ' ANNA.NEUMANN@example.com']) {
      expect(directory.identity('tnt_one', name)).toEqual(ANNA)
    }
    expect([...directory.identityNames('tnt_one')]).toEqual([ANNA.name, 'anna.neumann@example.com'])

    const other = { name: 'anna.neumann@example.com', owner: 'sales' }
    directory.apply(directoryKey('identities', other.name), other)
    expect(directory.identity('tnt_one', other.name)).toEqual(other)
    directory.apply(directoryKey('identities', other.name), undefined)
    expect(directory.identity('tnt_one', other.name)).toEqual(ANNA)
    directory.apply(directoryKey('identities', ANNA.name), undefined)
    expect(directory.identity('tnt_one', other.name)).toBeUndefined()
  })

  test('that is a workload is found by its exact name alone', () => {
    const directory = directoryOf({
      identities: [
        { name: 'ci-bot', is_workload: true },
        { name: 'CD', is_workload: true },
      ],
    })

    for (const name of ['CI-bot', 'cd', '']) expect(directory.identity('tnt_one', name)).toBeUndefined()
    expect(directory.identity('tnt_one', 'CD')).toBeDefined()
    expect(directory.identity('tnt_two', 'CD')).toBeUndefined()
  })
})
