/** API keys of one tenant. A test states only the members of its case. */
import { createApiKey, type Mode, type NewApiKey, type StoredApiKey } from '../../internal/auth/api-keys.js'
import { deriveTenantIds } from '../../internal/ids/ids.js'

export const TENANT = 'tnt_one'
export const TENANT_IDS = deriveTenantIds(new Uint8Array(32).fill(7), TENANT)

export function apiKey({ mode = 'production', ...stored }: { mode?: Mode } & Partial<StoredApiKey> = {}): NewApiKey {
  const wanted = { name: 'test', scopes: ['read:attribution'], expiresAt: null } as const
  const key = createApiKey(mode, TENANT, TENANT_IDS, wanted, new Date(0))
  return { secret: key.secret, stored: { ...key.stored, ...stored } }
}
