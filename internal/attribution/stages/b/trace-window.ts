const HOUR_MS = 60 * 60 * 1000
/** Maximum time between two steps of a workflow. */
const TRACE_WINDOW_MS = HOUR_MS

/** The traces of calls, and the time range in which their other steps can have happened. */
export interface TraceWindow {
  readonly traceIds: readonly string[]
  /** The range is in event time. */
  readonly fromMs: number
  readonly toMs: number
}

/** @returns undefined when no call has a trace */
export function traceWindowOf(
  calls: Iterable<{ readonly traceId?: string | undefined; readonly eventTimeMs: number }>,
): TraceWindow | undefined {
  const traceIds = new Set<string>()
  let [fromMs, toMs] = [Number.POSITIVE_INFINITY, 0]
  for (const { traceId, eventTimeMs } of calls) {
    if (traceId === undefined) continue
    traceIds.add(traceId)
    fromMs = Math.min(fromMs, eventTimeMs - TRACE_WINDOW_MS)
    toMs = Math.max(toMs, eventTimeMs + TRACE_WINDOW_MS)
  }
  return traceIds.size === 0 ? undefined : { traceIds: [...traceIds], fromMs, toMs }
}
