import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command, InvalidArgumentError, Option } from 'commander'
import { ConfigError, readConfig } from '../../internal/config/settings.js'
import { serviceVersion } from '../../internal/config/version.js'
import type { BlobStore } from '../../internal/exports/blobs/blob-store.js'
import { directoryBlobs } from '../../internal/exports/blobs/directory.js'
import { authenticityFault, keysOf, masterKeysIn } from '../../internal/local/backup/authenticity.js'
import type { Manifest } from '../../internal/local/backup/backup-manifest.js'
import { openPlace } from '../../internal/local/backup/backup-place.js'
import { createBackup } from '../../internal/local/backup/create.js'
import { type LaterChanges, withLaterChanges } from '../../internal/local/backup/later-changes.js'
import { withLock } from '../../internal/local/backup/lock.js'
import { Repository } from '../../internal/local/backup/repository.js'
import { type AppliedChanges, restoreBackup } from '../../internal/local/backup/restore.js'
import type { InstanceKeys } from '../../internal/local/backup/sealed-keys.js'
import { faultsOf } from '../../internal/local/backup/verify-backup.js'
import { inherited } from '../../internal/local/supervisor/environment.js'
import { environmentIn } from '../../internal/local/supervisor/supervised-instance.js'
import { readMasterKeys } from '../../internal/secrets/master-keys.js'
import { recordByCli } from './audited.js'
import { connectInstanceBroker, connectInstanceStore, readInstanceConfig } from './connect.js'

interface PlaceOptions {
  readonly s3Endpoint: string
  readonly s3Region: string
}

interface JsonOption {
  readonly json?: true
}

const PASSPHRASE = 'ATTRIBUTION_BACKUP_PASSPHRASE'

export const backupCommand = (): Command =>
  new Command('backup')
    .description('Backups of an instance with its data folder on this machine: broker and read model as of one moment.')
    .addCommand(createCommand())
    .addCommand(listCommand())
    .addCommand(verifyCommand())
    .addCommand(pruneCommand())
    .addCommand(restoreCommand())

const createCommand = (): Command =>
  withPlace(
    new Command('create')
      .description(
        'Backs up a running instance; what an earlier backup has is not copied again. With a passphrase in ' +
          `${PASSPHRASE}, the keys (master.key, credentials.json) are in it, sealed; else keep master.key ` +
          'yourself: without it nothing can be restored.',
      )
      .requiredOption('--data-dir <folder>', 'data folder of the instance')
      .requiredOption('--to <place>', 'a folder, or s3://bucket/prefix')
      .addOption(keepOption('then remove all but this many newest backups'))
      .option('--json', 'print JSON')
      .action(runCreate),
  )

const listCommand = (): Command =>
  withPlace(
    new Command('list')
      .description('Lists the backups of a place, the oldest first.')
      .requiredOption('--from <place>', 'a folder, or s3://bucket/prefix')
      .option('--json', 'print JSON')
      .action(async ({ from, json, ...place }: PlaceOptions & JsonOption & { readonly from: string }) => {
        const backups = await (await repositoryAt(from, place)).list()
        if (json === true) print(JSON.stringify(backups.map(shown)))
        else for (const each of backups) print(lineOf(each))
      }),
  )

const verifyCommand = (): Command =>
  withPlace(
    new Command('verify')
      .description(
        'Reads a whole backup, compares its checksums, and with the master key its signature. Exit code 1 when ' +
          'something is missing, damaged, or of somebody else.',
      )
      .requiredOption('--from <place>', 'a folder, or s3://bucket/prefix')
      .option('--id <backup>', 'which one; default: the newest')
      .addOption(masterKeyOption())
      .option('--accept-unsigned', 'takes a backup without a signature, as 0.3.0 and older versions made them')
      .action(runVerify),
  )

const pruneCommand = (): Command =>
  withPlace(
    new Command('prune')
      .description('Removes old backups, and what no other backup needs.')
      .requiredOption('--from <place>', 'a folder, or s3://bucket/prefix')
      .addOption(keepOption('how many of the newest stay').makeOptionMandatory())
      .action(async ({ from, keep, ...place }: PlaceOptions & { readonly from: string; readonly keep: number }) => {
        const blobs = await openPlaceOf(from, place)
        const removed = await withLock(blobs, () => new Repository(blobs).prune(keep))
        for (const id of removed) print(`removed ${id}`)
      }),
  )

const restoreCommand = (): Command =>
  withPlace(
    new Command('restore')
      .description(
        'Makes the data folder of an instance from a backup. Start it afterwards, and read what it says to do.',
      )
      .requiredOption('--from <place>', 'a folder, or s3://bucket/prefix')
      .requiredOption('--to <folder>', 'a new data folder')
      .option('--id <backup>', 'which one; default: the newest')
      .addOption(masterKeyOption())
      .option('--accept-unsigned', 'restores a backup without a signature, as 0.3.0 and older versions made them')
      .option(
        '--credentials-file <file>',
        'credentials.json of the instance; without it, its first start makes another tenant',
      )
      .option(
        '--changes-from <folder>',
        'the data folder that has survived, of the stopped instance: what was revoked, replaced or erased since ' +
          'the backup is so again',
      )
      .addOption(
        new Option('--nats-server-bin <file>', 'the nats-server program')
          .env('ATTRIBUTION_NATS_SERVER_BIN')
          .makeOptionMandatory(),
      )
      .action(runRestore),
  )

const masterKeyOption = (): Option =>
  new Option(
    '--master-key-file <file>',
    `the master key; default: the keys in the backup, with the passphrase in ${PASSPHRASE}`,
  )

function withPlace(command: Command): Command {
  return command
    .option('--s3-endpoint <url>', 'of an S3-compatible store; default: AWS', '')
    .option('--s3-region <region>', 'of the bucket', 'us-east-1')
}

const keepOption = (description: string): Option =>
  new Option('--keep <number>', description).argParser((text) => {
    const keep = Number(text)
    if (!Number.isSafeInteger(keep) || keep < 1) throw new InvalidArgumentError('It must be a whole number from 1.')
    return keep
  })

const openPlaceOf = (place: string, { s3Endpoint, s3Region }: PlaceOptions): Promise<BlobStore> =>
  openPlace(place, { endpoint: s3Endpoint, region: s3Region })

const repositoryAt = async (place: string, options: PlaceOptions): Promise<Repository> =>
  new Repository(await openPlaceOf(place, options))

/** Where the broker and the store of `npm start` listen. */
const ON_LOOPBACK = /^(nats|http):\/\/127\.0\.0\.1:\d+$/

interface CreateOptions extends PlaceOptions, JsonOption {
  readonly dataDir: string
  readonly to: string
  readonly keep?: number
}

async function runCreate({ dataDir, to, keep, json, ...place }: CreateOptions): Promise<void> {
  const config = readInstanceConfig({ dataDir })
  const storeDataFolder = join(resolve(dataDir), 'store', 'data')
  const areHere = [config.storeUrl, config.natsUrl].every((url) => ON_LOOPBACK.test(url))
  if (!areHere || !existsSync(storeDataFolder)) {
    throw new ConfigError(
      'broker and read model are not both in the data folder: back up your own NATS and ClickHouse with their ' +
        'own tools',
    )
  }
  const passphrase = process.env[PASSPHRASE]
  const broker = await connectInstanceBroker(config)
  const store = connectInstanceStore(config)
  try {
    const blobs = await openPlaceOf(to, place)
    const repository = new Repository(blobs)
    const make = (assertHeld: () => Promise<void>) =>
      createBackup({
        ...{ broker, store, database: config.storeDatabase, storeDataFolder, repository, assertHeld },
        serviceVersion: serviceVersion(),
        masterKeys: readMasterKeys(config),
        keys: passphrase === undefined || passphrase === '' ? undefined : { kept: keysIn(dataDir), passphrase },
        say: json === true ? () => undefined : print,
      })
    const { pausedMs, removed, ...made } = await withLock(directoryBlobs(dataDir, null), () =>
      withLock(blobs, async (assertHeld) => {
        const made = await make(assertHeld)
        await recordByCli(broker, 'backup.create', made.id, { after: { consistent_at: made.consistent_at } })
        return { ...made, removed: keep === undefined ? [] : await repository.prune(keep) }
      }),
    )
    if (json === true) print(JSON.stringify({ ...shown(made), paused_ms: Math.round(pausedMs), removed }))
    else print(lineOf(made))
  } finally {
    await store.close()
    await broker.close()
  }
}

function keysIn(dataDir: string): InstanceKeys {
  const file = environmentIn(dataDir)['ATTRIBUTION_MASTER_KEY_FILE'] ?? ''
  if (file === '')
    throw new ConfigError('the master key is in no file: leave the passphrase out, and keep the key yourself')
  const credentials = join(resolve(dataDir), 'credentials.json')
  return {
    masterKey: readFileSync(file, 'utf8'),
    credentials: existsSync(credentials) ? readFileSync(credentials, 'utf8') : undefined,
  }
}

interface VerifyOptions extends PlaceOptions {
  readonly from: string
  readonly id?: string
  readonly masterKeyFile?: string
  readonly acceptUnsigned?: boolean
}

async function runVerify({ from, id, masterKeyFile, acceptUnsigned, ...place }: VerifyOptions): Promise<void> {
  const repository = await repositoryAt(from, place)
  const signed = await repository.signed(id)
  const { manifest } = signed
  const passphrase = process.env[PASSPHRASE]
  const hasKeys = masterKeyFile !== undefined || (manifest.keys !== null && (passphrase ?? '') !== '')
  const keys = hasKeys ? await keysOf(signed, { repository, keys: keysFrom(masterKeyFile), passphrase }) : undefined
  const fault = keys === undefined ? undefined : authenticityFault(signed, masterKeysIn(keys), acceptUnsigned)
  const faults = [...(fault === undefined ? [] : [fault]), ...(await faultsOf(manifest, repository))]
  for (const each of faults) process.stderr.write(`${each}\n`)
  if (faults.length > 0) process.exitCode = 1
  else if (signed.signature === undefined) print(`${manifest.id} is whole, and not signed`)
  else if (hasKeys) print(`${manifest.id} is whole, and signed by its master key`)
  else print(`${manifest.id} is whole; with --master-key-file its signature is checked, too`)
}

const keysFrom = (masterKeyFile: string | undefined, credentialsFile?: string): InstanceKeys | undefined =>
  masterKeyFile === undefined
    ? undefined
    : {
        masterKey: readFileSync(masterKeyFile, 'utf8'),
        credentials: credentialsFile === undefined ? undefined : readFileSync(credentialsFile, 'utf8'),
      }

interface RestoreOptions extends PlaceOptions {
  readonly from: string
  readonly to: string
  readonly id?: string
  readonly masterKeyFile?: string
  readonly acceptUnsigned?: boolean
  readonly credentialsFile?: string
  readonly changesFrom?: string
  readonly natsServerBin: string
}

async function runRestore({
  from,
  to,
  id,
  masterKeyFile,
  acceptUnsigned = false,
  credentialsFile,
  changesFrom,
  natsServerBin,
  ...place
}: RestoreOptions): Promise<void> {
  const repository = await repositoryAt(from, place)
  const signed = await repository.signed(id)
  const { manifest } = signed
  const { storeUser: user, storeDatabase: database } = readConfig(['storeUser', 'storeDatabase'], [], {})
  const restore = (laterChanges: LaterChanges | undefined) =>
    restoreBackup(signed, {
      ...{ repository, dataDir: to, natsServerBin, mainOf, storeAccount: { user, database }, say: print, laterChanges },
      environment: inherited(process.env),
      acceptsUnsigned: acceptUnsigned,
      keys: keysFrom(masterKeyFile, credentialsFile),
      passphrase: process.env[PASSPHRASE],
    })
  const applied =
    changesFrom === undefined
      ? await restore(undefined)
      : await withLaterChanges(changesFrom, to, natsServerBin, restore)
  print(
    `restored ${manifest.id}, as of ${manifest.consistent_at}: ${manifest.records} versions of records, USD ` +
      `${manifest.cost_usd}`,
  )
  for (const line of applied === undefined ? toDoAgain(manifest.consistent_at) : doneAgain(applied, manifest))
    print(line)
  print('All sessions and access tokens have ended. Export files are not restored: create them again.')
}

/** What a backup cannot know. */
const toDoAgain = (consistentAt: string): readonly string[] => [
  `Not in it: events, and all changes, after ${consistentAt}. Do again what must not come back:`,
  '  - revoke API keys, clients and people that were removed since (the audit log of the old instance lists them)',
  '  - erase the identities that were erased since: attribution erase-identity',
  '  - replace secrets of webhooks and signing keys that were replaced since',
]

const doneAgain = (
  { entries, log, now, hasSpool, erased }: AppliedChanges,
  { consistent_at }: Manifest,
): readonly string[] => [
  `Applied of what happened after ${consistent_at}:`,
  ...(entries.size === 0 ? ['  - no change of credentials or of the configuration'] : []),
  ...[...entries].map(([bucket, count]) => `  - ${count} in ${bucket.replaceAll('_', ' ')}`),
  `  - ${erased} erasures of people`,
  ...(log.messages.size === 0
    ? [`  - no message of the log${log.refusal === undefined ? '' : `: ${log.refusal}`}`]
    : []),
  ...[...log.messages].map(([stream, count]) => `  - ${count} messages of ${stream}`),
  ...(hasSpool ? ["  - the gateways' spool, which the next start works off"] : []),
  ...[...log.purged].map(([stream, count]) => `NOT applied: ${count} later messages of ${stream}, which were purged.`),
  `with it, ${now.records} versions of records, USD ${now.cost_usd}`,
  'Not applied: exports, jobs that changed many records, trained models, and what webhooks were sent. Do them again.',
  ...(hasSpool && erased > 0
    ? ['Calls in the spool are attributed at the next start: erase these people again then.']
    : []),
]

/** `dist/cmd/<role>/main.js` */
const mainOf = (role: string): string => fileURLToPath(new URL(`../${role}/main.js`, import.meta.url))

type Listed = Awaited<ReturnType<Repository['list']>>[number]

const shown = ({ manifest: _, signature: __, ...entry }: Listed) => entry

const lineOf = ({ id, consistent_at, records, bytes, new_bytes }: Listed): string =>
  `${id}  as of ${consistent_at}  ${records} versions of records  ${mebibytes(bytes)}, ` +
  `${mebibytes(new_bytes)} of it new`

const mebibytes = (bytes: number): string => `${(bytes / 1024 ** 2).toFixed(1)} MiB`

const print = (line: string): void => void process.stdout.write(`${line}\n`)
