import type { KV } from '@nats-io/kv'
import type { WatchedRecords } from '../../broker/watched-records.js'
import type { Logger } from '../../telemetry/log.js'
import { acquireLease } from './lease.js'
import { prune, removeOrphans } from './prune.js'
import { LeaseLost, type TrainTenantDeps, trainTenant } from './train-tenant.js'
import { dueTraining, type FinishedTraining, finished, type StoredTraining, type TrainingRequest } from './training.js'
import type { DriftWatch } from './watch.js'

export interface TrainerDeps extends TrainTenantDeps {
  readonly trainings: WatchedRecords<StoredTraining>
  readonly leases: KV
  /** Member name of this process. */
  readonly member: string
  /** The tenants whose models to train. */
  readonly tenantIds: () => Iterable<string>
  /** Whether this trainer, among the live trainers, owns a key. */
  readonly owns: (key: string) => boolean
  /** Whether the tenant has scheduled training enabled. */
  readonly isEnabled: (tenantId: string) => boolean
  readonly everyMs: number
  readonly watch: DriftWatch
  /** Interval between two scorings of a serving version. */
  readonly watchEveryMs: number
  /** Resolves when a training is requested, or after a pause. */
  readonly pause: () => Promise<void>
  readonly log: Logger
}

/** Number of attempts after which a training has failed. */
const ATTEMPTS_MAX = 3
const DAY_MS = 24 * 60 * 60 * 1000

/** Trains one tenant at a time until `signal` aborts: requested trainings first, then those that are due. */
export async function runTrainer(deps: TrainerDeps, signal: AbortSignal): Promise<void> {
  const attempts = new Map<string, number>()
  let sweptAt = Number.NEGATIVE_INFINITY
  let watchedAt = Number.NEGATIVE_INFINITY
  while (!signal.aborted) {
    try {
      if (deps.clock() - sweptAt > DAY_MS) {
        const orphans = await removeOrphans(deps.models, deps.artefacts, deps.clock())
        if (orphans > 0) deps.log.info({ orphans }, 'removed orphaned model artefacts')
        sweptAt = deps.clock()
      }
      if (deps.clock() - watchedAt > deps.watchEveryMs) {
        await watchAll(deps, signal)
        watchedAt = deps.clock()
      }
      const next = nextTenant(deps)
      if (next !== undefined) {
        const isDone = await attemptTraining(next.tenantId, next.request, attempts, deps, signal)
        if (isDone) continue
      }
    } catch (cause) {
      if (!signal.aborted) deps.log.warn({ err: cause }, 'training loop failed; will retry')
    }
    await deps.pause()
  }
}

/** Scores the serving versions of this trainer's tenants. */
async function watchAll(deps: TrainerDeps, signal: AbortSignal): Promise<void> {
  for (const tenantId of deps.tenantIds()) {
    if (signal.aborted) return
    if (!deps.owns(`training.${tenantId}`) || !deps.isEnabled(tenantId)) continue
    await deps.watch.check(tenantId).catch((cause: unknown) => {
      deps.log.warn({ err: cause, tenantId }, 'could not score the serving model on new records; will retry')
    })
  }
}

function nextTenant(deps: TrainerDeps): { readonly tenantId: string; readonly request: TrainingRequest } | undefined {
  let due: { readonly tenantId: string; readonly request: TrainingRequest } | undefined
  for (const tenantId of deps.tenantIds()) {
    if (!deps.owns(`training.${tenantId}`)) continue
    const training = deps.trainings.get(tenantId)
    const request = dueTraining(training, deps.clock(), deps.everyMs)
    if (request === undefined) continue
    if (training?.requested != null) return { tenantId, request }
    if (deps.isEnabled(tenantId)) due ??= { tenantId, request }
  }
  return due
}

/** @returns whether the training has finished or finally failed */
async function attemptTraining(
  tenantId: string,
  request: TrainingRequest,
  attempts: Map<string, number>,
  deps: TrainerDeps,
  signal: AbortSignal,
): Promise<boolean> {
  const { trainings, leases, member, log } = deps
  const lease = await acquireLease(leases, tenantId, member)
  if (lease === undefined) return false
  const key = `${tenantId} ${request.id}`
  try {
    const startedAt = performance.now()
    const done = await trainTenant(tenantId, request, lease, deps)
    attempts.delete(key)
    await recordFinished(tenantId, done, trainings)
    if (done.model_id !== null) await prune(tenantId, deps.models, deps.artefacts)
    log.info(
      { tenantId, outcome: done.outcome, model: done.model_id, ms: Math.round(performance.now() - startedAt) },
      'model training finished',
    )
    return true
  } catch (cause) {
    if (signal.aborted) return false
    log.error({ err: cause, tenantId }, 'model training failed')
    if (cause instanceof LeaseLost) return false
    const failed = (attempts.get(key) ?? 0) + 1
    attempts.set(key, failed)
    if (failed < ATTEMPTS_MAX) return false
    attempts.delete(key)
    const finished_at = new Date(deps.clock()).toISOString()
    await recordFinished(tenantId, { id: request.id, outcome: 'failed', model_id: null, finished_at }, trainings)
    return true
  } finally {
    await lease.release()
  }
}

async function recordFinished(
  tenantId: string,
  done: FinishedTraining,
  trainings: WatchedRecords<StoredTraining>,
): Promise<void> {
  await trainings.createOnce(tenantId, { tenant_id: tenantId, requested: null, last: null })
  await trainings.change(tenantId, (training) => finished(training, done))
}
