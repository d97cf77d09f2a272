import type { TrainingRecord } from '../../../../internal/inference/learning/examples.js'
import type { EventFacts } from '../../../../internal/inference/learning/features.js'
import type { ClassLabel } from '../../../../internal/inference/learning/model.js'
import { type Random, seededRandom } from '../../../../internal/local/sandbox/random.js'

/**
 * Traffic of services that differ in model and size; events of one layer carry labels and those of the other do not.
 */

export const CHAT: ClassLabel = { service: 'chat', owner: 'team-a' }
export const SEARCH: ClassLabel = { service: 'search', owner: 'team-b' }
export const CODE: ClassLabel = { service: 'code', owner: 'team-c' }
/** Its events never have labels. */
export const SHADOW: ClassLabel = { service: 'shadow', owner: 'team-d' }

interface Look {
  readonly label: ClassLabel
  readonly model: string
  readonly inputTokens: number
  readonly outputTokens: number
  /** Shares of the events of the labelled and of the unlabelled layer. */
  readonly shares: readonly [application: number, proxy: number]
}

const LOOKS: readonly Look[] = [
  { label: CHAT, model: 'small', inputTokens: 400, outputTokens: 200, shares: [0.7, 0.15] },
  { label: SEARCH, model: 'small', inputTokens: 2_500, outputTokens: 200, shares: [0.2, 0.55] },
  { label: CODE, model: 'large', inputTokens: 2_500, outputTokens: 20, shares: [0.1, 0.3] },
]
const SHADOW_LOOK: Look = { label: SHADOW, model: 'large', inputTokens: 300, outputTokens: 900, shares: [0, 0.5] }

export interface TrafficEvent {
  readonly facts: EventFacts
  readonly truth: ClassLabel
  readonly isLabelled: boolean
}

const STARTS_AT = Date.UTC(2026, 0, 5)

export function traffic(count: number, seed: string, { withShadow = false } = {}): TrafficEvent[] {
  const random = seededRandom(seed)
  return Array.from({ length: count }, (_, i) => {
    const isLabelled = random.happens(0.5)
    const look = draw(random, withShadow ? [...LOOKS, SHADOW_LOOK] : LOOKS, isLabelled ? 0 : 1)
    const facts: EventFacts = {
      eventTimeMs: STARTS_AT + i * 60_000,
      provider: 'openai',
      model: random.happens(0.9) ? look.model : 'other',
      ingestionLayer: isLabelled ? 'application' : 'proxy',
      principal: isLabelled ? 'key-1' : 'key-2',
      inputTokens: Math.round(look.inputTokens * Math.exp(0.6 * normal(random))),
      outputTokens: Math.round(look.outputTokens * Math.exp(0.6 * normal(random))),
      ...(isLabelled ? { identityHash: `person of ${look.label.service}` } : {}),
    }
    return { facts, truth: look.label, isLabelled }
  })
}

/** @param isOverridden whether an unlabelled event has an override that names the true class */
export const recordsOf = (
  events: readonly TrafficEvent[],
  isOverridden: (index: number) => boolean = () => false,
): TrainingRecord[] =>
  events.map(({ facts, truth, isLabelled }, i) => {
    if (isLabelled) return { facts, outcome: { kind: 'resolved', label: truth } }
    return { facts, outcome: isOverridden(i) ? { kind: 'override', label: truth } : { kind: 'unresolved' } }
  })

function draw(random: Random, looks: readonly Look[], layer: 0 | 1): Look {
  let rest = random.share() * looks.reduce((sum, { shares }) => sum + shares[layer], 0)
  for (const look of looks) {
    rest -= look.shares[layer]
    if (rest < 0) return look
  }
  throw new Error('the drawn number exceeds the sum of the shares')
}

/** Box-Muller transform. */
const normal = (random: Random): number =>
  Math.sqrt(-2 * Math.log(1 - random.share())) * Math.cos(2 * Math.PI * random.share())
