import type { Confidence } from '../interpretation.js'

/** What an event of a trace proves for the others. */
export interface TraceFact {
  readonly service: string
  readonly owner: string
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
      /** Undefined when they do not agree on it. */
      readonly owner: string | undefined
      /** The strongest of those that resolved it. */
      readonly confidence: Confidence
      readonly isStated: boolean
    }
  /** Several services were resolved: which of them it was cannot be known, and is not guessed. */
  | { readonly kind: 'contested' }
  | { readonly kind: 'nothing' }

interface KnownService {
  owner: string | undefined
  confidence: Confidence
  isStated: boolean
  atMs: number
}

interface Trace<E> {
  readonly services: Map<string, KnownService>
  readonly open: Map<string, { event: E; atMs: number }>
}

export interface TracesOptions {
  /** How long an event counts for the others of its trace, in milliseconds. */
  readonly windowMs: number
  /** Traces that are remembered; beyond them the one that has rested longest is forgotten. */
  readonly tracesMax: number
  /** Events of one trace that may be corrected later. Further ones stay as they were decided. */
  readonly openEventsMax: number
}

/**
 * The traces of a partition within a window: which services they were resolved to, and the events that a later one may
 * still resolve. Bounded; what it forgets stays as it was decided. Times are those of batches, so that a batch that is
 * formed again meets the same.
 *
 * @typeParam E what is kept of an open event
 */
export class Traces<E> {
  private readonly traces = new Map<string, Trace<E>>()
  private readonly options: TracesOptions

  constructor(options: TracesOptions) {
    this.options = options
  }

  get size(): number {
    return this.traces.size
  }

  /** Learning the same again changes nothing. */
  learn(trace: string, { service, owner, confidence, isStated }: TraceFact, atMs: number): void {
    const { services } = this.touch(trace)
    const known = services.get(service)
    if (known === undefined || this.hasExpired(known.atMs, atMs)) {
      if (services.size >= SERVICES_MAX && known === undefined) return
      services.set(service, { owner, confidence, isStated, atMs })
      return
    }
    if (known.owner !== owner) known.owner = undefined
    known.confidence = Math.max(known.confidence, confidence)
    known.isStated ||= isStated
    known.atMs = Math.max(known.atMs, atMs)
  }

  correlate(trace: string, nowMs: number): Correlation {
    const all = [...(this.traces.get(trace)?.services ?? [])].filter(([, { atMs }]) => !this.hasExpired(atMs, nowMs))
    const stated = all.filter(([, { isStated }]) => isStated)
    const [first, second] = stated.length > 0 ? stated : all
    if (first === undefined) return { kind: 'nothing' }
    if (second !== undefined) return { kind: 'contested' }
    const [service, { owner, confidence, isStated }] = first
    return { kind: 'one_service', service, owner, confidence, isStated }
  }

  /** Keeps an event that a later one of its trace may resolve. @param id names it within the trace */
  keepOpen(trace: string, id: string, event: E, atMs: number): void {
    const { open } = this.touch(trace)
    if (open.size < this.options.openEventsMax || open.has(id)) open.set(id, { event, atMs })
  }

  /** What is known of an event that is still open has changed. */
  replaceOpen(trace: string, id: string, event: E): void {
    const known = this.traces.get(trace)?.open.get(id)
    if (known !== undefined) known.event = event
  }

  *openEvents(trace: string, nowMs: number): Generator<E> {
    const open = this.traces.get(trace)?.open
    for (const [id, { event, atMs }] of open ?? []) {
      if (this.hasExpired(atMs, nowMs)) open?.delete(id)
      else yield event
    }
  }

  private touch(name: string): Trace<E> {
    const trace = this.traces.get(name) ?? { services: new Map(), open: new Map() }
    // A map keeps the order of insertion: what rests longest comes first.
    this.traces.delete(name)
    this.traces.set(name, trace)
    if (this.traces.size > this.options.tracesMax) {
      const [oldest] = this.traces.keys()
      if (oldest !== undefined) this.traces.delete(oldest)
    }
    return trace
  }

  private hasExpired(atMs: number, nowMs: number): boolean {
    return nowMs - atMs > this.options.windowMs
  }
}

/** With the second service a trace is contested; more of them say no more. */
const SERVICES_MAX = 8

/** A trace id means something within its tenant only. */
export const traceName = (tenantId: string, traceId: string): string => `${tenantId}\n${traceId}`
