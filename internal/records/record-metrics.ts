import { PROBE_TENANT_ID } from '../ids/probe-tenant.js'
import { counter, TimeHistogram, whenRead } from '../telemetry/metrics.js'
import type { AttributionRow } from './record-fields.js'

const RECORDS = counter('records_total', 'Attributed calls, by the state and confidence band of their record.', [
  'output_state',
  'confidence_band',
])
const COST = counter('cost_usd_total', 'Cost of attributed calls in USD, by what may be charged back.', [
  'output_state',
  'export_eligibility',
])
const UNPRICED = counter('unpriced_calls_total', 'Attributed calls without a price.')
const VISIBLE = new TimeHistogram(
  'visible_duration_seconds',
  'From the receipt of an event by a gateway to its record in the read model.',
  'stage',
)

/** Labels joined by a space, which none of them has. */
const calls = new Map<string, number>()
const costs = new Map<string, bigint>()
let unpriced = 0

/** Counts the records of new calls; overrides and other new versions of a record are none, nor are our own probes. */
export function countRecords(rows: readonly AttributionRow[]): void {
  for (const { tenantId, outputState, confidenceBand, exportEligibility, costBasis, costUsd } of rows) {
    if (tenantId === PROBE_TENANT_ID) continue
    const band = `${outputState} ${confidenceBand}`
    const eligibility = `${outputState} ${exportEligibility}`
    calls.set(band, (calls.get(band) ?? 0) + 1)
    costs.set(eligibility, (costs.get(eligibility) ?? 0n) + costUsd)
    if (costBasis === 'unpriced') unpriced++
  }
}

/** Steps of a quantity in a millionth. */
const STEPS_PER_MICRO = 10n ** 12n

whenRead(() => {
  for (const metric of [RECORDS, COST, UNPRICED]) metric.reset()
  for (const [labels, count] of calls) {
    const [output_state = '', confidence_band = ''] = labels.split(' ')
    RECORDS.inc({ output_state, confidence_band }, count)
  }
  for (const [labels, cost] of costs) {
    const [output_state = '', export_eligibility = ''] = labels.split(' ')
    COST.inc({ output_state, export_eligibility }, Number(cost / STEPS_PER_MICRO) / 1e6)
  }
  UNPRICED.inc(unpriced)
})

/** @param receivedAtMs of each event whose record was stored */
export function countVisible(stage: string, receivedAtMs: Iterable<number>, nowMs: number): void {
  const series = VISIBLE.of(stage)
  for (const ms of receivedAtMs) series.observeMs(Math.max(0, nowMs - ms))
}
