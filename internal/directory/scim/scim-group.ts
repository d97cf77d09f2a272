import type { IdentityEntry } from '../directory.js'

/** A group of SCIM: a team, in the bucket `scim_groups` under its id. Its members are the identities that name it. */
export interface ScimGroup {
  readonly id: string
  readonly tenant_id: string
  readonly name: string
  readonly created_at: string
}

/** Groups per tenant. */
export const GROUPS_MAX = 10_000

/**
 * An identity in other groups. It belongs to the first one that it has joined and not left: the directory knows one
 * team of an identity. An owner that no group gave stays.
 *
 * @param nameOf the name of a group; undefined when there is none
 */
export function inGroups(
  { groups: before = [], owner: was, ...identity }: IdentityEntry,
  groups: readonly string[],
  nameOf: (groupId: string) => string | undefined,
): IdentityEntry {
  const known = groups.filter((id) => nameOf(id) !== undefined)
  const team = known[0] === undefined ? undefined : nameOf(known[0])
  const wasOfGroup = before.length > 0
  const owner = team ?? (wasOfGroup ? undefined : was)
  return { ...identity, ...(owner !== undefined && { owner }), ...(known.length > 0 && { groups: known }) }
}
