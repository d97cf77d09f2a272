import type { DegradationState } from '../../records/interpretation.js'
import type { ClassLabel, ModelCard } from '../learning/model.js'

/**
 * A version of a tenant's stage-B model, stored under its id in the bucket `models`. The serving version is derived
 * from the fields of all versions, so that a promotion or a recall is a single compare-and-set of one record.
 */
export interface StoredModel {
  readonly id: string
  readonly tenant_id: string
  readonly created_at: string
  /** Null once the artefact was removed because of its age: the version can no longer serve. */
  readonly artefact: {
    /** Name in the object store. */
    readonly object: string
    /** SHA-256 of the bytes, in hex. */
    readonly sha256: string
    readonly bytes: number
  } | null
  readonly card: ModelCard
  /** Time of the last promotion; null for a candidate. Later than the promotion of every version promoted before. */
  readonly promoted_at: string | null
  /** Time of the recall by an admin; null again after the next promotion. */
  readonly recalled_at: string | null
  /** Why a trainer took it out of service; absent: it was not, null after the next promotion. */
  readonly withdrawn?: Withdrawal | null
}

/**
 * On newly resolved events, with their labels hidden, the version was right too seldom where it claimed 0.80 or more.
 */
export interface Withdrawal {
  readonly at: string
  /** Number of newly resolved events that were scored. */
  readonly scored: number
  readonly precision: number
  /** Upper confidence bound of the precision. */
  readonly at_most: number
  /** Event time from which on the events were scored. */
  readonly from: string
  /** The classes whose earlier records no longer say what their calls look like. */
  readonly classes: readonly ClassLabel[]
}

export const MODEL_STATUSES = ['candidate', 'serving', 'previous', 'recalled', 'withdrawn'] as const
export type ModelStatus = (typeof MODEL_STATUSES)[number]

/** What serves a tenant in the inference stage (deploy/decisions/which-model-serves-a-tenant.md). */
export interface Serving {
  readonly state: DegradationState
  /** Undefined when no version can or may serve. */
  readonly model: StoredModel | undefined
}

/**
 * The version that should serve: the last promoted version that is not recalled. A fallback for a recalled version must
 * have passed validation, because no admin has asked for that version to serve in its place. A withdrawn version is not
 * replaced by an older one: what changed since it was trained, the older one knows no better.
 *
 * @param versions all versions of one tenant, in any order
 */
export function chosenVersion(versions: Iterable<StoredModel>): StoredModel | undefined {
  const all = [...versions]
  const chosen = lastPromoted(all)
  return chosen !== undefined && isFallback(chosen, all)
    ? lastPromoted(all.filter(({ card }) => card.gate.isPassed))
    : chosen
}

/**
 * @param isEnabled whether the tenant has inference enabled
 * @param isUnfit whether the version cannot serve, because its artefact is missing or corrupt or it is too slow
 */
export function servingOf(
  versions: Iterable<StoredModel>,
  isEnabled: boolean,
  isUnfit: (version: StoredModel) => boolean,
): Serving {
  if (!isEnabled) return { state: 'disabled', model: undefined }
  const all = [...versions]
  const model = chosenVersion(all)
  if (model === undefined || model.withdrawn != null || isUnfit(model)) {
    return { state: 'degraded_serving', model: undefined }
  }
  return { state: isFallback(model, all) ? 'model_recalled' : 'none', model }
}

/**
 * The version to evaluate in shadow: the newest, if it was created after the serving one and never promoted or
 * recalled.
 */
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
  if (version.withdrawn != null) return 'withdrawn'
  return version.id === chosen?.id ? 'serving' : 'previous'
}

/**
 * The version, promoted: it becomes the serving version.
 *
 * @param versions all versions of the tenant
 */
export function promoted(version: StoredModel, versions: Iterable<StoredModel>, nowMs: number): StoredModel {
  let atMs = nowMs
  // The clock of another process may be ahead.
  for (const { promoted_at } of versions) if (promoted_at !== null) atMs = Math.max(atMs, Date.parse(promoted_at) + 1)
  return { ...version, promoted_at: new Date(atMs).toISOString(), recalled_at: null, withdrawn: null }
}

function lastPromoted(versions: readonly StoredModel[]): StoredModel | undefined {
  let last: StoredModel | undefined
  for (const version of versions) {
    if (isServable(version) && isLater(version, last)) last = version
  }
  return last
}

/** Whether a version promoted later was recalled. */
const isFallback = (chosen: StoredModel, versions: readonly StoredModel[]): boolean =>
  versions.some((version) => version.recalled_at !== null && isLater(version, chosen))

const isUntried = ({ promoted_at, recalled_at }: StoredModel): boolean => promoted_at === null && recalled_at === null

const isServable = ({ artefact, promoted_at, recalled_at }: StoredModel): boolean =>
  artefact !== null && promoted_at !== null && recalled_at === null

/** Orders by time of promotion; versions that were never promoted come first. */
function isLater(one: StoredModel, other: StoredModel | undefined): boolean {
  if (other === undefined) return true
  const [a, b] = [one.promoted_at ?? '', other.promoted_at ?? '']
  return a === b ? one.id > other.id : a > b
}
