import type { EventFacts } from './features.js'
import type { ClassLabel, Model } from './model.js'

/** One event of a tenant's window, with what is known of who caused it. */
export interface TrainingRecord {
  readonly facts: EventFacts
  readonly outcome: Outcome
}

export type Outcome =
  /** Stage A named it from facts. */
  | { readonly kind: 'resolved'; readonly label: ClassLabel }
  /** It reached stage B, and nobody has looked at it since. */
  | { readonly kind: 'unresolved' }
  /** It reached stage B, and a person has said who it was. */
  | { readonly kind: 'override'; readonly label: ClassLabel }
  /** It reached stage B, and a person has said that it was not this one. */
  | { readonly kind: 'dispute'; readonly against: ClassLabel }

export interface TrainingOptions {
  /** The same records, options and seed give the same bytes. */
  readonly seed: number
}

export type TrainingResult =
  | { readonly kind: 'trained'; readonly model: Model }
  /** Fewer than two classes have enough examples, in the training or in the validation part. */
  | { readonly kind: 'too_few_examples'; readonly classes: number; readonly examples: number }

/**
 * Trains, calibrates and validates a version on one tenant's window. Whether it may be promoted says `card.gate`.
 * Pure; takes seconds of processor time on 100,000 records.
 */
export function train(_records: readonly TrainingRecord[], _options: TrainingOptions): TrainingResult {
  throw new Error('not written yet')
}
