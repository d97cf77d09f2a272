import { beforeAll, expect, test } from 'vitest'
import { declaredStreams } from '../../../../internal/broker/connect.js'
import {
  CONFIGURATION,
  CREDENTIALS,
  copyBooks,
  type LaterChanges,
  LOGS,
  requireContinuation,
} from '../../../../internal/local/backup/later-changes.js'
import {
  API_KEYS,
  BUCKETS,
  ENERGY_TABLE_FILES,
  ENERGY_TABLES,
  ERASURES,
  LAYOUT,
  SIGNING_KEYS,
} from '../../../../streams/buckets.js'
import { launchBuckets } from '../../../support/buckets.js'
import { type LogBroker, launchLogBroker } from '../../../support/planned-logs.js'

const bytes = (text: string) => Buffer.from(text)
const NOTHING = { erasures: new Map() }

let restored: LogBroker
let streams: Parameters<typeof requireContinuation>[2]
/** The backup has: 1 signing key, and 3 changes of API keys, of which its snapshot has 2. */
beforeAll(async () => {
  restored = await launchLogBroker()
  await (await restored.bucket(SIGNING_KEYS)).put('ids', 'secret')
  const keys = await restored.bucket(API_KEYS)
  await keys.put('one', 'a')
  await keys.put('two', 'b')
  streams = await Promise.all([SIGNING_KEYS, API_KEYS].map(({ name }) => restored.manager.streams.info(`KV_${name}`)))
  await keys.put('three', 'c')
})

const signingKeys = (secret: string): LaterChanges['credentials'][number] => ({
  bucket: SIGNING_KEYS,
  entries: new Map([['ids', { value: bytes(secret), revision: 1 }]]),
  lastRevision: 1,
})
const apiKeys = (
  lastRevision: number,
  entries: Record<string, [value: string, revision: number]>,
): LaterChanges['credentials'][number] => ({
  bucket: API_KEYS,
  entries: new Map(Object.entries(entries).map(([key, [value, revision]]) => [key, { value: bytes(value), revision }])),
  lastRevision,
})
const SAME = signingKeys('secret')
const UNCHANGED = apiKeys(3, { one: ['a', 1], two: ['b', 2], three: ['c', 3] })

test.each([
  ['in which nothing happened', [SAME, UNCHANGED], undefined],
  ['in which keys were removed, replaced and made', [SAME, apiKeys(6, { two: ['B', 5], four: ['d', 6] })], undefined],
  ['of another instance', [signingKeys('another'), UNCHANGED], 'its signing keys are others'],
  ['with a key that the backup would have', [SAME, apiKeys(6, { other: ['x', 2] })], 'its api keys are others'],
  ['from before the backup', [SAME, apiKeys(2, { one: ['a', 1], two: ['b', 2] })], 'is older than the backup'],
  ['that has lost a bucket', [UNCHANGED], 'has lost its signing keys'],
])('a folder %s', async (_, credentials, refusal) => {
  const refused = await requireContinuation({ ...NOTHING, credentials }, restored, streams).then(
    () => undefined,
    (cause: Error) => cause.message,
  )
  if (refusal === undefined) expect(refused).toBeUndefined()
  else expect(refused).toContain(refusal)
})

/** To add a bucket or a stream is to decide here whether a restored instance gets its newest state. */
const NOT_APPLIED: Readonly<Record<string, readonly string[]>> = {
  'people sign in again, programs ask for a token': ['token_keys', 'authorization_codes', 'sessions', 'revoked_tokens'],
  'of processes that no longer run': ['members', 'training_leases', 'export_places'],
  'goes with the records and logs, which the restored instance makes again': [
    'checkpoints',
    'delivery_checkpoints',
    'degradations',
    'model_shadows',
    'audit_heads',
    'audit_days',
    'coverage_states',
    'spend_looks',
    'missing_prices',
    'budget_crossings',
    'announcements',
    'received',
    'backlog_episodes',
  ],
  'is done again, or asked for again': [
    'api_key_uses',
    'directory_imports',
    'models',
    'trainings',
    'webhook_health',
    'jobs',
    'export_progress',
    'reattributions',
    'override_previews',
    'book_proposals',
    'quarantine_replays',
    'idempotency',
  ],
}
const STREAMS_NOT_APPLIED = ['QUARANTINE', 'EVENTS', 'DELIVERIES', 'RETRIES', 'DEADLETTERS', 'ATTEMPTS', 'EXPORTS']

test('each bucket and each stream is applied after a restore, or is named as one that is not', () => {
  const applied = [...CREDENTIALS, ...CONFIGURATION, ERASURES, LAYOUT].map(({ name }) => name)
  const sizes = { replicas: 1, invocationsBytesMax: 1, observationsBytesMax: 1 }

  expect([...applied, ...Object.values(NOT_APPLIED).flat()].sort()).toEqual(BUCKETS.map(({ name }) => name).sort())
  expect([...LOGS.map(({ name }) => name), ...STREAMS_NOT_APPLIED].sort()).toEqual(
    declaredStreams(sizes)
      .map(({ name }) => name)
      .sort(),
  )
})

test('an energy table that was accepted after the backup is restored with its file, or not at all', async () => {
  const [old, other] = [await launchBuckets(), await launchBuckets()]
  try {
    const [from, to] = [await old.connect(), await other.connect()]
    await (await from.objects(ENERGY_TABLE_FILES)).putBlob({ name: 'energy_1' }, bytes('its file'))
    const changes = (id: string) => ({
      broker: from,
      configuration: [
        { bucket: ENERGY_TABLES, entries: new Map([[id, { value: bytes('{}'), revision: 1 }]]), lastRevision: 1 },
      ],
    })

    expect(await (await to.objects(ENERGY_TABLE_FILES)).info('energy_1')).toBeNull()
    await copyBooks(to, changes('energy_1'))
    await copyBooks(to, changes('energy_1'))

    const copied = await (await to.objects(ENERGY_TABLE_FILES)).getBlob('energy_1')
    expect(Buffer.from(copied ?? []).toString()).toBe('its file')
    await expect(copyBooks(to, changes('energy_2'))).rejects.toThrow('has lost the file of the book energy_2')
  } finally {
    await old.close()
    await other.close()
  }
})
