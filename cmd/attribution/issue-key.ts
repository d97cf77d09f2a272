import { audited } from '../../internal/access/api-keys/api-key-changes.js'
import { DAY_MS } from '../../internal/access/api-keys/status.js'
import { createApiKey, type Mode } from '../../internal/auth/api-keys.js'
import type { Scope } from '../../internal/auth/scopes.js'
import { settingsOf, type Tenant } from '../../internal/auth/tenant.js'
import type { Broker } from '../../internal/broker/connect.js'
import { deriveTenantIds } from '../../internal/ids/ids.js'
import type { MasterKeys } from '../../internal/secrets/master-keys.js'
import { signingKey } from '../../internal/secrets/signing-keys.js'
import { API_KEYS, SIGNING_KEYS } from '../../streams/buckets.js'
import { recordByCli } from './audited.js'

/** Creates an API key with the longest lifetime that the tenant's settings allow. */
export async function issueKey(
  broker: Broker,
  masterKeys: MasterKeys,
  mode: Mode,
  tenant: Tenant,
  wanted: { readonly name: string; readonly scopes: readonly Scope[] },
): Promise<{ readonly id: string; readonly secret: string; readonly expiresAt: string }> {
  const ids = deriveTenantIds(await signingKey(await broker.bucket(SIGNING_KEYS), masterKeys, 'ids'), tenant.id)
  const now = new Date()
  const lifeMs = settingsOf(tenant).api_key_max_lifetime_days * DAY_MS
  const expiresAt = new Date(now.getTime() + lifeMs).toISOString()
  const { stored, secret } = createApiKey(mode, tenant.id, ids, { ...wanted, expiresAt }, now)
  await (await broker.bucket(API_KEYS)).create(stored.id, JSON.stringify(stored))
  await recordByCli(broker, 'api_key.create', stored.id, { after: audited(stored) }, tenant.id)
  return { id: stored.id, secret, expiresAt }
}
