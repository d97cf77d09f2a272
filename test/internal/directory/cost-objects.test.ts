import { expect, test } from 'vitest'
import { costObjectsIn, keptCostObjects } from '../../../internal/directory/cost-objects.js'
import { WatchedDirectory } from '../../../internal/directory/directory.js'
import { directoryKey } from '../../../internal/directory/directory-key.js'

test('cost objects are the services and teams that the directory lists, by all their names, and no people', () => {
  const directory = new WatchedDirectory()
  const add = (kind: 'services' | 'identities', entry: { readonly name: string }) =>
    directory.apply(directoryKey('tnt_one', kind, entry.name), entry)
  const changes = [{ from: '2026-10-01T00:00:00Z', name: 'finder', owner: 'team-find' }]
  add('services', { name: 'search', owner: 'team-search', changes } as { name: string })
  add('services', { name: 'notes', owner: 'grace' } as { name: string })
  add('services', { name: 'diary', owner: 'ada@example.com' } as { name: string })
  add('identities', { name: 'grace', owner: 'team-navy' } as { name: string })

  const { services, owners } = costObjectsIn(directory, 'tnt_one')

  expect([...services].sort()).toEqual(['diary', 'finder', 'notes', 'search'])
  expect([...owners].sort()).toEqual(['team-find', 'team-navy', 'team-search'])
})

test('they are looked for again when the directory has changed, and for each tenant', () => {
  const walks: string[] = []
  const directory = new WatchedDirectory()
  let revision = 7
  const objectsOf = keptCostObjects(
    {
      services: (tenantId) => {
        walks.push(tenantId)
        return directory.services(tenantId)
      },
      identity: (tenantId, name) => directory.identity(tenantId, name),
      identityNames: (tenantId) => directory.identityNames(tenantId),
    },
    () => revision,
  )
  expect(objectsOf('tnt_one').services.size).toBe(0)
  expect(objectsOf('tnt_two')).not.toBe(objectsOf('tnt_one'))
  expect(walks).toEqual(['tnt_one', 'tnt_two'])

  directory.apply(directoryKey('tnt_one', 'services', 'search'), { name: 'search', owner: 'team-search' })
  revision++

  expect([...objectsOf('tnt_one').services]).toEqual(['search'])
})
