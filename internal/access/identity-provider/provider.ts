import { z } from 'zod'
import { SCOPES } from '../../auth/scopes.js'
import { idOfName, type TenantIds } from '../../ids/ids.js'
import { plainText } from '../../text/plain-text.js'

/**
 * A tenant's own OpenID provider, where its people sign in to the console and other clients. The operator registers it
 * with the command line (`attribution identity-provider`): its addresses are called from inside the network of the
 * service.
 */

const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]']

const issuer = z
  .url()
  .max(512)
  .refine(
    (text) => {
      const { protocol, hostname, search, hash } = new URL(text)
      return (protocol === 'https:' || (protocol === 'http:' && LOOPBACK.includes(hostname))) && search + hash === ''
    },
    { message: 'must be an https address without a query' },
  )

const group = z.strictObject({
  /** As the provider names it, or its id. */
  group: plainText(256),
  scopes: z.array(z.enum(SCOPES)).min(1).default([]),
  /** Whether its members are owners of the tenant. */
  owner: z.boolean().default(false),
  /** The team of the directory to which the calls of its members belong, unless SCIM has named one. */
  team: plainText(256).optional(),
})

const CLIENT_AUTHENTICATIONS = ['client_secret_basic', 'client_secret_post'] as const

/** A provider as its operator configures it; the secret is passed separately. */
export const providerSchema = z
  .strictObject({
    /** As people know it: "Sign in with …". */
    name: plainText(64),
    issuer,
    client_id: plainText(512),
    /** What is asked of the provider (OAuth's `scope`), separated by spaces. */
    scope: plainText(512)
      .refine((text) => text.split(' ').includes('openid'), 'must contain openid')
      .default('openid profile email'),
    /** How the client proves itself at the token endpoint. Default: as the provider says. */
    client_authentication: z.enum(CLIENT_AUTHENTICATIONS).optional(),
    /** The claim with a person's groups: a list of names or ids. A dot leads into an object (`realm_access.roles`). */
    groups_claim: plainText(128).default('groups'),
    /** The claim with a person's user name. */
    username_claim: plainText(128).default('preferred_username'),
    /** The permissions of each group's members; those of several groups add up. Nobody else may sign in. */
    groups: z.array(group).min(1).max(200),
    /** Whether nobody signs in by password any more. */
    only: z.boolean().default(false),
  })
  .refine(({ groups }) => groups.every(({ owner, scopes }) => !owner || scopes.includes('admin:config')), {
    path: ['groups'],
    message: 'owners need the scope admin:config',
  })
export type ProviderSettings = z.infer<typeof providerSchema>

/** Stored in the bucket `identity_providers` under the tenant's id. */
export interface StoredProvider extends Omit<ProviderSettings, 'scope'> {
  readonly tenant_id: string
  readonly sealed_client_secret: string
  readonly updated_at: string
  /** Of its redirect address. Absent: set by a version whose providers shared one. */
  readonly id?: string
  /** Absent: set by an earlier version. */
  readonly scope?: string
}

export const secretContext = (tenantId: string): string => `identity_provider.${tenantId}`

/** Another issuer, or another client of it, is another provider. */
export const providerId = (
  ids: TenantIds,
  { issuer: at, client_id: client }: Pick<ProviderSettings, 'issuer' | 'client_id'>,
): string => idOfName('idp', ids, 'identity-provider', `${at}\n${client}`)

export const CALLBACK_PATH = '/v1/oauth/callback'

/**
 * Where a provider sends people back; registered with it. One address per tenant and provider: an answer of an honest
 * provider cannot be taken for one of a hostile tenant's (mix-up, RFC 9700 4.4).
 */
export const redirectUriOf = (baseUrl: string, { id }: Pick<StoredProvider, 'id'>): string =>
  id === undefined ? `${baseUrl}${CALLBACK_PATH}` : `${baseUrl}${CALLBACK_PATH}/${id}`
