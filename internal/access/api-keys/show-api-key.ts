import type { StoredApiKey } from '../../auth/api-keys.js'
import type { ShownApiKey } from './api-key-contract.js'
import { statusOf } from './status.js'

/** The API's form of a key, without its secret and the secret's hash. */
export const shownApiKey = (key: StoredApiKey, lastUsedAt: string | null, nowMs: number): ShownApiKey => ({
  id: key.id,
  name: key.name,
  scopes: [...key.scopes],
  expires_at: key.expires_at,
  created_at: key.created_at,
  last_four: key.last_four,
  status: statusOf(key, nowMs),
  last_used_at: lastUsedAt,
  ingestion_layers: key.ingestion_layers === undefined ? null : [...key.ingestion_layers],
  trusts_cost: key.trusts_cost !== false,
  is_gateway: key.is_gateway === true,
})
