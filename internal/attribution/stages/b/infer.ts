import { setImmediate as nextTurn } from 'node:timers/promises'
import type { EventFacts } from '../../inference/learning/features.js'
import type { Model, Prediction } from '../../inference/learning/model.js'
import { predict } from '../../inference/learning/predict.js'

/** What a model may take for a batch (design section 5); a batch of more than so many events counts as several. */
export const BATCH_MS_MAX = 50
/**
 * Of it, what the model must have had of the processor: where it had less, it was not the model that took long, but
 * whatever had the processor meanwhile, and nobody else would have answered sooner.
 */
const PROCESSOR_SHARE = 0.5
/** That late nobody asks whose fault it is: so many times the limit. */
const FAR_TOO_LATE = 10
const BATCH_EVENTS = 1_000
/** The first look at a model is short: one that is far too slow then holds the process up only for a moment. */
const FIRST_EVENTS = 8
/** Events are asked about in slices of about that long, so that others have their turn in between. */
const SLICE_MS = 10

/** Milliseconds, which only rise: of the wall, and of what this process has had of the processor. */
export interface Clocks {
  readonly wall: () => number
  readonly processor: () => number
}

export type Inferred =
  /** `isLate`: the batch went over the limit, once. */
  | { readonly kind: 'inferred'; readonly predictions: readonly Prediction[]; readonly isLate: boolean }
  | { readonly kind: 'too_slow' }

/**
 * Asks a model about events, within its time. A first time over the limit may be the machine's and is passed over; a
 * second one on end is the model's.
 *
 * @param wasLate whether the batch before went over the limit
 */
export async function infer(
  model: Model,
  events: readonly EventFacts[],
  wasLate: boolean,
  { wall, processor }: Clocks,
  batchMsMax = BATCH_MS_MAX,
): Promise<Inferred> {
  const predictions: Prediction[] = []
  let sliceEvents = FIRST_EVENTS
  let isLate = false
  let spentMs = 0
  let processorMs = 0
  let spentEvents = 0
  while (predictions.length < events.length) {
    const slice = events.slice(predictions.length, predictions.length + sliceEvents)
    const [from, processorFrom] = [wall(), processor()]
    predictions.push(...predict(model, slice))
    const sliceMs = wall() - from

    spentMs += sliceMs
    processorMs += processor() - processorFrom
    spentEvents += slice.length
    const isItself = processorMs > batchMsMax * PROCESSOR_SHARE || spentMs > batchMsMax * FAR_TOO_LATE
    const isSpent = spentMs > batchMsMax
    const isOver = isSpent && isItself
    if (isOver && (isLate || wasLate)) return { kind: 'too_slow' }
    if (isOver) isLate = true
    if (isSpent || spentEvents >= BATCH_EVENTS) {
      spentMs = 0
      processorMs = 0
      spentEvents = 0
    }
    const isShort = sliceMs * 2 < SLICE_MS
    sliceEvents = Math.min(BATCH_EVENTS, isShort ? sliceEvents * 2 : Math.max(FIRST_EVENTS, sliceEvents >> 1))
    if (!isShort) await nextTurn()
  }
  return { kind: 'inferred', predictions, isLate }
}
