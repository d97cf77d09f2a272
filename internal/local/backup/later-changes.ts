import { constants, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { KV } from '@nats-io/kv'
import { AUDIT } from '../../../streams/audit.js'
import {
  ANNOTATIONS,
  API_KEYS,
  BUDGETS,
  type Bucket,
  CLIENTS,
  CONNECTORS,
  DIRECTORY,
  ENERGY_TABLE_FILES,
  ENERGY_TABLES,
  ERASURES,
  EXPORT_SCHEDULES,
  IDENTITY_PROVIDERS,
  LAYOUT,
  MAPPING_RULES,
  MODEL_NAMES,
  POOLS,
  PRICE_BOOK_FILES,
  PRICE_BOOKS,
  PRICE_OVERRIDES,
  SCIM_GROUPS,
  SIGNING_KEYS,
  SQL_USERS,
  TENANTS,
  USAGE_CONVENTIONS,
  USERS,
  VIEWS,
  WEBHOOKS,
} from '../../../streams/buckets.js'
import { CHANGES } from '../../../streams/changes.js'
import { INVOCATIONS } from '../../../streams/invocations.js'
import { KEYS } from '../../../streams/keys.js'
import { OBSERVATIONS } from '../../../streams/observations.js'
import type { Broker } from '../../broker/connect.js'
import { ConfigError } from '../../config/settings.js'
import { isOurProcess } from '../supervisor/processes.js'
import { readRunFile } from '../supervisor/supervised-instance.js'
import type { BackedUpStream } from './backup-manifest.js'
import { type Erasure, readErasures } from './erasures.js'
import { withPrivateBroker } from './private-broker.js'

/** Who may do what, and with which secrets: of these, the newest state counts, not that of the backup. */
export const CREDENTIALS: readonly Bucket[] = [
  TENANTS,
  API_KEYS,
  CLIENTS,
  USERS,
  IDENTITY_PROVIDERS,
  SCIM_GROUPS,
  CONNECTORS,
  SQL_USERS,
  WEBHOOKS,
  EXPORT_SCHEDULES,
  SIGNING_KEYS,
]

/**
 * By what calls are attributed, priced, compared and looked at: the later log is attributed by the newest state, as it
 * was.
 */
export const CONFIGURATION: readonly Bucket[] = [
  DIRECTORY,
  POOLS,
  MAPPING_RULES,
  MODEL_NAMES,
  USAGE_CONVENTIONS,
  PRICE_OVERRIDES,
  PRICE_BOOKS,
  ENERGY_TABLES,
  BUDGETS,
  VIEWS,
  ANNOTATIONS,
]

/** Books that calls are valued by, each kind with its files. */
const BOOKS = [
  [PRICE_BOOKS, PRICE_BOOK_FILES],
  [ENERGY_TABLES, ENERGY_TABLE_FILES],
] as const

/** The logs of what was accepted. What the stages hand on is made again. */
export const LOGS = [INVOCATIONS, KEYS, OBSERVATIONS, CHANGES, AUDIT] as const

interface Entry {
  readonly value: Uint8Array
  readonly revision: number
}

interface BucketState {
  readonly bucket: Bucket
  readonly entries: ReadonlyMap<string, Entry>
  /** Of the bucket, removals included. */
  readonly lastRevision: number
}

/** What an instance had after a backup that must not be undone, or lost, by restoring it. */
export interface LaterChanges {
  /** Every entry of the buckets of credentials. */
  readonly credentials: readonly BucketState[]
  readonly configuration: readonly BucketState[]
  readonly erasures: ReadonlyMap<string, Erasure>
  /** A copy of the old broker, for its logs, layout and price books. */
  readonly broker: Broker
  /** The old data folder. */
  readonly folder: string
}

/**
 * Reads the broker of a data folder that has survived. Works on a copy, which is removed afterwards: the folder stays
 * as it is.
 *
 * @param beside where the copy is made: it needs as much of that disk as the old log takes
 * @throws ConfigError when an instance runs on the folder, or its broker is not there any more
 */
export async function withLaterChanges<T>(
  dataDir: string,
  beside: string,
  natsServerBin: string,
  work: (changes: LaterChanges) => Promise<T>,
): Promise<T> {
  const folder = resolve(dataDir)
  requireStopped(folder)
  const streams = join(folder, 'nats', 'data', 'jetstream', '$G', 'streams')
  const buckets = [...CREDENTIALS, ...CONFIGURATION, ERASURES, LAYOUT].map(streamOf)
  if (!existsSync(streams) || !buckets.slice(0, 2).every((name) => readdirSync(streams).includes(name))) {
    throw new ConfigError(`${folder} has no broker any more: restore without --changes-from, and follow its list`)
  }
  const near = dirname(resolve(beside))
  mkdirSync(near, { recursive: true, mode: 0o700 })
  const copy = mkdtempSync(join(near, '.attribution-changes-'))
  try {
    for (const name of [...buckets, ...BOOKS.map(([, files]) => `OBJ_${files.name}`), ...LOGS.map((log) => log.name)]) {
      const from = join(streams, name)
      // An older version does not have every bucket.
      if (!existsSync(from)) continue
      const to = join(copy, 'nats', 'data', 'jetstream', '$G', 'streams', name)
      // A clone, where the file system has such: the log may have gigabytes.
      cpSync(from, to, { recursive: true, mode: constants.COPYFILE_FICLONE })
    }
    return await withPrivateBroker(
      copy,
      natsServerBin,
      () => undefined,
      async ({ broker }) => {
        const statesOf = (kind: readonly Bucket[]): Promise<BucketState[]> =>
          Promise.all(
            kind
              .filter((bucket) => existsSync(join(streams, streamOf(bucket))))
              .map(async (bucket) => ({
                bucket,
                entries: await entriesOf(await broker.bucket(bucket)),
                lastRevision: await lastRevisionOf(bucket, broker),
              })),
          )
        return work({
          credentials: await statesOf(CREDENTIALS),
          configuration: await statesOf(CONFIGURATION),
          erasures: existsSync(join(streams, streamOf(ERASURES)))
            ? await readErasures(await broker.bucket(ERASURES))
            : new Map<string, Erasure>(),
          broker,
          folder,
        })
      },
    )
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

function requireStopped(folder: string): void {
  const file = join(folder, 'run.json')
  if (!existsSync(file)) return
  const { up, roles } = readRunFile(file)
  const running = [['up', up] as const, ...Object.entries(roles)].filter(([role, pid]) => isOurProcess(pid, role))
  if (running.length > 0) {
    const names = running.map(([role, pid]) => `${role} (process ${pid})`).join(', ')
    throw new ConfigError(`the instance in ${folder} is running: ${names}; stop it first`)
  }
}

/**
 * Holds when the folder is what became of the instance after the backup. Of an older folder, or of another instance's,
 * the credentials would bring back what was revoked before the backup. A bucket numbers its changes: a later one ends
 * no earlier, and what it had when the backup read it and has not changed since is the same in the backup.
 *
 * @param broker the restored one, before anything is applied
 * @param streams of the backup
 * @throws ConfigError
 */
export async function requireContinuation(
  { credentials }: Pick<LaterChanges, 'credentials'>,
  broker: Broker,
  streams: readonly Pick<BackedUpStream, 'config' | 'state'>[],
): Promise<void> {
  for (const bucket of CREDENTIALS) {
    const backedUp = streams.find(({ config }) => config.name === streamOf(bucket))
    // The backup of an older version does not have every bucket.
    if (backedUp === undefined) continue
    const later = credentials.find((each) => each.bucket === bucket)
    if (later === undefined) throw refused(`has lost its ${wordsOf(bucket)}`)
    const before = await entriesOf(await broker.bucket(bucket))
    for (const [key, { value, revision }] of later.entries) {
      if (revision > backedUp.state.last_seq) continue
      const same = before.get(key)?.value
      if (same === undefined || Buffer.compare(same, value) !== 0) {
        throw refused(`does not continue the backup: its ${wordsOf(bucket)} are others`)
      }
    }
    if (later.lastRevision < (await lastRevisionOf(bucket, broker))) {
      throw refused(`is older than the backup: it ends earlier in ${wordsOf(bucket)}`)
    }
  }
}

const refused = (why: string): ConfigError =>
  new ConfigError(
    `the folder of --changes-from ${why}; remove what was restored, restore without it, and follow the list`,
  )

const streamOf = ({ name }: Bucket): string => `KV_${name}`
const wordsOf = ({ name }: Bucket): string => name.replaceAll('_', ' ')

const lastRevisionOf = async (bucket: Bucket, { manager }: Broker): Promise<number> =>
  (await manager.streams.info(streamOf(bucket))).state.last_seq

/**
 * Gives a restored broker the entries of buckets as they were last: what was revoked or removed since the backup is so
 * again, what was replaced has its newer value, what was made since is there.
 *
 * @returns how many entries of each bucket changed
 */
export async function applyBuckets(
  broker: Broker,
  states: readonly BucketState[],
): Promise<ReadonlyMap<string, number>> {
  const changed = new Map<string, number>()
  for (const { bucket, entries } of states) {
    const restored = await broker.bucket(bucket)
    const before = await entriesOf(restored)
    let count = 0
    for (const key of before.keys()) {
      if (entries.has(key)) continue
      await restored.delete(key)
      count++
    }
    for (const [key, { value }] of entries) {
      const old = before.get(key)?.value
      if (old !== undefined && Buffer.compare(old, value) === 0) continue
      await restored.put(key, value)
      count++
    }
    if (count > 0) changed.set(bucket.name, count)
  }
  return changed
}

/**
 * Copies the files of the price books and energy tables that the restored broker does not have. Before their entries in
 * the buckets: a book without its file stops attribution.
 */
export async function copyBooks(
  broker: Broker,
  { configuration, broker: old }: Pick<LaterChanges, 'configuration' | 'broker'>,
): Promise<void> {
  for (const [bucket, files] of BOOKS) {
    const books = configuration.find((each) => each.bucket === bucket)
    if (books === undefined || books.entries.size === 0) continue
    const [from, to] = [await old.objects(files), await broker.objects(files)]
    for (const id of books.entries.keys()) {
      if ((await to.info(id)) !== null) continue
      const bytes = await from.getBlob(id)
      if (bytes === null) throw refused(`has lost the file of the book ${id}`)
      await to.putBlob({ name: id }, bytes)
    }
  }
}

/** @param known of the restored broker */
export const erasuresSince = (
  { erasures }: Pick<LaterChanges, 'erasures'>,
  known: ReadonlyMap<string, Erasure>,
): readonly Erasure[] => [...erasures].flatMap(([key, erasure]) => (known.has(key) ? [] : [erasure]))

async function entriesOf(bucket: KV): Promise<ReadonlyMap<string, Entry>> {
  const entries = new Map<string, Entry>()
  for await (const key of await bucket.keys()) {
    const entry = await bucket.get(key)
    if (entry?.operation === 'PUT') entries.set(key, { value: entry.value, revision: entry.revision })
  }
  return entries
}
