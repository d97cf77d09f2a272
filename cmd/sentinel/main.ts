/**
 * The sentinel: watches budgets, spend and coverage, and tells of what crosses a line. Several share the tenants, and
 * whatever two of them see is told once.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { StoredConnector } from '../../internal/access/connectors/connector.js'
import { watchHealth } from '../../internal/access/connectors/watch-health.js'
import { WatchedDirectory } from '../../internal/attribution/directory/directory.js'
import { settingsOf, type Tenant } from '../../internal/auth/tenant.js'
import { connectBroker, ensureStreams } from '../../internal/broker/connect.js'
import { holdsEvent, lastEventSequence } from '../../internal/broker/events-log.js'
import { joinMembers } from '../../internal/broker/members.js'
import { mirrorBucket } from '../../internal/broker/mirror.js'
import { createPublisher, publishOrThrow } from '../../internal/broker/publisher.js'
import { bucketRecords } from '../../internal/broker/records.js'
import { watchRecords } from '../../internal/broker/watched-records.js'
import { followWatermark } from '../../internal/broker/watermark.js'
import { BROKER_SETTINGS, MASTER_KEY_SETTINGS, readConfig, STORE_SETTINGS } from '../../internal/config/settings.js'
import { eventPublisher } from '../../internal/events/publish.js'
import { tenantIdsCache } from '../../internal/ids/ids.js'
import { runMain, stopSignal, untilAvailable } from '../../internal/process/main.js'
import { readMasterKeys } from '../../internal/secrets/master-keys.js'
import { signingKey } from '../../internal/secrets/signing-keys.js'
import { HOUR_MS, MINIMUM_USD, TRAILING_HOURS, WEEKS } from '../../internal/sentinel/anomaly.js'
import type { StoredBudget } from '../../internal/sentinel/budgets/budget.js'
import { readCoverage } from '../../internal/sentinel/coverage/routes.js'
import { retentionCutoff } from '../../internal/sentinel/retention.js'
import { watchBudgets } from '../../internal/sentinel/watch-budgets.js'
import { type CoverageState, type Streaks, watchCoverage } from '../../internal/sentinel/watch-coverage.js'
import { type SpendLook, type SpendScope, watchSpend } from '../../internal/sentinel/watch-spend.js'
import { connectStore } from '../../internal/store/client.js'
import { observedSources, seenLayers } from '../../internal/store/queries/reports/coverage.js'
import { hourlySpendOf } from '../../internal/store/queries/reports/hourly-spend.js'
import { exactSpendOf, spendOf } from '../../internal/store/queries/reports/spend.js'
import { deleteCallsBefore } from '../../internal/store/retention.js'
import { createLog } from '../../internal/telemetry/log.js'
import { formatQuantity, quantityOfSteps } from '../../internal/units/quantity.js'
import {
  ANNOUNCEMENTS,
  BUDGETS,
  CHECKPOINTS,
  CONNECTORS,
  COVERAGE_STATES,
  DIRECTORY,
  MEMBERS,
  SIGNING_KEYS,
  SPEND_LOOKS,
  TENANTS,
} from '../../streams/buckets.js'

const RETENTION_EVERY_MS = 60 * 60 * 1000

runMain('sentinel', async () => {
  const config = readConfig(
    [
      'logLevel',
      'memberName',
      'sentinelEveryMs',
      'surveyEveryMs',
      ...MASTER_KEY_SETTINGS,
      ...BROKER_SETTINGS,
      ...STORE_SETTINGS,
    ],
    process.argv.slice(2),
    process.env,
  )
  const log = createLog('sentinel', config.logLevel)
  const masterKeys = readMasterKeys(config)
  const member = config.memberName === '' ? `sentinel-${process.pid}` : config.memberName
  const broker = await connectBroker({
    url: config.natsUrl,
    user: config.natsUser,
    password: config.natsPassword,
    name: member,
  })
  await untilAvailable('JetStream', () => ensureStreams(broker, { ...config, replicas: config.streamReplicas }), log)
  const store = connectStore({
    url: config.storeUrl,
    user: config.storeUser,
    password: config.storePassword,
    database: config.storeDatabase,
  })

  const stopping = new AbortController()
  const { signal } = stopping
  const lost = (cause: unknown): void => {
    if (signal.aborted) return
    log.fatal({ err: cause }, 'a copy of a bucket no longer follows it')
    process.exit(1)
  }
  const tenants = await mirrorBucket<Tenant>(await broker.bucket(TENANTS), lost)
  const budgets = await watchRecords<StoredBudget>(await broker.bucket(BUDGETS), lost)
  const directory = new WatchedDirectory()
  await mirrorBucket(await broker.bucket(DIRECTORY), lost, (key, value) => directory.apply(key, value))
  const connectors = await watchRecords<StoredConnector>(await broker.bucket(CONNECTORS), lost)
  const watermark = await followWatermark(await broker.bucket(CHECKPOINTS), lost, Date.now)
  const coverageStates = bucketRecords<CoverageState>(await broker.bucket(COVERAGE_STATES), async () => undefined)
  const spendLooks = bucketRecords<SpendLook>(await broker.bucket(SPEND_LOOKS), async () => undefined)
  const membership = await joinMembers(await broker.bucket(MEMBERS), 'sentinel', member, lost)
  const { publish } = createPublisher(broker.connection)
  const idsOf = tenantIdsCache(await signingKey(await broker.bucket(SIGNING_KEYS), masterKeys, 'ids'))
  const announcing = {
    bucket: await broker.bucket(ANNOUNCEMENTS),
    idsOf,
    store: (subject: string, text: string, id: string) => publishOrThrow(publish, subject, Buffer.from(text), id),
    lastSequence: (subject: string) => lastEventSequence(broker.manager, subject),
    isStored: (subject: string, after: number, id: string) => holdsEvent(broker.manager, subject, after, id),
    clock: Date.now,
  }
  const spend = {
    spend: (tenantId: string, fromMs: number, toMs: number) => spendOf(store, tenantId, fromMs, toMs),
    exactSpend: async (tenantId: string, fromMs: number, toMs: number, filter: StoredBudget['filter']) =>
      exactSpendOf(store, tenantId, await watermark.renewed(), { fromMs, toMs }, filter),
  }
  const coverage = {
    seen: (tenantId: string, nowMs: number) => seenLayers(store, tenantId, nowMs, signal),
    observed: (tenantId: string) => observedSources(store, tenantId, signal),
  }
  const baseline = {
    atLeastUsd: formatQuantity(quantityOfSteps<'USD'>(MINIMUM_USD)),
    weeks: WEEKS,
    trailingHours: TRAILING_HOURS,
  }
  const hours = {
    hourly: (tenantId: string, hourMs: number) => hourlySpendOf(store, tenantId, hourMs, baseline),
    exact: async (tenantId: string, hourMs: number, scope: SpendScope) =>
      exactSpendOf(store, tenantId, await watermark.renewed(), { fromMs: hourMs, toMs: hourMs + HOUR_MS }, scope),
  }
  const streaks: Streaks = new Map()

  /** Looks after every tenant that is this sentinel's; one that fails does not keep it from the others. */
  const eachTenant = async (
    what: string,
    look: (tenantId: string) => Promise<void>,
    everyMs: number,
  ): Promise<void> => {
    while (!signal.aborted) {
      for (const [tenantId] of tenants.entries()) {
        if (signal.aborted || !membership.owns(tenantId)) continue
        await look(tenantId).catch((cause: unknown) => {
          if (!signal.aborted) log.error({ err: cause, tenantId }, `${what} could not be looked at`)
        })
      }
      await sleep(everyMs, undefined, { signal }).catch(() => undefined)
    }
  }
  const running = [
    eachTenant(
      'budgets',
      (tenantId) => watchBudgets(tenantId, [...budgets.of(tenantId)], spend, announcing),
      config.sentinelEveryMs,
    ),
    eachTenant('spend', (tenantId) => watchSpend(tenantId, hours, spendLooks, announcing), config.surveyEveryMs),
    eachTenant(
      'coverage',
      async (tenantId) => {
        const sources = [...directory.sources(tenantId)]
        const pathways = await readCoverage(tenantId, Date.now(), { ...coverage, sourcesOf: () => sources }, signal)
        await watchCoverage(tenantId, { pathways, sources }, streaks, coverageStates, announcing)
      },
      config.surveyEveryMs,
    ),
  ]
  running.push(
    eachTenant(
      'connectors',
      (tenantId) =>
        watchHealth(tenantId, { connectors, publishEvent: eventPublisher(publish, idsOf), clock: Date.now }),
      config.surveyEveryMs,
    ),
    eachTenant(
      'retention',
      async (tenantId) => {
        const days = settingsOf(tenants.get(tenantId)).retention_days
        if (await deleteCallsBefore(store, tenantId, retentionCutoff(Date.now(), days))) {
          log.info({ tenantId, days }, 'what is older than the tenant keeps was deleted')
        }
      },
      RETENTION_EVERY_MS,
    ),
  )
  log.info({ member }, 'watching')

  await stopSignal()
  stopping.abort()
  await Promise.all(running)
  await membership.leave().catch((cause: unknown) => log.warn({ err: cause }, 'left without saying so'))
  await broker.close()
  await store.close()
})
