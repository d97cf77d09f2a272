import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { mkdir, symlink } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import type { ClickHouseClient } from '@clickhouse/client'
import { DIRECTORY, ERASURES, SIGNING_KEYS } from '../../../streams/buckets.js'
import { CHANGES } from '../../../streams/changes.js'
import { INVOCATIONS } from '../../../streams/invocations.js'
import type { Broker } from '../../broker/connect.js'
import { restoreStream } from '../../broker/stream-snapshot.js'
import { replayTail } from '../../broker/stream-tail.js'
import { ConfigError, environmentOf } from '../../config/settings.js'
import { deriveTenantIds } from '../../ids/ids.js'
import { writeDurably } from '../../process/durable-files.js'
import { readMasterKeys } from '../../secrets/master-keys.js'
import { signingKey } from '../../secrets/signing-keys.js'
import { connectStore, type StoreConnection } from '../../store/client.js'
import { migrate } from '../../store/migrations/migrate.js'
import { type Role, Supervisor } from '../supervisor/children.js'
import { flagsOfFolder } from '../supervisor/processes.js'
import { answersAt } from '../supervisor/readiness.js'
import {
  freePort,
  type InstanceFiles,
  type InstanceSecrets,
  openInstance,
  UNFINISHED_RESTORE,
} from '../supervisor/supervised-instance.js'
import { authenticityFault, type KeySource, keysOf, masterKeysIn } from './authenticity.js'
import type { Manifest, SignedManifest } from './backup-manifest.js'
import { factsOf, type Tail } from './create.js'
import { eraseAgain, readErasures } from './erasures.js'
import { flushTree } from './flush-tree.js'
import { requireKnownTables } from './known-tables.js'
import { applyBuckets, copyBooks, erasuresSince, type LaterChanges, requireContinuation } from './later-changes.js'
import { type Replayed, replayLaterLog } from './later-log.js'
import { unpack } from './pack.js'
import { type PrivateBroker, withPrivateBroker } from './private-broker.js'
import type { Repository } from './repository.js'
import type { InstanceKeys } from './sealed-keys.js'

export interface RestoreDeps extends KeySource {
  /** Missing or empty. */
  readonly dataDir: string
  readonly natsServerBin: string
  /** Whether a backup without a signature is restored, as versions before signatures made them. */
  readonly acceptsUnsigned: boolean
  /** What the instance had after the backup; undefined: it is not known. */
  readonly laterChanges: LaterChanges | undefined
  /** The script of a role. */
  readonly mainOf: (role: string) => string
  /** For the process of a role. */
  readonly environment: Readonly<Record<string, string>>
  readonly storeAccount: Pick<StoreConnection, 'user' | 'database'>
  readonly say: (line: string) => void
}

export interface AppliedChanges {
  /** Entries of credentials and of the configuration that changed, by bucket. */
  readonly entries: ReadonlyMap<string, number>
  readonly log: Replayed
  /** Whether a gateway of the old instance had accepted calls that its broker did not have yet. */
  readonly hasSpool: boolean
  /** With the later log: versions of records, and the sum of their costs. */
  readonly now: Pick<Manifest, 'records' | 'cost_usd'>
  /** People who were erased again. */
  readonly erased: number
}

/** Streams whose checkpoints name their messages by sequence: a restored one must have the same. */
const READ_BY_SEQUENCE = new Set<string>([INVOCATIONS.name, CHANGES.name])

/**
 * Makes the data folder of an instance from a backup. The instance is started afterwards, as any other; it refuses to
 * start while a restore is not finished, or was ended in the middle.
 *
 * @returns the changes after the backup that were applied; undefined when they are not known
 * @throws ConfigError when the folder is in use, the backup is not the master key's or has what no version of the service
 * makes, or the later changes do not continue the backup
 * @throws Error when a blob of the backup is damaged or missing; the folder is then of no use
 */
export async function restoreBackup(signed: SignedManifest, deps: RestoreDeps): Promise<AppliedChanges | undefined> {
  const { repository, say } = deps
  const { manifest } = signed
  const folder = resolve(deps.dataDir)
  if (existsSync(folder) && readdirSync(folder).length > 0) {
    throw new ConfigError(`${folder} is not empty: a backup is restored into a new folder`)
  }
  const keys = await keysFor(signed, deps)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const unfinished = join(folder, UNFINISHED_RESTORE)
  writeDurably(unfinished, `${manifest.id}\n`)
  await flushTree(folder)
  const { files, secrets } = openInstance(folder, false)
  writeDurably(files.masterKey, keys.masterKey)
  if (keys.credentials !== undefined) writeDurably(files.credentials, keys.credentials)

  const data = join(folder, 'store', 'data')
  for (const pack of [manifest.files, ...manifest.parts]) await unpack(repository.read(pack), data)
  requireKnownTables(data, manifest.links)
  for (const [path, target] of manifest.links) {
    await mkdir(dirname(join(data, path)), { recursive: true, mode: 0o700 })
    await symlink(target, join(data, path))
  }
  say(`the read model: ${manifest.parts.length} parts, ${manifest.records} versions of records`)

  const { laterChanges, natsServerBin } = deps
  const applied = await withPrivateBroker(folder, natsServerBin, say, async (of) => {
    await restoreStreams(manifest, of.broker, repository)
    say(`the broker: ${manifest.streams.length} streams`)
    if (laterChanges === undefined) return undefined
    await requireContinuation(laterChanges, of.broker, manifest.streams)
    return applyLaterChanges(laterChanges, manifest, of, { ...deps, files, secrets })
  })
  await flushTree(folder)
  rmSync(unfinished)
  return applied
}

interface ChangedInstance extends RestoreDeps {
  readonly files: InstanceFiles
  readonly secrets: InstanceSecrets
}

/**
 * Credentials and configuration first, by which the later log is attributed; erasures last, so that they find the calls
 * of it, too.
 */
async function applyLaterChanges(
  changes: LaterChanges,
  manifest: Manifest,
  { broker, address }: PrivateBroker,
  deps: ChangedInstance,
): Promise<AppliedChanges> {
  const { files, say } = deps
  const masterKeys = readMasterKeys({ masterKey: '', masterKeyFile: files.masterKey })
  await copyBooks(broker, changes)
  const entries = await applyBuckets(broker, [...changes.credentials, ...changes.configuration])
  const spool = join(changes.folder, 'spool')
  const hasSpool = existsSync(spool) && hasContent(spool)
  // The gateway adopts it at the start, as that of any process that has ended. The sockets in it are locks.
  const filter = (path: string): boolean => !statSync(path).isSocket()
  if (hasSpool) cpSync(spool, join(files.dataDir, 'spool'), { recursive: true, filter })
  const kept = await broker.bucket(ERASURES)
  const erasures = erasuresSince(changes, await readErasures(kept))
  const { log, now } = await withAttributor(deps, address, async (store) => {
    const replayed = await replayLaterLog({ broker, old: changes.broker, streams: manifest.streams, say })
    const secret = await signingKey(await broker.bucket(SIGNING_KEYS), masterKeys, 'ids')
    const directory = await broker.bucket(DIRECTORY)
    const idsOf = (tenantId: string) => deriveTenantIds(secret, tenantId)
    for (const erasure of erasures) await eraseAgain(erasure, { store, directory, erasures: kept, idsOf })
    return { log: replayed, now: await factsOf(store) }
  })
  return { entries, log, now, hasSpool, erased: erasures.length }
}

/** A spool without events has an empty file. */
const hasContent = (folder: string): boolean =>
  readdirSync(folder, { recursive: true }).some((path) => {
    const found = statSync(join(folder, String(path)))
    return found.isFile() && found.size > 0
  })

/** Runs the embedded engine and an attributor on a data folder for as long as some work takes. */
async function withAttributor<T>(
  { files, secrets, mainOf, environment, storeAccount, say }: ChangedInstance,
  broker: PrivateBroker['address'],
  work: (store: ClickHouseClient) => Promise<T>,
): Promise<T> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const supervisor = new Supervisor({ logsDir: files.logsDir, print: say, onChange: () => undefined })
  const { user: storeUser, database: storeDatabase } = storeAccount
  const ofStore = { storeUrl: url, storeUser, storeDatabase, storePassword: secrets.storePassword }
  const env = {
    ...environment,
    ...environmentOf({ ...broker, ...ofStore, masterKeyFile: files.masterKey, dataDir: files.dataDir }),
  }
  const role = (name: string, args: readonly string[], ready: Role['ready']): Role => ({
    ...{ name, env, ready, command: process.execPath },
    args: [...flagsOfFolder(files.logsDir), mainOf(name), ...args],
  })
  try {
    await supervisor.startAll([role('store', ['--store-port', String(port)], answersAt(`${url}/ping`))])
    const store = connectStore({ ...storeAccount, url, password: secrets.storePassword, cluster: '' })
    try {
      await migrate(store)
      // Whether it works shows in the log, which it has to move.
      await supervisor.startAll([role('attributor', ['--member-name', 'attributor-1'], async () => undefined)])
      return await work(store)
    } finally {
      await store.close()
    }
  } finally {
    await supervisor.stop()
  }
}

/** @throws ConfigError unless the backup is this master key's */
async function keysFor(signed: SignedManifest, deps: RestoreDeps): Promise<InstanceKeys> {
  const keys = await keysOf(signed, deps)
  const fault = authenticityFault(signed, masterKeysIn(keys), deps.acceptsUnsigned)
  if (fault !== undefined) throw new ConfigError(fault)
  return keys
}

async function restoreStreams(manifest: Manifest, broker: Broker, repository: Repository): Promise<void> {
  for (const stream of manifest.streams) {
    const { config, state } = stream
    await restoreStream(broker.connection, { config, state, chunks: repository.read(stream) })
  }
  const lines = createInterface({ input: Readable.from(repository.read(manifest.tails), { objectMode: false }) })
  for await (const line of lines) if (line !== '') await replayTail(broker.connection, JSON.parse(line) as Tail)
  for (const { config, last_sequence: last } of manifest.streams) {
    if (!READ_BY_SEQUENCE.has(config.name)) continue
    const { state } = await broker.manager.streams.info(config.name)
    if (state.last_seq !== last) throw new Error(`${config.name} ends at ${state.last_seq} instead of ${last}`)
  }
}
