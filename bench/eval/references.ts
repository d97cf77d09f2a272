import {
  guessByHeuristic,
  HEURISTIC_CONFIDENCE_MAX,
  learnHeuristic,
} from '../../internal/inference/learning/heuristic.js'
import type { Quantity } from '../../internal/units/quantity.js'
import { posterior } from './ceiling.js'
import type { Verdict } from './figures.js'
import type { PlantedEvent, PlantedWorld } from './plant.js'
import { type PlantedService, SHADOW } from './planted-company.js'

/** Answers of others for the judged events: two baselines, and the best possible answer. */

const PROVISIONAL = 0.5
const CAP = 0.95

type Said = Pick<Verdict, 'said' | 'confidence'>
const NOBODY: Said = { said: undefined, confidence: 0 }

type CostOf = (event: PlantedEvent) => Quantity<'USD'>

const judgedBy = (judged: readonly PlantedEvent[], costOf: CostOf, say: (event: PlantedEvent) => Said): Verdict[] =>
  judged.map((event) => ({
    ...say(event),
    truth: event,
    isShadow: event.service === SHADOW,
    costUsd: costOf(event),
  }))

/** The exact posterior under the planting rule, published as the product publishes. */
export const byCeiling = (world: PlantedWorld, judged: readonly PlantedEvent[], costOf: CostOf): Verdict[] =>
  judgedBy(judged, costOf, (event) => {
    const probabilities = posterior(world, event)
    const best = Math.max(...probabilities)
    if (best < PROVISIONAL) return NOBODY
    const { name: service, owner } = world.company[probabilities.indexOf(best)] as PlantedService
    return { said: { service, owner }, confidence: Math.min(CAP, best) }
  })

/** Always the most frequent class of what carries a label, or was looked at. */
export function byMajority(world: PlantedWorld, judged: readonly PlantedEvent[], costOf: CostOf, withAudits: boolean) {
  const counts = new Map<string, { event: PlantedEvent; count: number }>()
  const known = knownEvents(world, withAudits)
  for (const event of known) {
    const entry = counts.get(event.service)
    if (entry === undefined) counts.set(event.service, { event, count: 1 })
    else entry.count++
  }
  const [most] = [...counts.values()].sort((one, other) => other.count - one.count)
  const confidence = (most?.count ?? 0) / known.length
  return judgedBy(judged, costOf, () => (most === undefined ? NOBODY : { said: most.event, confidence }))
}

/** The most frequent class of the same principal (no planted event has a trace). */
export function byHeuristic(world: PlantedWorld, judged: readonly PlantedEvent[], costOf: CostOf, withAudits: boolean) {
  const heuristic = learnHeuristic(
    knownEvents(world, withAudits).map((event) => ({ principal: event.principal, label: event })),
  )
  return judgedBy(judged, costOf, ({ principal }) => {
    const guess = guessByHeuristic(heuristic, { principal })
    if (guess === undefined) return NOBODY
    return { said: guess.label, confidence: Math.min(HEURISTIC_CONFIDENCE_MAX / 10_000, guess.share) }
  })
}

const knownEvents = ({ events }: PlantedWorld, withAudits: boolean): PlantedEvent[] =>
  events.filter(({ isHistory, isLabelled, isAudited }) => isHistory && (isLabelled || (withAudits && isAudited)))
