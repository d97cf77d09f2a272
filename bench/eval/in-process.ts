import type { Outcome } from '../../internal/inference/learning/examples.js'
import type { EventFacts } from '../../internal/inference/learning/features.js'
import { predict } from '../../internal/inference/learning/predict.js'
import { train } from '../../internal/inference/learning/train.js'
import { zero } from '../../internal/units/quantity.js'
import { mondayBefore, personName } from './events.js'
import type { Verdict } from './figures.js'
import { type PlantedEvent, type PlantedWorld, STRETCHED_MS } from './plant.js'
import { SHADOW } from './planted-company.js'

/** The same protocol without the product: the mathematics alone, for many seeds. */

/** Below it a record names a pool (stage C). */
const PROVISIONAL = 5_000

export function judgeInProcess(world: PlantedWorld, withAudits: boolean): Verdict[] | undefined {
  const startMs = mondayBefore(Date.UTC(2026, 0, 1), STRETCHED_MS)
  const history = world.events.filter(({ isHistory }) => isHistory)
  const result = train(
    history.map((event) => ({ facts: factsOf(event, startMs), outcome: outcomeOf(event, withAudits) })),
    { seed: 1 },
  )
  if (result.kind !== 'trained') return undefined
  const judged = judgedEvents(world)
  const predictions = predict(
    result.model,
    judged.map((event) => factsOf(event, startMs)),
  )
  return judged.map((event, i): Verdict => {
    const { label, confidence } = predictions[i] as (typeof predictions)[number]
    return {
      said: confidence < PROVISIONAL ? undefined : label,
      confidence: confidence / 10_000,
      truth: event,
      isShadow: event.service === SHADOW,
      costUsd: zero(),
    }
  })
}

/** Those after the history whose labels were withheld. */
export const judgedEvents = ({ events }: PlantedWorld): PlantedEvent[] =>
  events.filter(({ isHistory, isLabelled }) => !isHistory && !isLabelled)

const factsOf = (event: PlantedEvent, startMs: number): EventFacts => ({
  eventTimeMs: startMs + event.atMs,
  provider: event.provider,
  model: event.model,
  ingestionLayer: event.layer,
  principal: event.principal,
  inputTokens: event.inputTokens,
  outputTokens: event.outputTokens,
  latencyMs: event.latencyMs,
  identityHash: event.statesIdentity ? personName(event.person) : undefined,
})

function outcomeOf({ isLabelled, isAudited, service, owner }: PlantedEvent, withAudits: boolean): Outcome {
  if (isLabelled) return { kind: 'resolved', label: { service, owner } }
  return withAudits && isAudited ? { kind: 'override', label: { service, owner } } : { kind: 'unresolved' }
}
