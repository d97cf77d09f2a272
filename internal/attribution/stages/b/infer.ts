import type { EventFacts } from '../../../inference/learning/features.js'
import type { Model, Prediction } from '../../../inference/learning/model.js'
import { predict } from '../../../inference/learning/predict.js'
import { ownTurn } from '../../../process/own-turn.js'

/** Time limit of a model per batch. For a larger batch it applies per `BATCH_EVENTS` events. */
export const BATCH_MS_MAX = 50
/**
 * A late model is at fault only if it used more than this share of its limit as CPU time. With less, other processes
 * had the CPU, and no other model would have answered sooner.
 */
const PROCESSOR_SHARE = 0.5
/** At this multiple of the limit, a model is at fault regardless of its CPU time. */
const ALWAYS_AT_FAULT = 10
const BATCH_EVENTS = 1_000
/** The first slice is small, so that a model that is far too slow blocks the event loop only briefly. */
const FIRST_EVENTS = 8
/** Approximate duration of a slice of events; between slices the event loop runs other work. */
const SLICE_MS = 10

/** Monotonic clocks in milliseconds: wall clock, and CPU time of this process. */
export interface Clocks {
  readonly wall: () => number
  readonly processor: () => number
}

export type Inferred =
  /** `isLate`: the model exceeded its limit once in the batch. */
  | { readonly kind: 'inferred'; readonly predictions: readonly Prediction[]; readonly isLate: boolean }
  | { readonly kind: 'too_slow' }

/**
 * Runs a model on events within its time limit. Exceeding the limit once is tolerated, because the machine may be the
 * cause; exceeding it twice in a row is the model's fault.
 *
 * @param wasLate whether the model exceeded its limit in the previous batch
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
    const isAtFault = processorMs > batchMsMax * PROCESSOR_SHARE || spentMs > batchMsMax * ALWAYS_AT_FAULT
    const isOverLimit = spentMs > batchMsMax
    const isExceeded = isOverLimit && isAtFault
    if (isExceeded && (isLate || wasLate)) return { kind: 'too_slow' }
    if (isExceeded) isLate = true
    if (isOverLimit || spentEvents >= BATCH_EVENTS) {
      spentMs = 0
      processorMs = 0
      spentEvents = 0
    }
    const isShort = sliceMs * 2 < SLICE_MS
    sliceEvents = Math.min(BATCH_EVENTS, isShort ? sliceEvents * 2 : Math.max(FIRST_EVENTS, sliceEvents >> 1))
    if (!isShort) await ownTurn()
  }
  return { kind: 'inferred', predictions, isLate }
}
