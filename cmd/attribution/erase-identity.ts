import { Command } from 'commander'
import { namesOfIdentity } from '../../internal/directory/directory.js'
import { directoryKey } from '../../internal/directory/directory-key.js'
import { entryId } from '../../internal/directory/entry-index.js'
import { identityHash } from '../../internal/ids/identity-hash.js'
import { deriveTenantIds, identityKeysCache } from '../../internal/ids/ids.js'
import { keepErasure } from '../../internal/local/backup/erasures.js'
import { readMasterKeys } from '../../internal/secrets/master-keys.js'
import { signingKey } from '../../internal/secrets/signing-keys.js'
import { ERASED_OWNER, eraseIdentity } from '../../internal/store/erasure.js'
import { DIRECTORY, ERASURES, SIGNING_KEYS } from '../../streams/buckets.js'
import { recordByCli } from './audited.js'
import {
  connectInstanceBroker,
  connectInstanceStore,
  dataDirOption,
  type InstanceOption,
  readInstanceConfig,
} from './connect.js'
import { findTenant } from './tenant.js'
import { readDirectory } from './workloads.js'

interface EraseOptions extends InstanceOption {
  readonly tenant: string
  readonly identity: string
  readonly json?: true
}

export const eraseIdentityCommand = (): Command =>
  new Command('erase-identity')
    .description(
      'Erases a person (GDPR, right to erasure): records and rollups keep their totals without the identity of ' +
        `the caller, calls that the person owned belong to "${ERASED_OWNER}", and the directory entry is deleted. ` +
        'If the command is interrupted, run it again. Stop sending the identity first: the log keeps events for 24 ' +
        'hours, published events are kept for 30 days and export files for 7 days.',
    )
    .requiredOption('--tenant <id>', 'tenant of the identity')
    .requiredOption('--identity <text>', 'the identity, as sent in attributed_identity')
    .addOption(dataDirOption())
    .option('--json', 'print the result as JSON')
    .action(run)

async function run({ tenant: tenantId, identity, ...options }: EraseOptions): Promise<void> {
  const config = readInstanceConfig(options)
  const masterKeys = readMasterKeys(config)
  const broker = await connectInstanceBroker(config)
  const store = connectInstanceStore(config)
  try {
    await findTenant(broker, tenantId)
    const keys = await broker.bucket(SIGNING_KEYS)
    const identityKeyOf = identityKeysCache(await signingKey(keys, masterKeys, 'identities'))
    const ids = deriveTenantIds(await signingKey(keys, masterKeys, 'ids'), tenantId)
    const bucket = await broker.bucket(DIRECTORY)
    const known = (await readDirectory(bucket)).identity(tenantId, identity)
    const erasures = await broker.bucket(ERASURES)
    // Audit entries are never erased: they name the person by id only.
    const idOf = (name: string): string => entryId('identities', name, ids)
    const id = idOf(known?.name ?? identity)
    // Records may have the person under each of their names, and as the command spells it.
    for (const name of new Set([...(known === undefined ? [] : namesOfIdentity(known)), identity])) {
      const hash = Buffer.from(identityHash(identityKeyOf(tenantId), name)).toString('hex')
      // First: a backup that is restored after an interruption erases the person, too.
      await keepErasure(erasures, { tenantId, identityId: idOf(name), hash, atMs: Date.now() })
      await eraseIdentity(store, { tenantId, hash, name })
    }
    // Last: a repeat of an interrupted command still finds the other names.
    await bucket.delete(directoryKey(tenantId, 'identities', known?.name ?? identity))
    await recordByCli(broker, 'identity.erase', id, {}, tenantId)
    const done = { identity_id: id, tenant_id: tenantId, erased: true }
    process.stdout.write(options.json === true ? `${JSON.stringify(done)}\n` : `${id} erased\n`)
  } finally {
    await broker.close()
    await store.close()
  }
}
