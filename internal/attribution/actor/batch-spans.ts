import { INVOCATIONS } from '../../../streams/invocations.js'
import type { AdmittedInvocation } from '../../invocations/invocation-group.js'
import type { Links } from '../../telemetry/spans/finished-span.js'
import { newSpanId, SPANS } from '../../telemetry/spans/spans.js'
import { contextOf, parseTraceparent, type TraceContext } from '../../telemetry/spans/trace-context.js'
import type { Batch } from './batch.js'
import type { Disposition } from './stage.js'

/** Links of a span; OpenTelemetry's own default. The others are counted in the span. */
export const LINKS_MAX = 128

/**
 * The contexts to which the spans of a batch link: of each sampled event, the request that brought it and, where the
 * event names it by `trace_id` and `span_id`, the call itself. Each once.
 */
export function linksOf(invocations: Iterable<AdmittedInvocation>): Links {
  const to = new Map<string, TraceContext>()
  let dropped = 0
  const add = (context: TraceContext | undefined): void => {
    if (context === undefined) return
    const id = context.traceId + context.spanId
    if (to.has(id)) return
    if (to.size < LINKS_MAX) to.set(id, context)
    else dropped++
  }
  for (const { traceparent, invocation } of invocations) {
    if (traceparent === undefined) continue
    add(parseTraceparent(traceparent))
    add(contextOf(invocation.traceId, invocation.spanId))
  }
  return { to: [...to.values()], dropped }
}

/** What is known of a batch once it is prepared. */
export interface TracedBatch {
  readonly batch: Batch
  readonly messages: number
  readonly bytes: number
  readonly dispositions: readonly Disposition[]
  readonly isRepeat: boolean
  readonly startMs: number
}

/**
 * The spans of one batch and of its insert. They belong to the trace of the first sampled event, where a reader of that
 * trace finds them, and link to the traces of all.
 */
export class BatchSpans {
  private readonly traced: TracedBatch
  private readonly links: Links
  private readonly parent: TraceContext
  private readonly context: TraceContext

  /** @returns undefined unless an event of the batch is sampled */
  static of(traced: TracedBatch): BatchSpans | undefined {
    const links = linksOf(traced.batch.invocations)
    const [parent] = links.to
    return parent === undefined ? undefined : new BatchSpans(traced, links, parent)
  }

  private constructor(traced: TracedBatch, links: Links, parent: TraceContext) {
    this.traced = traced
    this.links = links
    this.parent = parent
    this.context = { traceId: parent.traceId, spanId: newSpanId() }
  }

  /** From the read of the batch to the end of its effects. */
  ofBatch(effects: () => Promise<void>): Promise<void> {
    const { batch, messages, bytes, dispositions, isRepeat, startMs } = this.traced
    const log = `${INVOCATIONS.name.toLowerCase()}.${batch.stage}`
    const counts = countsOf(dispositions)
    return timed(effects, startMs, {
      name: `process ${log}`,
      kind: 'consumer',
      context: this.context,
      parentSpanId: this.parent.spanId,
      links: this.links,
      attributes: {
        'messaging.system': 'nats',
        'messaging.operation.name': 'process',
        'messaging.operation.type': 'process',
        'messaging.destination.name': log,
        'messaging.destination.partition.id': String(batch.partition),
        'messaging.batch.message_count': messages,
        'attribution.stage': batch.stage,
        'attribution.batch.events': batch.invocations.length,
        'attribution.batch.bytes': bytes,
        'attribution.batch.resolved': counts.resolved,
        'attribution.batch.handed_on': counts.handedOn,
        'attribution.batch.is_repeat': isRepeat,
      },
    })
  }

  /** @param rows how many are inserted */
  ofInsert<T>(insert: () => Promise<T>, rows: number): Promise<T> {
    const { batch, dispositions } = this.traced
    const isResolved = (_: AdmittedInvocation, at: number): boolean => dispositions[at]?.kind === 'resolved'
    return timed(insert, Date.now(), {
      name: 'INSERT attributions',
      kind: 'client',
      context: { traceId: this.context.traceId, spanId: newSpanId() },
      parentSpanId: this.context.spanId,
      links: linksOf(batch.invocations.filter(isResolved)),
      attributes: {
        'db.system.name': 'clickhouse',
        'db.operation.name': 'INSERT',
        'db.collection.name': 'attributions',
        'db.operation.batch.size': rows,
        'attribution.stage': batch.stage,
        'messaging.destination.partition.id': String(batch.partition),
      },
    })
  }
}

type Unended = Omit<Parameters<typeof SPANS.end>[0], 'startMs' | 'endMs' | 'isError'>

async function timed<T>(work: () => Promise<T>, startMs: number, span: Unended): Promise<T> {
  let isError = true
  try {
    const result = await work()
    isError = false
    return result
  } finally {
    SPANS.end({ ...span, startMs, endMs: Date.now(), isError })
  }
}

function countsOf(dispositions: readonly Disposition[]): { readonly resolved: number; readonly handedOn: number } {
  let [resolved, handedOn] = [0, 0]
  for (const { kind } of dispositions) {
    if (kind === 'resolved') resolved++
    else if (kind === 'hand_on') handedOn++
  }
  return { resolved, handedOn }
}
