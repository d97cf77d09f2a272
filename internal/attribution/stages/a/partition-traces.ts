import type { Learned } from '../../actor/corrections.js'
import type { Directory } from '../../directory/directory.js'
import { type AllocationDeps, allocate } from '../../pools/allocate.js'
import type { PooledCall } from '../../pools/policy.js'
import { evidenceWithTrace, type OwnerFacts, type Resolution, verdictOf } from './evidence.js'
import { SharedValues } from './shared-values.js'
import { type Correlation, type TraceFact, Traces } from './traces.js'

/** An event that a later one of its trace may resolve, or make doubtful again. */
export interface OpenEvent {
  readonly tenantId: string
  /** 16 bytes. */
  readonly id: Uint8Array
  /** What it proves by itself, if anything. */
  readonly own: Resolution | undefined
  readonly owners: OwnerFacts
  readonly call: PooledCall
  /** What its trace made of it last (`decidedByTrace`); undefined when the trace did not decide. */
  readonly byTrace: string | undefined
}

export interface PartitionTracesDeps extends AllocationDeps {
  readonly directory: Directory
}

/** How long the events of a trace count for each other, after the last of them that resolved it. */
export const TRACE_WINDOW_MS = 60 * 60 * 1000
/** A trace of one service takes about 400 bytes, each further one 50, an open event 350: some 80 MB a partition. */
const TRACES_MAX = 100_000
const OPEN_EVENTS_MAX = 500
const OPEN_EVENTS_OF_ALL_MAX = 100_000

/** What is kept of one; equal ones are one object. */
type KeptEvent = Omit<OpenEvent, 'id'>

/**
 * The traces of a partition of stage A, and what its last batch means for events that were decided before: those that a
 * trace resolves now, and those that it did resolve and that are contested now. The latter go where nobody can be named.
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
  /** Those of which the batch under way told something new; all after a take-over, since a batch may have died. */
  private readonly touched = new Set<string>()
  private pending: { readonly corrections: readonly Learned[]; readonly settle: () => void } = NOTHING

  constructor(deps: PartitionTracesDeps) {
    this.deps = deps
  }

  learn(trace: string, fact: TraceFact, atMs: number): void {
    this.known.learn(trace, fact, atMs)
    this.touched.add(trace)
  }

  correlate(trace: string, nowMs: number): Correlation {
    return this.known.correlate(trace, nowMs)
  }

  keepOpen(trace: string, { id, ...event }: OpenEvent, atMs: number): void {
    this.known.keepOpen(trace, hexOf(id), this.events.of(event), atMs)
  }

  /** Works out what the batch that was just decided means for earlier events. Nothing counts as told until `settle`. */
  async look(nowMs: number): Promise<void> {
    const corrections: Learned[] = []
    const told: (() => void)[] = []
    for (const trace of this.touched) {
      const correlation = this.known.correlate(trace, nowMs)
      for (const [id, event] of this.known.openEvents(trace, nowMs)) {
        const { tenantId, own, owners, call } = event
        const resolution = evidenceWithTrace(own, correlation, tenantId, owners, this.deps.directory)
        const byTrace = decidedByTrace(resolution)
        if (byTrace === event.byTrace) continue
        const verdict =
          resolution === undefined
            ? allocate(tenantId, call, await this.deps.weightsAsOf(tenantId, nowMs), this.deps)
            : verdictOf(resolution)
        corrections.push({ tenantId, id: Buffer.from(id, 'hex'), verdict })
        told.push(() => this.known.replaceOpen(trace, id, this.events.of({ ...event, byTrace })))
      }
    }
    this.pending = {
      corrections,
      settle: () => {
        for (const tell of told) tell()
        this.touched.clear()
      },
    }
  }

  corrections(): readonly Learned[] {
    return this.pending.corrections
  }

  settle(): void {
    this.pending.settle()
    this.pending = NOTHING
  }
}

const NOTHING = { corrections: [], settle: () => undefined }

/** What a trace has decided of an event: another service, or another certainty, is another decision. */
export const decidedByTrace = (
  resolution: Pick<Resolution, 'evidenceBasis' | 'service' | 'confidence'> | undefined,
): string | undefined =>
  resolution?.evidenceBasis === 'trace_correlated' ? `${resolution.service}\n${resolution.confidence}` : undefined

const hexOf = (id: Uint8Array): string => Buffer.from(id.buffer, id.byteOffset, id.length).toString('hex')
