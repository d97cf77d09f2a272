import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import {
  type ProviderSettings,
  providerId,
  providerSchema,
  redirectUriOf,
  type StoredProvider,
  secretContext,
} from '../../internal/access/identity-provider/provider.js'
import type { Broker } from '../../internal/broker/connect.js'
import { ConfigError } from '../../internal/config/settings.js'
import { tenantIdsCache } from '../../internal/ids/ids.js'
import { readMasterKeys } from '../../internal/secrets/master-keys.js'
import { seal } from '../../internal/secrets/seal.js'
import { signingKey } from '../../internal/secrets/signing-keys.js'
import { expectedForm } from '../../internal/text/expected-form.js'
import { IDENTITY_PROVIDERS, SIGNING_KEYS } from '../../streams/buckets.js'
import { recordByCli } from './audited.js'
import { connectInstanceBroker, dataDirOption, type InstanceOption, readInstanceConfig } from './connect.js'
import { findTenant } from './tenant.js'

interface SetOptions extends InstanceOption {
  readonly file: string
  readonly clientSecretFile: string
}

export const identityProviderCommand = (): Command =>
  new Command('identity-provider')
    .description('The OpenID provider at which the people of a tenant sign in.')
    .addCommand(
      new Command('set')
        .description(
          'Sets the identity provider of a tenant, in place of the one before. Register the redirect address ' +
            'that it prints with the provider.',
        )
        .argument('<tenant>')
        .requiredOption(
          '--file <json>',
          'its description: name, issuer, client_id, groups (see deploy/docs/sign-in.md)',
        )
        .requiredOption('--client-secret-file <file>', 'a file with the secret that the provider has given')
        .addOption(dataDirOption())
        .action(runSet),
    )
    .addCommand(
      new Command('show')
        .description('Prints the identity provider of a tenant as JSON, without the secret.')
        .argument('<tenant>')
        .addOption(dataDirOption())
        .action(runShow),
    )
    .addCommand(
      new Command('delete')
        .description('Removes the identity provider of a tenant. People who came from it can no longer sign in.')
        .argument('<tenant>')
        .addOption(dataDirOption())
        .action(runDelete),
    )

async function runSet(tenantId: string, { file, clientSecretFile, ...options }: SetOptions): Promise<void> {
  const settings = readSettings(file)
  const secret = readText(clientSecretFile).trim()
  if (secret === '') throw new ConfigError(`${clientSecretFile} has no secret`)
  const config = readInstanceConfig(options)
  const masterKeys = readMasterKeys(config)
  const broker = await connectInstanceBroker(config)
  await findTenant(broker, tenantId)
  const bucket = await broker.bucket(IDENTITY_PROVIDERS)
  const before = await storedProvider(broker, tenantId)
  const ids = tenantIdsCache(await signingKey(await broker.bucket(SIGNING_KEYS), masterKeys, 'ids'))
  const provider: StoredProvider = {
    ...settings,
    id: providerId(ids(tenantId), settings),
    tenant_id: tenantId,
    sealed_client_secret: seal(masterKeys, secretContext(tenantId), Buffer.from(secret)),
    updated_at: new Date().toISOString(),
  }
  await bucket.put(tenantId, JSON.stringify(provider))
  const changes = { ...(before && { before: withoutSecret(before) }), after: withoutSecret(provider) }
  await recordByCli(broker, 'identity_provider.put', tenantId, JSON.parse(JSON.stringify(changes)), tenantId)
  await broker.close()
  process.stdout.write(`redirect address: <base URL>${redirectUriOf('', provider)}\n`)
}

async function runShow(tenantId: string, options: InstanceOption): Promise<void> {
  const broker = await connectInstanceBroker(readInstanceConfig(options))
  const provider = await storedProvider(broker, tenantId)
  await broker.close()
  if (provider === undefined) throw new ConfigError(`tenant ${tenantId} has no identity provider`)
  process.stdout.write(`${JSON.stringify(withoutSecret(provider), null, 2)}\n`)
}

async function runDelete(tenantId: string, options: InstanceOption): Promise<void> {
  const broker = await connectInstanceBroker(readInstanceConfig(options))
  const before = await storedProvider(broker, tenantId)
  if (before === undefined) throw new ConfigError(`tenant ${tenantId} has no identity provider`)
  await (await broker.bucket(IDENTITY_PROVIDERS)).delete(tenantId)
  const changes = { before: JSON.parse(JSON.stringify(withoutSecret(before))) }
  await recordByCli(broker, 'identity_provider.delete', tenantId, changes, tenantId)
  await broker.close()
}

async function storedProvider(broker: Broker, tenantId: string): Promise<StoredProvider | undefined> {
  const entry = await (await broker.bucket(IDENTITY_PROVIDERS)).get(tenantId)
  return entry?.operation === 'PUT' ? entry.json<StoredProvider>() : undefined
}

const withoutSecret = ({
  sealed_client_secret: _,
  ...shown
}: StoredProvider): Omit<StoredProvider, 'sealed_client_secret'> => shown

/** @throws ConfigError */
function readSettings(file: string): ProviderSettings {
  let value: unknown
  try {
    value = JSON.parse(readText(file))
  } catch (cause) {
    throw cause instanceof ConfigError ? cause : new ConfigError(`${file} is not JSON`)
  }
  const read = providerSchema.safeParse(value, { error: expectedForm })
  if (read.success) return read.data
  const lines = read.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
  throw new ConfigError(`${file} does not describe an identity provider: ${lines.join('; ')}`)
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    throw new ConfigError(`${file} cannot be read`)
  }
}
