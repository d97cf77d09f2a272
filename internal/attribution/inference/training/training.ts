/** Trainings of a tenant's models, as they are asked for and told of. */

/** A tenant's entry in the bucket `trainings`. */
export interface StoredTraining {
  readonly tenant_id: string
  /** What is to be done; null when nothing is. */
  readonly requested: TrainingRequest | null
  /** What was done last. */
  readonly last: FinishedTraining | null
}

export interface TrainingRequest {
  /** Unlike that of any other request. */
  readonly id: string
  readonly requested_at: string
  readonly seed: number
  /** Whether a version that passes validation serves at once; else it is a candidate, whatever comes of it. */
  readonly promote: boolean
}

export const TRAINING_OUTCOMES = ['promoted', 'candidate', 'too_few_examples', 'failed'] as const
export type TrainingOutcome = (typeof TRAINING_OUTCOMES)[number]

export interface FinishedTraining {
  /** Of the request, or of the time that it was due at. */
  readonly id: string
  readonly outcome: TrainingOutcome
  /** Null where there is none. */
  readonly model_id: string | null
  readonly finished_at: string
}

/** The seed of trainings that nobody has asked for. */
export const USUAL_SEED = 1

/** How much sooner a tenant without a version of its own is looked at again: it may have enough records by then. */
const SOONER = 12

/**
 * What is to be done for a tenant now: what was asked for, else what is due.
 *
 * @param everyMs from one training to the next
 */
export function dueTraining(
  training: StoredTraining | undefined,
  nowMs: number,
  everyMs: number,
): TrainingRequest | undefined {
  if (training?.requested != null) return training.requested
  const last = training?.last ?? undefined
  if (last !== undefined) {
    const wait = last.outcome === 'too_few_examples' || last.outcome === 'failed' ? everyMs / SOONER : everyMs
    if (nowMs < Date.parse(last.finished_at) + wait) return undefined
  }
  // Named by what was done before it: whoever repeats it after a crash repeats the same.
  const id = `scheduled ${last?.finished_at ?? 'first'}`
  return { id, requested_at: new Date(nowMs).toISOString(), seed: USUAL_SEED, promote: true }
}

/** With a training done: what was asked for meanwhile stays. */
export const finished = (
  training: StoredTraining,
  { id, outcome, model_id, finished_at }: FinishedTraining,
): StoredTraining => ({
  ...training,
  requested: training.requested?.id === id ? null : training.requested,
  last: { id, outcome, model_id, finished_at },
})
