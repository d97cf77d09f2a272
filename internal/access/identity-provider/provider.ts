import { z } from 'zod'
import { SCOPES } from '../../auth/scopes.js'
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
  /** As the provider names it. */
  group: plainText(256),
  scopes: z.array(z.enum(SCOPES)).min(1).default([]),
  /** Whether its members are owners of the tenant. */
  owner: z.boolean().default(false),
  /** The team of the directory to which the calls of its members belong, unless SCIM has named one. */
  team: plainText(256).optional(),
})

/** A provider as its operator configures it; the secret is passed separately. */
export const providerSchema = z
  .strictObject({
    /** As people know it: "Sign in with …". */
    name: plainText(64),
    issuer,
    client_id: plainText(512),
    /** The claim with a person's groups: a list of names. */
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
export interface StoredProvider extends ProviderSettings {
  readonly tenant_id: string
  readonly sealed_client_secret: string
  readonly updated_at: string
}

export const secretContext = (tenantId: string): string => `identity_provider.${tenantId}`
