import { setImmediate as nextTurn } from 'node:timers/promises'
import type { EventFacts } from '../learning/features.js'
import type { Model, Prediction } from '../learning/model.js'
import { predict } from '../learning/predict.js'

/** What a model may take for a batch, by the clock (design section 5); a batch of more than so many events counts as several. */
export const BATCH_MS_MAX = 50
const BATCH_EVENTS = 1_000
/** The first look at a model is short: one that is far too slow then holds the process up only for a moment. */
const FIRST_EVENTS = 8
/** Events are asked about in slices of about that long, so that others have their turn in between. */
const SLICE_MS = 10

export type Inferred =
  /** `isLate`: the batch went over the limit, once. */
  | { readonly kind: 'inferred'; readonly predictions: readonly Prediction[]; readonly isLate: boolean }
  | { readonly kind: 'too_slow' }

/**
 * Asks a model about events, within its time. A first time over the limit may be the machine's and is passed over; a
 * second one on end is the model's.
 *
 * @param wasLate whether the batch before went over the limit
 * @param clock milliseconds, of the wall: who waits for a batch waits also while the processor is somebody else's
 */
export async function infer(
  model: Model,
  events: readonly EventFacts[],
  wasLate: boolean,
  clock: () => number,
  batchMsMax = BATCH_MS_MAX,
): Promise<Inferred> {
  const predictions: Prediction[] = []
  let sliceEvents = FIRST_EVENTS
  let isLate = false
  let spentMs = 0
  let spentEvents = 0
  while (predictions.length < events.length) {
    const slice = events.slice(predictions.length, predictions.length + sliceEvents)
    const from = clock()
    predictions.push(...predict(model, slice))
    const sliceMs = clock() - from

    spentMs += sliceMs
    spentEvents += slice.length
    const isOver = spentMs > batchMsMax
    if (isOver && (isLate || wasLate)) return { kind: 'too_slow' }
    if (isOver) isLate = true
    if (isOver || spentEvents >= BATCH_EVENTS) {
      spentMs = 0
      spentEvents = 0
    }
    const isShort = sliceMs * 2 < SLICE_MS
    sliceEvents = Math.min(BATCH_EVENTS, isShort ? sliceEvents * 2 : Math.max(FIRST_EVENTS, sliceEvents >> 1))
    if (!isShort) await nextTurn()
  }
  return { kind: 'inferred', predictions, isLate }
}
