import type { Caller } from '../../auth/authenticate.js'
import type { Exchange } from '../../http/exchange.js'
import type { Reply } from '../../http/mutations/mutation.js'
import { noSuch, refusalOfId } from '../../http/resource/own-id.js'
import type { Route } from '../../http/route.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import { name as nameSchema } from '../../text/plain-text.js'
import type { IdentityEntry } from '../directory.js'
import { directoryKey } from '../directory-key.js'
import { ENTRIES_MAX } from '../entries.js'
import { entryId } from '../entry-index.js'
import { type ScimBody, userBody, userPath } from './scim-contract.js'
import { badAttribute, flagIn, NO_OBJECT, NO_PATCH, pageIn, pageOf, readObject, readPatch } from './scim-messages.js'
import { type ScimChange, type ScimDeps, scimChange, scimRead } from './scim-route.js'

/** `/scim/v2/Users`: identities, of which a client may set whether they are active. */
export const scimUserRoutes = (deps: ScimDeps): readonly Route[] => [
  scimRead('Users', (exchange, caller) => listUsers(exchange, caller, deps)),
  scimRead('Users/:id', (exchange, caller) => {
    const user = findUser(exchange.parameter, caller.tenantId, deps)
    return 'code' in user ? user : shownUser(user.id, user.entry, caller.tenantId, deps)
  }),
  scimChange('post', 'Users', 'directory.put', deps, createUser),
  scimChange('put', 'Users/:id', 'directory.put', deps, replaceUser),
  scimChange('patch', 'Users/:id', 'directory.put', deps, patchUser),
  scimChange('del', 'Users/:id', 'directory.delete', deps, deleteUser),
]

/** An identity that is no workload: a workload is no user. */
export interface User {
  readonly id: string
  readonly entry: IdentityEntry
}

export function findUser(id: string, tenantId: string, { entries, idsOf }: ScimDeps): User | Problem {
  const refusal = refusalOfId('idn', id, idsOf(tenantId), 'user')
  if (refusal !== undefined) return refusal
  const entry = entries.of(tenantId, 'identities').get(id)
  return entry === undefined || entry.is_workload === true ? noSuch('user') : { id, entry }
}

function shownUser(id: string, entry: IdentityEntry, tenantId: string, { groups }: ScimDeps): ScimBody {
  const of = (entry.groups ?? []).flatMap((value) => {
    const group = groups.get(value)
    return group?.tenant_id === tenantId ? [{ value, display: group.name }] : []
  })
  return userBody({ id, userName: entry.name, active: entry.inactive !== true, groups: of })
}

function listUsers(exchange: Exchange, { tenantId }: Caller, deps: ScimDeps): ScimBody | Problem {
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

const createUser: ScimChange = async ({ tenantId, body }, deps) => {
  const members = readObject(body)
  const read = members && nameSchema().safeParse(members['username'])
  if (members === undefined || read?.success !== true)
    return badAttribute('userName', 'is required, with at most 256 bytes')
  if (deps.entries.of(tenantId, 'identities').size >= ENTRIES_MAX.identities) {
    return problem('CONFLICT', `Limit reached: at most ${ENTRIES_MAX.identities} identities per tenant.`)
  }
  const entry: IdentityEntry = { name: read.data, ...(flagIn(members['active']) === false && { inactive: true }) }
  const id = entryId('identities', entry.name, deps.idsOf(tenantId))
  const made = await deps.recordsOf.identities.createOnce(directoryKey(tenantId, 'identities', entry.name), entry)
  if (made !== entry) return problem('CONFLICT', 'A user or identity of this name exists.')
  return {
    status: 201,
    target: id,
    location: userPath(id),
    body: shownUser(id, entry, tenantId, deps),
    changes: { after: { is_active: entry.inactive !== true } },
  }
}

const replaceUser: ScimChange = async ({ tenantId, id, body }, deps) => {
  const members = readObject(body)
  if (members === undefined) return NO_OBJECT
  return setUser(tenantId, id, [{ userName: members['username'], active: flagIn(members['active']) ?? true }], deps)
}

const patchUser: ScimChange = async ({ tenantId, id, body }, deps) => {
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
    if (userName !== undefined && userName !== user.entry.name) return badAttribute('userName', 'cannot be changed')
    if (active === null) return badAttribute('active', 'must be true or false')
  }
  const active = stated.findLast((each) => each.active !== undefined)?.active
  const after = await deps.recordsOf.identities.change(
    directoryKey(tenantId, 'identities', user.entry.name),
    (entry) => {
      const { inactive: _, ...rest } = entry
      return active === undefined ? undefined : { ...rest, ...(active === false && { inactive: true }) }
    },
  )
  if (after === undefined) return noSuch('user')
  if (active === false) await deps.endSignIns(tenantId, after.name)
  return {
    status: 200,
    target: id,
    body: shownUser(id, after, tenantId, deps),
    changes: { before: { is_active: user.entry.inactive !== true }, after: { is_active: after.inactive !== true } },
  }
}

const deleteUser: ScimChange = async ({ tenantId, id }, deps) => {
  const user = findUser(id, tenantId, deps)
  if ('code' in user) return user
  const isDeleted = await deps.recordsOf.identities.delete(directoryKey(tenantId, 'identities', user.entry.name))
  if (!isDeleted) return noSuch('user')
  await deps.endSignIns(tenantId, user.entry.name)
  return { status: 204, target: id }
}
