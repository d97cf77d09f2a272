import { randomBytes } from 'node:crypto'
import { Command } from 'commander'
import { DAY_MS, readExpiry } from '../../internal/access/api-keys/status.js'
import { auditedSqlUser, revokedSqlUser, shownSqlUser } from '../../internal/access/sql-users/sql-user-changes.js'
import { formatSqlPassword, type StoredSqlUser, storedSqlUser } from '../../internal/auth/sql-users.js'
import { settingsOf } from '../../internal/auth/tenant.js'
import type { Broker } from '../../internal/broker/connect.js'
import { watchRecords } from '../../internal/broker/watched-records.js'
import { ConfigError } from '../../internal/config/settings.js'
import { deriveTenantIds, randomId } from '../../internal/ids/ids.js'
import { readMasterKeys } from '../../internal/secrets/master-keys.js'
import { signingKey } from '../../internal/secrets/signing-keys.js'
import { formatInstant } from '../../internal/units/instant.js'
import { SIGNING_KEYS, SQL_USERS } from '../../streams/buckets.js'
import { recordByCli } from './audited.js'
import { connectInstanceBroker, dataDirOption, type InstanceOption, readInstanceConfig } from './connect.js'
import { findTenant } from './tenant.js'

interface TenantOption extends InstanceOption {
  readonly tenant: string
}

interface CreateOptions extends TenantOption {
  readonly name: string
  readonly days?: string
  readonly json?: true
}

const SECRET_BYTES = 32

export const sqlUserCommand = (): Command =>
  new Command('sql-user')
    .description(
      'Users who read the records of a tenant by SQL (deploy/docs/sql.md). Equals the scope read:attribution.',
    )
    .addCommand(
      new Command('create')
        .description('Creates an SQL user. Its password is shown only once.')
        .requiredOption('--tenant <id>', 'tenant whose records it reads')
        .option('--name <text>', 'what it is for', 'Made on the command line')
        .option('--days <number>', "lifetime. Default: the tenant's maximum lifetime of API keys")
        .addOption(dataDirOption())
        .option('--json', 'print the user as JSON')
        .action(runCreate),
    )
    .addCommand(
      new Command('list')
        .description('Lists the SQL users of a tenant, one per line, as JSON.')
        .requiredOption('--tenant <id>', 'tenant of the users')
        .addOption(dataDirOption())
        .action(runList),
    )
    .addCommand(
      new Command('revoke')
        .description('Revokes an SQL user, at once on every gateway.')
        .argument('<user>', 'its id')
        .requiredOption('--tenant <id>', 'tenant of the user')
        .addOption(dataDirOption())
        .action(runRevoke),
    )

async function runCreate({ tenant: tenantId, name, days, json, ...options }: CreateOptions): Promise<void> {
  const config = readInstanceConfig(options)
  const masterKeys = readMasterKeys(config)
  const broker = await connectInstanceBroker(config)
  const tenant = await findTenant(broker, tenantId)
  const nowMs = Date.now()
  const wanted = days === undefined ? undefined : formatInstantIn(nowMs, days)
  const expiry = readExpiry(wanted, nowMs, settingsOf(tenant).api_key_max_lifetime_days)
  if (!expiry.ok) throw new ConfigError(`--days: the lifetime ${expiry.error.detail}`)

  const ids = deriveTenantIds(await signingKey(await broker.bucket(SIGNING_KEYS), masterKeys, 'ids'), tenantId)
  const id = randomId('sql', ids)
  const password = formatSqlPassword(config.mode, randomBytes(SECRET_BYTES))
  const { expiresAt } = expiry
  const user = storedSqlUser(id, tenantId, password, { name, expiresAt }, formatInstant(nowMs))
  await (await broker.bucket(SQL_USERS)).create(id, JSON.stringify(user))
  await recordByCli(broker, 'sql_user.create', id, { after: auditedSqlUser(user) }, tenantId)
  await broker.close()
  process.stdout.write(
    json === true
      ? `${JSON.stringify({ ...shownSqlUser(user, nowMs), tenant_id: tenantId, password })}\n`
      : `user: ${id}\npassword: ${password}\n(shown only once; expires ${expiresAt})\n`,
  )
}

function formatInstantIn(nowMs: number, days: string): string {
  if (!/^\d{1,5}$/.test(days)) throw new ConfigError('--days must be a whole number')
  return formatInstant(nowMs + Number(days) * DAY_MS)
}

async function runList({ tenant: tenantId, ...options }: TenantOption): Promise<void> {
  const broker = await connectInstanceBroker(readInstanceConfig(options))
  await findTenant(broker, tenantId)
  const users = await usersOf(broker)
  const lines = [...users.of(tenantId)].map((user) => `${JSON.stringify(shownSqlUser(user, Date.now()))}\n`)
  users.stop()
  await broker.close()
  process.stdout.write(lines.join(''))
}

async function runRevoke(id: string, { tenant: tenantId, ...options }: TenantOption): Promise<void> {
  const broker = await connectInstanceBroker(readInstanceConfig(options))
  const users = await usersOf(broker)
  if (users.get(id)?.tenant_id !== tenantId) throw new ConfigError(`the tenant ${tenantId} has no SQL user ${id}`)
  const revoked = await users.change(id, (user) =>
    user.status === 'revoked' ? undefined : revokedSqlUser(user, Date.now()),
  )
  if (revoked !== undefined) {
    await recordByCli(broker, 'sql_user.revoke', id, { after: auditedSqlUser(revoked) }, tenantId)
  }
  users.stop()
  await broker.close()
}

const usersOf = async (broker: Broker) =>
  watchRecords<StoredSqlUser>(await broker.bucket(SQL_USERS), (cause) => {
    throw cause
  })
