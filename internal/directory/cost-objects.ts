import type { WatchedDirectory } from './directory.js'

/**
 * The services, teams and cost centres that a directory lists, by every name that records may have of them: with the
 * setting `cohort_scope` `people` they are named whatever the number of people. A name that is also the identity of a
 * person, or an address, is no such name.
 */
export interface CostObjects {
  readonly services: ReadonlySet<string>
  readonly owners: ReadonlySet<string>
}

export function costObjectsIn(
  directory: Pick<WatchedDirectory, 'services' | 'identity' | 'identityNames'>,
  tenantId: string,
): CostObjects {
  const isPerson = (name: string): boolean => {
    const known = directory.identity(tenantId, name)
    return name.includes('@') || (known !== undefined && known.is_workload !== true)
  }
  const services = new Set<string>()
  const owners = new Set<string>()
  for (const { name, owner, changes = [] } of directory.services(tenantId)) {
    for (const each of [{ name, owner }, ...changes]) {
      if (each.name !== undefined) services.add(each.name)
      if (each.owner !== undefined) owners.add(each.owner)
    }
  }
  for (const name of directory.identityNames(tenantId)) {
    const owner = directory.identity(tenantId, name)?.owner
    if (owner !== undefined) owners.add(owner)
  }
  const named = (all: ReadonlySet<string>): ReadonlySet<string> => new Set([...all].filter((name) => !isPerson(name)))
  return { services: named(services), owners: named(owners) }
}

/**
 * The same, kept until the directory changes: a report need not walk a hundred thousand entries, during which nobody is
 * served.
 *
 * @param revision of the directory
 */
export function keptCostObjects(directory: Parameters<typeof costObjectsIn>[0], revision: () => number) {
  const kept = new Map<string, { readonly at: number; readonly found: CostObjects }>()
  return (tenantId: string): CostObjects => {
    const at = revision()
    const known = kept.get(tenantId)
    if (known?.at === at) return known.found
    const found = costObjectsIn(directory, tenantId)
    kept.set(tenantId, { at, found })
    return found
  }
}
