import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { KV } from '@nats-io/kv'
import { API_KEYS, CLIENTS, SIGNING_KEYS, TENANTS, USERS } from '../../../streams/buckets.js'
import { createClientSecret, GRANT_TYPES, storedClient, type WantedClient } from '../../access/oauth/clients.js'
import { createUser, type StoredUser, userKey } from '../../access/oauth/users.js'
import { appoint, canBeOwner } from '../../access/users/owners.js'
import { createApiKey, type Mode, parseApiKey, type StoredApiKey, storeSecret } from '../../auth/api-keys.js'
import { SCOPES } from '../../auth/scopes.js'
import { DEFAULT_SETTINGS, type Tenant } from '../../auth/tenant.js'
import type { Broker } from '../../broker/connect.js'
import { isLostRace } from '../../broker/errors.js'
import { bucketRecords } from '../../broker/records.js'
import { ConfigError } from '../../config/settings.js'
import { deriveTenantIds, formatId, randomId, type TenantIds } from '../../ids/ids.js'
import { readWhole, writeDurably } from '../../process/durable-files.js'
import type { MasterKeys } from '../../secrets/master-keys.js'
import { signingKey } from '../../secrets/signing-keys.js'
import type { InstanceFiles } from './supervised-instance.js'

/** The credentials of the first user of an instance, in `<data-dir>/credentials.json`. */
export interface Credentials {
  readonly base_url: string
  /** Where people look; names the tenant, so that a person need not. */
  readonly console_url: string
  readonly tenant_id: string
  /** An OAuth client with all scopes: for client credentials and for users who sign in. */
  readonly client_id: string
  readonly client_secret: string
  /** All scopes. */
  readonly api_key: string
  /** A user with all scopes, an owner of the tenant. */
  readonly admin_username: string
  readonly admin_password: string
}

/** Redirect URIs of the first client: a program on the user's machine, on any port. */
const FIRST_REDIRECT_URIS = ['http://127.0.0.1/callback', 'http://[::1]/callback']

/**
 * Creates the first tenant and its credentials on the first start; later starts keep them. The file is written before
 * the records, which are created from it: after a crash between them, the next start completes the records.
 */
export async function bootstrapTenant(
  broker: Broker,
  files: InstanceFiles,
  masterKeys: MasterKeys,
  mode: Mode,
  baseUrl: string,
): Promise<Credentials> {
  const credentials = await readOrCreate(broker, files, masterKeys, mode, baseUrl)
  const presented = parseApiKey(mode, credentials.api_key)
  if (presented === undefined) {
    throw new ConfigError(`${files.credentials} has no key for mode ${mode}; use another --data-dir for another mode`)
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
  const createdAt = new Date(now)
  await createIfMissing(await broker.bucket(TENANTS), tenant.id, () => tenant)
  await createIfMissing(await broker.bucket(API_KEYS), key.id, () => key)
  await createIfMissing(await broker.bucket(CLIENTS), credentials.client_id, () =>
    storedClient(credentials.client_id, tenant.id, FIRST_CLIENT, credentials.client_secret, createdAt),
  )
  const ids = await tenantIdsOf(broker, masterKeys, tenant.id)
  const { admin_username: username, admin_password: password } = credentials
  await createIfMissing(await broker.bucket(USERS), userKey(tenant.id, username), () =>
    createUser(tenant.id, ids, { username, password, scopes: SCOPES }, createdAt),
  )
  await appointFirstOwner(broker, tenant.id, username)
  return credentials
}

/** Makes the first user the owner of a tenant that has none. */
async function appointFirstOwner(broker: Broker, tenantId: string, username: string): Promise<void> {
  const entry = await (await broker.bucket(USERS)).get(userKey(tenantId, username))
  if (entry?.operation !== 'PUT') return
  const { id, ...user } = entry.json<StoredUser>()
  const tenants = bucketRecords<Tenant>(await broker.bucket(TENANTS), async () => undefined)
  if (canBeOwner(user)) await appoint(tenants, tenantId, id, true)
}

const FIRST_CLIENT: WantedClient = {
  name: 'First client, made at the first start',
  scopes: SCOPES,
  grantTypes: GRANT_TYPES,
  redirectUris: FIRST_REDIRECT_URIS,
}

const TORN_CREDENTIALS =
  'put it back from your copy of it; or remove it, and the next start makes a new tenant with its own credentials, which ' +
  'sees nothing of the former one'

/** The credentials of the file, and those that it lacks. */
async function readOrCreate(
  broker: Broker,
  files: InstanceFiles,
  masterKeys: MasterKeys,
  mode: Mode,
  baseUrl: string,
): Promise<Credentials> {
  const file = existsSync(files.credentials)
    ? (readWhole(files.credentials, JSON.parse, TORN_CREDENTIALS) as Partial<Credentials>)
    : {}
  const { base_url: _base, console_url: _console, ...kept } = file
  const tenantId = kept.tenant_id ?? formatId('tnt', randomBytes(16))
  const ids = await tenantIdsOf(broker, masterKeys, tenantId)
  const current: Credentials = {
    base_url: baseUrl,
    console_url: `${baseUrl}/console/t/${tenantId}`,
    tenant_id: tenantId,
    client_id: randomId('cli', ids),
    client_secret: createClientSecret(mode),
    api_key: createApiKey(mode, tenantId, ids, { name: '', scopes: SCOPES, expiresAt: null }, new Date()).secret,
    admin_username: 'admin',
    admin_password: randomBytes(18).toString('base64url'),
    ...kept,
  }
  const isUnchanged = Object.entries(current).every(([name, value]) => file[name as keyof Credentials] === value)
  if (!isUnchanged) writeDurably(files.credentials, `${JSON.stringify(current, null, 2)}\n`)
  return current
}

const tenantIdsOf = async (broker: Broker, masterKeys: MasterKeys, tenantId: string): Promise<TenantIds> =>
  deriveTenantIds(await signingKey(await broker.bucket(SIGNING_KEYS), masterKeys, 'ids'), tenantId)

/** @param make called only if the key is missing: to hash a password takes a while */
async function createIfMissing(bucket: KV, key: string, make: () => object | Promise<object>): Promise<void> {
  if ((await bucket.get(key)) !== null) return
  try {
    await bucket.create(key, JSON.stringify(await make()))
  } catch (cause) {
    if (!isLostRace(cause)) throw cause
  }
}
