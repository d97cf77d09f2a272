import type { Directory } from '../../../directory/directory.js'
import type { Logger } from '../../../telemetry/log.js'
import type { Learned } from '../../actor/corrections.js'
import { type AllocationDeps, allocate } from '../../pools/allocate.js'
import type { PooledCall } from '../../pools/pool-policy.js'
import type { Verdict } from '../../records/row.js'
import { type Correlation, evidenceWithTrace, type OwnerFacts, type Resolution, verdictOf } from '../a/evidence.js'
import { ownerVerdict } from '../a/known-owner.js'
import { SharedValues, type TraceFact, Traces, type TraceTime } from './traces.js'

/** An event whose attribution a later event of its trace may still change: resolve it, or contest its resolution. */
export interface OpenEvent {
  readonly tenantId: string
  /** 16 bytes. */
  readonly id: Uint8Array
  /** The resolution from the event's own facts, if any. */
  readonly own: Resolution | undefined
  readonly owners: OwnerFacts
  readonly call: PooledCall
  /** The trace's last decision on the event (`decidedByTrace`); undefined if the trace did not decide. */
  readonly byTrace: string | undefined
}

export interface PartitionTracesDeps extends AllocationDeps {
  readonly directory: Directory
  readonly log: Pick<Logger, 'error'>
}

/** An open event of which its trace says something else now. */
interface Redecided {
  readonly trace: string
  /** Hexadecimal. */
  readonly id: string
  readonly event: KeptEvent
  readonly resolution: Resolution | undefined
  readonly traceServices: readonly string[] | undefined
  readonly byTrace: string | undefined
}

type ToldFact = TraceFact & { readonly fromMs: number; readonly toMs: number }

/**
 * How long an event can resolve other events of its trace. Starts again with each event that resolves to the same
 * service.
 */
export const TRACE_WINDOW_MS = 60 * 60 * 1000
/**
 * A trace takes about 400 bytes with one service, 50 per further service, and 350 per open event: about 80 MB per
 * partition.
 */
const TRACES_MAX = 100_000
const OPEN_EVENTS_MAX = 500
const OPEN_EVENTS_OF_ALL_MAX = 100_000

/** The part of an open event that is stored as a shared value: equal ones are the same object. */
type KeptEvent = Omit<OpenEvent, 'id'>

/**
 * The traces of a partition of the trace stage, and the corrections that its last batch causes for events of earlier
 * batches. A trace may resolve an event only now, or it is contested now. An event that a contested trace resolved
 * earlier is then resolved by its own facts, else has its identity's owner alone, or goes to a cost pool; one in a pool
 * now says that its trace has several services.
 */
export class PartitionTraces {
  private readonly known = new Traces<KeptEvent>({
    windowMs: TRACE_WINDOW_MS,
    tracesMax: TRACES_MAX,
    openEventsMax: OPEN_EVENTS_MAX,
    openEventsOfAllMax: OPEN_EVENTS_OF_ALL_MAX,
  })
  private readonly events = new SharedValues<KeptEvent>()
  private readonly deps: PartitionTracesDeps
  /** Traces that the current batch added evidence to. */
  private readonly touched = new Set<string>()
  private pending: { readonly corrections: readonly Learned[]; readonly markSent: () => void } = NO_CORRECTIONS

  constructor(deps: PartitionTracesDeps) {
    this.deps = deps
  }

  learn(trace: string, fact: TraceFact, time: TraceTime): void {
    this.known.learn(trace, fact, time)
    this.touched.add(trace)
  }

  /** What several calls tell, which happened between two instants. */
  learnAll(trace: string, { fromMs, toMs, service, owner, confidence, strength }: ToldFact, atMs: number): void {
    const fact = { service, owner, confidence, strength }
    this.learn(trace, fact, { atMs, eventTimeMs: fromMs })
    if (toMs !== fromMs) this.learn(trace, fact, { atMs, eventTimeMs: toMs })
  }

  correlate(trace: string, time: TraceTime): Correlation {
    return this.known.correlate(trace, time)
  }

  keepOpen(trace: string, { id, ...event }: OpenEvent, time: TraceTime): void {
    this.known.keepOpen(trace, hexOf(id), this.events.of(event), time)
  }

  /**
   * Derives the corrections that the current batch causes for earlier events. They count as sent only after `markSent`.
   */
  async deriveCorrections(nowMs: number): Promise<void> {
    const redecided = [...this.redecided(nowMs)]
    const corrections: Learned[] = []
    for (const each of redecided) {
      const { tenantId } = each.event
      try {
        corrections.push({ tenantId, id: Buffer.from(each.id, 'hex'), verdict: await this.verdictOn(each, nowMs) })
      } catch (cause) {
        this.giveUp(each, tenantId, cause)
      }
    }
    this.pending = { corrections, markSent: () => this.mark(redecided) }
  }

  /** For a batch whose corrections an earlier owner has sent. */
  skipCorrections(nowMs: number): void {
    this.mark([...this.redecided(nowMs)])
  }

  corrections(): readonly Learned[] {
    return this.pending.corrections
  }

  markSent(): void {
    this.pending.markSent()
    this.pending = NO_CORRECTIONS
  }

  private *redecided(nowMs: number): Generator<Redecided> {
    const { directory } = this.deps
    for (const trace of this.touched) {
      for (const [id, event, eventTimeMs] of this.known.openEvents(trace, nowMs)) {
        const { tenantId, own, owners } = event
        try {
          const correlation = this.known.correlate(trace, { atMs: nowMs, eventTimeMs })
          const resolution = evidenceWithTrace(own, correlation, { tenantId, eventTimeMs }, owners, directory)
          const traceServices = correlation.kind === 'contested' ? correlation.services : undefined
          const byTrace = decidedByTrace(resolution, traceServices !== undefined)
          if (byTrace !== event.byTrace) yield { trace, id, event, resolution, traceServices, byTrace }
        } catch (cause) {
          this.giveUp({ trace, id }, tenantId, cause)
        }
      }
    }
  }

  /** An event whose rule throws keeps its attribution: it must not stop the others. */
  private giveUp({ trace, id }: Pick<Redecided, 'trace' | 'id'>, tenantId: string, cause: unknown): void {
    this.deps.log.error({ err: cause, tenantId, id }, 'could not attribute an event by its trace again')
    this.known.close(trace, id)
  }

  private async verdictOn({ event, resolution, traceServices }: Redecided, nowMs: number): Promise<Verdict> {
    const { tenantId, owners, call } = event
    if (resolution !== undefined) return verdictOf(resolution)
    if (owners.team !== undefined) return ownerVerdict(owners.team, traceServices)
    return allocate({ tenantId, traceServices }, call, await this.deps.weightsAsOf(tenantId, nowMs), this.deps)
  }

  private mark(redecided: readonly Redecided[]): void {
    for (const { trace, id, event, byTrace } of redecided) {
      this.known.replaceOpen(trace, id, this.events.of({ ...event, byTrace }))
    }
    this.touched.clear()
  }
}

const NO_CORRECTIONS = { corrections: [], markSent: () => undefined }

/**
 * The trace's decision on an event, for comparison: it changes with the service and with the confidence.
 *
 * @param isContested whether the trace has several services
 */
export function decidedByTrace(
  resolution: (Pick<Resolution, 'service' | 'confidence'> & { readonly evidenceBasis: string }) | undefined,
  isContested: boolean,
): string | undefined {
  if (resolution === undefined) return isContested ? CONTESTED : undefined
  return resolution.evidenceBasis === 'trace_correlated' ? `${resolution.service}\n${resolution.confidence}` : undefined
}

/** Unlike a decision for a service, it has no line break. */
const CONTESTED = 'contested'

/** Not `idHex`, whose text is put together of parts: those of a hundred thousand open events stay in memory. */
const hexOf = (id: Uint8Array): string => Buffer.from(id.buffer, id.byteOffset, id.length).toString('hex')
