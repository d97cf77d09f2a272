import { randomBytes } from 'node:crypto'
import { isSecretOf, type Mode, storeSecret } from '../../auth/api-keys.js'
import type { Billing } from '../../auth/billing.js'
import { consoleClientId, consoleRedirectUri } from '../../auth/console-client.js'
import { SCOPES, type Scope } from '../../auth/scopes.js'
import { encodeBase32 } from '../../ids/base32.js'
import { randomId, type TenantIds } from '../../ids/ids.js'

export const GRANT_TYPES = ['client_credentials', 'authorization_code', 'refresh_token'] as const
export type GrantType = (typeof GRANT_TYPES)[number]

/** An OAuth client, stored under its id in the bucket `clients`, without the secret itself. */
export interface StoredClient {
  readonly id: string
  readonly tenant_id: string
  readonly name: string
  /** The most that a token of this client may carry. */
  readonly scopes: readonly Scope[]
  readonly grant_types: readonly GrantType[]
  /** For the code flow; compared exactly (`isRegistered`). */
  readonly redirect_uris: readonly string[]
  /** True: it runs where others can read it, and has no secret: nobody has the one behind the hash. */
  readonly is_public?: boolean
  /** False: costs that it states do not count. Absent: they do. */
  readonly trusts_cost?: boolean
  /** True: a gateway, whose word on who called counts. */
  readonly is_gateway?: boolean
  /** Who pays for calls that do not say it. Absent: auto. */
  readonly billing?: Billing
  /** Hex; the hash is HMAC-SHA-256 of the secret under the salt, as of an API key. */
  readonly salt: string
  readonly hash: string
  readonly last_four: string
  readonly status: 'active' | 'disabled'
  readonly created_at: string
}

export interface WantedClient {
  /** Absent: confidential. */
  readonly isPublic?: boolean
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly grantTypes: readonly GrantType[]
  readonly redirectUris: readonly string[]
  /** Whether costs that it states count. Absent: they do. */
  readonly trustsCost?: boolean | undefined
  readonly isGateway?: boolean | undefined
  readonly billing?: Billing | undefined
}

export interface NewClient {
  readonly stored: StoredClient
  /** Shown once. */
  readonly secret: string
}

/** The secrets of production and sandbox differ in their first letters, as API keys do. */
const PREFIX: Record<Mode, string> = { production: 'cs_live_', sandbox: 'cs_test_' }
const SECRET = /^cs_(live|test)_[0-9a-z]{52}$/

export const createClientSecret = (mode: Mode): string => formatClientSecret(mode, randomBytes(32))

/** @param secret 32 random bytes */
export const formatClientSecret = (mode: Mode, secret: Uint8Array): string => PREFIX[mode] + encodeBase32(secret)

/** @param wanted validated: at least one scope and grant, and redirect addresses that `isRedirectUri` accepts */
export function createClient(
  mode: Mode,
  tenantId: string,
  ids: TenantIds,
  wanted: WantedClient,
  createdAt: Date,
): NewClient {
  const secret = createClientSecret(mode)
  return { secret, stored: storedClient(randomId('cli', ids), tenantId, wanted, secret, createdAt) }
}

export const storedClient = (
  id: string,
  tenantId: string,
  wanted: WantedClient,
  secret: string,
  createdAt: Date,
): StoredClient => ({
  id,
  tenant_id: tenantId,
  name: wanted.name,
  scopes: wanted.scopes,
  grant_types: wanted.grantTypes,
  redirect_uris: wanted.redirectUris,
  ...(wanted.isPublic === true && { is_public: true }),
  ...(wanted.trustsCost === false && { trusts_cost: false }),
  ...(wanted.isGateway === true && { is_gateway: true }),
  ...(wanted.billing !== undefined && { billing: wanted.billing }),
  ...storeClientSecret(secret),
  status: 'active',
  created_at: createdAt.toISOString(),
})

/** The stored form of a secret. */
export const storeClientSecret = (secret: string): Pick<StoredClient, 'salt' | 'hash' | 'last_four'> => ({
  ...storeSecret(secret),
  last_four: secret.slice(-4),
})

/** Unknown clients are compared with this, so that the check takes as long as for a known client. */
const NO_PASSWORD = storeSecret(createClientSecret('production'))

/**
 * Whether the secret is the client's, of this mode, and the client is active. Takes equally long for an unknown client.
 */
export function isClientSecret(mode: Mode, client: StoredClient | undefined, secret: string): boolean {
  const isRight = isSecretOf(client ?? NO_PASSWORD, secret)
  return isRight && SECRET.test(secret) && secret.startsWith(PREFIX[mode]) && client?.status === 'active'
}

/**
 * The console's OAuth client: one for each tenant, public, with an id that follows from the tenant's. It is not stored,
 * so that every tenant has it, and nobody can take it away by mistake: to shut a person out, disable the person.
 */

/** A public client has no secret: nobody knows this one. */
const UNUSED_SECRET = storeClientSecret(createClientSecret('production'))

export const isConsoleClient = ({ id, tenant_id: tenantId }: StoredClient): boolean => id === consoleClientId(tenantId)

/**
 * Finds the console's client by its id.
 *
 * @param findTenant undefined for an unknown tenant
 */
export function findConsoleClient(
  clientId: string,
  baseUrl: string,
  findTenant: (tenantId: string) => { readonly created_at: string } | undefined,
): StoredClient | undefined {
  const tenantId = clientId.replace(/^cli_/, 'tnt_')
  const tenant = findTenant(tenantId)
  if (tenant === undefined || consoleClientId(tenantId) !== clientId) return undefined
  return {
    id: clientId,
    tenant_id: tenantId,
    name: 'Console',
    scopes: SCOPES,
    grant_types: ['authorization_code', 'refresh_token'],
    redirect_uris: [consoleRedirectUri(baseUrl)],
    is_public: true,
    ...UNUSED_SECRET,
    status: 'active',
    created_at: tenant.created_at,
  }
}
