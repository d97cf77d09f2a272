import type { DegradationState } from '../../../records/interpretation.js'
import type { ModelCard } from '../learning/model.js'

/**
 * A version of a tenant's stage-B model, as it is kept under its id in the bucket `models`. What serves follows from
 * each version's own facts, so that a promotion or a recall is one compare-and-set of one record.
 */
export interface StoredModel {
  readonly id: string
  readonly tenant_id: string
  readonly created_at: string
  /** Null once it was removed for its age: the version can serve no more. */
  readonly artefact: {
    /** Its name in the object store. */
    readonly object: string
    /** Hex SHA-256 of its bytes. */
    readonly sha256: string
    readonly bytes: number
  } | null
  readonly card: ModelCard
  /** When it was let serve, last; null while it is a candidate. Later than that of each version promoted before. */
  readonly promoted_at: string | null
  /** When an admin took it out of service; null again when it is promoted again. */
  readonly recalled_at: string | null
}

export const MODEL_STATUSES = ['candidate', 'serving', 'previous', 'recalled'] as const
export type ModelStatus = (typeof MODEL_STATUSES)[number]

/** What answers for a tenant in stage B (spec 2.3, rules 2 to 4). */
export interface Serving {
  readonly state: DegradationState
  /** Undefined where none can serve, or none may. */
  readonly model: StoredModel | undefined
}

/**
 * The version that a tenant's admin and trainer want to serve: the last promoted of those that are not recalled. One that
 * stands in for a recalled version must have passed validation: nobody has asked for any other in its place.
 *
 * @param versions of one tenant, in any order
 */
export function chosenVersion(versions: Iterable<StoredModel>): StoredModel | undefined {
  const all = [...versions]
  const chosen = lastPromoted(all)
  return chosen !== undefined && standsIn(chosen, all)
    ? lastPromoted(all.filter(({ card }) => card.gate.isPassed))
    : chosen
}

/**
 * @param isEnabled the tenant's setting
 * @param isUnfit whether the version cannot serve: its artefact is missing or corrupt, or it is too slow
 */
export function servingOf(
  versions: Iterable<StoredModel>,
  isEnabled: boolean,
  isUnfit: (version: StoredModel) => boolean,
): Serving {
  if (!isEnabled) return { state: 'disabled', model: undefined }
  const all = [...versions]
  const model = chosenVersion(all)
  if (model === undefined || isUnfit(model)) return { state: 'degraded_serving', model: undefined }
  return { state: standsIn(model, all) ? 'model_recalled' : 'none', model }
}

/** The version that is looked at in the shadow of the one that serves: the newest, if it was made later and nobody has decided about it. */
export function candidateOf(versions: Iterable<StoredModel>, serving: StoredModel): StoredModel | undefined {
  let candidate: StoredModel | undefined
  for (const version of versions) {
    const isCandidate = isUntried(version) && version.created_at > serving.created_at
    if (isCandidate && (candidate === undefined || version.created_at > candidate.created_at)) candidate = version
  }
  return candidate
}

export function statusOf(version: StoredModel, chosen: StoredModel | undefined): ModelStatus {
  if (version.recalled_at !== null) return 'recalled'
  if (version.promoted_at === null) return 'candidate'
  return version.id === chosen?.id ? 'serving' : 'previous'
}

/**
 * The version as the one that serves from now on.
 *
 * @param versions of its tenant
 */
export function promoted(version: StoredModel, versions: Iterable<StoredModel>, nowMs: number): StoredModel {
  let atMs = nowMs
  // Another process's clock may be ahead of this one's.
  for (const { promoted_at } of versions) if (promoted_at !== null) atMs = Math.max(atMs, Date.parse(promoted_at) + 1)
  return { ...version, promoted_at: new Date(atMs).toISOString(), recalled_at: null }
}

function lastPromoted(versions: readonly StoredModel[]): StoredModel | undefined {
  let last: StoredModel | undefined
  for (const version of versions) {
    if (isServable(version) && isLater(version, last)) last = version
  }
  return last
}

/** Whether a version was recalled that was promoted later. */
const standsIn = (chosen: StoredModel, versions: readonly StoredModel[]): boolean =>
  versions.some((version) => version.recalled_at !== null && isLater(version, chosen))

const isUntried = ({ promoted_at, recalled_at }: StoredModel): boolean => promoted_at === null && recalled_at === null

const isServable = ({ artefact, promoted_at, recalled_at }: StoredModel): boolean =>
  artefact !== null && promoted_at !== null && recalled_at === null

/** By when they were promoted; what was never promoted comes before all. */
function isLater(one: StoredModel, other: StoredModel | undefined): boolean {
  if (other === undefined) return true
  const [a, b] = [one.promoted_at ?? '', other.promoted_at ?? '']
  return a === b ? one.id > other.id : a > b
}
