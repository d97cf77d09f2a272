import { gauge } from '../../telemetry/metrics.js'
import type { LivePrecision } from '../learning/drift.js'
import { chosenVersion, MODEL_STATUSES, type StoredModel, statusOf } from '../models/model-version.js'

const VERSIONS = gauge('model_versions', 'Versions of the models of the tenants of this trainer, by status.', [
  'status',
])
const WITHDRAWN = gauge(
  'model_withdrawn_tenants',
  'Tenants of this trainer whose newest model in service was withdrawn: it was wrong too often.',
)
const OLDEST = gauge('model_oldest_seconds', 'Age of the oldest model in service of this trainer.')
const PRECISION = gauge(
  'model_live_precision_ratio',
  'Precision at the chargeback floor on newly resolved calls, the lowest of all tenants: `estimate` and its ' +
    '`lower` bound.',
  ['of'],
)
const SCORED = gauge(
  'model_live_scored_events',
  'Newly resolved calls on which models in service are scored, of all tenants.',
)

export interface LiveModels {
  readonly versionsOf: (tenantId: string) => Iterable<StoredModel>
  readonly precisionOf: (tenantId: string) => LivePrecision | undefined
}

/**
 * Sets the metrics of some tenants' models. No label names a tenant; a value that is unknown for all tenants has no
 * series.
 */
export function setLiveModels(
  tenantIds: Iterable<string>,
  { versionsOf, precisionOf }: LiveModels,
  nowMs: number,
): void {
  const counts = new Map<string, number>(MODEL_STATUSES.map((status) => [status, 0]))
  const ages: number[] = []
  const precisions: LivePrecision[] = []
  let withdrawn = 0
  for (const tenantId of tenantIds) {
    const versions = [...versionsOf(tenantId)]
    const chosen = chosenVersion(versions)
    for (const version of versions) {
      const status = statusOf(version, chosen)
      counts.set(status, (counts.get(status) ?? 0) + 1)
    }
    if (chosen === undefined) continue
    if (chosen.withdrawn != null) {
      withdrawn++
      continue
    }
    ages.push(Math.max(0, nowMs - Date.parse(chosen.created_at)) / 1_000)
    const precision = precisionOf(tenantId)
    if (precision !== undefined) precisions.push(precision)
  }
  for (const [status, count] of counts) VERSIONS.set({ status }, count)
  WITHDRAWN.set(withdrawn)
  SCORED.set(precisions.reduce((sum, { scored }) => sum + scored, 0))
  OLDEST.remove()
  PRECISION.reset()
  if (ages.length > 0) OLDEST.set(Math.max(...ages))
  if (precisions.length === 0) return
  PRECISION.set({ of: 'estimate' }, Math.min(...precisions.map(({ precision }) => precision)))
  PRECISION.set({ of: 'lower' }, Math.min(...precisions.map(({ atLeast }) => atLeast)))
}
