/** Requests for trainings of a tenant's models, and their results. */

/** The entry of a tenant in the bucket `trainings`. */
export interface StoredTraining {
  readonly tenant_id: string
  /** The pending request; null when there is none. */
  readonly requested: TrainingRequest | null
  /** The last finished training. */
  readonly last: FinishedTraining | null
}

export interface TrainingRequest {
  /** Unique per request. */
  readonly id: string
  readonly requested_at: string
  readonly seed: number
  /** Whether a version that passes validation is promoted at once. If false, the version is a candidate in any case. */
  readonly promote: boolean
}

const TRAINING_OUTCOMES = ['promoted', 'candidate', 'too_few_examples', 'failed'] as const
export type TrainingOutcome = (typeof TRAINING_OUTCOMES)[number]

export interface FinishedTraining {
  /** Id of the request, or of the scheduled training. */
  readonly id: string
  readonly outcome: TrainingOutcome
  /** Null when the training created no version. */
  readonly model_id: string | null
  readonly finished_at: string
}

/** The seed of scheduled trainings. */
export const DEFAULT_SEED = 1

/** A training without a result is retried after this fraction of the interval: by then there may be enough records. */
const RETRIES_PER_INTERVAL = 12

/**
 * The training to run for a tenant now: the pending request, or else the scheduled training if it is due.
 *
 * @param everyMs interval between scheduled trainings
 */
export function dueTraining(
  training: StoredTraining | undefined,
  nowMs: number,
  everyMs: number,
): TrainingRequest | undefined {
  if (training?.requested != null) return training.requested
  const last = training?.last ?? undefined
  if (last !== undefined) {
    const wait =
      last.outcome === 'too_few_examples' || last.outcome === 'failed' ? everyMs / RETRIES_PER_INTERVAL : everyMs
    if (nowMs < Date.parse(last.finished_at) + wait) return undefined
  }
  // The id follows from the previous training, so that a repeat after a crash has the same id.
  const id = `scheduled ${last?.finished_at ?? 'first'}`
  return { id, requested_at: new Date(nowMs).toISOString(), seed: DEFAULT_SEED, promote: true }
}

/** Records a finished training. A request that arrived in the meantime stays pending. */
export const finished = (
  training: StoredTraining,
  { id, outcome, model_id, finished_at }: FinishedTraining,
): StoredTraining => ({
  ...training,
  requested: training.requested?.id === id ? null : training.requested,
  last: { id, outcome, model_id, finished_at },
})
