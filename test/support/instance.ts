/** The internals of a running service: its broker, master keys and command line; and additional tenants. */
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createApiKey } from '../../internal/auth/api-keys.js'
import { SCOPES, type Scope } from '../../internal/auth/scopes.js'
import { DEFAULT_SETTINGS, type Tenant, type TenantSettings } from '../../internal/auth/tenant.js'
import { type Broker, connectBroker } from '../../internal/broker/connect.js'
import { formatId, tenantIdsCache } from '../../internal/ids/ids.js'
import { environmentIn } from '../../internal/local/supervisor/supervised-instance.js'
import { readMasterKeys } from '../../internal/secrets/master-keys.js'
import { signingKey } from '../../internal/secrets/signing-keys.js'
import { API_KEYS, SIGNING_KEYS, TENANTS } from '../../streams/buckets.js'
import type { Ask } from './ask.js'
import { type Exit, launch } from './processes.js'
import type { Instance } from './service.js'
import { temporaryFolder } from './spool.js'

export const CLI_MAIN = fileURLToPath(new URL('../../dist/cmd/attribution/main.js', import.meta.url))

/** The caller closes the connection. */
export function connectTo({ dataDir }: Pick<Instance, 'dataDir'>): Promise<Broker> {
  const told = environmentIn(dataDir)
  return connectBroker({
    url: told['ATTRIBUTION_NATS_URL'] ?? '',
    user: told['ATTRIBUTION_NATS_USER'] ?? '',
    password: told['ATTRIBUTION_NATS_PASSWORD'] ?? '',
    name: 'test',
  })
}

/**
 * Runs a command on the instance until it exits.
 *
 * @returns what it said, without the lines that say what it waits for: on a busy machine any command may have to
 */
export async function command(
  { dataDir }: Pick<Instance, 'dataDir'>,
  args: readonly string[],
): Promise<Exit & { readonly lines: readonly string[] }> {
  const launched = launch(CLI_MAIN, { args: [...args, '--data-dir', dataDir] })
  const exit = await launched.exited
  return { ...exit, lines: launched.lines.filter((line) => !/^waiting for .* it does not answer$/.test(line)) }
}

/** Sets where a tenant's data may be, as its operator: the tenant's own change waits a day. */
export async function setRegion(service: Pick<Instance, 'dataDir'>, ask: Ask, region: string | null): Promise<void> {
  const shown = async () => (await ask('GET', '/api/v1/settings')).json
  const settings = JSON.stringify({ residency_region: region })
  await command(service, ['tenant', 'update', (await shown()).tenant_id, '--settings', settings])
  while ((await shown()).residency_region !== region);
}

/** Sets the identity provider of the first tenant. @returns what the command said */
export async function setIdentityProvider(
  service: Instance,
  description: object,
  secret: string,
): Promise<Exit & { readonly lines: readonly string[] }> {
  const folder = await temporaryFolder()
  const [file, secretFile] = [join(folder, 'provider.json'), join(folder, 'secret')]
  await writeFile(file, JSON.stringify(description))
  await writeFile(secretFile, `${secret}\n`)
  const files = ['--file', file, '--client-secret-file', secretFile]
  return command(service, ['identity-provider', 'set', service.credentials.tenant_id, ...files])
}

/** A new tenant. @returns its id and an API key of it */
export async function addTenant(
  broker: Broker,
  { dataDir }: Pick<Instance, 'dataDir'>,
  settings: Partial<TenantSettings> = {},
): Promise<{ readonly id: string; readonly apiKey: string }> {
  const id = formatId('tnt', randomBytes(16))
  const tenant: Tenant = {
    id,
    name: 'Another tenant',
    created_at: new Date().toISOString(),
    settings: { ...DEFAULT_SETTINGS, delegation: 'any', ...settings },
  }
  await (await broker.bucket(TENANTS)).create(id, JSON.stringify(tenant))
  return { id, apiKey: await addApiKey(broker, { dataDir }, id) }
}

/** A new key of a tenant. @returns its secret */
export async function addApiKey(
  broker: Broker,
  { dataDir }: Pick<Instance, 'dataDir'>,
  tenantId: string,
  scopes: readonly Scope[] = SCOPES,
): Promise<string> {
  const masterKeys = readMasterKeys({ masterKey: '', masterKeyFile: join(dataDir, 'master.key') })
  const idsOf = tenantIdsCache(await signingKey(await broker.bucket(SIGNING_KEYS), masterKeys, 'ids'))
  const wanted = { name: 'test', scopes, expiresAt: null }
  const { stored, secret } = createApiKey('production', tenantId, idsOf(tenantId), wanted, new Date())
  await (await broker.bucket(API_KEYS)).create(stored.id, JSON.stringify(stored))
  return secret
}

/** Repeats a request until the service knows a new key. */
export async function untilKnown(baseUrl: string, apiKey: string): Promise<void> {
  const ask = () => fetch(`${baseUrl}/api/v1/rate-limit`, { headers: { 'x-api-key': apiKey } })
  while ((await ask()).status === 401);
}
