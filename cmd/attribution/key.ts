import { Command, InvalidArgumentError } from 'commander'
import { SCOPES, type Scope } from '../../internal/auth/scopes.js'
import { readMasterKeys } from '../../internal/secrets/master-keys.js'
import { connectInstanceBroker, dataDirOption, type InstanceOption, readInstanceConfig } from './connect.js'
import { issueKey } from './issue-key.js'
import { findTenant } from './tenant.js'

interface CreateOptions extends InstanceOption {
  readonly tenant: string
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly json?: true
}

export const keyCommand = (): Command =>
  new Command('key').description('API keys.').addCommand(
    new Command('create')
      .description(
        'Creates an API key for a tenant, for example when its last key is lost. The key is shown only once. The ' +
          'operator may give any scopes, whatever the setting `delegation` of the tenant is.',
      )
      .requiredOption('--tenant <id>', 'tenant of the key')
      .option('--name <text>', 'name of the key', 'Made on the command line')
      .option('--scopes <list>', `comma-separated list of ${SCOPES.join(', ')}`, readScopes, SCOPES)
      .addOption(dataDirOption())
      .option('--json', 'print the key as JSON')
      .action(runCreate),
  )

function readScopes(text: string): readonly Scope[] {
  const names = text.split(',')
  const scopes = SCOPES.filter((scope) => names.includes(scope))
  if (scopes.length !== new Set(names).size)
    throw new InvalidArgumentError(`It must be a comma-separated list of ${SCOPES.join(', ')}.`)
  return scopes
}

async function runCreate({ tenant: tenantId, name, scopes, ...options }: CreateOptions): Promise<void> {
  const config = readInstanceConfig(options)
  const masterKeys = readMasterKeys(config)
  const broker = await connectInstanceBroker(config)
  const tenant = await findTenant(broker, tenantId)
  const key = await issueKey(broker, masterKeys, config.mode, tenant, { name, scopes })
  await broker.close()
  const shown = { id: key.id, tenant_id: tenantId, scopes, expires_at: key.expiresAt, secret: key.secret }
  process.stdout.write(
    options.json === true
      ? `${JSON.stringify(shown)}\n`
      : `${key.secret}\n(shown only once; expires ${key.expiresAt})\n`,
  )
}
