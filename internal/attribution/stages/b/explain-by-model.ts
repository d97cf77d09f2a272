import type { Directory } from '../../../directory/directory.js'
import { undatedLabel } from '../../../directory/labels.js'
import { type EventFacts, withNeighbours } from '../../../inference/learning/features.js'
import type { ModelCache } from '../../../inference/models/artefacts.js'
import { chosenVersion, type StoredModel } from '../../../inference/models/model-version.js'
import { factsOf } from '../../../inference/training/training-records.js'
import type { FactsRow } from '../../../store/queries/attribution/training-window.js'
import type { StoredAttributionDetail } from '../../../store/queries/records/attributions.js'
import type { Logger } from '../../../telemetry/log.js'
import { explainChoice, guessOf, type ModelExplanation } from '../../records/model-explanation.js'
import { type FactsDeps, NEIGHBOURS_MAX, neighbourOf, traceWindowOf } from './inference-facts.js'
import type { InferredOwner } from './with-known-owner.js'

export interface ExplainByModelDeps {
  readonly version: (id: string) => StoredModel | undefined
  readonly versionsOf: (tenantId: string) => Iterable<StoredModel>
  readonly models: Pick<ModelCache, 'get'>
  readonly facts: (tenantId: string, idHex: string, snapshotMs: number) => Promise<FactsRow | undefined>
  readonly neighbours: FactsDeps['neighbours']
  readonly directory: Pick<Directory, 'serviceEntry'>
  readonly log: Logger
}

/**
 * @returns empty where no model took part, or its version has been removed; never throws: a card is shown without it
 */
export type ExplainByModel = (
  tenantId: string,
  stored: StoredAttributionDetail,
  snapshotMs: number,
) => Promise<ModelExplanation>

export function explainByModel(deps: ExplainByModelDeps): ExplainByModel {
  return async (tenantId, stored, snapshotMs) => {
    const version = versionFor(tenantId, stored, deps)
    if (version?.artefact == null) return {}
    try {
      const loaded = await deps.models.get(version)
      if (loaded.kind === 'fault') return {}
      const event = await factsAsOf(tenantId, stored, snapshotMs, deps)
      if (event === undefined) return {}
      if (stored.stage_origin === 'stage_c') return guessOf(version.id, loaded.model, event)
      const { inferred_owner: inferredOwner } = JSON.parse(stored.evidence) as InferredOwner
      const { service, owner: shown } = stored
      const owner = inferredOwner ?? shown
      return explainChoice(loaded.model, event, undatedLabel({ service, owner }, tenantId, deps.directory))
    } catch (cause) {
      deps.log.warn({ err: cause, model: version.id }, 'could not explain a record by its model')
      return {}
    }
  }
}

/** The version that the record cites; of a record that nobody could name, the one that served when it was made. */
function versionFor(
  tenantId: string,
  { evidence_basis, stage_origin, degradation_state, model_version, valid_from_ms }: StoredAttributionDetail,
  { version, versionsOf }: ExplainByModelDeps,
): StoredModel | undefined {
  if (evidence_basis === 'trained_inference') return version(model_version)
  if (stage_origin !== 'stage_c' || degradation_state !== 'none') return undefined
  const atMs = Number(valid_from_ms)
  return chosenVersion(
    [...versionsOf(tenantId)].filter(({ promoted_at }) => promoted_at !== null && Date.parse(promoted_at) <= atMs),
  )
}

/**
 * What the inference stage knew of the call: its own facts, and those of the other calls of its trace that had records
 * by then.
 */
async function factsAsOf(
  tenantId: string,
  { id, valid_from_ms }: StoredAttributionDetail,
  snapshotMs: number,
  { facts, neighbours }: ExplainByModelDeps,
): Promise<EventFacts | undefined> {
  const row = await facts(tenantId, id, snapshotMs)
  if (row === undefined) return undefined
  const own = factsOf(row)
  const traced = traceWindowOf([own])
  if (traced === undefined) return own
  const { traceIds, ...window } = traced
  const others = await neighbours({ tenantId, ...window, asOfMs: Number(valid_from_ms) - 1 }, traceIds, NEIGHBOURS_MAX)
  return withNeighbours([own, ...others.map(neighbourOf)])[0]
}
