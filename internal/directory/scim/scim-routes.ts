import { isDeepStrictEqual } from 'node:util'
import type { AuditAction } from '../../auth/audit-entry.js'
import type { Caller } from '../../auth/authenticate.js'
import type { Records } from '../../broker/records.js'
import type { WatchedRecords } from '../../broker/watched-records.js'
import type { Exchange } from '../../http/exchange.js'
import type { Reply } from '../../http/mutations/mutation.js'
import { invalid } from '../../http/mutations/read-body.js'
import { needsNewSignIn, STEP_UP } from '../../http/mutations/step-up.js'
import { changeWithoutKey, deniedWithoutKey, type WithoutKeyDeps } from '../../http/mutations/without-key.js'
import { noSuch, refusalOfId } from '../../http/resource/own-id.js'
import type { Method, Route } from '../../http/route.js'
import { randomId, type TenantIds } from '../../ids/ids.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import { name as nameSchema } from '../../text/plain-text.js'
import { badParameter, readPairs } from '../../text/query-string.js'
import type { IdentityEntry } from '../directory.js'
import { ENTRIES_MAX } from '../entries.js'
import { entryId } from '../entry-index.js'
import { directoryKey } from '../import-directory.js'
import type { OpenDirectory } from '../open-directory.js'
import { GROUPS_MAX, inGroups, type ScimGroup } from './groups.js'
import {
  equalIn,
  flagIn,
  GROUP_SCHEMA,
  idsIn,
  listOf,
  type Operation,
  readObject,
  readPatch,
  SCIM_ERRORS,
  SCIM_JSON,
  USER_SCHEMA,
} from './messages.js'
import { PROVIDER_CONFIG, RESOURCE_TYPES, SCHEMAS } from './static.js'

export interface ScimDeps extends Pick<OpenDirectory, 'records' | 'entries'>, WithoutKeyDeps {
  readonly idsOf: (tenantId: string) => TenantIds
  readonly groups: WatchedRecords<ScimGroup>
  /** Ends what a person has signed in to: they have left. */
  readonly endSignIns: (tenantId: string, username: string) => Promise<void>
}

const BASE = '/scim/v2'
const BODY_BYTES_MAX = 4 * 1024 * 1024
const COUNT_DEFAULT = 100
const COUNT_MAX = 200
/** Identities that are changed at a time. */
const AT_ONCE = 64

/**
 * `/scim/v2`: identities and their teams from an identity provider (RFC 7644, a subset: `deploy/docs/directory.md`). Of a user, the
 * name and whether it is active are kept; of a group, its name and members. All else that a client sends is dropped.
 */
export const scimRoutes = (deps: ScimDeps): readonly Route[] => [
  fixed('ServiceProviderConfig', PROVIDER_CONFIG),
  fixed('ResourceTypes', listOf(RESOURCE_TYPES, RESOURCE_TYPES.length, 1)),
  fixed('Schemas', listOf(SCHEMAS, SCHEMAS.length, 1)),
  read('Users', (exchange, caller) => listUsers(exchange, caller, deps)),
  read('Users/:id', (exchange, caller) => {
    const user = findUser(exchange.parameter, caller.tenantId, deps)
    return 'code' in user ? user : shownUser(user.id, user.entry, caller.tenantId, deps)
  }),
  change('post', 'Users', 'directory.put', deps, createUser),
  change('put', 'Users/:id', 'directory.put', deps, replaceUser),
  change('patch', 'Users/:id', 'directory.put', deps, patchUser),
  change('del', 'Users/:id', 'directory.delete', deps, deleteUser),
  read('Groups', (exchange, caller) => listGroups(exchange, caller, deps)),
  read('Groups/:id', (exchange, caller) => {
    const group = findGroup(exchange.parameter, caller.tenantId, deps)
    return 'code' in group ? group : shownGroup(group, withoutMembers(exchange), deps)
  }),
  change('post', 'Groups', 'scim_group.put', deps, createGroup),
  change('put', 'Groups/:id', 'scim_group.put', deps, replaceGroup),
  change('patch', 'Groups/:id', 'scim_group.put', deps, patchGroup),
  change('del', 'Groups/:id', 'scim_group.delete', deps, deleteGroup),
]

/** SCIM describes itself; it is no part of the API's own contract. */
const COMMON = { access: 'admin:config', isUndescribed: true, problemForm: SCIM_ERRORS } as const
const operationOf = (method: Method, path: string) => ({
  id: `scim.${method}.${path}`,
  tag: 'Directory' as const,
  summary: `SCIM ${path}`,
  replies: {},
  // Parsed by the handlers.
  query: {},
})

function read(path: string, answer: (exchange: Exchange, caller: Caller) => object | Problem): Route {
  return {
    ...COMMON,
    method: 'get',
    path: `${BASE}/${path}`,
    rateClass: 'read',
    operation: operationOf('get', path),
    handle(exchange, caller) {
      const found = answer(exchange, caller)
      if ('code' in found) return exchange.replyProblem(found as Problem)
      exchange.reply(`200 OK\r\nContent-Type: ${SCIM_JSON}\r\nCache-Control: no-store`, JSON.stringify(found))
    },
  }
}

const fixed = (path: string, body: object): Route => read(path, () => body)

type Change = (
  request: { readonly tenantId: string; readonly id: string; readonly body: Buffer },
  deps: ScimDeps,
) => Promise<Reply | Problem>

function change(
  method: Exclude<Method, 'get'>,
  path: string,
  action: AuditAction,
  deps: ScimDeps,
  make: Change,
): Route {
  return {
    ...COMMON,
    method,
    path: `${BASE}/${path}`,
    rateClass: 'control',
    takesNoKey: true,
    whenDenied: deniedWithoutKey(action, deps),
    operation: operationOf(method, path),
    handle(exchange, caller) {
      exchange.keepAddress()
      const carryOut = (body: Buffer): void => {
        const isStale = method === 'del' && needsNewSignIn(caller, deps.clock())
        const work = async () =>
          isStale ? STEP_UP : make({ tenantId: caller.tenantId, id: exchange.parameter, body }, deps)
        changeWithoutKey(exchange, caller, action, work, deps, SCIM_JSON).catch((cause: unknown) =>
          exchange.fail(cause),
        )
      }
      if (method === 'del') carryOut(Buffer.alloc(0))
      else exchange.readBody(BODY_BYTES_MAX, (bytes, areLent) => carryOut(areLent ? Buffer.from(bytes) : bytes))
    },
  }
}

// Users

interface User {
  readonly id: string
  readonly entry: IdentityEntry
}

const recordsOf = ({ records }: ScimDeps): Records<IdentityEntry> => records as unknown as Records<IdentityEntry>

/** A workload is no user. */
function findUser(id: string, tenantId: string, { entries, idsOf }: ScimDeps): User | Problem {
  const refusal = refusalOfId('idn', id, idsOf(tenantId), 'user')
  if (refusal !== undefined) return refusal
  const entry = entries.of(tenantId, 'identities').get(id)
  return entry === undefined || entry.is_workload === true ? noSuch('user') : { id, entry }
}

function shownUser(id: string, entry: IdentityEntry, tenantId: string, { groups }: ScimDeps): object {
  const of = (entry.groups ?? []).flatMap((value) => {
    const group = groups.get(value)
    return group?.tenant_id === tenantId ? [{ value, display: group.name }] : []
  })
  return {
    schemas: [USER_SCHEMA],
    id,
    userName: entry.name,
    active: entry.inactive !== true,
    groups: of,
    meta: { resourceType: 'User', location: `${BASE}/Users/${id}` },
  }
}

function listUsers(exchange: Exchange, { tenantId }: Caller, deps: ScimDeps): object | Problem {
  const query = pageIn(exchange.query, 'userName')
  if ('code' in query) return query
  const all = deps.entries.of(tenantId, 'identities')
  const found: User[] = []
  if (query.sought !== undefined) {
    const id = entryId('identities', query.sought, deps.idsOf(tenantId))
    const entry = all.get(id)
    if (entry !== undefined && entry.is_workload !== true) found.push({ id, entry })
  } else {
    for (const { record } of all.sorted.after(undefined, 'ascending', ENTRIES_MAX.identities)) {
      if (record[1].is_workload !== true) found.push({ id: record[0], entry: record[1] })
    }
  }
  return pageOf(found, query, ({ id, entry }) => shownUser(id, entry, tenantId, deps))
}

async function createUser({ tenantId, body }: Parameters<Change>[0], deps: ScimDeps): Promise<Reply | Problem> {
  const members = readObject(body)
  const read = members && nameSchema().safeParse(members['username'])
  if (members === undefined || read?.success !== true) return bad('userName', 'is required, with at most 256 bytes')
  if (deps.entries.of(tenantId, 'identities').size >= ENTRIES_MAX.identities) {
    return problem('CONFLICT', `Limit reached: at most ${ENTRIES_MAX.identities} identities per tenant.`)
  }
  const entry: IdentityEntry = { name: read.data, ...(flagIn(members['active']) === false && { inactive: true }) }
  const id = entryId('identities', entry.name, deps.idsOf(tenantId))
  const made = await recordsOf(deps).createOnce(directoryKey(tenantId, 'identities', entry.name), entry)
  if (made !== entry) return problem('CONFLICT', 'A user or identity of this name exists.')
  return {
    status: 201,
    target: id,
    location: `${BASE}/Users/${id}`,
    body: shownUser(id, entry, tenantId, deps),
    changes: { after: { is_active: entry.inactive !== true } },
  }
}

const replaceUser: Change = async ({ tenantId, id, body }, deps) => {
  const members = readObject(body)
  if (members === undefined) return NO_OBJECT
  return setUser(tenantId, id, [{ userName: members['username'], active: flagIn(members['active']) ?? true }], deps)
}

const patchUser: Change = async ({ tenantId, id, body }, deps) => {
  const operations = readPatch(body)
  if (operations === undefined) return NO_PATCH
  const stated = operations.map(({ op, attribute, value }) => ({
    userName: attribute === 'username' && op !== 'remove' ? value : undefined,
    active: attribute === 'active' ? (op === 'remove' ? true : (flagIn(value) ?? null)) : undefined,
  }))
  return setUser(tenantId, id, stated, deps)
}

/** The name of an identity is what its calls state, and its id follows from it: it never changes. */
async function setUser(
  tenantId: string,
  id: string,
  stated: readonly { readonly userName: unknown; readonly active: boolean | null | undefined }[],
  deps: ScimDeps,
): Promise<Reply | Problem> {
  const user = findUser(id, tenantId, deps)
  if ('code' in user) return user
  for (const { userName, active } of stated) {
    if (userName !== undefined && userName !== user.entry.name) return bad('userName', 'cannot be changed')
    if (active === null) return bad('active', 'must be true or false')
  }
  const active = stated.findLast((each) => each.active !== undefined)?.active
  const after = await recordsOf(deps).change(directoryKey(tenantId, 'identities', user.entry.name), (entry) => {
    const { inactive: _, ...rest } = entry
    return active === undefined ? undefined : { ...rest, ...(active === false && { inactive: true }) }
  })
  if (after === undefined) return noSuch('user')
  if (active === false) await deps.endSignIns(tenantId, after.name)
  return {
    status: 200,
    target: id,
    body: shownUser(id, after, tenantId, deps),
    changes: { before: { is_active: user.entry.inactive !== true }, after: { is_active: after.inactive !== true } },
  }
}

const deleteUser: Change = async ({ tenantId, id }, deps) => {
  const user = findUser(id, tenantId, deps)
  if ('code' in user) return user
  const isDeleted = await recordsOf(deps).delete(directoryKey(tenantId, 'identities', user.entry.name))
  if (!isDeleted) return noSuch('user')
  await deps.endSignIns(tenantId, user.entry.name)
  return { status: 204, target: id }
}

// Groups

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

const shownGroup = (group: ScimGroup, withoutMembers: boolean, deps: ScimDeps): object => ({
  schemas: [GROUP_SCHEMA],
  id: group.id,
  displayName: group.name,
  ...(!withoutMembers && {
    members: membersOf(group, deps).map(({ id, entry }) => ({ value: id, display: entry.name })),
  }),
  meta: { resourceType: 'Group', location: `${BASE}/Groups/${group.id}` },
})

const withoutMembers = ({ query }: Exchange): boolean => /(?:^|&)excludedAttributes=[^&]*\bmembers\b/i.test(query)

function listGroups(exchange: Exchange, { tenantId }: Caller, deps: ScimDeps): object | Problem {
  const query = pageIn(exchange.query, 'displayName')
  if ('code' in query) return query
  const found = [...deps.groups.of(tenantId)]
    .filter(({ name }) => query.sought === undefined || name === query.sought)
    .sort((one, other) => (one.name < other.name ? -1 : 1))
  return pageOf(found, query, (group) => shownGroup(group, withoutMembers(exchange), deps))
}

const createGroup: Change = async ({ tenantId, body }, deps) => {
  const members = readObject(body)
  const name = members && nameSchema().safeParse(members['displayname'])
  if (members === undefined || name?.success !== true) return bad('displayName', 'is required, with at most 256 bytes')
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
    location: `${BASE}/Groups/${id}`,
    body: shownGroup(group, false, deps),
    changes: { after: { name: group.name } },
  }
}

const isTaken = (name: string, ownId: string | undefined, tenantId: string, { groups }: ScimDeps): boolean =>
  [...groups.of(tenantId)].some((group) => group.name === name && group.id !== ownId)

const replaceGroup: Change = async ({ tenantId, id, body }, deps) => {
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

const patchGroup: Change = async ({ tenantId, id, body }, deps) => {
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
      if (!read.success) return bad('displayName', 'must be a name of at most 256 bytes')
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
  const found = join.map((member) => findUser(member, tenantId, deps))
  const unknown = found.find((user): user is Problem => 'code' in user)
  if (unknown !== undefined) return bad('members', 'must be ids of users')
  const nameOf = (groupId: string): string | undefined =>
    groupId === id
      ? group.name
      : tenantId === deps.groups.get(groupId)?.tenant_id
        ? deps.groups.get(groupId)?.name
        : undefined
  const all = deps.entries.of(tenantId, 'identities')
  const steps = [
    ...leave.map((member) => ({ entry: all.get(member), joins: false })),
    ...(found as readonly User[]).map(({ entry }) => ({ entry, joins: true })),
  ].values()
  const worker = async (): Promise<void> => {
    for (const { entry, joins } of steps) {
      if (entry === undefined) continue
      await recordsOf(deps).change(directoryKey(tenantId, 'identities', entry.name), (now) => {
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

const deleteGroup: Change = async ({ tenantId, id }, deps) => {
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

// Pages

interface Page {
  readonly startIndex: number
  readonly count: number
  /** The value of the one attribute that can be filtered by. */
  readonly sought: string | undefined
}

function pageIn(query: string, attribute: string): Page | Problem {
  const read = readPairs(query)
  if (!read.ok) return read.problem
  const values = new Map(read.pairs)
  const filter = values.get('filter')
  const sought = filter === undefined ? undefined : equalIn(filter, attribute)
  if (sought === null) return badParameter('/filter', `must be ${attribute} eq "…"; other filters are not supported`)
  return {
    // Less than 1 is 1, and less than 0 is 0 (RFC 7644 section 3.4.2.4).
    startIndex: Math.max(1, wholeNumber(values.get('startIndex')) ?? 1),
    count: Math.min(COUNT_MAX, Math.max(0, wholeNumber(values.get('count')) ?? COUNT_DEFAULT)),
    sought,
  }
}

const wholeNumber = (text: string | undefined): number | undefined =>
  text !== undefined && /^-?\d{1,9}$/.test(text) ? Number(text) : undefined

const pageOf = <T>(found: readonly T[], { startIndex, count }: Page, show: (one: T) => object): object =>
  listOf(found.slice(startIndex - 1, startIndex - 1 + count).map(show), found.length, startIndex)

const bad = (attribute: string, detail: string): Problem => invalid([{ pointer: attribute, detail }])
const NO_OBJECT = problem('MALFORMED_REQUEST', 'The body is not a JSON object.')
const NO_PATCH = problem('MALFORMED_REQUEST', 'The body is not a PatchOp with a list of Operations.')
const TAKEN = problem('CONFLICT', 'A group of this name exists.')
