import type { Confidence } from '../../../records/interpretation.js'
import type { Correlation } from '../a/evidence.js'

/** The evidence that an event contributes to its trace. */
export interface TraceFact {
  readonly service: string
  /** Undefined if the event passes no owner on, or, for merged facts, if the trace's events have different owners. */
  readonly owner: string | undefined
  readonly confidence: Confidence
  /** Rank of the evidence: a weaker fact counts only if no event of the trace has a stronger one. */
  readonly strength: number
}

interface Known {
  fact: TraceFact
  atMs: number
  /**
   * The events' own times, from the earliest to the latest of those that lie close together. Whole seconds since the
   * epoch: a number below 2^31 takes no memory of its own.
   */
  fromS: number
  toS: number
}

/**
 * When an event was processed, and when it happened by its own account: a trace links events that are close in both.
 */
export interface TraceTime {
  /** The batch's time. */
  readonly atMs: number
  readonly eventTimeMs: number
}

/**
 * There may be hundreds of thousands, so a trace without services or open events allocates no array or map for them.
 */
interface Trace<E> {
  services: readonly Known[]
  open: Map<string, { event: E; readonly atMs: number; readonly eventS: number }> | undefined
  touchedAtMs: number
}

export interface TracesOptions {
  /**
   * How long an event counts for other events of its trace, in milliseconds, by arrival and by the events' own times.
   */
  readonly windowMs: number
  /** Maximum number of traces (may be exceeded by up to 1 %); beyond it the traces idle for longest are evicted. */
  readonly tracesMax: number
  /** Maximum number of open events per trace. Further events are never corrected. */
  readonly openEventsMax: number
  /** Maximum number of open events in all traces; beyond it traces are evicted, as for `tracesMax`. */
  readonly openEventsOfAllMax: number
}

/**
 * The traces of a partition within a window: the services that each was resolved to, and its open events, that is,
 * those that a later event may still resolve. Bounded; events of evicted traces keep their attribution. No time is that
 * of a clock: a repeated batch finds the same state.
 *
 * Events of one trace id that happened days apart are no workflow: a backfill that arrives with today's traffic
 * resolves none of it.
 *
 * @typeParam E the data kept per open event besides its id; many are equal and should be one shared object
 */
export class Traces<E> {
  private readonly traces = new Map<string, Trace<E>>()
  private readonly facts = new SharedValues<TraceFact>()
  private readonly options: TracesOptions
  private openEventsOfAll = 0
  /**
   * Calls of `touch` until the next eviction. Not on every call: iterating a map skips over all entries deleted at its
   * start.
   */
  private touchesUntilEviction: number

  constructor(options: TracesOptions) {
    this.options = options
    this.touchesUntilEviction = this.touchesPerEviction
  }

  get size(): number {
    return this.traces.size
  }

  /** Idempotent. */
  learn(trace: string, fact: TraceFact, { atMs, eventTimeMs }: TraceTime): void {
    const touched = this.touch(trace, atMs)
    if (touched.services.some((known) => this.hasExpired(known.atMs, atMs))) {
      touched.services = touched.services.filter((known) => !this.hasExpired(known.atMs, atMs))
    }
    const { services } = touched
    const known = services.find((one) => one.fact.service === fact.service && this.isNear(one, eventTimeMs))
    if (known === undefined) {
      const first: Known = {
        fact: this.facts.of(fact),
        atMs,
        fromS: secondBefore(eventTimeMs),
        toS: secondAfter(eventTimeMs),
      }
      if (services.length < SERVICES_MAX) touched.services = services.concat(first)
      return
    }
    known.fact = this.merge(known.fact, fact)
    known.atMs = Math.max(known.atMs, atMs)
    known.fromS = Math.min(known.fromS, secondBefore(eventTimeMs))
    known.toS = Math.max(known.toS, secondAfter(eventTimeMs))
  }

  /** What the trace says of an event that happened at a time. */
  correlate(trace: string, { atMs: nowMs, eventTimeMs }: TraceTime): Correlation {
    const all = (this.traces.get(trace)?.services ?? []).filter(
      (known) => !this.hasExpired(known.atMs, nowMs) && this.isNear(known, eventTimeMs),
    )
    let strongest = 0
    for (const { fact } of all) strongest = Math.max(strongest, fact.strength)
    const [first, ...others] = all.filter(({ fact: { strength } }) => strength === strongest)
    if (first === undefined) return { kind: 'none' }
    if (others.some(({ fact }) => fact.service !== first.fact.service)) {
      const services = new Set([first, ...others].map(({ fact }) => fact.service))
      return { kind: 'contested', services: [...services].sort() }
    }
    // The event may lie between two groups of events of one service.
    const fact = others.reduce((merged, other) => this.merge(merged, other.fact), first.fact)
    return { kind: 'one_service', ...fact }
  }

  /** Keeps an event that a later event of its trace may resolve. @param id unique within the trace */
  keepOpen(trace: string, id: string, event: E, { atMs, eventTimeMs }: TraceTime): void {
    const touched = this.touch(trace, atMs)
    touched.open ??= new Map()
    const { open } = touched
    if (!open.has(id)) {
      if (open.size >= this.options.openEventsMax) return
      this.openEventsOfAll++
    }
    open.set(id, { event, atMs, eventS: secondBefore(eventTimeMs) })
  }

  /** Replaces the data of an event that is still open. */
  replaceOpen(trace: string, id: string, event: E): void {
    const known = this.traces.get(trace)?.open?.get(id)
    if (known !== undefined) known.event = event
  }

  /** Forgets an open event: its attribution stays. */
  close(trace: string, id: string): void {
    if (this.traces.get(trace)?.open?.delete(id) === true) this.openEventsOfAll--
  }

  *openEvents(trace: string, nowMs: number): Generator<readonly [id: string, event: E, eventTimeMs: number]> {
    const open = this.traces.get(trace)?.open
    for (const [id, { event, atMs, eventS }] of open ?? []) {
      if (this.hasExpired(atMs, nowMs)) this.close(trace, id)
      else yield [id, event, eventS * 1000]
    }
  }

  private touch(name: string, atMs: number): Trace<E> {
    const trace = this.traces.get(name) ?? { services: NO_SERVICES, open: undefined, touchedAtMs: atMs }
    trace.touchedAtMs = Math.max(trace.touchedAtMs, atMs)
    // A map keeps the order of insertion, so the trace idle for longest is first.
    this.traces.delete(name)
    this.traces.set(name, trace)
    if (--this.touchesUntilEviction <= 0) this.evict(atMs)
    return trace
  }

  /**
   * Removes traces that were idle for longer than the window, and then the longest idle ones while a limit is exceeded.
   */
  private evict(nowMs: number): void {
    const { tracesMax, openEventsOfAllMax } = this.options
    this.touchesUntilEviction = this.touchesPerEviction
    for (const [name, { open, touchedAtMs }] of this.traces) {
      const isFull = this.traces.size > tracesMax || this.openEventsOfAll > openEventsOfAllMax
      if (!isFull && !this.hasExpired(touchedAtMs, nowMs)) return
      this.traces.delete(name)
      this.openEventsOfAll -= open?.size ?? 0
    }
  }

  private get touchesPerEviction(): number {
    return Math.ceil(Math.min(this.options.tracesMax, this.options.openEventsOfAllMax) / 100)
  }

  private merge(known: TraceFact, { service, owner, confidence, strength }: TraceFact): TraceFact {
    const hasChanged =
      (known.owner !== undefined && known.owner !== owner) || confidence > known.confidence || strength > known.strength
    if (!hasChanged) return known
    return this.facts.of({
      service,
      owner: known.owner === owner ? owner : undefined,
      confidence: Math.max(known.confidence, confidence),
      strength: Math.max(known.strength, strength),
    })
  }

  private isNear({ fromS, toS }: Known, eventTimeMs: number): boolean {
    const { windowMs } = this.options
    return eventTimeMs >= fromS * 1000 - windowMs && eventTimeMs <= toS * 1000 + windowMs
  }

  private hasExpired(atMs: number, nowMs: number): boolean {
    return nowMs - atMs > this.options.windowMs
  }
}

// As 32-bit integers, which a double would not be.
const secondBefore = (ms: number): number => Math.floor(ms / 1000) | 0
const secondAfter = (ms: number): number => Math.ceil(ms / 1000) | 0

const NO_SERVICES: readonly Known[] = []

/** A second service already makes a trace contested; further ones matter only when others expire. */
const SERVICES_MAX = 8

/** Trace ids are unique only within a tenant. */
export const traceName = (tenantId: string, traceId: string): string => `${tenantId}\n${traceId}`

/**
 * Returns the same object for equal values, so that frequent values are in memory only once. Only a few thousand values
 * are remembered at a time; a rare value may exist in several copies.
 *
 * @typeParam V immutable and JSON-serializable
 */
export class SharedValues<V> {
  private readonly values = new Map<string, V>()

  of(value: V): V {
    const text = JSON.stringify(value)
    const known = this.values.get(text)
    if (known !== undefined) return known
    if (this.values.size >= SHARED_VALUES_MAX) this.values.clear()
    this.values.set(text, value)
    return value
  }
}

const SHARED_VALUES_MAX = 4_096
