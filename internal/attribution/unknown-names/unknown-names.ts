import type { StatedService } from '../../store/queries/attribution/stated-services.js'
import { formatQuantity, parseSum } from '../../units/quantity.js'

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
    .map(({ service, calls, cost_usd }) => ({ name: service, calls: Number(calls), cost: parseSum<'USD'>(cost_usd) }))
    .sort((one, other) => (one.cost === other.cost ? (one.name < other.name ? -1 : 1) : one.cost < other.cost ? 1 : -1))
    .map(({ name, calls, cost }) => ({ name, calls, cost_usd: formatQuantity(cost) }))
}

/** The names behind one, in the order of the list. */
export const namesAfter = (
  names: readonly UnknownName[],
  key: readonly string[] | undefined,
): readonly UnknownName[] => {
  if (key === undefined) return names
  const [costText = '0', name = ''] = key
  const last = parseSum<'USD'>(costText)
  return names.filter((each) => {
    const cost = parseSum<'USD'>(each.cost_usd)
    return cost < last || (cost === last && each.name > name)
  })
}
