import { CHARGEBACK_FLOOR } from '../../records/interpretation.js'
import type { Judged } from './calibration.js'
import type { Labelled } from './examples.js'
import type { EventFacts } from './features.js'
import type { ClassLabel, Model } from './model.js'
import { effectiveCount, hiddenEvents, judge, servedTraffic, type ValidationEvent } from './validation.js'
import { asUnresolved, type DirectoryFacts } from './views.js'

/**
 * Scores a serving version on events that the facts stage resolved after its training, with labels hidden as the gate
 * hides them: a version that was right can become wrong when services change their behaviour.
 */
export interface ResolvedEvent {
  readonly facts: EventFacts
  readonly label: ClassLabel
}

/** The version is right too rarely where it claims 0.80 or more. */
export interface Drift {
  /** Number of newly resolved events that were scored. */
  readonly scored: number
  readonly precision: number
  /** The precision is at most this, with 99.5 % confidence. */
  readonly atMost: number
  /** Event time of the first of the scored events. */
  readonly fromMs: number
  /** The classes whose events the version assigns to others: their older records no longer describe them. */
  readonly classes: readonly ClassLabel[]
}

/** Numbers of newest events that are scored: the smallest that shows a drift dates its beginning best. */
const RUNS = [100, 200, 400, 800] as const
export const SCORED_MAX = 800
/** One-sided, 99.5 %. */
const CONFIDENCE_Z = 2.576
/** With a smaller effective number of claims there is no conclusion. */
const CLAIMS_MIN = 20
/** A class has changed from this number of wrong claims, and from this share of its claims, on. */
const CHANGED_CLAIMS_MIN = 4
const CHANGED_SHARE_MIN = 0.4

/** The version's precision on newly resolved events where it claimed 0.80 or more. */
export interface LivePrecision {
  /** Number of newly resolved events that were scored. */
  readonly scored: number
  readonly precision: number
  /** The precision is at least this, and at most `atMost`, each with 99.5 % confidence. */
  readonly atLeast: number
  readonly atMost: number
}

export interface LiveScore {
  /** Undefined: no drift. */
  readonly drift: Drift | undefined
  /** On the events that were scored; undefined: too few claims for a conclusion. */
  readonly precision: LivePrecision | undefined
}

/** @param events in the order in which they were resolved */
export function scoreServing(
  model: Model,
  events: readonly ResolvedEvent[],
  directory: DirectoryFacts,
  seed: number,
): LiveScore {
  let precision: LivePrecision | undefined
  for (const length of RUNS) {
    const run = events.slice(-length)
    const claims = claimsIn(model, run, directory, seed)
    precision = precisionOf(claims, run.length)
    if (precision !== undefined && precision.atMost < FLOOR) {
      return { drift: driftOf(model, run, claims, precision), precision }
    }
    if (length >= events.length) break
  }
  return { drift: undefined, precision }
}

const FLOOR = CHARGEBACK_FLOOR / 10_000

interface Claim extends Judged {
  readonly truth: number
}

/** The events of a run for which the version claims the floor or more. */
function claimsIn(model: Model, run: readonly ResolvedEvent[], directory: DirectoryFacts, seed: number): Claim[] {
  const scored = scoredEvents(model, run, directory, seed)
  const judged = judge(model.parameters, scored)
  return judged.flatMap((one, i) => (one.probability >= FLOOR ? [{ ...one, truth: scored[i]?.truth ?? NO_CLASS }] : []))
}

function precisionOf(claims: readonly Claim[], scored: number): LivePrecision | undefined {
  const count = effectiveCount(claims)
  if (count < CLAIMS_MIN) return undefined
  const total = claims.reduce((sum, { weight }) => sum + weight, 0)
  const precision = claims.reduce((sum, { weight, isRight }) => sum + (isRight ? weight : 0), 0) / total
  // The bounds of a share and of its complement mirror each other.
  return {
    scored,
    precision,
    atLeast: 1 - upperBound(1 - precision, count),
    atMost: upperBound(precision, count),
  }
}

function driftOf(
  { card: { classes } }: Model,
  run: readonly ResolvedEvent[],
  claims: readonly Claim[],
  { scored, precision, atMost }: LivePrecision,
): Drift {
  return {
    scored,
    precision,
    atMost,
    fromMs: Math.min(...run.map(({ facts }) => facts.eventTimeMs)),
    classes: classes
      .filter((_, c) => {
        const own = claims.filter(({ truth }) => truth === c)
        const wrong = own.filter(({ isRight }) => !isRight).length
        return wrong >= CHANGED_CLAIMS_MIN && wrong >= CHANGED_SHARE_MIN * own.length
      })
      .map(({ service, owner }) => ({ service, owner })),
  }
}

const NO_CLASS = -1

/** Weighted to the traffic that the version serves; events of services without a class are unweighted. */
function scoredEvents(
  model: Model,
  run: readonly ResolvedEvent[],
  directory: DirectoryFacts,
  seed: number,
): ValidationEvent[] {
  const { card, parameters } = model
  const numbers = new Map(card.classes.map(({ service, owner }, c) => [`${service}\0${owner}`, c]))
  const labelled = run.map(({ facts, label }): Labelled => {
    return { facts, label: numbers.get(`${label.service}\0${label.owner}`) ?? NO_CLASS }
  })
  const shares = Float64Array.from([...card.classes.map(({ servedShare }) => servedShare), card.unknownShare])
  const known = hiddenEvents(labelled, servedTraffic(parameters, shares), parameters, directory, 0, seed)
  const others = labelled.filter(({ label }) => label === NO_CLASS)
  return [
    ...known,
    ...others.map(({ facts }): ValidationEvent => {
      return { facts: asUnresolved(facts, directory), truth: NO_CLASS, weight: 1 / run.length }
    }),
  ]
}

/** Wilson's upper bound of a share. */
export function upperBound(share: number, count: number): number {
  const z = CONFIDENCE_Z
  const centre = share + (z * z) / (2 * count)
  const spread = z * Math.sqrt((share * (1 - share)) / count + (z * z) / (4 * count * count))
  return Math.min(1, (centre + spread) / (1 + (z * z) / count))
}

/** Services with enough newly resolved events for a class that the version does not have. */
export function newClasses({ card }: Model, events: readonly ResolvedEvent[], eventsMin: number): ClassLabel[] {
  const known = new Set(card.classes.map(({ service, owner }) => `${service}\0${owner}`))
  const counts = new Map<string, { label: ClassLabel; count: number }>()
  for (const { label } of events) {
    const key = `${label.service}\0${label.owner}`
    if (known.has(key)) continue
    const entry = counts.get(key) ?? { label, count: 0 }
    entry.count++
    counts.set(key, entry)
  }
  return [...counts.values()].flatMap(({ label, count }) => (count >= eventsMin ? [label] : []))
}
