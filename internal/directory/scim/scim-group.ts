import { SortedRecords } from '../../http/resource/sorted-records.js'
import { comparableName } from '../../text/comparable-name.js'
import type { IdentityEntry } from '../directory.js'
import { IdsBy } from '../people.js'

/** A group of SCIM: a team, in the bucket `scim_groups` under its id. Its members are the identities that name it. */
export interface ScimGroup {
  readonly id: string
  readonly tenant_id: string
  readonly name: string
  readonly created_at: string
  /** Its id at the client. */
  readonly external_id?: string
}

/** Groups per tenant. */
export const GROUPS_MAX = 10_000

/** Every tenant's groups, found without reading through them; fed from the bucket `scim_groups`. */
export class GroupIndex {
  private readonly byId = new Map<string, ScimGroup>()
  private readonly tenants = new Map<string, TenantGroups>()

  /** @param group undefined when it was deleted */
  apply(id: string, group: ScimGroup | undefined): void {
    const before = this.byId.get(id)
    const tenantId = (group ?? before)?.tenant_id
    if (tenantId === undefined) return
    const groups = this.tenants.get(tenantId) ?? new TenantGroups()
    this.tenants.set(tenantId, groups)
    groups.move(id, before, group)
    if (group === undefined) this.byId.delete(id)
    else this.byId.set(id, group)
  }

  /** By name. */
  sorted(tenantId: string): SortedRecords<ScimGroup> {
    return (this.tenants.get(tenantId) ?? NO_GROUPS).sorted
  }

  /** In any spelling. */
  named(tenantId: string, name: string): readonly ScimGroup[] {
    return this.all((this.tenants.get(tenantId) ?? NO_GROUPS).byName.of(comparableName(name)))
  }

  withExternalId(tenantId: string, externalId: string): readonly ScimGroup[] {
    return this.all((this.tenants.get(tenantId) ?? NO_GROUPS).byExternalId.of(externalId))
  }

  private all(ids: ReadonlySet<string>): readonly ScimGroup[] {
    return Array.from(ids, (id) => this.byId.get(id)).filter((group) => group !== undefined)
  }
}

class TenantGroups {
  readonly sorted = new SortedRecords<ScimGroup>()
  readonly byName = new IdsBy()
  readonly byExternalId = new IdsBy()

  move(id: string, before: ScimGroup | undefined, after: ScimGroup | undefined): void {
    const texts = (text: string | undefined): readonly string[] => (text === undefined ? [] : [text])
    this.byName.move(id, texts(before && comparableName(before.name)), texts(after && comparableName(after.name)))
    this.byExternalId.move(id, texts(before?.external_id), texts(after?.external_id))
    if (before !== undefined) this.sorted.delete([before.name, id])
    if (after !== undefined) this.sorted.set([after.name, id], after)
  }
}

const NO_GROUPS = new TenantGroups()

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
