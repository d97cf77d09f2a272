import { randomBytes } from 'node:crypto'
import type { ObjectStore } from '@nats-io/obj'
import { readObject } from '../../broker/objects.js'
import type { WatchedRecords } from '../../broker/watched-records.js'
import { idOfName, type TenantIds } from '../../ids/ids.js'
import { digestOf } from '../models/artefacts.js'
import { promoted, type StoredModel, servingOf } from '../models/model-version.js'
import type { Lease } from './lease.js'
import type { FinishedTraining, TrainingRequest } from './training.js'
import type { ResolvedByDirectory, TrainedOrNot, TrainingTask } from './training-worker.js'

export interface TrainTenantDeps {
  readonly models: WatchedRecords<StoredModel>
  readonly artefacts: ObjectStore
  readonly completeAsOf: () => Promise<number>
  readonly train: (task: Omit<TrainingTask, 'store'>) => Promise<TrainedOrNot>
  /** What the facts stage resolves the tenant's events by, as the directory is now. */
  readonly resolvedBy: (tenantId: string) => ResolvedByDirectory
  readonly idsOf: (tenantId: string) => TenantIds
  readonly clock: () => number
}

/** Another trainer may be training the tenant: the result is discarded. */
export class LeaseLost extends Error {}

const DAY_MS = 24 * 60 * 60 * 1000
/** Older records tell little about current traffic. */
const WINDOW_MS = 30 * DAY_MS
/** Maximum per kind of outcome. Training on this many records takes seconds to a minute of one core. */
const RECORDS_MAX = 100_000

/**
 * Trains a version of a tenant's model and promotes it if it passes validation. Idempotent per request: a retry gives
 * no second version, and a trainer that dies leaves at most an orphaned artefact.
 */
export async function trainTenant(
  tenantId: string,
  request: TrainingRequest,
  lease: Pick<Lease, 'isHeld'>,
  deps: TrainTenantDeps,
): Promise<FinishedTraining> {
  const { models, clock } = deps
  const id = idOfName('mdl', deps.idsOf(tenantId), 'training', request.id)
  const version = (await models.read(id)) ?? (await createVersion(id, tenantId, request, lease, deps))
  const outcome = version === undefined ? 'too_few_examples' : version.promoted_at === null ? 'candidate' : 'promoted'
  return {
    id: request.id,
    outcome,
    model_id: version?.id ?? null,
    finished_at: new Date(clock()).toISOString(),
  }
}

async function createVersion(
  id: string,
  tenantId: string,
  { seed, promote }: TrainingRequest,
  lease: Pick<Lease, 'isHeld'>,
  { models, artefacts, completeAsOf, train, resolvedBy, clock }: TrainTenantDeps,
): Promise<StoredModel | undefined> {
  const asOfMs = await completeAsOf()
  const window = { tenantId, fromMs: asOfMs - WINDOW_MS, asOfMs, recordsMax: RECORDS_MAX }
  const versions = [...models.of(tenantId)]
  const trained = await train({
    window,
    seed,
    serving: await artefactOf(servingOf(versions, true, () => false).model, artefacts),
    directory: resolvedBy(tenantId),
    forgotten: versions.flatMap(({ withdrawn }) =>
      withdrawn == null ? [] : [{ classes: withdrawn.classes, beforeMs: Date.parse(withdrawn.from) }],
    ),
  })
  if (trained.kind === 'too_few_examples') return undefined
  if (!lease.isHeld()) throw new LeaseLost('lease lost: another trainer may be training the tenant')

  const { artefact, card } = trained
  // Each attempt has its own object name, so that the artefact of a version is never overwritten.
  const object = `${id}.${randomBytes(8).toString('hex')}`
  await artefacts.putBlob({ name: object }, artefact)
  const candidate: StoredModel = {
    id,
    tenant_id: tenantId,
    created_at: new Date(clock()).toISOString(),
    artefact: { object, sha256: digestOf(artefact), bytes: artefact.length },
    card,
    promoted_at: null,
    recalled_at: null,
  }
  const wanted = promote && card.gate.isPassed ? promoted(candidate, models.of(tenantId), clock()) : candidate
  const kept = await models.createOnce(id, wanted)
  if (kept.artefact?.object !== object) await artefacts.delete(object)
  return kept
}

/**
 * @returns undefined when no version serves, or its artefact cannot be read: the gate then has nothing to compare with
 */
async function artefactOf(version: StoredModel | undefined, artefacts: ObjectStore): Promise<Uint8Array | undefined> {
  if (version?.artefact == null) return undefined
  const read = await readObject(artefacts, version.artefact.object, READ_MS_MAX)
  return read.kind === 'object' ? read.bytes : undefined
}

const READ_MS_MAX = 10_000
