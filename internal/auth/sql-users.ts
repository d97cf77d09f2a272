import { encodeBase32 } from '../ids/base32.js'
import { isSecretOf, type Mode, storeSecret } from './api-keys.js'

/** Who may read a tenant's records by SQL: a user whose name is its id, with a password that we made. */
export interface StoredSqlUser {
  readonly id: string
  readonly tenant_id: string
  readonly name: string
  /** Hex; the hash is HMAC-SHA-256 of the password under the salt. */
  readonly salt: string
  readonly hash: string
  readonly last_four: string
  readonly status: 'active' | 'revoked'
  readonly created_at: string
  readonly expires_at: string
  readonly revoked_at?: string
}

const PREFIX: Record<Mode, string> = { production: 'sp_live_', sandbox: 'sp_test_' }

/** @param secret 32 random bytes */
export const formatSqlPassword = (mode: Mode, secret: Uint8Array): string => PREFIX[mode] + encodeBase32(secret)

export const storedSqlUser = (
  id: string,
  tenantId: string,
  password: string,
  { name, expiresAt }: { readonly name: string; readonly expiresAt: string },
  createdAt: string,
): StoredSqlUser => ({
  id,
  tenant_id: tenantId,
  name,
  ...storeSecret(password),
  last_four: password.slice(-4),
  status: 'active',
  created_at: createdAt,
  expires_at: expiresAt,
})

export type SqlUserStatus = 'active' | 'expired' | 'revoked'

/** Expired takes precedence over revoked, as for API keys. An expiry that cannot be read is past. */
export const sqlUserStatus = ({ status, expires_at }: StoredSqlUser, nowMs: number): SqlUserStatus =>
  nowMs < Date.parse(expires_at) ? status : 'expired'

/** @returns the user that a name and a password belong to, whether active or not; undefined if they belong to none */
export function sqlUserOf(
  mode: Mode,
  find: (id: string) => StoredSqlUser | undefined,
  name: string,
  password: string,
): StoredSqlUser | undefined {
  const user = password.startsWith(PREFIX[mode]) ? find(name) : undefined
  return user !== undefined && isSecretOf(user, password) ? user : undefined
}
