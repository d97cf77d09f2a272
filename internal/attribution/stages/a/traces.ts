import type { Confidence } from '../../../records/interpretation.js'
import { SharedValues } from './shared-values.js'

/** What an event of a trace proves for the others. */
export interface TraceFact {
  readonly service: string
  /** Undefined when it is none for others; of what is known of a trace, when its events do not agree on one. */
  readonly owner: string | undefined
  readonly confidence: Confidence
  /**
   * Whether the event itself names whose it is (by its service, or an identity that works for one). A credential's
   * default is weaker: it counts only where nothing of the trace was stated.
   */
  readonly isStated: boolean
}

/** What the other events of a trace say of one that states nothing. */
export type Correlation =
  | {
      readonly kind: 'one_service'
      readonly service: string
      /** Undefined when they do not agree on it, or have none for others. */
      readonly owner: string | undefined
      /** The strongest of those that resolved it. */
      readonly confidence: Confidence
      readonly isStated: boolean
    }
  /** Several services were resolved: which of them it was cannot be known, and is not guessed. */
  | { readonly kind: 'contested' }
  | { readonly kind: 'nothing' }

interface Known {
  fact: TraceFact
  atMs: number
}

/** There may be hundreds of thousands: what most of them lack takes no room, and arrays none for what might come. */
interface Trace<E> {
  services: readonly Known[]
  open: Map<string, { event: E; atMs: number }> | undefined
  touchedAtMs: number
}

export interface TracesOptions {
  /** How long an event counts for the others of its trace, in milliseconds. */
  readonly windowMs: number
  /** Traces that are remembered; beyond them (by one in a hundred at most) those that have rested longest are forgotten. */
  readonly tracesMax: number
  /** Events of one trace that may be corrected later. Further ones stay as they were decided. */
  readonly openEventsMax: number
  /** Such events of all traces; beyond them, as beyond `tracesMax`, traces are forgotten. */
  readonly openEventsOfAllMax: number
}

/**
 * The traces of a partition within a window: which services they were resolved to, and the events that a later one may
 * still resolve. Bounded; what it forgets stays as it was decided. Times are those of batches, so that a batch that is
 * formed again meets the same.
 *
 * @typeParam E what is kept of an open event besides its id; many are equal and should be one object
 */
export class Traces<E> {
  private readonly traces = new Map<string, Trace<E>>()
  private readonly facts = new SharedValues<TraceFact>()
  private readonly options: TracesOptions
  private openEventsOfAll = 0
  /** Touches until it is looked for what is to be forgotten: the start of a map from which much was deleted is far. */
  private untilLook: number

  constructor(options: TracesOptions) {
    this.options = options
    this.untilLook = this.touchesALook
  }

  get size(): number {
    return this.traces.size
  }

  /** Learning the same again changes nothing. */
  learn(trace: string, fact: TraceFact, atMs: number): void {
    const touched = this.touch(trace, atMs)
    if (touched.services.some((known) => this.hasExpired(known.atMs, atMs))) {
      touched.services = touched.services.filter((known) => !this.hasExpired(known.atMs, atMs))
    }
    const { services } = touched
    const known = services.find(({ fact: { service } }) => service === fact.service)
    if (known === undefined) {
      if (services.length < SERVICES_MAX) touched.services = services.concat({ fact: this.facts.of(fact), atMs })
      return
    }
    known.fact = this.merged(known.fact, fact)
    known.atMs = Math.max(known.atMs, atMs)
  }

  correlate(trace: string, nowMs: number): Correlation {
    const all = (this.traces.get(trace)?.services ?? []).filter(({ atMs }) => !this.hasExpired(atMs, nowMs))
    const stated = all.filter(({ fact: { isStated } }) => isStated)
    const [first, second] = stated.length > 0 ? stated : all
    if (first === undefined) return { kind: 'nothing' }
    if (second !== undefined) return { kind: 'contested' }
    const { service, owner, confidence, isStated } = first.fact
    return { kind: 'one_service', service, owner, confidence, isStated }
  }

  /** Keeps an event that a later one of its trace may resolve. @param id names it within the trace */
  keepOpen(trace: string, id: string, event: E, atMs: number): void {
    const touched = this.touch(trace, atMs)
    touched.open ??= new Map()
    const { open } = touched
    if (!open.has(id)) {
      if (open.size >= this.options.openEventsMax) return
      this.openEventsOfAll++
    }
    open.set(id, { event, atMs })
  }

  /** What is known of an event that is still open has changed. */
  replaceOpen(trace: string, id: string, event: E): void {
    const known = this.traces.get(trace)?.open?.get(id)
    if (known !== undefined) known.event = event
  }

  *openEvents(trace: string, nowMs: number): Generator<readonly [id: string, event: E]> {
    const open = this.traces.get(trace)?.open
    for (const [id, { event, atMs }] of open ?? []) {
      if (!this.hasExpired(atMs, nowMs)) yield [id, event]
      else if (open?.delete(id)) this.openEventsOfAll--
    }
  }

  private touch(name: string, atMs: number): Trace<E> {
    const trace = this.traces.get(name) ?? { services: NO_SERVICES, open: undefined, touchedAtMs: atMs }
    trace.touchedAtMs = Math.max(trace.touchedAtMs, atMs)
    // A map keeps the order of insertion: what rests longest comes first.
    this.traces.delete(name)
    this.traces.set(name, trace)
    if (--this.untilLook <= 0) this.forget(atMs)
    return trace
  }

  /** Lets go of what has rested for the window, and of what is too much. */
  private forget(nowMs: number): void {
    const { tracesMax, openEventsOfAllMax } = this.options
    this.untilLook = this.touchesALook
    for (const [name, { open, touchedAtMs }] of this.traces) {
      const isFull = this.traces.size > tracesMax || this.openEventsOfAll > openEventsOfAllMax
      if (!isFull && !this.hasExpired(touchedAtMs, nowMs)) return
      this.traces.delete(name)
      this.openEventsOfAll -= open?.size ?? 0
    }
  }

  private get touchesALook(): number {
    return Math.ceil(Math.min(this.options.tracesMax, this.options.openEventsOfAllMax) / 100)
  }

  private merged(known: TraceFact, { service, owner, confidence, isStated }: TraceFact): TraceFact {
    const isNews =
      (known.owner !== undefined && known.owner !== owner) ||
      confidence > known.confidence ||
      (isStated && !known.isStated)
    if (!isNews) return known
    return this.facts.of({
      service,
      owner: known.owner === owner ? owner : undefined,
      confidence: Math.max(known.confidence, confidence),
      isStated: known.isStated || isStated,
    })
  }

  private hasExpired(atMs: number, nowMs: number): boolean {
    return nowMs - atMs > this.options.windowMs
  }
}

const NO_SERVICES: readonly Known[] = []

/** With the second service a trace is contested; more of them say no more. */
const SERVICES_MAX = 8

/** A trace id means something within its tenant only. */
export const traceName = (tenantId: string, traceId: string): string => `${tenantId}\n${traceId}`
