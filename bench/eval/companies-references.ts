import type { EventFacts } from '../../internal/inference/learning/features.js'
import {
  guessByHeuristic,
  HEURISTIC_CONFIDENCE_MAX,
  learnHeuristic,
} from '../../internal/inference/learning/heuristic.js'
import type { ClassLabel } from '../../internal/inference/learning/model.js'
import { zero } from '../../internal/units/quantity.js'
import {
  COMPANY_MODELS,
  type CompanyEvent,
  type CompanyService,
  type CompanyWorld,
  companyAt,
  logLook,
  modelShare,
} from './companies.js'
import type { Verdict } from './figures.js'
import { LAYERS } from './planted-company.js'

/**
 * Answers of others for the judged events of a company: three that learn as the product does, and the best possible
 * ones.
 */

const PROVISIONAL = 0.5
const CAP = 0.95

export type Said = Pick<Verdict, 'said' | 'confidence'>
export const NOBODY: Said = { said: undefined, confidence: 0 }

/** An event with a known answer, as the product has it. */
export interface Learned {
  readonly facts: EventFacts
  readonly label: ClassLabel
}

export const verdictOn = (event: CompanyEvent, said: Said): Verdict => ({
  ...said,
  truth: event,
  isShadow: event.isShadow,
  costUsd: zero(),
})

/**
 * The posterior of each service given everything that the events of a trace (or the one event) show, under the rule by
 * which they were planted. Stage A decides by what they show, so that it did not resolve them adds nothing. Exact but
 * for one thing: that rows between two steps of a trace are not of its service is not used.
 *
 * @returns per event, one probability per service of its company
 */
function posteriors({ phases, weights, events }: CompanyWorld): ReadonlyMap<CompanyEvent, readonly number[]> {
  const found = new Map<CompanyEvent, readonly number[]>()
  for (const unit of unitsOf(events)) {
    const [first] = unit
    if (first === undefined) continue
    const [company, phase] = companyAt(phases, first.atMs)
    const shown = unit.find(({ statesIdentity }) => statesIdentity)?.caller
    const logs = company.services.map((service, i) => {
      const ofCallers = service.callers
        .filter(({ name }) => shown === undefined || name === shown)
        .reduce(
          (sum, caller) =>
            sum + caller.weight * productOf(unit, (event) => modelShare(service.habits, caller, modelOf(event))),
          0,
        )
      const ofEvents = unit.reduce((sum, event) => sum + logShown(service, event), 0)
      return unit.length * Math.log(weights[phase]?.[i] ?? 0) + Math.log(ofCallers) + ofEvents
    })
    const most = Math.max(...logs)
    const each = logs.map((log) => Math.exp(log - most))
    const total = each.reduce((sum, one) => sum + one, 0)
    const probabilities = each.map((one) => one / total)
    for (const event of unit) found.set(event, probabilities)
  }
  return found
}

const modelOf = (event: CompanyEvent): number => COMPANY_MODELS.findIndex(({ model }) => model === event.model)

const productOf = (unit: readonly CompanyEvent[], of: (event: CompanyEvent) => number): number =>
  unit.reduce((product, event) => product * of(event), 1)

/** Log probability of what an event shows, but for its caller and model, if it is of this service. */
function logShown(service: CompanyService, event: CompanyEvent): number {
  const layerAt = LAYERS.indexOf(event.layer)
  const states = service.statesService[layerAt] ?? 0
  const ofCredential =
    event.layer === 'application'
      ? service.credentials.reduce((sum, { name, weight }) => sum + (name === event.principal ? weight : 0), 0)
      : 1
  return (
    logLook(service.habits, event.inputTokens, event.outputTokens, event.atMs) +
    Math.log(service.layers[layerAt] ?? 0) +
    Math.log(ofCredential) +
    Math.log(event.statesService ? states : 1 - states)
  )
}

function unitsOf(events: readonly CompanyEvent[]): Iterable<readonly CompanyEvent[]> {
  const units = new Map<string, CompanyEvent[]>()
  for (const event of events) {
    const key = event.traceId ?? event.rowId
    const unit = units.get(key)
    if (unit === undefined) units.set(key, [event])
    else unit.push(event)
  }
  return units.values()
}

/** @param isNameable whether anybody has ever said the name: nobody can name a service that was never named */
export function byPosterior(
  world: CompanyWorld,
  judged: readonly CompanyEvent[],
  isNameable: (service: CompanyService) => boolean,
): Verdict[] {
  const of = posteriors(world)
  return judged.map((event) => {
    const [{ services }] = companyAt(world.phases, event.atMs)
    let best: { service: CompanyService; probability: number } | undefined
    for (const [i, probability] of (of.get(event) ?? []).entries()) {
      const service = services[i] as CompanyService
      if (isNameable(service) && probability > (best?.probability ?? 0)) best = { service, probability }
    }
    if (best === undefined || best.probability < PROVISIONAL) return verdictOn(event, NOBODY)
    const { name, owner } = best.service
    return verdictOn(event, { said: { service: name, owner }, confidence: Math.min(CAP, best.probability) })
  })
}

/** Always the most frequent class. */
export function byMajorityOf(learned: readonly Learned[], judged: readonly CompanyEvent[]): Verdict[] {
  const counts = countsBy(learned.map(({ label }) => keyOf(label)))
  const [most] = [...counts].sort(([, one], [, other]) => other - one)
  if (most === undefined) return judged.map((event) => verdictOn(event, NOBODY))
  const said = { said: labelOf(most[0]), confidence: Math.min(CAP, most[1] / learned.length) }
  return judged.map((event) => verdictOn(event, said.confidence < PROVISIONAL ? NOBODY : said))
}

/** The product's baseline: the most frequent class of the same trace, else of the same credential. */
export function byHeuristicOf(
  learned: readonly Learned[],
  judged: readonly CompanyEvent[],
  factsOf: (event: CompanyEvent) => EventFacts,
): Verdict[] {
  const heuristic = learnHeuristic(learned.map(({ facts, label }) => ({ ...facts, label })))
  return judged.map((event) => {
    const guess = guessByHeuristic(heuristic, factsOf(event))
    if (guess === undefined || guess.share < PROVISIONAL) return verdictOn(event, NOBODY)
    return verdictOn(event, {
      said: guess.label,
      confidence: Math.min(HEURISTIC_CONFIDENCE_MAX / 10_000, guess.share),
    })
  })
}

const HOUR_MS = 3_600_000

/**
 * Naive Bayes with add-half smoothing: model, sizes in half octaves, time of day, and the caller where one is stated.
 */
export function byNaiveBayes(
  learned: readonly Learned[],
  judged: readonly CompanyEvent[],
  factsOf: (event: CompanyEvent) => EventFacts,
): Verdict[] {
  const classes = countsBy(learned.map(({ label }) => keyOf(label)))
  const counts = countsBy(
    learned.flatMap(({ facts, label }) => tokensOf(facts).map((token) => `${keyOf(label)} ${token}`)),
  )
  const totals = countsBy(
    learned.flatMap(({ facts, label }) => tokensOf(facts).map((token) => `${keyOf(label)} ${kindOf(token)}`)),
  )
  const values = new Map<string, Set<string>>()
  for (const { facts } of learned) {
    for (const token of tokensOf(facts)) values.set(kindOf(token), (values.get(kindOf(token)) ?? new Set()).add(token))
  }
  const ranked = [...classes.keys()]
  return judged.map((event) => {
    const tokens = tokensOf(factsOf(event))
    const logs = ranked.map((key) =>
      tokens.reduce(
        (sum, token) => {
          const of = totals.get(`${key} ${kindOf(token)}`) ?? 0
          const size = (values.get(kindOf(token))?.size ?? 0) + 1
          return sum + Math.log(((counts.get(`${key} ${token}`) ?? 0) + 0.5) / (of + 0.5 * size))
        },
        Math.log(classes.get(key) ?? 0),
      ),
    )
    const most = Math.max(...logs)
    const probability = 1 / logs.reduce((sum, log) => sum + Math.exp(log - most), 0)
    if (!(probability >= PROVISIONAL)) return verdictOn(event, NOBODY)
    return verdictOn(event, {
      said: labelOf(ranked[logs.indexOf(most)] as string),
      confidence: Math.min(CAP, probability),
    })
  })
}

function tokensOf({ model, inputTokens, outputTokens, eventTimeMs, identityHash }: EventFacts): string[] {
  const hour = Math.floor(eventTimeMs / HOUR_MS)
  const day = Math.floor(hour / 24) % 7
  return [
    `model:${model}`,
    `input:${Math.round(2 * Math.log2(1 + (inputTokens ?? 0)))}`,
    `output:${Math.round(2 * Math.log2(1 + (outputTokens ?? 0)))}`,
    `time:${day >= 5 ? 'weekend' : ''}${Math.floor((hour % 24) / 4)}`,
    ...(identityHash === undefined ? [] : [`caller:${identityHash}`]),
  ]
}

const kindOf = (token: string): string => token.slice(0, token.indexOf(':'))

const keyOf = ({ service, owner }: ClassLabel): string => JSON.stringify([service, owner])

function labelOf(key: string): ClassLabel {
  const [service, owner] = JSON.parse(key) as [string, string]
  return { service, owner }
}

function countsBy(keys: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1)
  return counts
}
