import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { mkdir, symlink } from 'node:fs/promises'
import { dirname, join, resolve, sep } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { CHANGES } from '../../../streams/changes.js'
import { INVOCATIONS } from '../../../streams/invocations.js'
import { type Broker, connectBroker } from '../../broker/connect.js'
import { restoreStream } from '../../broker/stream-snapshot.js'
import { replayTail } from '../../broker/stream-tail.js'
import { ConfigError } from '../../config/settings.js'
import { readMasterKeys } from '../../secrets/master-keys.js'
import { Supervisor } from '../supervisor/children.js'
import { freePort, openInstance, writePrivate } from '../supervisor/instance.js'
import { natsServerRole } from '../supervisor/nats-server.js'
import type { Tail } from './create.js'
import type { Manifest } from './manifest.js'
import { unpack } from './pack.js'
import type { Repository } from './repository.js'
import { type InstanceKeys, unsealKeys } from './sealed-keys.js'

export interface RestoreDeps {
  readonly repository: Repository
  /** Missing or empty. */
  readonly dataDir: string
  readonly natsServerBin: string
  /** Undefined: they are in the backup, under the passphrase. */
  readonly keys: InstanceKeys | undefined
  readonly passphrase: string | undefined
  readonly say: (line: string) => void
}

/** Streams whose checkpoints name their messages by sequence: a restored one must have the same. */
const READ_BY_SEQUENCE = new Set<string>([INVOCATIONS.name, CHANGES.name])

/**
 * Makes the data folder of an instance from a backup. The instance is started afterwards, as any other.
 *
 * @throws ConfigError when the folder is in use, or the master key is not the backup's
 * @throws Error when a blob of the backup is damaged or missing; the folder is then of no use
 */
export async function restoreBackup(manifest: Manifest, deps: RestoreDeps): Promise<void> {
  const { repository, say } = deps
  const folder = resolve(deps.dataDir)
  if (existsSync(folder) && readdirSync(folder).length > 0) {
    throw new ConfigError(`${folder} is not empty: a backup is restored into a new folder`)
  }
  const keys = await keysFor(manifest, deps)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const { files, secrets } = openInstance(folder, false)
  writePrivate(files.masterKey, keys.masterKey)
  if (keys.credentials !== undefined) writePrivate(files.credentials, keys.credentials)

  const data = join(folder, 'store', 'data')
  for (const pack of [manifest.files, ...manifest.parts]) await unpack(repository.read(pack), data)
  for (const [path, target] of manifest.links) {
    const link = join(data, path)
    for (const each of [link, resolve(dirname(link), target)]) {
      if (!each.startsWith(data + sep)) throw new Error(`a backup has a link out of its folder: ${path}`)
    }
    await mkdir(dirname(link), { recursive: true, mode: 0o700 })
    await symlink(target, link)
  }
  say(`the read model: ${manifest.parts.length} parts, ${manifest.records} versions of records`)

  const port = await freePort()
  const user = 'attribution'
  const role = natsServerRole(deps.natsServerBin, files, port, user, secrets.natsPassword)
  const supervisor = new Supervisor({ logsDir: files.logsDir, print: say, onChange: () => undefined })
  try {
    await supervisor.startAll([role])
    const url = `nats://127.0.0.1:${port}`
    const broker = await connectBroker({ url, user, password: secrets.natsPassword, name: 'attribution-restore' })
    try {
      await restoreStreams(manifest, broker, repository)
    } finally {
      await broker.close()
    }
  } finally {
    await supervisor.stop()
  }
  say(`the broker: ${manifest.streams.length} streams`)
}

async function keysFor(
  manifest: Manifest,
  { repository, keys: given, passphrase }: RestoreDeps,
): Promise<InstanceKeys> {
  const keys = given ?? (await sealedKeysOf(manifest, repository, passphrase))
  const masterKey = keys.masterKey.trim().replaceAll('\n', ',')
  const { id } = readMasterKeys({ masterKey, masterKeyFile: '' }).current()
  if (id !== manifest.master_key_id) {
    throw new ConfigError(
      `this is not the master key of the backup: it is ${id}, the backup's is ${manifest.master_key_id}`,
    )
  }
  return keys
}

async function sealedKeysOf(manifest: Manifest, repository: Repository, passphrase: string | undefined) {
  if (manifest.keys === null) {
    throw new ConfigError('the backup has no keys: give the master key with --master-key-file')
  }
  if (passphrase === undefined) {
    throw new ConfigError('the keys of the backup are sealed: give the passphrase, or --master-key-file')
  }
  const parts: Uint8Array[] = []
  for await (const part of repository.read(manifest.keys)) parts.push(part)
  return unsealKeys(Buffer.concat(parts), passphrase)
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
