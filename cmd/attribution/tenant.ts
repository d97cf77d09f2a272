import { randomBytes } from 'node:crypto'
import { Command, InvalidArgumentError } from 'commander'
import { type SettingsPatch, settingsPatch } from '../../internal/access/tenants/tenant-contract.js'
import { changesBetween, patchedByOperator } from '../../internal/access/tenants/tenant-settings.js'
import { SCOPES } from '../../internal/auth/scopes.js'
import { DEFAULT_SETTINGS, settingsOf, type Tenant } from '../../internal/auth/tenant.js'
import type { Broker } from '../../internal/broker/connect.js'
import { bucketRecords } from '../../internal/broker/records.js'
import { ConfigError } from '../../internal/config/settings.js'
import { formatId } from '../../internal/ids/ids.js'
import { readMasterKeys } from '../../internal/secrets/master-keys.js'
import { expectedForm } from '../../internal/text/expected-form.js'
import { TENANTS } from '../../streams/buckets.js'
import { recordByCli } from './audited.js'
import { connectInstanceBroker, dataDirOption, type InstanceOption, readInstanceConfig } from './connect.js'
import { issueKey } from './issue-key.js'

interface JsonOption extends InstanceOption {
  readonly json?: true
}

export const tenantCommand = (): Command =>
  new Command('tenant')
    .description('The tenants of the instance.')
    .addCommand(
      new Command('create')
        .description(
          'Creates a tenant and its first API key. The key has all scopes and is shown only once. The first ' +
            'administrator that is created with it is an owner of the tenant. Credentials may give others only ' +
            'what they hold (setting `delegation`).',
        )
        .requiredOption('--name <text>', 'name of the tenant', readName)
        .option(
          '--settings <json>',
          'settings that differ from the defaults, as in the body of PATCH /api/v1/settings',
          readPatch,
        )
        .addOption(dataDirOption())
        .option('--json', 'print the result as JSON')
        .action(runCreate),
    )
    .addCommand(
      new Command('list')
        .description('Lists the tenants, oldest first.')
        .addOption(dataDirOption())
        .option('--json', 'print one JSON object per line')
        .action(runList),
    )
    .addCommand(
      new Command('show')
        .description('Prints a tenant and its settings as JSON.')
        .argument('<id>')
        .addOption(dataDirOption())
        .action(runShow),
    )
    .addCommand(
      new Command('update')
        .description(
          'Changes settings of a tenant. Rate limits that are set here become the highest that the tenant itself ' +
            'can set.',
        )
        .argument('<id>')
        .requiredOption('--settings <json>', 'settings to change, as in the body of PATCH /api/v1/settings', readPatch)
        .addOption(dataDirOption())
        .action(runUpdate),
    )

function readPatch(text: string): SettingsPatch {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new InvalidArgumentError('It must be JSON.')
  }
  const read = settingsPatch.safeParse(value, { error: expectedForm })
  if (read.success) return read.data
  const [issue] = read.error.issues
  throw new InvalidArgumentError(`${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`.trim())
}

const readName = (text: string): string => readPatch(JSON.stringify({ name: text })).name ?? ''

async function runCreate(
  options: JsonOption & { readonly name: string; readonly settings?: SettingsPatch },
): Promise<void> {
  const config = readInstanceConfig(options)
  const masterKeys = readMasterKeys(config)
  const broker = await connectInstanceBroker(config)
  const defaults: Tenant = {
    id: formatId('tnt', randomBytes(16)),
    name: options.name,
    created_at: new Date().toISOString(),
    settings: DEFAULT_SETTINGS,
  }
  const tenant = patchedByOperator(defaults, options.settings ?? {}, Date.now())
  await (await broker.bucket(TENANTS)).create(tenant.id, JSON.stringify(tenant))
  const changes = { after: { name: tenant.name, ...changesBetween(defaults, tenant)?.after } }
  await recordByCli(broker, 'tenant.create', tenant.id, changes, tenant.id)
  const key = await issueKey(broker, masterKeys, config.mode, tenant, { name: 'First key', scopes: SCOPES })
  await broker.close()
  const { secret, expiresAt } = key
  process.stdout.write(
    options.json === true
      ? `${JSON.stringify({ tenant_id: tenant.id, name: tenant.name, api_key: secret, expires_at: expiresAt })}\n`
      : `tenant   ${tenant.id}\napi key  ${secret}\n` +
          `(the key has all scopes, is shown only once, and expires ${expiresAt})\n`,
  )
}

async function runList(options: JsonOption): Promise<void> {
  const broker = await connectInstanceBroker(readInstanceConfig(options))
  const tenants: Tenant[] = []
  const bucket = await broker.bucket(TENANTS)
  for await (const id of await bucket.keys()) {
    const entry = await bucket.get(id)
    if (entry !== null) tenants.push(entry.json<Tenant>())
  }
  await broker.close()
  tenants.sort((one, other) => (one.created_at < other.created_at ? -1 : 1))
  for (const { id, name, created_at } of tenants) {
    process.stdout.write(
      options.json === true ? `${JSON.stringify({ id, name, created_at })}\n` : `${id}  ${created_at}  ${name}\n`,
    )
  }
}

async function runShow(id: string, options: InstanceOption): Promise<void> {
  const broker = await connectInstanceBroker(readInstanceConfig(options))
  const tenant = await findTenant(broker, id)
  await broker.close()
  process.stdout.write(`${JSON.stringify({ ...tenant, settings: settingsOf(tenant) }, null, 2)}\n`)
}

async function runUpdate(id: string, options: InstanceOption & { readonly settings: SettingsPatch }): Promise<void> {
  const broker = await connectInstanceBroker(readInstanceConfig(options))
  let before: Tenant | undefined
  const records = bucketRecords<Tenant>(await broker.bucket(TENANTS), async () => undefined)
  const after = await records.change(id, (tenant) => {
    before = tenant
    return patchedByOperator(tenant, options.settings, Date.now())
  })
  if (before === undefined || after === undefined) throw unknownTenant(id)
  await recordByCli(broker, 'tenant.update', id, changesBetween(before, after) ?? {}, id)
  await broker.close()
  process.stdout.write(`${JSON.stringify({ ...after, settings: settingsOf(after) }, null, 2)}\n`)
}

/** @throws ConfigError when the tenant does not exist */
export async function findTenant(broker: Broker, id: string): Promise<Tenant> {
  const entry = await (await broker.bucket(TENANTS)).get(id)
  if (entry?.operation !== 'PUT') throw unknownTenant(id)
  return entry.json<Tenant>()
}

const unknownTenant = (id: string): ConfigError => new ConfigError(`tenant ${id} does not exist`)
