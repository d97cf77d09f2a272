import { type EventFacts, type FeatureGroup, featuresOf } from './features.js'
import type { ClassLabel, Model } from './model.js'
import { writeSlotLogits } from './predict.js'

/** The name that people see for each group of features. */
const FACT_OF = {
  provider: 'model',
  model: 'model',
  input_tokens: 'size',
  output_tokens: 'size',
  token_shape: 'size',
  model_and_tokens: 'size',
  cached_share: 'cached_share',
  reasoning_share: 'reasoning_share',
  latency: 'latency',
  hour: 'hour',
  model_and_hour: 'hour',
  service_tier: 'service_tier',
  region: 'region',
  identity: 'identity',
  tags: 'tags',
  kubernetes: 'kubernetes',
  trace_neighbours: 'trace',
} as const satisfies Readonly<Record<FeatureGroup, string>>
export type Fact = (typeof FACT_OF)[FeatureGroup]
export const FACTS: readonly Fact[] = [...new Set(Object.values(FACT_OF))]

/** How strongly a fact of an event supports a class. */
export interface Contribution {
  readonly fact: Fact
  /**
   * Likelihood of the fact with the class, divided by that with the other classes, weighted by their shares of the
   * traffic; below 1, the fact speaks against the class.
   */
  readonly times: number
}

/**
 * The support of each fact of an event for a class, strongest first. The part of the class's logit that comes from the
 * fact is compared with that of the other classes. A fact that the event does not state contributes to none.
 *
 * @returns empty when there is no other class to compare with
 */
export function contributionsTo({ card, parameters }: Model, event: EventFacts, label: ClassLabel): Contribution[] {
  const own = card.classes.findIndex(({ service, owner }) => service === label.service && owner === label.owner)
  // Open classes have no weights of their own.
  const others = card.classes.flatMap(({ servedShare }, c) =>
    c === own || parameters.openClasses.includes(c) ? [] : [{ c, servedShare }],
  )
  const shares = others.reduce((sum, { servedShare }) => sum + servedShare, 0)
  if (own < 0 || shares === 0) return []
  return FACTS.map((fact): Contribution => {
    const rows = featuresOf([event], { leftOut: (group) => FACT_OF[group] !== fact })
    const logits = new Float64Array(parameters.intercepts.length)
    writeSlotLogits(parameters, rows, 0, logits)
    const elsewhere = others.reduce(
      (sum, { c, servedShare }) =>
        sum + servedShare * Math.exp(((logits[c] as number) - (logits[own] as number)) / parameters.temperature),
      0,
    )
    return { fact, times: shares / elsewhere }
  }).sort((one, other) => other.times - one.times)
}
