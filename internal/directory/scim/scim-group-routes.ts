import { isDeepStrictEqual } from 'node:util'
import type { Caller } from '../../auth/authenticate.js'
import type { Exchange } from '../../http/exchange.js'
import type { Reply } from '../../http/mutations/mutation.js'
import { noSuch, refusalOfId } from '../../http/resource/own-id.js'
import type { Route } from '../../http/route.js'
import { randomId } from '../../ids/ids.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import { name as nameSchema } from '../../text/plain-text.js'
import { directoryKey } from '../directory-key.js'
import { ENTRIES_MAX } from '../entries.js'
import { groupBody, groupPath, type ScimBody } from './scim-contract.js'
import { GROUPS_MAX, inGroups, type ScimGroup } from './scim-group.js'
import {
  badAttribute,
  idsIn,
  NO_OBJECT,
  NO_PATCH,
  type Operation,
  pageIn,
  pageOf,
  readObject,
  readPatch,
} from './scim-messages.js'
import { type ScimChange, type ScimDeps, scimChange, scimRead } from './scim-route.js'
import { findUser, type User } from './scim-user-routes.js'

/** `/scim/v2/Groups`: teams, of which a client sets the name and the members. */
export const scimGroupRoutes = (deps: ScimDeps): readonly Route[] => [
  scimRead('Groups', (exchange, caller) => listGroups(exchange, caller, deps)),
  scimRead('Groups/:id', (exchange, caller) => {
    const group = findGroup(exchange.parameter, caller.tenantId, deps)
    return 'code' in group ? group : shownGroup(group, withoutMembers(exchange), deps)
  }),
  scimChange('post', 'Groups', 'scim_group.put', deps, createGroup),
  scimChange('put', 'Groups/:id', 'scim_group.put', deps, replaceGroup),
  scimChange('patch', 'Groups/:id', 'scim_group.put', deps, patchGroup),
  scimChange('del', 'Groups/:id', 'scim_group.delete', deps, deleteGroup),
]

const TAKEN = problem('CONFLICT', 'A group of this name exists.')
/** Identities that are changed at a time. */
const AT_ONCE = 64

function findGroup(id: string, tenantId: string, { groups, idsOf }: ScimDeps): ScimGroup | Problem {
  const refusal = refusalOfId('grp', id, idsOf(tenantId), 'group')
  if (refusal !== undefined) return refusal
  const group = groups.get(id)
  return group === undefined || group.tenant_id !== tenantId ? noSuch('group') : group
}

const membersOf = (group: ScimGroup, { entries }: ScimDeps): readonly User[] =>
  entries
    .of(group.tenant_id, 'identities')
    .sorted.after(undefined, 'ascending', ENTRIES_MAX.identities)
    .flatMap(({ record: [id, entry] }) => (entry.groups?.includes(group.id) ? [{ id, entry }] : []))

const shownGroup = (group: ScimGroup, withoutMembers: boolean, deps: ScimDeps): ScimBody =>
  groupBody({
    id: group.id,
    displayName: group.name,
    ...(!withoutMembers && {
      members: membersOf(group, deps).map(({ id, entry }) => ({ value: id, display: entry.name })),
    }),
  })

const withoutMembers = ({ query }: Exchange): boolean => /(?:^|&)excludedAttributes=[^&]*\bmembers\b/i.test(query)

function listGroups(exchange: Exchange, { tenantId }: Caller, deps: ScimDeps): ScimBody | Problem {
  const query = pageIn(exchange.query, 'displayName')
  if ('code' in query) return query
  const found = [...deps.groups.of(tenantId)]
    .filter(({ name }) => query.sought === undefined || name === query.sought)
    .sort((one, other) => (one.name < other.name ? -1 : 1))
  return pageOf(found, query, (group) => shownGroup(group, withoutMembers(exchange), deps))
}

const createGroup: ScimChange = async ({ tenantId, body }, deps) => {
  const members = readObject(body)
  const name = members && nameSchema().safeParse(members['displayname'])
  if (members === undefined || name?.success !== true)
    return badAttribute('displayName', 'is required, with at most 256 bytes')
  if (deps.groups.countOf(tenantId) >= GROUPS_MAX) {
    return problem('CONFLICT', `Limit reached: at most ${GROUPS_MAX} groups per tenant.`)
  }
  if (isTaken(name.data, undefined, tenantId, deps)) return TAKEN
  const id = randomId('grp', deps.idsOf(tenantId))
  const made = { id, tenant_id: tenantId, name: name.data, created_at: new Date(deps.clock()).toISOString() }
  const group = await deps.groups.createOnce(id, made)
  const refusal = await setMembers(group, [], idsIn(members['members']), deps)
  if (refusal !== undefined) return refusal
  return {
    status: 201,
    target: id,
    location: groupPath(id),
    body: shownGroup(group, false, deps),
    changes: { after: { name: group.name } },
  }
}

const isTaken = (name: string, ownId: string | undefined, tenantId: string, { groups }: ScimDeps): boolean =>
  [...groups.of(tenantId)].some((group) => group.name === name && group.id !== ownId)

const replaceGroup: ScimChange = async ({ tenantId, id, body }, deps) => {
  const members = readObject(body)
  if (members === undefined) return NO_OBJECT
  const replaced = await setGroup(
    tenantId,
    id,
    [
      { op: 'replace', attribute: 'displayname', value: members['displayname'] },
      { op: 'replace', attribute: 'members', value: members['members'] ?? [] },
    ],
    deps,
  )
  const group = findGroup(id, tenantId, deps)
  return 'code' in replaced || 'code' in group
    ? replaced
    : { ...replaced, status: 200, body: shownGroup(group, false, deps) }
}

const patchGroup: ScimChange = async ({ tenantId, id, body }, deps) => {
  const operations = readPatch(body)
  return operations === undefined ? NO_PATCH : setGroup(tenantId, id, operations, deps)
}

async function setGroup(
  tenantId: string,
  id: string,
  operations: readonly Operation[],
  deps: ScimDeps,
): Promise<Reply | Problem> {
  const before = findGroup(id, tenantId, deps)
  if ('code' in before) return before
  let name = before.name
  const current = new Set(membersOf(before, deps).map((member) => member.id))
  const wanted = new Set(current)
  for (const { op, attribute, value } of operations) {
    if (attribute === 'displayname' && op !== 'remove') {
      const read = nameSchema().safeParse(value)
      if (!read.success) return badAttribute('displayName', 'must be a name of at most 256 bytes')
      name = read.data
    } else if (attribute === 'members') {
      const ids = idsIn(value)
      if (op === 'replace' || (op === 'remove' && value === undefined)) wanted.clear()
      for (const member of ids) {
        if (op === 'remove') wanted.delete(member)
        else wanted.add(member)
      }
    }
  }
  if (isTaken(name, id, tenantId, deps)) return TAKEN
  const group = await deps.groups.change(id, (now) => ({ ...now, name }))
  if (group === undefined) return noSuch('group')
  const left = [...current].filter((member) => !wanted.has(member))
  const isRenamed = name !== before.name
  // Members that stay have the new name of their team.
  const touched = isRenamed ? [...wanted] : [...wanted].filter((member) => !current.has(member))
  const refusal = await setMembers(group, left, touched, deps)
  return refusal ?? { status: 204, target: id, changes: { before: { name: before.name }, after: { name } } }
}

/** Identities that leave a group, and that join it or stay. */
async function setMembers(
  group: ScimGroup,
  leave: readonly string[],
  join: readonly string[],
  deps: ScimDeps,
): Promise<Problem | undefined> {
  const { tenant_id: tenantId, id } = group
  const joining: User[] = []
  for (const member of join) {
    const user = findUser(member, tenantId, deps)
    if ('code' in user) return badAttribute('members', 'must be ids of users')
    joining.push(user)
  }
  const nameOf = (groupId: string): string | undefined =>
    groupId === id
      ? group.name
      : tenantId === deps.groups.get(groupId)?.tenant_id
        ? deps.groups.get(groupId)?.name
        : undefined
  const all = deps.entries.of(tenantId, 'identities')
  const steps = [
    ...leave.map((member) => ({ entry: all.get(member), joins: false })),
    ...joining.map(({ entry }) => ({ entry, joins: true })),
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
  return undefined
}

const deleteGroup: ScimChange = async ({ tenantId, id }, deps) => {
  const group = findGroup(id, tenantId, deps)
  if ('code' in group) return group
  // First the members: a repeat then still finds the group.
  await setMembers(
    group,
    membersOf(group, deps).map((member) => member.id),
    [],
    deps,
  )
  return (await deps.groups.delete(id))
    ? { status: 204, target: id, changes: { before: { name: group.name } } }
    : noSuch('group')
}
