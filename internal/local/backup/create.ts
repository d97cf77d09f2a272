import { randomBytes } from 'node:crypto'
import type { ClickHouseClient } from '@clickhouse/client'
import {
  AUTHORIZATION_CODES,
  type Bucket,
  DELIVERY_CHECKPOINTS,
  EXPORT_PLACES,
  MEMBERS,
  REVOKED_TOKENS,
  SESSIONS,
  TOKEN_KEYS,
  TRAINING_LEASES,
} from '../../../streams/buckets.js'
import type { Broker } from '../../broker/connect.js'
import { snapshotStream } from '../../broker/stream-snapshot.js'
import { readTail, type TailMessage } from '../../broker/stream-tail.js'
import type { MasterKeys } from '../../secrets/master-keys.js'
import { formatInstant } from '../../units/instant.js'
import { authenticityFault, signatureOf } from './authenticity.js'
import type { BackedUpPart, BackedUpStream, Blob, IndexEntry, Manifest } from './backup-manifest.js'
import { atConsistentPoint } from './consistent-point.js'
import { filesOf, freeze, readFrozen, unfreeze, unfreezeAll } from './frozen-store.js'
import { pack } from './pack.js'
import { once, type Repository } from './repository.js'
import { type InstanceKeys, sealKeys } from './sealed-keys.js'

export interface BackupDeps {
  readonly broker: Broker
  readonly store: ClickHouseClient
  readonly database: string
  /** Of the embedded engine. */
  readonly storeDataFolder: string
  readonly repository: Repository
  readonly serviceVersion: string
  /** The current one signs the backup. */
  readonly masterKeys: MasterKeys
  /** Undefined: they stay out of the backup. */
  readonly keys: { readonly kept: InstanceKeys; readonly passphrase: string } | undefined
  /** Throws when another process works on the place by now. */
  readonly assertHeld: () => Promise<void>
  readonly say: (line: string) => void
}

/** A line of the tails. */
export interface Tail extends TailMessage {
  readonly stream: string
}

/** How the links of backups are named. */
const FROZEN = 'backup_'

const bucketStream = ({ name }: Bucket): string => `KV_${name}`

/** Sessions end with a restore; leases and members are of processes that no longer run. */
const LEFT_OUT = new Set(
  [SESSIONS, AUTHORIZATION_CODES, TOKEN_KEYS, REVOKED_TOKENS, MEMBERS, TRAINING_LEASES, EXPORT_PLACES].map(
    bucketStream,
  ),
)

/**
 * Backs up a running instance. Streams come first, which takes as long as it takes; then, while readers pause for a
 * moment, what they got since, and hard links of the read model's parts, which are copied afterwards. Gateways take
 * events all the time.
 */
export async function createBackup(deps: BackupDeps): Promise<IndexEntry & { readonly pausedMs: number }> {
  const { broker, store, storeDataFolder, repository, say } = deps
  const id = `${formatInstant(Date.now()).replaceAll(/[-:]|\.\d+/g, '')}-${randomBytes(3).toString('hex')}`
  const snapshots = await snapshotStreams(id, deps)
  say(`${snapshots.length} streams, ${sizeOf(snapshots)}`)

  const frozen = `${FROZEN}${id.replaceAll('-', '_')}`
  await unfreezeAll(storeDataFolder, FROZEN)
  try {
    const { taken, atMs, pausedMs } = await atConsistentPoint(broker, store, async () => {
      // Of an attempt that has failed.
      await unfreeze(storeDataFolder, frozen)
      const { tails, lastOf } = await readTails(broker, snapshots)
      const facts = await factsOf(store)
      await freeze(store, deps.database, frozen)
      return { tails, lastOf, facts, frozen: await readFrozen(storeDataFolder, frozen) }
    })
    say(`readers paused for ${Math.round(pausedMs)} ms`)

    const { parts, newBytes } = await writeParts(taken.frozen.parts, deps)
    const files = await repository.write(`${id}/files`, pack(taken.frozen.files))
    const tails = await repository.write(`${id}/tails`, linesOf(taken.tails))
    const { keys } = deps
    const masterKey = deps.masterKeys.current()
    const manifest: Manifest = {
      format: 1,
      id,
      service_version: deps.serviceVersion,
      consistent_at: formatInstant(atMs),
      ...taken.facts,
      master_key_id: masterKey.id,
      keys:
        keys === undefined ? null : await repository.write(`${id}/keys`, once(sealKeys(keys.kept, keys.passphrase))),
      files,
      links: taken.frozen.links,
      parts,
      streams: snapshots.map((each) => ({ ...each, last_sequence: taken.lastOf.get(each.config.name) ?? 0 })),
      tails,
    }
    const fresh = [files, tails, ...snapshots].reduce((sum, { bytes }) => sum + bytes, newBytes)
    await deps.assertHeld()
    const sign = (bytes: Uint8Array): string => signatureOf(bytes, masterKey)
    return { ...(await repository.add(manifest, fresh, sign)), pausedMs }
  } finally {
    await unfreeze(storeDataFolder, frozen)
  }
}

type Snapshot = Omit<BackedUpStream, 'last_sequence'>

async function snapshotStreams(id: string, { broker, repository }: BackupDeps): Promise<Snapshot[]> {
  const snapshots: Snapshot[] = []
  for await (const { config } of broker.manager.streams.list()) {
    if (LEFT_OUT.has(config.name)) continue
    const { chunks, ...snapshot } = await snapshotStream(broker.connection, config.name)
    snapshots.push({ ...snapshot, ...(await repository.write(`${id}/streams/${config.name}`, chunks)) })
  }
  return snapshots
}

/** Couriers do not pause: what they have noted as done is read before the streams in which they leave the rest. */
async function readTails(broker: Broker, snapshots: readonly Snapshot[]) {
  const first = bucketStream(DELIVERY_CHECKPOINTS)
  const ordered = [...snapshots].sort(
    (one, other) => Number(other.config.name === first) - Number(one.config.name === first),
  )
  const tails: Tail[] = []
  const lastOf = new Map<string, number>()
  for (const { config, state } of ordered) {
    const { lastSequence, messages } = await readTail(broker.manager, config.name, state.last_seq)
    lastOf.set(config.name, lastSequence)
    for (const message of messages) tails.push({ ...message, stream: config.name })
  }
  return { tails, lastOf }
}

async function* linesOf(tails: readonly Tail[]): AsyncGenerator<Uint8Array> {
  for (const tail of tails) yield Buffer.from(`${JSON.stringify(tail)}\n`)
}

/** What a person compares after a restore. */
export async function factsOf(store: ClickHouseClient) {
  const answer = await store.query({
    query: `SELECT count() AS records, toString(sum(cost_usd)) AS cost_usd,
        (SELECT max(version) FROM schema_migrations) AS schema_version FROM attributions`,
    format: 'JSONEachRow',
  })
  const [row] = await answer.json<Record<'records' | 'cost_usd' | 'schema_version', string>>()
  return {
    records: Number(row?.records ?? 0),
    cost_usd: row?.cost_usd ?? '0',
    schema_version: Number(row?.schema_version ?? 0),
  }
}

async function writeParts(parts: Awaited<ReturnType<typeof readFrozen>>['parts'], deps: BackupDeps) {
  const { repository } = deps
  const known = await partsOfLatest(deps)
  let newBytes = 0
  const written: BackedUpPart[] = []
  for (const part of parts) {
    const key = `parts/${part.digest}/part`
    const before = known.get(key)
    const isThere = before !== undefined && (await repository.has(before))
    const blob = isThere ? before : await repository.write(key, pack(await filesOf(part)))
    if (!isThere) newBytes += blob.bytes
    written.push({ key, bytes: blob.bytes, sha256: blob.sha256, path: part.path })
  }
  return { parts: written, newBytes }
}

/** Of the last backup, unless somebody else may have written it: this one would vouch for its parts. */
async function partsOfLatest({ repository, masterKeys, say }: BackupDeps): Promise<ReadonlyMap<string, Blob>> {
  const [latest] = (await repository.list()).slice(-1)
  if (latest === undefined) return new Map()
  const signed = await repository.signed(latest.id)
  const isOurs = authenticityFault(signed, masterKeys) === undefined
  if (!isOurs) say(`${latest.id} is not signed by this master key: all parts are copied again`)
  return new Map(isOurs ? signed.manifest.parts.map((part) => [part.key, part]) : [])
}

const sizeOf = (blobs: readonly Blob[]): string =>
  `${(blobs.reduce((sum, { bytes }) => sum + bytes, 0) / 1024 ** 2).toFixed(1)} MiB`
