import type { TrainingRecord } from '../../internal/inference/learning/examples.js'
import { type EventFacts, withNeighbours } from '../../internal/inference/learning/features.js'
import type { Model } from '../../internal/inference/learning/model.js'
import { predict } from '../../internal/inference/learning/predict.js'
import { train } from '../../internal/inference/learning/train.js'
import type { DirectoryFacts } from '../../internal/inference/learning/views.js'
import { seededRandom } from '../../internal/local/sandbox/random.js'
import { CHARGEBACK_FLOOR } from '../../internal/records/interpretation.js'
import { type CompanyEvent, type CompanyWorld, LENGTH_MS } from './companies.js'
import { type Learned, NOBODY, verdictOn } from './companies-references.js'
import { type Decided, decideByStageA } from './companies-stage-a.js'
import { mondayBefore } from './events.js'
import type { Verdict } from './figures.js'

/** A company's events as the product has them: stage A has decided, and the rest is for a model. */
export interface Case {
  readonly world: CompanyWorld
  readonly decided: Decided
  readonly factsOf: (event: CompanyEvent) => EventFacts
  readonly history: readonly CompanyEvent[]
  /** Later events that stage A did not resolve. */
  readonly judged: readonly CompanyEvent[]
}

const START_MS = mondayBefore(Date.UTC(2026, 0, 1), LENGTH_MS)

export async function caseOf(world: CompanyWorld): Promise<Case> {
  const decided = await decideByStageA(world)
  const facts = withNeighbours(world.events.map(ownFacts))
  const byEvent = new Map(world.events.map((event, i) => [event, facts[i] as EventFacts]))
  return {
    world,
    decided,
    factsOf: (event) => byEvent.get(event) as EventFacts,
    history: world.events.filter(({ isHistory }) => isHistory),
    judged: world.events.filter((event) => !event.isHistory && decided.get(event) === undefined),
  }
}

const ownFacts = (event: CompanyEvent): EventFacts => ({
  eventTimeMs: START_MS + event.atMs,
  provider: event.provider,
  model: event.model,
  ingestionLayer: event.layer,
  principal: event.principal,
  inputTokens: event.inputTokens,
  outputTokens: event.outputTokens,
  latencyMs: event.latencyMs,
  identityHash: event.statesIdentity ? event.caller : undefined,
  traceId: event.traceId,
})

/** What a trainer reads of events: facts, and what became of them. */
export function recordsOf({ decided, factsOf }: Case, events: readonly CompanyEvent[], withAudits: boolean) {
  return events.flatMap((event): TrainingRecord[] => {
    const facts = factsOf(event)
    const resolution = decided.get(event)
    if (resolution === undefined) {
      const { service, owner } = event
      return [
        {
          facts,
          outcome:
            withAudits && event.isAudited ? { kind: 'override', label: { service, owner } } : { kind: 'unresolved' },
        },
      ]
    }
    // A service that was only declared proves nothing (`training-window.ts`).
    if (resolution.confidence < CHARGEBACK_FLOOR) return []
    const { service, owner } = resolution
    return [{ facts, outcome: { kind: 'resolved', label: { service, owner } } }]
  })
}

export const learnedFrom = (records: readonly TrainingRecord[]): Learned[] =>
  records.flatMap(({ facts, outcome }) =>
    outcome.kind === 'resolved' || outcome.kind === 'override' ? [{ facts, label: outcome.label }] : [],
  )

/** Deals the labels anew among the events that stage A resolved, so that they mean nothing. */
export function permuted(records: readonly TrainingRecord[], seed: string): TrainingRecord[] {
  const random = seededRandom(`permutation ${seed}`)
  const dealt = records.flatMap(({ outcome }) => (outcome.kind === 'resolved' ? [outcome] : []))
  for (let i = dealt.length - 1; i > 0; i--) {
    const j = random.whole(0, i)
    ;[dealt[i], dealt[j]] = [dealt[j] as (typeof dealt)[number], dealt[i] as (typeof dealt)[number]]
  }
  return records.map((record) =>
    record.outcome.kind === 'resolved' ? { ...record, outcome: dealt.pop() as (typeof dealt)[number] } : record,
  )
}

/** What stage A resolves by alone, as a trainer hears it. */
export function directoryOf({ phases }: CompanyWorld): DirectoryFacts {
  const companies = phases.map(({ company }) => company)
  const identities = companies.flatMap((one) => one.identities.flatMap(({ name, service }) => (service ? [name] : [])))
  const principals = companies.flatMap((one) => one.principals.map(({ id }) => id))
  const [known, defaults] = [new Set(identities), new Set(principals)]
  return {
    resolvesIdentity: (identityHash) => known.has(identityHash),
    resolvesPrincipal: (principal) => defaults.has(principal),
  }
}

export function modelFrom(records: readonly TrainingRecord[], { world }: Case): Model | undefined {
  const result = train(records, { seed: 1, directory: directoryOf(world) })
  return result.kind === 'trained' ? result.model : undefined
}

/** Below it a record names a pool (stage C). */
const PROVISIONAL = 5_000

/** As stage B publishes it. */
export function byModel(model: Model | undefined, { factsOf }: Case, events: readonly CompanyEvent[]): Verdict[] {
  if (model === undefined) return events.map((event) => verdictOn(event, NOBODY))
  const predictions = predict(model, events.map(factsOf))
  return events.map((event, i) => {
    const { label, confidence } = predictions[i] as (typeof predictions)[number]
    return verdictOn(event, { said: confidence < PROVISIONAL ? undefined : label, confidence: confidence / 10_000 })
  })
}
