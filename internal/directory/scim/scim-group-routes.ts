import { isDeepStrictEqual } from 'node:util'
import { noSuch, refusalOfId } from '../../http/resource/own-id.js'
import type { Route } from '../../http/route.js'
import { randomId } from '../../ids/ids.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import { directoryKey } from '../directory-key.js'
import { groupAddress, groupBody } from './scim-contract.js'
import { isSelected, lookupsOf } from './scim-filter.js'
import { GROUPS_MAX, inGroups, type ScimGroup } from './scim-group.js'
import {
  badAttribute,
  badRequest,
  idsIn,
  immutable,
  NO_OBJECT,
  readExternalId,
  readObject,
  taken,
  textIn,
} from './scim-messages.js'
import { type Operation, readPatch } from './scim-patch.js'
import { isAskedFor, type Projection } from './scim-projection.js'
import type { Collection } from './scim-query.js'
import { type ScimChange, type ScimDeps, scimChange, scimCollection, scimRead } from './scim-route.js'
import { findUser } from './scim-user-routes.js'

/** `/scim/v2/Groups`: teams, of which a client sets the name, its own id and the members. */
export const scimGroupRoutes = (deps: ScimDeps): readonly Route[] => [
  ...scimCollection('Groups', (tenantId) => [groupsOf(tenantId, deps)]),
  scimRead('Groups/:id', (exchange, { tenantId }, projection) => {
    const group = findGroup(exchange.parameter, tenantId, deps)
    return 'code' in group ? group : shownGroup(group, projection, deps)
  }),
  scimChange('post', 'Groups', 'scim_group.put', deps, createGroup),
  scimChange('put', 'Groups/:id', 'scim_group.put', deps, replaceGroup),
  scimChange('patch', 'Groups/:id', 'scim_group.put', deps, patchGroup),
  scimChange('del', 'Groups/:id', 'scim_group.delete', deps, deleteGroup),
]

const IS_TAKEN = taken('A group of this name exists.')
const NO_MEMBERS = badAttribute('members', 'must be ids of users')
const NO_MEMBER = badRequest('noTarget', 'No member matches the filter of the path.')
const READS_MEMBERS = badRequest(
  'invalidFilter',
  'A path must select one member by value eq "…". Other conditions may follow with and.',
)
/** Identities that are changed at a time. */
const AT_ONCE = 64

function findGroup(id: string, tenantId: string, { groups, idsOf }: ScimDeps): ScimGroup | Problem {
  const refusal = refusalOfId('grp', id, idsOf(tenantId), 'group')
  if (refusal !== undefined) return refusal
  const group = groups.get(id)
  return group === undefined || group.tenant_id !== tenantId ? noSuch('group') : group
}

const shownGroup = (group: ScimGroup, projection: Projection, deps: ScimDeps) =>
  groupBody(deps.baseUrl, {
    id: group.id,
    externalId: group.external_id,
    displayName: group.name,
    members: isAskedFor('members', projection) ? [...deps.people.of(group.tenant_id).memberIds(group.id)] : undefined,
  })

/** Attributes, and whether groups are found by them. */
const INDEXED: ReadonlyMap<string, boolean> = new Map(
  ['displayname', 'externalid', 'id', 'members', 'members.value'].map((attribute) => [attribute, true]),
)
/** The same of members in a group. */
const MEMBER: ReadonlyMap<string, boolean> = new Map([
  ['value', true],
  ['type', false],
])

export function groupsOf(tenantId: string, deps: ScimDeps): Collection<ScimGroup> {
  const { groups, groupIndex } = deps
  const people = deps.people.of(tenantId)
  const sorted = groupIndex.sorted(tenantId)
  const withIds = (ids: readonly string[]): readonly ScimGroup[] =>
    ids.map((id) => groups.get(id)).filter((group) => group?.tenant_id === tenantId) as readonly ScimGroup[]
  return {
    size: sorted.size,
    at: (start, count) => sorted.at(start, count),
    isIndexed: (attribute) => INDEXED.get(attribute),
    find({ attribute, value }) {
      if (attribute === 'displayname') return groupIndex.named(tenantId, value)
      if (attribute === 'externalid') return groupIndex.withExternalId(tenantId, value)
      return withIds(attribute === 'id' ? [value] : (people.get(value)?.entry.groups ?? []))
    },
    valuesOf: (group) => (attribute) => {
      if (attribute === 'id') return [group.id]
      if (attribute === 'displayname') return [group.name]
      if (attribute === 'externalid') return group.external_id === undefined ? [] : [group.external_id]
      return attribute === 'members' || attribute === 'members.value' ? people.memberIds(group.id) : undefined
    },
    show: (group, projection) => shownGroup(group, projection, deps),
    rowsOf: (group, projection) => 1 + (isAskedFor('members', projection) ? people.memberIds(group.id).size : 0),
  }
}

/** What a client asks of a group. */
interface Wanted {
  readonly name?: string
  /** Null: none. */
  readonly externalId?: string | null
  readonly members: WantedMembers
}

interface WantedMembers {
  /** Whether all that are not added leave. */
  isReplaced: boolean
  readonly added: Set<string>
  readonly removed: Set<string>
}

const noMembers = (): WantedMembers => ({ isReplaced: false, added: new Set(), removed: new Set() })

/** Of a whole group: one without members has none. */
function readGroup(body: Buffer): Wanted | Problem {
  const stated = readObject(body)
  if (stated === undefined) return NO_OBJECT
  const { displayname, externalid, members } = stated
  const name = readName(displayname)
  if (typeof name !== 'string') return name
  const external: Pick<Wanted, 'externalId'> | Problem = externalid === undefined ? {} : readExternalId(externalid)
  if ('code' in external) return external
  const ids = idsIn(members)
  if (ids === undefined) return NO_MEMBERS
  return { name, ...external, members: { ...noMembers(), isReplaced: true, added: new Set(ids) } }
}

const readName = (value: unknown): string | Problem =>
  textIn(value) ?? badAttribute('displayName', 'must be a text of 1 to 256 bytes')

const createGroup: ScimChange = async ({ tenantId, body, projection }, deps) => {
  const wanted = readGroup(body)
  if ('code' in wanted) return wanted
  const { name = '', externalId, members } = wanted
  if (deps.groups.countOf(tenantId) >= GROUPS_MAX) {
    return problem('CONFLICT', `Limit reached: at most ${GROUPS_MAX} groups per tenant.`)
  }
  if (deps.groupIndex.named(tenantId, name).length > 0) return IS_TAKEN
  if (!areUsers(members.added, tenantId, deps)) return NO_MEMBERS
  const id = randomId('grp', deps.idsOf(tenantId))
  const created_at = new Date(deps.clock()).toISOString()
  const made = { id, tenant_id: tenantId, name, created_at, ...(externalId != null && { external_id: externalId }) }
  const group = await deps.groups.createOnce(id, made)
  await setMembers(group, [], [...members.added], deps)
  return {
    status: 201,
    target: id,
    location: groupAddress(deps.baseUrl, id),
    body: shownGroup(group, projection, deps),
    changes: { after: { name } },
  }
}

const replaceGroup: ScimChange = async (request, deps) => {
  const wanted = readGroup(request.body)
  const set = 'code' in wanted ? wanted : await setGroup(request, () => wanted, deps)
  return withBody(request, set, deps)
}

const patchGroup: ScimChange = async (request, deps) => {
  const operations = readPatch(request.body)
  if ('code' in operations) return operations
  const set = await setGroup(request, (group) => wantedBy(operations, group, deps), deps)
  const { attributes, excluded } = request.projection
  return attributes === undefined && excluded === undefined ? set : withBody(request, set, deps)
}

/** RFC 7644 section 3.5.2: who asks for attributes gets the group. */
function withBody({ tenantId, id, projection }: Request, set: Awaited<ReturnType<ScimChange>>, deps: ScimDeps) {
  const group = findGroup(id, tenantId, deps)
  return 'code' in set || 'code' in group
    ? set
    : ({ ...set, status: 200, body: shownGroup(group, projection, deps) } as const)
}

type Request = Parameters<ScimChange>[0]

/** What the operations of a PATCH come to. Attributes that are not kept are passed over. */
function wantedBy(operations: readonly Operation[], group: ScimGroup, deps: ScimDeps): Wanted | Problem {
  let wanted: Wanted = { members: noMembers() }
  for (const operation of operations) {
    const { op, attribute, value, hasPath } = operation
    if (hasPath && (attribute === 'id' || attribute === 'meta' || (attribute === 'displayname' && op === 'remove'))) {
      return immutable(attribute)
    }
    if (attribute === 'members' && operation.sub === undefined) {
      const refusal = changeMembers(wanted.members, operation, group, deps)
      if (refusal !== undefined) return refusal
    } else if (attribute === 'displayname') {
      const name = readName(value)
      if (typeof name !== 'string') return name
      wanted = { ...wanted, name }
    } else if (attribute === 'externalid') {
      const external = readExternalId(op === 'remove' ? null : value)
      if ('code' in external) return external
      wanted = { ...wanted, ...external }
    }
  }
  return wanted
}

function changeMembers(
  members: WantedMembers,
  { op, filter, value }: Operation,
  group: ScimGroup,
  deps: ScimDeps,
): Problem | undefined {
  const ids = idsIn(value)
  if (ids === undefined) return NO_MEMBERS
  const matched = filter === undefined || op === 'add' ? [] : matching(filter, group, deps)
  if ('code' in matched) return matched
  if (filter !== undefined && op === 'replace' && matched.length === 0) return NO_MEMBER
  // An empty list names nobody to remove.
  const isAll = filter === undefined && (op === 'replace' || (op === 'remove' && (value ?? null) === null))
  if (isAll) {
    members.isReplaced = true
    members.added.clear()
    members.removed.clear()
  }
  const leaving = op === 'remove' && filter === undefined ? ids : matched
  for (const id of leaving) {
    members.added.delete(id)
    members.removed.add(id)
  }
  for (const id of op === 'remove' ? [] : ids) {
    members.removed.delete(id)
    members.added.add(id)
  }
  return undefined
}

/** The member that the filter of a path names, where it selects it: a thousand operations read through nothing. */
function matching(
  filter: NonNullable<Operation['filter']>,
  group: ScimGroup,
  deps: ScimDeps,
): readonly string[] | Problem {
  const lookups = lookupsOf(filter, (attribute) => MEMBER.get(attribute))
  const [id, ...others] = new Set(lookups?.map(({ value }) => value))
  if (lookups === undefined || others.length > 0) return READS_MEMBERS
  if (id === undefined || !deps.people.of(group.tenant_id).memberIds(group.id).has(id)) return []
  const valuesOf = (attribute: string) => {
    if (attribute === 'value') return [id]
    return attribute === 'type' ? ['User'] : undefined
  }
  return isSelected(filter, valuesOf) ? [id] : []
}

/** @param wantedOf what is asked of the group as it is */
async function setGroup(
  { tenantId, id }: Request,
  wantedOf: (group: ScimGroup) => Wanted | Problem,
  deps: ScimDeps,
): ReturnType<ScimChange> {
  const before = findGroup(id, tenantId, deps)
  if ('code' in before) return before
  const wanted = wantedOf(before)
  if ('code' in wanted) return wanted
  const { name = before.name, externalId, members } = wanted
  // Before names were compared without case, two groups could have one name: each keeps it.
  const isRenamed = name !== before.name
  if (isRenamed && deps.groupIndex.named(tenantId, name).some((group) => group.id !== id)) return IS_TAKEN
  const current = deps.people.of(tenantId).memberIds(id)
  const join = [...members.added].filter((member) => !current.has(member))
  if (!areUsers(join, tenantId, deps)) return NO_MEMBERS
  const leave = members.isReplaced
    ? [...current].filter((member) => !members.added.has(member))
    : [...members.removed].filter((member) => current.has(member))
  const leaving = new Set(leave)
  const group = await deps.groups.change(id, ({ external_id: known, ...now }) => {
    const external = externalId === undefined ? known : (externalId ?? undefined)
    return { ...now, name, ...(external !== undefined && { external_id: external }) }
  })
  if (group === undefined) return noSuch('group')
  // Members that stay have the new name of their team.
  const stay = !isRenamed ? [] : [...current].filter((member) => !leaving.has(member))
  await setMembers(group, leave, [...join, ...stay], deps)
  return { status: 204, target: id, changes: { before: { name: before.name }, after: { name } } }
}

const areUsers = (ids: Iterable<string>, tenantId: string, deps: ScimDeps): boolean =>
  [...ids].every((id) => !('code' in findUser(id, tenantId, deps)))

/** Identities that leave a group, and that join it or stay. */
async function setMembers(
  { tenant_id: tenantId, id, name }: ScimGroup,
  leave: readonly string[],
  join: readonly string[],
  deps: ScimDeps,
): Promise<void> {
  const nameOf = (groupId: string): string | undefined => {
    if (groupId === id) return name
    const other = deps.groups.get(groupId)
    return other?.tenant_id === tenantId ? other.name : undefined
  }
  const people = deps.people.of(tenantId)
  const steps = [
    ...leave.map((member) => ({ entry: people.get(member)?.entry, joins: false })),
    ...join.map((member) => ({ entry: people.get(member)?.entry, joins: true })),
  ].values()
  const worker = async (): Promise<void> => {
    for (const { entry, joins } of steps) {
      if (entry === undefined) continue
      await deps.recordsOf.identities.change(directoryKey(tenantId, 'identities', entry.name), (now) => {
        const others = (now.groups ?? []).filter((each) => each !== id)
        const kept = now.groups?.includes(id) === true ? now.groups : [...others, id]
        const next = inGroups(now, joins ? kept : others, nameOf)
        return isDeepStrictEqual(next, now) ? undefined : next
      })
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

const deleteGroup: ScimChange = async ({ tenantId, id }, deps) => {
  const group = findGroup(id, tenantId, deps)
  if ('code' in group) return group
  // First the members: a repeat then still finds the group.
  await setMembers(group, [...deps.people.of(tenantId).memberIds(id)], [], deps)
  return (await deps.groups.delete(id))
    ? { status: 204, target: id, changes: { before: { name: group.name } } }
    : noSuch('group')
}
