import { setTimeout as sleep } from 'node:timers/promises'
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
import { isDue, type RunnerDeps, runSchedule } from './runner.js'
import type { Schedule } from './schedule.js'

interface TickerDeps extends RunnerDeps {
  /** Ids of progress whose schedule was deleted. */
  readonly orphans: () => readonly string[]
}

const TICK_MS = 2_000
/**
 * Schedules that an exporter works on at the same time, each of another tenant: a slow bucket holds up no other tenant.
 */
const AT_ONCE = 4
/** How long a schedule is left alone after an unexpected error. */
const PAUSE_MS = 30_000

/** Looks for due schedules at an interval until `signal` aborts. Resolves when no delivery is in flight any more. */
async function tickUntil(deps: TickerDeps, signal: AbortSignal): Promise<void> {
  const ticker = new Ticker(deps)
  while (!signal.aborted) {
    await ticker.start(signal)
    await sleep(TICK_MS, undefined, { signal }).catch(() => undefined)
  }
  await ticker.idle()
}

/** Starts what is due, as far as there is capacity. */
class Ticker {
  private readonly deps: TickerDeps
  /** By tenant. */
  private readonly inFlight = new Map<string, Promise<void>>()
  private readonly pausedUntilMs = new Map<string, number>()

  constructor(deps: TickerDeps) {
    this.deps = deps
  }

  async start(signal: AbortSignal): Promise<void> {
    const { deps } = this
    for (const id of deps.orphans()) await this.guarded(id, () => runSchedule(id, deps, signal))
    for (const schedule of deps.schedules()) {
      const { id, tenant_id: tenantId } = schedule
      if (this.inFlight.size >= AT_ONCE) return
      if (this.inFlight.has(tenantId)) continue
      if ((this.pausedUntilMs.get(id) ?? 0) > deps.clock()) continue
      await this.guarded(id, async () => {
        if (!(await isDue(schedule, deps))) return
        const work = this.guarded(id, () => runSchedule(id, deps, signal)).finally(() => this.inFlight.delete(tenantId))
        this.inFlight.set(tenantId, work)
      })
    }
  }

  /** Resolves when nothing is in flight. */
  async idle(): Promise<void> {
    await Promise.all(this.inFlight.values())
  }

  private async guarded(id: string, work: () => Promise<void>): Promise<void> {
    try {
      await work()
      this.pausedUntilMs.delete(id)
    } catch (cause) {
      const { clock, log } = this.deps
      this.pausedUntilMs.set(id, clock() + PAUSE_MS)
      log.warn({ err: cause, schedule_id: id }, 'could not run an export schedule; will retry')
    }
  }
}

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
