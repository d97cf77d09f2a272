import type { ObjectStore } from '@nats-io/obj'
import type { WatchedRecords } from '../../broker/watched-records.js'
import type { Logger } from '../../telemetry/log.js'
import { type LivePrecision, newClasses, type ResolvedEvent, SCORED_MAX, scoreServing } from '../learning/drift.js'
import { RESOLVED_MIN } from '../learning/examples.js'
import type { DirectoryFacts } from '../learning/views.js'
import { loadModel, ModelCache } from '../models/artefacts.js'
import { chosenVersion, type StoredModel } from '../models/model-version.js'
import { DEFAULT_SEED, type StoredTraining } from './training.js'

export interface WatchDeps {
  readonly models: WatchedRecords<StoredModel>
  readonly artefacts: ObjectStore
  readonly trainings: WatchedRecords<StoredTraining>
  /** The newest events that were resolved after an instant, at most `eventsMax`, in the order of resolution. */
  readonly resolvedSince: (tenantId: string, sinceMs: number, eventsMax: number) => Promise<readonly ResolvedEvent[]>
  readonly directoryOf: (tenantId: string) => DirectoryFacts
  readonly clock: () => number
  readonly log: Logger
}

/** Pause after a training without a version that can serve, before the next one is requested. */
const RETRY_MS = 30 * 60 * 1000

export interface DriftWatch {
  /** Scores the tenant's serving version on the newly resolved events; withdraws it if it is wrong too often. */
  check(tenantId: string): Promise<void>
  /**
   * The precision of the version that serves a tenant, at the last check; undefined: none serves, or it has too few
   * claims.
   */
  precisionOf(tenantId: string): LivePrecision | undefined
}

/**
 * Scores serving versions on newly resolved events. Stateless: each check reads the newest events since the version was
 * created, so that another trainer that takes over reaches the same conclusion.
 */
export function driftWatch(deps: WatchDeps): DriftWatch {
  const { models, trainings, clock, log } = deps
  const precisions = new Map<string, LivePrecision>()
  const cache = new ModelCache((version) => loadModel(deps.artefacts, version))

  /** @returns the precision of a version that continues to serve */
  const score = async (tenantId: string): Promise<LivePrecision | undefined> => {
    const version = chosenVersion(models.of(tenantId))
    if (version === undefined) return undefined
    if (version.withdrawn != null) {
      const last = trainings.get(tenantId)?.last ?? undefined
      if (last !== undefined && clock() - Date.parse(last.finished_at) < RETRY_MS) return undefined
      await request(tenantId, `withdrawn ${version.id} ${last?.finished_at ?? ''}`, deps)
      return undefined
    }
    const loaded = await cache.get(version)
    // Attributors report the fault.
    if (loaded.kind === 'fault') return undefined
    const events = await deps.resolvedSince(tenantId, Date.parse(version.created_at), SCORED_MAX)
    const { drift, precision } = scoreServing(loaded.model, events, deps.directoryOf(tenantId), DEFAULT_SEED)
    if (drift !== undefined) {
      const withdrawn = {
        at: new Date(clock()).toISOString(),
        scored: drift.scored,
        precision: drift.precision,
        at_most: drift.atMost,
        from: new Date(drift.fromMs).toISOString(),
        classes: drift.classes,
      }
      await models.change(version.id, (found) => (found.withdrawn == null ? { ...found, withdrawn } : undefined))
      await request(tenantId, `withdrawn ${version.id}`, deps)
      log.warn({ tenantId, model: version.id, precision: drift.precision }, 'withdrew a model: it is wrong too often')
      return undefined
    }
    const found = newClasses(loaded.model, events, RESOLVED_MIN)
    const finishedAt = trainings.get(tenantId)?.last?.finished_at
    const isRecent = finishedAt !== undefined && clock() - Date.parse(finishedAt) < RETRY_MS
    if (found.length > 0 && !isRecent) await request(tenantId, `new services ${version.id} ${finishedAt ?? ''}`, deps)
    return precision
  }

  return {
    async check(tenantId) {
      const precision = await score(tenantId)
      if (precision === undefined) precisions.delete(tenantId)
      else precisions.set(tenantId, precision)
    },
    precisionOf: (tenantId) => precisions.get(tenantId),
  }
}

/** A pending request is not replaced: its training reads the same records. */
async function request(tenantId: string, id: string, { trainings, clock }: WatchDeps): Promise<void> {
  await trainings.createOnce(tenantId, { tenant_id: tenantId, requested: null, last: null })
  await trainings.change(tenantId, (training) =>
    training.requested !== null || training.last?.id === id
      ? undefined
      : {
          ...training,
          requested: { id, requested_at: new Date(clock()).toISOString(), seed: DEFAULT_SEED, promote: true },
        },
  )
}
