import type { ClickHouseClient } from '@clickhouse/client'
import { EXPORT_PROGRESS, EXPORT_SCHEDULES, JOBS, TENANTS } from '../../../streams/buckets.js'
import { settingsOf, type Tenant } from '../../auth/tenant.js'
import type { Broker } from '../../broker/connect.js'
import { mirrorBucket } from '../../broker/mirror.js'
import type { Publisher } from '../../broker/publisher.js'
import { eventPublisher } from '../../events/publish-event.js'
import { guardOf, type TargetSettings, targetRulesOf } from '../../outbound/targets.js'
import { thisInstance } from '../../residency/residency.js'
import type { MasterKeys } from '../../secrets/master-keys.js'
import { exportSource } from '../../store/queries/exports/export-source.js'
import { isQueuedIn, jobQueue } from '../queue.js'
import { openDestination } from './destination.js'
import type { StoredProgress } from './progress.js'
import type { Schedule } from './schedule.js'
import { type TickerDeps, tickUntil } from './ticker.js'

export interface OpenRunnerDeps extends Pick<TickerDeps, 'blobs' | 'idsOf' | 'audit' | 'member' | 'clock' | 'log'> {
  readonly broker: Broker
  readonly publish: Publisher['publish']
  readonly store: ClickHouseClient
  readonly masterKeys: MasterKeys
  readonly targets: TargetSettings
  readonly extraCa: string | undefined
  readonly baseUrl: string
  readonly instanceRegion: string | null
  /** Called once when a KV watch is lost. */
  readonly onLost: (cause: unknown) => void
}

/**
 * Delivers what is due on schedules, until `signal` aborts.
 *
 * @returns once it works; `stopped` resolves when no delivery is in flight any more
 */
export async function openRunner(
  deps: OpenRunnerDeps,
  signal: AbortSignal,
): Promise<{ readonly stopped: Promise<unknown> }> {
  return { stopped: tickUntil(await connectRunner(deps), signal) }
}

async function connectRunner(deps: OpenRunnerDeps): Promise<TickerDeps> {
  const { broker, publish, onLost } = deps
  const schedules = await broker.bucket(EXPORT_SCHEDULES)
  const progress = await broker.bucket(EXPORT_PROGRESS)
  const tenants = await mirrorBucket<Tenant>(await broker.bucket(TENANTS), onLost)
  const watched = await mirrorBucket<Schedule>(schedules, onLost)
  const watchedProgress = await mirrorBucket<StoredProgress>(progress, onLost)
  const calling = {
    masterKeys: deps.masterKeys,
    targetRules: targetRulesOf(deps.targets, deps.baseUrl),
    guard: guardOf(deps.targets),
    extraCa: deps.extraCa,
  }
  return {
    ...deps,
    schedules: () => [...watched.entries()].map(([, schedule]) => schedule),
    progressOf: watchedProgress.get,
    orphans: () => [...watchedProgress.entries()].map(([id]) => id).filter((id) => watched.get(id) === undefined),
    async readSchedule(id) {
      const entry = await schedules.get(id)
      return entry?.operation === 'PUT' ? entry.json<Schedule>() : undefined
    },
    progress,
    jobs: await broker.bucket(JOBS),
    enqueue: jobQueue(publish, isQueuedIn(broker)),
    openDestination: (schedule) => openDestination(schedule, calling),
    changedDays: (tenantId, days, signal) => exportSource(deps.store).changedDays({ tenantId, ...days }, signal),
    residencyRegionOf(tenantId) {
      const tenant = tenants.get(tenantId)
      return tenant && settingsOf(tenant).residency_region
    },
    places: [thisInstance(deps.instanceRegion), deps.blobs.place],
    publishEvent: eventPublisher(publish, deps.idsOf),
    random: Math.random,
  }
}
