/**
 * The attributor: the stage A, B and C actors of the partitions that this process owns.
 */
import { randomBytes } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { loadSeenEvents } from '../../internal/attribution/actor/load-seen.js'
import { runPartitionActor } from '../../internal/attribution/actor/partition-actor.js'
import { purgeDone } from '../../internal/attribution/actor/purge.js'
import type { Stage } from '../../internal/attribution/actor/stage.js'
import { consumptionRules } from '../../internal/attribution/consumption.js'
import { WatchedDirectory } from '../../internal/attribution/directory.js'
import { stageA } from '../../internal/attribution/stage-a/stage.js'
import { stageB } from '../../internal/attribution/stage-b/stage.js'
import { stageC } from '../../internal/attribution/stage-c/stage.js'
import { DEFAULT_SETTINGS, type Tenant } from '../../internal/attribution/tenant.js'
import { connectBroker, ensureStreams } from '../../internal/broker/connect.js'
import { readLog } from '../../internal/broker/log.js'
import { joinMembers } from '../../internal/broker/members.js'
import { mirrorBucket } from '../../internal/broker/mirror.js'
import { createPublisher } from '../../internal/broker/publisher.js'
import { readConfig } from '../../internal/config/settings.js'
import { identityKeysCache } from '../../internal/ids/ids.js'
import { runMain, stopSignal, untilAvailable } from '../../internal/process/main.js'
import { readMasterKey } from '../../internal/secrets/master-key.js'
import { signingKey } from '../../internal/secrets/signing-keys.js'
import { connectStore } from '../../internal/store/client.js'
import { createDatabase, migrate } from '../../internal/store/migrations/migrate.js'
import { recordedIds } from '../../internal/store/queries/sources.js'
import { insertAttributions } from '../../internal/store/sink.js'
import { createLog } from '../../internal/telemetry/log.js'
import { CHECKPOINTS, DIRECTORY, MEMBERS, SIGNING_KEYS, TENANTS } from '../../streams/buckets.js'
import { INVOCATIONS } from '../../streams/invocations.js'

runMain('attributor', async () => {
  const config = readConfig(
    [
      'logLevel',
      'partitions',
      'stages',
      'memberName',
      'masterKeyFile',
      'natsUrl',
      'natsUser',
      'natsPassword',
      'streamReplicas',
      'invocationsBytesMax',
      'storeUrl',
      'storeUser',
      'storePassword',
      'storeDatabase',
    ],
    process.argv.slice(2),
    process.env,
  )
  const log = createLog('attributor', config.logLevel)
  const masterKey = readMasterKey(config.masterKeyFile)
  const member = config.memberName === '' ? randomBytes(8).toString('hex') : config.memberName

  const broker = await connectBroker({
    url: config.natsUrl,
    user: config.natsUser,
    password: config.natsPassword,
    name: `attributor-${member}`,
  })
  await untilAvailable(
    'JetStream',
    () => ensureStreams(broker, { replicas: config.streamReplicas, invocationsBytesMax: config.invocationsBytesMax }),
    log,
  )
  const account = { url: config.storeUrl, user: config.storeUser, password: config.storePassword }
  const store = connectStore({ ...account, database: config.storeDatabase })
  await untilAvailable(
    'the store',
    async () => {
      await createDatabase(account, config.storeDatabase)
      await migrate(store)
    },
    log,
  )

  const stopping = new AbortController()
  // Every actor that pauses listens to it.
  setMaxListeners(0, stopping.signal)
  const lost = (cause: unknown): void => {
    if (stopping.signal.aborted) return
    log.fatal({ err: cause }, 'a copy of a bucket no longer follows it')
    process.exit(1)
  }
  const directory = new WatchedDirectory()
  await mirrorBucket(await broker.bucket(DIRECTORY), lost, (key, value) => directory.apply(key, value))
  const tenants = await mirrorBucket<Tenant>(await broker.bucket(TENANTS), lost)
  const checkpoints = await broker.bucket(CHECKPOINTS)
  const identityKeyOf = identityKeysCache(await signingKey(await broker.bucket(SIGNING_KEYS), masterKey, 'identities'))

  // Sequences name a batch only within one log: a broker that lost its data begins anew at 1.
  const { created } = await broker.manager.streams.info(INVOCATIONS.name)
  const logId = Math.floor(Date.parse(created) / 1000)
  const rowDeps = { logId, consumptionOf: consumptionRules(), identityKeyOf }
  const stages: readonly Stage[] = [
    stageA({
      ...rowDeps,
      directory,
      settingsOf: (tenantId) => tenants.get(tenantId)?.settings ?? DEFAULT_SETTINGS,
      loadSeen: (partition) =>
        loadSeenEvents(partition, { store, manager: broker.manager, checkpoints, clock: Date.now, logId }),
    }),
    stageB(),
    stageC(rowDeps),
  ].filter(({ name }) => config.stages.includes(name))

  const membership = await joinMembers(await broker.bucket(MEMBERS), 'attributor', member, lost)
  const publisher = createPublisher(broker.connection)
  const deps = {
    checkpoints,
    readLog: (range: Parameters<typeof readLog>[1]) => readLog(broker.manager, range),
    publish: publisher.publish,
    insert: (rows: Parameters<typeof insertAttributions>[1], token: string) =>
      insertAttributions(store, rows, `${logId}.${token}`),
    hasRecord: async (invocations: readonly { readonly id: Uint8Array }[]) => {
      const recorded = await recordedIds(
        store,
        invocations.map(({ id }) => id),
      )
      return invocations.map(({ id }) => recorded.has(Buffer.from(id).toString('hex')))
    },
    isOwner: (stage: string, partition: number) => membership.owns(`${stage}.${partition}`),
    clock: Date.now,
    log,
  }

  const running = stages.flatMap((stage) =>
    Array.from({ length: config.partitions }, (_, partition) =>
      runPartitionActor(stage, partition, deps, stopping.signal),
    ),
  )
  const purging = purgeDone(
    { manager: broker.manager, checkpoints, isOwner: deps.isOwner, log },
    config,
    stopping.signal,
  )
  log.info({ member, stages: config.stages, partitions: config.partitions }, 'attributing')

  await stopSignal()
  stopping.abort()
  await Promise.all([...running, purging])
  // The others find out by the missing heartbeat when the broker is gone already.
  await membership.leave().catch((cause: unknown) => log.warn({ err: cause }, 'left without saying so'))
  await broker.close()
  await store.close()
})
