import { type Directory, namesOf } from '../../directory/directory.js'
import type { StatedService } from '../../store/queries/attribution/stated-services.js'
import { formatQuantity, parseSum } from '../../units/quantity.js'
import { type KnownName, NearestNames } from './nearest.js'

/** A stated service that the directory does not contain. */
export interface UnknownName {
  readonly name: string
  readonly calls: number
  readonly cost_usd: string
}

/** The stated services that are unknown to the directory and no cost pools, the most costly first. */
export function unknownNames(
  stated: readonly StatedService[],
  isKnown: (name: string) => boolean,
): readonly UnknownName[] {
  return stated
    .filter(({ service }) => !isKnown(service))
    .map(({ service, calls, cost_usd }) => {
      return { name: service, calls: Number(calls), cost_usd: formatQuantity(parseSum<'USD'>(cost_usd)) }
    })
    .sort((one, other) => compareCosts(other, one) || (one.name < other.name ? -1 : 1))
}

/** The names behind one, in the order of the list. */
export const namesAfter = (
  names: readonly UnknownName[],
  key: readonly string[] | undefined,
): readonly UnknownName[] => {
  if (key === undefined) return names
  const [cost_usd = '0', name = ''] = key
  return names.filter((each) => {
    const order = compareCosts(each, { cost_usd })
    return order < 0 || (order === 0 && each.name > name)
  })
}

function compareCosts(one: Pick<UnknownName, 'cost_usd'>, other: Pick<UnknownName, 'cost_usd'>): number {
  const [left, right] = [parseSum<'USD'>(one.cost_usd), parseSum<'USD'>(other.cost_usd)]
  return left === right ? 0 : left < right ? -1 : 1
}

/** The services that unknown names of a tenant may mean, by its current directory. */
export const nearestServices = (directory: Directory, tenantId: string): NearestNames =>
  new NearestNames(knownNames(directory, tenantId))

function* knownNames(directory: Directory, tenantId: string): Generator<KnownName> {
  for (const service of directory.services(tenantId)) {
    for (const each of namesOf(service)) yield { name: each, service: service.name }
  }
}
