import { isDeepStrictEqual } from 'node:util'
import { noSuch, refusalOfId } from '../../http/resource/own-id.js'
import type { Route } from '../../http/route.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import { comparableName } from '../../text/comparable-name.js'
import { type IdentityEntry, namesOfIdentity } from '../directory.js'
import { directoryKey } from '../directory-key.js'
import { ENTRIES_MAX } from '../entries.js'
import { entryId } from '../entry-index.js'
import type { Person } from '../people.js'
import { userAddress, userBody } from './scim-contract.js'
import {
  badAttribute,
  flagIn,
  immutable,
  isUnassigned,
  NO_OBJECT,
  readExternalId,
  readObject,
  taken,
  textIn,
} from './scim-messages.js'
import { readPatch } from './scim-patch.js'
import { isAskedFor } from './scim-projection.js'
import type { Collection } from './scim-query.js'
import { type ScimChange, type ScimDeps, scimChange, scimCollection, scimRead } from './scim-route.js'

/** `/scim/v2/Users`: people, of whom a client sets the name, its own id, and whether they are active. */
export const scimUserRoutes = (deps: ScimDeps): readonly Route[] => [
  ...scimCollection('Users', (tenantId) => [usersOf(tenantId, deps)]),
  scimRead('Users/:id', (exchange, { tenantId }) => {
    const user = findUser(exchange.parameter, tenantId, deps)
    return 'code' in user ? user : shownUser(user, tenantId, deps)
  }),
  scimChange('post', 'Users', 'directory.put', deps, createUser),
  scimChange('put', 'Users/:id', 'directory.put', deps, replaceUser),
  scimChange('patch', 'Users/:id', 'directory.put', deps, patchUser),
  scimChange('del', 'Users/:id', 'directory.delete', deps, deleteUser),
]

/** Names that one person may have had. */
const NAMES_MAX = 64
const IS_TAKEN = taken('A user or identity of this name exists.')

export function findUser(id: string, tenantId: string, { people, idsOf }: ScimDeps): Person | Problem {
  return refusalOfId('idn', id, idsOf(tenantId), 'user') ?? people.of(tenantId).get(id) ?? noSuch('user')
}

/** The newest of the names that SCIM gave. */
const userNameOf = ({ name, renamed = [] }: IdentityEntry): string => renamed.at(-1) ?? name

const activeOf = ({ inactive, active_removed: isRemoved }: IdentityEntry): boolean | undefined =>
  inactive === true ? false : isRemoved === true ? undefined : true

const shownUser = ({ id, entry }: Person, tenantId: string, { groups, baseUrl }: ScimDeps) =>
  userBody(baseUrl, {
    id,
    externalId: entry.external_id,
    userName: userNameOf(entry),
    active: activeOf(entry),
    groups: (entry.groups ?? []).flatMap((value) => {
      const group = groups.get(value)
      return group?.tenant_id === tenantId ? [{ value, display: group.name }] : []
    }),
  })

/** Attributes, and whether users are found by them. */
const INDEXED: ReadonlyMap<string, boolean> = new Map([
  ['username', true],
  ['externalid', true],
  ['id', true],
  ['active', false],
  ['groups', false],
  ['groups.value', false],
])

export function usersOf(tenantId: string, deps: ScimDeps): Collection<Person> {
  const people = deps.people.of(tenantId)
  return {
    size: people.sorted.size,
    at: (start, count) => people.sorted.at(start, count),
    isIndexed: (attribute) => INDEXED.get(attribute),
    find({ attribute, value }) {
      if (attribute === 'username') return people.named(value)
      if (attribute === 'externalid') return people.withExternalId(value)
      const person = people.get(value)
      return person === undefined ? [] : [person]
    },
    valuesOf:
      ({ id, entry }) =>
      (attribute) => {
        if (attribute === 'id') return [id]
        // An earlier name finds nobody: another person may have it by now.
        if (attribute === 'username') return [userNameOf(entry)]
        if (attribute === 'externalid') return entry.external_id === undefined ? [] : [entry.external_id]
        if (attribute === 'active') return [activeOf(entry)].filter((active) => active !== undefined)
        return attribute === 'groups' || attribute === 'groups.value' ? (entry.groups ?? []) : undefined
      },
    show: (person) => shownUser(person, tenantId, deps),
    rowsOf: ({ entry }, projection) => 1 + (isAskedFor('groups', projection) ? (entry.groups?.length ?? 0) : 0),
  }
}

/** What a client states of a user. Absent: nothing; null: that there is none. */
interface StatedUser {
  readonly userName?: string
  readonly active?: boolean | null
  readonly externalId?: string | null
}

/** Reads one attribute. @returns nothing for one that is not kept */
function readAttribute(attribute: string, value: unknown): StatedUser | Problem {
  if (attribute === 'username') {
    const userName = textIn(value)
    return userName === undefined ? badAttribute('userName', 'must be a text of 1 to 256 bytes') : { userName }
  }
  if (attribute === 'active') {
    const active = isUnassigned(value) ? null : flagIn(value)
    return active === undefined ? badAttribute('active', 'must be true or false') : { active }
  }
  return attribute === 'externalid' ? readExternalId(value) : {}
}

/** Of a whole user: what it does not name stays as it is (RFC 7644 section 3.5.1). */
function readUser(body: Buffer): StatedUser | Problem {
  const members = readObject(body)
  if (members === undefined) return NO_OBJECT
  let stated: StatedUser = {}
  for (const attribute of ['username', 'active', 'externalid']) {
    if (attribute !== 'username' && members[attribute] === undefined) continue
    const read = readAttribute(attribute, members[attribute])
    if ('code' in read) return read
    stated = { ...stated, ...read }
  }
  return stated
}

/** What a client cannot set. */
const READ_ONLY: ReadonlySet<string> = new Set(['id', 'groups', 'meta'])

function readUserPatch(body: Buffer): StatedUser | Problem {
  const operations = readPatch(body)
  if ('code' in operations) return operations
  let stated: StatedUser = {}
  for (const { op, attribute, value, hasPath } of operations) {
    if (hasPath && (READ_ONLY.has(attribute) || (attribute === 'username' && op === 'remove'))) {
      return immutable(attribute)
    }
    const read = readAttribute(attribute, op === 'remove' ? null : value)
    if ('code' in read) return read
    stated = { ...stated, ...read }
  }
  return stated
}

function changed(entry: IdentityEntry, { userName, active, externalId }: StatedUser): IdentityEntry {
  const { inactive, active_removed: isRemoved, external_id: known, renamed = [], ...rest } = entry
  const after = active === undefined ? activeOf(entry) : (active ?? undefined)
  const external = externalId === undefined ? known : (externalId ?? undefined)
  const isNew = userName !== undefined && userName !== userNameOf(entry)
  // One name in two spellings is one name.
  const others = isNew ? renamed.filter((each) => comparableName(each) !== comparableName(userName)) : renamed
  const names = isNew ? [...others, userName] : others
  return {
    ...rest,
    ...(after === false && { inactive: true }),
    ...(after === undefined && { active_removed: true }),
    ...(external !== undefined && { external_id: external }),
    ...(names.length > 0 && { renamed: names }),
  }
}

const createUser: ScimChange = async ({ caller, tenantId, body }, deps) => {
  const stated = readUser(body)
  if ('code' in stated) return stated
  const { userName = '', active, externalId } = stated
  if (deps.people.of(tenantId).named(userName).length > 0) return IS_TAKEN
  if (deps.entries.of(tenantId, 'identities').size >= ENTRIES_MAX.identities) {
    return problem('CONFLICT', `Limit reached: at most ${ENTRIES_MAX.identities} identities per tenant.`)
  }
  // Who signs in under this name has left, then.
  const refusal = active === false ? await deps.prepareLeaving(caller, [userName], true) : undefined
  if (refusal !== undefined) return refusal
  const entry = changed({ name: userName }, { active: active ?? true, ...(externalId != null && { externalId }) })
  const id = entryId('identities', userName, deps.idsOf(tenantId))
  const key = directoryKey(tenantId, 'identities', userName)
  const made = await deps.recordsOf.identities.createOnce(key, entry)
  if (made !== entry) return IS_TAKEN
  // Others may have made the name in another spelling meanwhile: the first in the bucket's order has it.
  const [first] = deps.people.of(tenantId).named(userName)
  if (first !== undefined && first.id !== id) {
    await deps.recordsOf.identities.delete(key, (stored) => isDeepStrictEqual(stored, entry))
    return IS_TAKEN
  }
  if (entry.inactive === true) await endSignIns(tenantId, entry, deps)
  return {
    status: 201,
    target: id,
    location: userAddress(deps.baseUrl, id),
    body: shownUser({ id, entry }, tenantId, deps),
    changes: { after: { is_active: entry.inactive !== true } },
  }
}

const replaceUser: ScimChange = async (request, deps) => setUser(request, readUser(request.body), deps)
const patchUser: ScimChange = async (request, deps) => setUser(request, readUserPatch(request.body), deps)

/** The id of an identity follows from its first name, which stays; calls under each of its names are its own. */
async function setUser(
  { caller, tenantId, id }: Parameters<ScimChange>[0],
  stated: StatedUser | Problem,
  deps: ScimDeps,
): ReturnType<ScimChange> {
  if ('code' in stated) return stated
  const user = findUser(id, tenantId, deps)
  if ('code' in user) return user
  const { userName } = stated
  const isRenamed = userName !== undefined && userName !== userNameOf(user.entry)
  if (isRenamed && isTaken(userName, user, tenantId, deps)) return IS_TAKEN
  if (isRenamed && namesOfIdentity(user.entry).length >= NAMES_MAX) {
    return badAttribute('userName', `cannot be changed more than ${NAMES_MAX} times`)
  }
  const next = changed(user.entry, stated)
  const names = namesOfIdentity(next)
  // Somebody who has left leaves under a further name, too.
  const isEnded = next.inactive === true && (isRenamed || user.entry.inactive !== true)
  const refusal = isEnded || isRenamed ? await deps.prepareLeaving(caller, names, isEnded) : undefined
  if (refusal !== undefined) return refusal
  const key = directoryKey(tenantId, 'identities', user.entry.name)
  const after = await deps.recordsOf.identities.change(key, (entry) => changed(entry, stated))
  if (after === undefined) return noSuch('user')
  if (after.inactive === true) await endSignIns(tenantId, after, deps)
  return {
    status: 200,
    target: id,
    body: shownUser({ id, entry: after }, tenantId, deps),
    changes: {
      before: { is_active: user.entry.inactive !== true },
      after: { is_active: after.inactive !== true, ...(isRenamed && { user_name: 'changed' }) },
    },
  }
}

function isTaken(userName: string, { id }: Person, tenantId: string, { people, entries, idsOf }: ScimDeps): boolean {
  const exact = entryId('identities', userName, idsOf(tenantId))
  const isEntry = exact !== id && entries.of(tenantId, 'identities').get(exact) !== undefined
  return (
    isEntry ||
    people
      .of(tenantId)
      .named(userName)
      .some((other) => other.id !== id)
  )
}

const deleteUser: ScimChange = async ({ caller, tenantId, id }, deps) => {
  const user = findUser(id, tenantId, deps)
  if ('code' in user) return user
  const refusal = await deps.prepareLeaving(caller, namesOfIdentity(user.entry), true)
  if (refusal !== undefined) return refusal
  const isDeleted = await deps.recordsOf.identities.delete(directoryKey(tenantId, 'identities', user.entry.name))
  if (!isDeleted) return noSuch('user')
  await endSignIns(tenantId, user.entry, deps)
  return { status: 204, target: id }
}

async function endSignIns(tenantId: string, entry: IdentityEntry, deps: ScimDeps): Promise<void> {
  for (const name of namesOfIdentity(entry)) await deps.endSignIns(tenantId, name)
}
