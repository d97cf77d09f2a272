import type { EventFacts } from './features.js'
import type { Model, Prediction } from './model.js'

/** What a model says of each event, in order. */
export function predict(_model: Model, _events: readonly EventFacts[]): Prediction[] {
  throw new Error('not written yet')
}
