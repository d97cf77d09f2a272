import type { KV } from '@nats-io/kv'
import type { WatchedRecords } from '../../../broker/watched-records.js'
import type { Logger } from '../../../telemetry/log.js'
import { takeLease } from './lease.js'
import { prune, removeOrphans } from './prune.js'
import { LeaseLost, type TrainTenantDeps, trainTenant } from './train-tenant.js'
import { dueTraining, type FinishedTraining, finished, type StoredTraining, type TrainingRequest } from './training.js'

export interface TrainerDeps extends TrainTenantDeps {
  readonly trainings: WatchedRecords<StoredTraining>
  readonly leases: KV
  /** Name of this process. */
  readonly member: string
  /** Whose models are to be trained. */
  readonly tenantIds: () => Iterable<string>
  /** Whether a tenant falls to this trainer, among those that are alive. */
  readonly owns: (what: string) => boolean
  /** Whether a tenant's models are trained without being asked for. */
  readonly isEnabled: (tenantId: string) => boolean
  readonly everyMs: number
  /** Resolves when somebody has asked for a training, or after a while. */
  readonly pause: () => Promise<void>
  readonly log: Logger
}

/** After so many attempts a training counts as failed. */
const ATTEMPTS_MAX = 3
const DAY_MS = 24 * 60 * 60 * 1000

/** Trains tenants' models, one at a time, until `signal` aborts: what is asked for first, then what is due. */
export async function runTrainer(deps: TrainerDeps, signal: AbortSignal): Promise<void> {
  const attempts = new Map<string, number>()
  let sweptAt = Number.NEGATIVE_INFINITY
  while (!signal.aborted) {
    try {
      if (deps.clock() - sweptAt > DAY_MS) {
        const orphans = await removeOrphans(deps.models, deps.artefacts, deps.clock())
        if (orphans > 0) deps.log.info({ orphans }, 'removed orphaned model artefacts')
        sweptAt = deps.clock()
      }
      const next = nextTenant(deps)
      if (next !== undefined) {
        const isDone = await workOn(next.tenantId, next.request, attempts, deps, signal)
        if (isDone) continue
      }
    } catch (cause) {
      if (!signal.aborted) deps.log.warn({ err: cause }, 'training loop failed; will retry')
    }
    await deps.pause()
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

/** @returns whether something was done */
async function workOn(
  tenantId: string,
  request: TrainingRequest,
  attempts: Map<string, number>,
  deps: TrainerDeps,
  signal: AbortSignal,
): Promise<boolean> {
  const { trainings, leases, member, log } = deps
  const lease = await takeLease(leases, tenantId, member)
  if (lease === undefined) return false
  const key = `${tenantId} ${request.id}`
  try {
    const startedAt = performance.now()
    const done = await trainTenant(tenantId, request, lease, deps)
    attempts.delete(key)
    await tell(tenantId, done, trainings)
    if (done.model_id !== null) await prune(tenantId, deps.models, deps.artefacts)
    log.info(
      { tenantId, outcome: done.outcome, model: done.model_id, ms: Math.round(performance.now() - startedAt) },
      'trained',
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
    await tell(tenantId, { id: request.id, outcome: 'failed', model_id: null, finished_at }, trainings)
    return true
  } finally {
    await lease.release()
  }
}

async function tell(
  tenantId: string,
  done: FinishedTraining,
  trainings: WatchedRecords<StoredTraining>,
): Promise<void> {
  await trainings.createOnce(tenantId, { tenant_id: tenantId, requested: null, last: null })
  await trainings.change(tenantId, (training) => finished(training, done))
}
