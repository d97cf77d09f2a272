import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { API_KEYS, type Bucket, SIGNING_KEYS, TENANTS } from '../../streams/buckets.js'
import { DEFAULT_SETTINGS, type Tenant } from '../attribution/tenant.js'
import { createApiKey, type Mode, parseApiKey, type StoredApiKey, storeSecret } from '../auth/api-keys.js'
import { SCOPES } from '../auth/scopes.js'
import type { Broker } from '../broker/connect.js'
import { isLostRace } from '../broker/errors.js'
import { ConfigError } from '../config/settings.js'
import { formatId, tenantIdsCache } from '../ids/ids.js'
import type { MasterKeys } from '../secrets/master-keys.js'
import { signingKey } from '../secrets/signing-keys.js'
import { type InstanceFiles, writePrivate } from './instance.js'

/** What the first user of an instance needs, in `<data-dir>/credentials.json`. */
export interface Credentials {
  readonly base_url: string
  readonly tenant_id: string
  /** All scopes. */
  readonly api_key: string
}

/**
 * Makes the first tenant and its key on the first start; later starts keep them. The file is written before the
 * records, which are then made from it: a crash between them leaves nothing that does not work.
 */
export async function bootstrapTenant(
  broker: Broker,
  files: InstanceFiles,
  masterKeys: MasterKeys,
  mode: Mode,
  baseUrl: string,
): Promise<Credentials> {
  const credentials = await readOrMake(broker, files, masterKeys, mode, baseUrl)
  const presented = parseApiKey(mode, credentials.api_key)
  if (presented === undefined) {
    throw new ConfigError(`${files.credentials} holds no key for mode ${mode}; use another --data-dir for another mode`)
  }

  const now = new Date().toISOString()
  const tenant: Tenant = {
    id: credentials.tenant_id,
    name: 'First tenant',
    created_at: now,
    settings: DEFAULT_SETTINGS,
  }
  const key: StoredApiKey = {
    id: presented.id,
    tenant_id: credentials.tenant_id,
    name: 'First key, made at the first start',
    scopes: SCOPES,
    ...storeSecret(presented.secret),
    last_four: credentials.api_key.slice(-4),
    status: 'active',
    created_at: now,
    expires_at: null,
  }
  await createUnlessThere(broker, TENANTS, tenant)
  await createUnlessThere(broker, API_KEYS, key)
  return credentials
}

async function readOrMake(
  broker: Broker,
  files: InstanceFiles,
  masterKeys: MasterKeys,
  mode: Mode,
  baseUrl: string,
): Promise<Credentials> {
  if (existsSync(files.credentials)) {
    const kept = JSON.parse(readFileSync(files.credentials, 'utf8')) as Credentials
    const current: Credentials = { ...kept, base_url: baseUrl }
    if (kept.base_url !== baseUrl) writePrivate(files.credentials, `${JSON.stringify(current, null, 2)}\n`)
    return current
  }
  const idsOf = tenantIdsCache(await signingKey(await broker.bucket(SIGNING_KEYS), masterKeys, 'ids'))
  const tenantId = formatId('tnt', randomBytes(16))
  const { secret } = createApiKey(
    mode,
    tenantId,
    idsOf(tenantId),
    { name: '', scopes: SCOPES, expiresAt: null },
    new Date(),
  )
  const made: Credentials = { base_url: baseUrl, tenant_id: tenantId, api_key: secret }
  writePrivate(files.credentials, `${JSON.stringify(made, null, 2)}\n`)
  return made
}

async function createUnlessThere(broker: Broker, where: Bucket, record: { readonly id: string }): Promise<void> {
  const bucket = await broker.bucket(where)
  try {
    await bucket.create(record.id, JSON.stringify(record))
  } catch (cause) {
    if (!isLostRace(cause)) throw cause
  }
}
