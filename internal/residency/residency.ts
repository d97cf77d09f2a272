import { type Problem, problem } from '../problems/problem-catalogue.js'

/**
 * Where a tenant's data may be stored. The single place of the rule, for every
 * part that sends data out: exports, downloads, webhooks, partners.
 *
 * A tenant without a region may have its data anywhere. One that has a region names it as its cloud does, and nothing
 * is read into the name: `eu` holds no `eu-west-2`, which is London.
 */

/** How the regions of tenants, instances and connectors are written. */
export const REGION_PATTERN = /^[a-z][a-z0-9-]{1,31}$/

/** A tenant's residency region; null: anywhere. */
export type ResidencyRegion = string | null

/** Somewhere that data passes or goes to; null when nobody has said where it is. */
export interface Place {
  /** Its name within a sentence: `this instance`. */
  readonly name: string
  readonly region: string | null
}

export const thisInstance = (region: string | null): Place => ({ name: 'this instance', region })

/**
 * Why a tenant's data may not be taken to or through these places; undefined when it may. A place that nobody has
 * located is outside: what cannot be shown to stay in the region is refused.
 */
export function refusalOfCrossing(home: ResidencyRegion, places: readonly Place[]): Problem | undefined {
  const outside = home === null ? undefined : places.find(({ region }) => region === null || !isSame(region, home))
  if (outside === undefined) return undefined
  const where = outside.region === null ? 'has no region' : `is in ${outside.region}`
  return problem('RESIDENCY_BLOCKED', `The tenant's data stays in ${home}; ${outside.name} ${where}.`)
}

/**
 * Whether the record of a call may not be taken out: the call was made in another region than the tenant's.
 *
 * @param stated of the event, as its producer writes it; undefined when it names none
 */
export const isRestricted = (home: ResidencyRegion, stated: string | undefined): boolean =>
  home !== null && stated !== undefined && !isSame(stated, home)

const isSame = (one: string, other: string): boolean => one.trim().toLowerCase() === other.trim().toLowerCase()
