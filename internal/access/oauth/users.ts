import { escapeToken } from '../../../streams/subjects.js'
import type { Scope } from '../../auth/scopes.js'
import { randomId, type TenantIds } from '../../ids/ids.js'
import { type StoredPassword, storePassword } from './passwords.js'

/** A person who may sign in, stored in the bucket `users` under `userKey`: a username is unique within its tenant. */
export interface StoredUser {
  readonly id: string
  readonly tenant_id: string
  /** Lower case. */
  readonly username: string
  /** The most that a token may carry on this person's behalf. */
  readonly scopes: readonly Scope[]
  readonly password: StoredPassword
  readonly status: 'active' | 'disabled'
  readonly created_at: string
  /**
   * Seconds since the epoch. Earlier sign-ins are invalid: the password has changed since, or the person was disabled.
   */
  readonly signed_in_from?: number
  /** Absent: none set up. */
  readonly second_factor?: StoredSecondFactor
  /** At the company's identity provider, where the person signs in instead of by password. Absent: by password. */
  readonly provider?: ProviderAccount
}

export interface StoredSecondFactor {
  /** Base32, sealed. */
  readonly sealed_secret: string
  /** The newest step whose code was accepted. */
  readonly used_step: number
}

/** An account at an OpenID provider: the two names that never change (OpenID Connect Core 5.7). */
export interface ProviderAccount {
  readonly issuer: string
  readonly subject: string
}

/** Whether a sign-in is still valid. @param authTimeS seconds since the epoch */
export const isSignedInSince = (
  { signed_in_from = 0 }: Pick<StoredUser, 'signed_in_from'>,
  authTimeS: number,
): boolean => authTimeS >= signed_in_from

const USERNAME = /^[a-z0-9][a-z0-9._@+-]{0,127}$/

/** @returns the spelling under which a username is stored; undefined for an invalid one */
export function readUsername(text: string): string | undefined {
  const username = text.trim().toLowerCase()
  return USERNAME.test(username) ? username : undefined
}

export const userKey = (tenantId: string, username: string): string => `${tenantId}.${escapeToken(username)}`

/** @param wanted a username as `readUsername` gives it, and a password of the right length */
export const createUser = (
  tenantId: string,
  ids: TenantIds,
  wanted: WantedUser,
  createdAt: Date,
): Promise<StoredUser> => storedUser(randomId('usr', ids), tenantId, wanted, createdAt)

export interface WantedUser {
  readonly username: string
  readonly password: string
  readonly scopes: readonly Scope[]
}

export async function storedUser(
  id: string,
  tenantId: string,
  wanted: WantedUser,
  createdAt: Date,
): Promise<StoredUser> {
  return {
    id,
    tenant_id: tenantId,
    username: wanted.username,
    scopes: wanted.scopes,
    password: await storePassword(wanted.password),
    status: 'active',
    created_at: createdAt.toISOString(),
  }
}

/** All people of the instance in memory, by name for sign-ins and by id for checks of their tokens. */
export class UserDirectory {
  private readonly byKey = new Map<string, StoredUser>()
  private readonly byId = new Map<string, StoredUser>()
  private readonly byAccount = new Map<string, StoredUser>()

  /** Applies a change of the bucket. @returns the ids of the affected people */
  follow(key: string, user: StoredUser | undefined): readonly string[] {
    const before = this.byKey.get(key)
    if (before !== undefined) {
      this.byId.delete(before.id)
      if (before.provider !== undefined) this.byAccount.delete(accountKey(before.tenant_id, before.provider))
    }
    if (user === undefined) {
      this.byKey.delete(key)
    } else {
      this.byKey.set(key, user)
      this.byId.set(user.id, user)
      if (user.provider !== undefined) this.byAccount.set(accountKey(user.tenant_id, user.provider), user)
    }
    return [...new Set([before?.id, user?.id])].filter((id) => id !== undefined)
  }

  named(tenantId: string, username: string): StoredUser | undefined {
    return this.byKey.get(userKey(tenantId, username))
  }

  /** Of an account at an identity provider. */
  at(tenantId: string, account: ProviderAccount): StoredUser | undefined {
    return this.byAccount.get(accountKey(tenantId, account))
  }

  withId(id: string): StoredUser | undefined {
    return this.byId.get(id)
  }
}

const accountKey = (tenantId: string, { issuer, subject }: ProviderAccount): string =>
  JSON.stringify([tenantId, issuer, subject])
