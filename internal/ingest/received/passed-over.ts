import type { ReceivedFrom } from './received-counts.js'

/** Telemetry of one capture layer that became no records for a reason: what the map of coverage shows. */
export interface PassedOverCount {
  readonly layer: string
  readonly kind: string
  readonly count: number
  readonly lastAtMs: number
}

const TELEMETRY = 'otlp'

/** What was passed over of spans, log records and requests for metrics, by layer and reason, in their order. */
export function passedOverTelemetry(received: readonly ReceivedFrom[]): PassedOverCount[] {
  const totals = new Map<string, PassedOverCount>()
  for (const { source, counts } of received) {
    if (source.intake !== TELEMETRY) continue
    for (const [kind, { count, lastAtMs }] of counts.passedOver.entries()) {
      const name = `${source.layer}/${kind}`
      const before = totals.get(name) ?? { layer: source.layer, kind, count: 0, lastAtMs: 0 }
      const sum = { count: before.count + count, lastAtMs: Math.max(before.lastAtMs, lastAtMs) }
      totals.set(name, { ...before, ...sum })
    }
  }
  return [...totals].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, total]) => total)
}
