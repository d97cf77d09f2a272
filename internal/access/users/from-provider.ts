import { randomBytes } from 'node:crypto'
import { isOwner, type Tenant } from '../../auth/tenant.js'
import type { Records } from '../../broker/records.js'
import type { WatchedRecords } from '../../broker/watched-records.js'
import { randomId, type TenantIds } from '../../ids/ids.js'
import type { ProviderPerson } from '../identity-provider/claims.js'
import { storePassword } from '../oauth/passwords.js'
import { readUsername, type StoredUser, userKey } from '../oauth/users.js'
import { appoint, canBeOwner, dismiss } from './owners.js'
import { USERS_MAX } from './user-changes.js'

/**
 * People who sign in at their company's identity provider: made at their first sign-in, and given at each what their
 * groups give.
 */
export interface PeopleFromProvider {
  /** @returns the person; a sentence for them where they may not sign in */
  signedIn(tenantId: string, person: ProviderPerson): Promise<SignedIn | string>
  /** The directory says that somebody has left: their sign-ins end at once. */
  end(tenantId: string, username: string): Promise<void>
}

export interface SignedIn {
  readonly user: StoredUser
  /** The person's fields that the sign-in changed; undefined: none. */
  readonly change: 'made' | 'changed' | undefined
}

export interface FromProviderDeps {
  readonly users: WatchedRecords<StoredUser>
  readonly findUser: (id: string) => StoredUser | undefined
  readonly findUserNamed: (tenantId: string, username: string) => StoredUser | undefined
  readonly findUserAt: (tenantId: string, account: Pick<ProviderPerson, 'issuer' | 'subject'>) => StoredUser | undefined
  readonly tenants: Records<Tenant>
  readonly idsOf: (tenantId: string) => TenantIds
  /** Whether the directory says that a person has left. @param username in any spelling */
  readonly hasLeft: (tenantId: string, username: string) => boolean
  /** Writes the team of a person who has none into the directory. */
  readonly setTeam: (tenantId: string, username: string, team: string) => Promise<void>
  readonly clock: () => number
}

export function peopleFromProvider(deps: FromProviderDeps): PeopleFromProvider {
  const { users, findUser, findUserNamed, findUserAt, tenants, clock } = deps

  return {
    async signedIn(tenantId, person) {
      const username = readUsername(person.username)
      if (username === undefined) return 'Your user name has characters that no user name may have here.'
      const known = findUserAt(tenantId, person)
      // The account may have another name at the provider by now.
      if ([person.username, known?.username ?? username].some((name) => deps.hasLeft(tenantId, name))) {
        return 'The directory says that you have left.'
      }
      if (known === undefined && users.countOf(tenantId) >= USERS_MAX) return 'The tenant has too many people.'
      const user =
        known ?? (await users.createOnce(userKey(tenantId, username), await newUser(tenantId, username, person, deps)))
      if (!isAccount(user, person)) {
        return (
          `A person named ${username} exists here who signs in in another way. ` +
          'Ask an administrator to delete them first.'
        )
      }
      if (user.status !== 'active') return 'You are disabled here. Ask an administrator.'

      const hasScopes = isSame(user.scopes, person.scopes)
      const current = hasScopes
        ? user
        : ((await users.change(userKey(tenantId, user.username), (stored) =>
            stored.id === user.id ? { ...stored, scopes: person.scopes } : undefined,
          )) ?? user)
      const hasMoved = await setOwner(tenantId, current, person)
      if (person.team !== undefined) await deps.setTeam(tenantId, person.username, person.team)
      const change = known === undefined ? 'made' : hasScopes && !hasMoved ? undefined : 'changed'
      return { user: current, change }
    },

    async end(tenantId, name) {
      const username = readUsername(name)
      const user = username === undefined ? undefined : findUserNamed(tenantId, username)
      if (user === undefined) return
      const from = Math.floor(clock() / 1_000) + 1
      await users.change(userKey(tenantId, user.username), (stored) =>
        stored.id === user.id ? { ...stored, signed_in_from: from } : undefined,
      )
    },
  }

  /** The last owner of a tenant stays one. @returns whether the flag has changed */
  async function setOwner(tenantId: string, user: StoredUser, { isOwner: wanted }: ProviderPerson): Promise<boolean> {
    const is = isOwner(await tenants.read(tenantId), user.id)
    if (wanted === undefined || wanted === is) return false
    if (wanted && canBeOwner(user)) await appoint(tenants, tenantId, user.id)
    else if (!wanted)
      return (await dismiss(tenants, tenantId, user.id, (id) => findUser(id) !== undefined)) === undefined
    return wanted
  }
}

/** Nobody knows the password: nobody signs in by it. */
const newUser = async (
  tenantId: string,
  username: string,
  { issuer, subject, scopes }: ProviderPerson,
  { idsOf, clock }: FromProviderDeps,
): Promise<StoredUser> => ({
  id: randomId('usr', idsOf(tenantId)),
  tenant_id: tenantId,
  username,
  scopes,
  password: await storePassword(randomBytes(32).toString('base64url')),
  status: 'active',
  created_at: new Date(clock()).toISOString(),
  provider: { issuer, subject },
})

const isAccount = ({ provider }: StoredUser, { issuer, subject }: ProviderPerson): boolean =>
  provider?.issuer === issuer && provider.subject === subject

const isSame = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((each) => other.includes(each))
