import { consoleClientId, consoleRedirectUri } from '../../auth/console-client.js'
import { SCOPES } from '../../auth/scopes.js'
import { createClientSecret, type StoredClient, storeClientSecret } from './clients.js'

/**
 * The console's OAuth client: one for each tenant, public, with an id that follows from the tenant's. It is not stored,
 * so that every tenant has it, and nobody can take it away by mistake: to shut a person out, disable the person.
 */

/** A public client has no secret: this one was thrown away. */
const NOBODYS = storeClientSecret(createClientSecret('production'))

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
    ...NOBODYS,
    status: 'active',
    created_at: tenant.created_at,
  }
}
