import type { Logger } from '../../telemetry/log.js'
import type { PassedOver } from './inference-spans.js'

/** Told of what a request held beside calls of models. */
export type OnPassedOver = (
  tenantId: string,
  counts: ReadonlyMap<PassedOver | 'metrics_request', number>,
  nowMs: number,
) => void

const EVERY_MS = 60_000
/** Tenants whose counts are kept at a time; with more, all are logged earlier. */
const TENANTS_MAX = 1_000

/**
 * Logs how many spans and log records became no records, by tenant and reason: once a minute as long as requests arrive.
 * Who misses records finds the reason here.
 */
export function passedOverLog(log: Logger): OnPassedOver {
  const totals = new Map<string, Map<string, number>>()
  let loggedAtMs = 0
  return (tenantId, counts, nowMs) => {
    const total = totals.get(tenantId) ?? new Map<string, number>()
    totals.set(tenantId, total)
    for (const [reason, count] of counts) total.set(reason, (total.get(reason) ?? 0) + count)
    if (nowMs - loggedAtMs < EVERY_MS && totals.size < TENANTS_MAX) return
    loggedAtMs = nowMs
    for (const [tenant, reasons] of totals) {
      log.info(
        { tenant_id: tenant, counts: Object.fromEntries(reasons) },
        'OTLP that is no call of a model was passed over',
      )
    }
    totals.clear()
  }
}
