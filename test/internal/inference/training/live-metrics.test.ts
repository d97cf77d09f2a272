import { expect, test } from 'vitest'
import type { LivePrecision } from '../../../../internal/inference/learning/drift.js'
import type { StoredModel } from '../../../../internal/inference/models/model-version.js'
import { setLiveModels } from '../../../../internal/inference/training/live-metrics.js'
import { METRICS } from '../../../../internal/telemetry/metrics.js'
import { at, version } from '../../../support/models.js'

const withdrawn = { at: at(4), scored: 200, precision: 0.5, at_most: 0.6, from: at(3), classes: [] }
const precision = (scored: number, share: number): LivePrecision => ({
  scored,
  precision: share,
  atLeast: share - 0.1,
  atMost: share + 0.02,
})

interface Known {
  readonly versions: readonly StoredModel[]
  readonly precision?: LivePrecision
}

/** All series of a metric, by the value of its label. */
async function seriesOf(name: string): Promise<Record<string, number>> {
  const metric = await METRICS.getSingleMetric(`attribution_${name}`)?.get()
  return Object.fromEntries((metric?.values ?? []).map(({ labels, value }) => [Object.values(labels).join(), value]))
}

async function measured(tenants: Readonly<Record<string, Known>>, nowMs: number) {
  setLiveModels(
    Object.keys(tenants),
    {
      versionsOf: (tenantId) => tenants[tenantId]?.versions ?? [],
      precisionOf: (tenantId) => tenants[tenantId]?.precision,
    },
    nowMs,
  )
  return {
    versions: await seriesOf('model_versions'),
    withdrawn: await seriesOf('model_withdrawn_tenants'),
    oldest: await seriesOf('model_oldest_seconds'),
    precision: await seriesOf('model_live_precision_ratio'),
    scored: await seriesOf('model_live_scored_events'),
  }
}

test('the oldest model in service and the lowest precision of all tenants are shown, without a name', async () => {
  const serving = version(1, { promoted_at: at(1) })
  const nowMs = Date.parse(serving.created_at) + 3_600_000
  const tenants: Record<string, Known> = {
    tnt_one: { versions: [serving, version(2)], precision: precision(800, 0.97) },
    tnt_two: { versions: [version(3, { promoted_at: at(2) })], precision: precision(100, 0.85) },
    // What was found of a version before it was withdrawn counts no longer.
    tnt_three: { versions: [version(4, { promoted_at: at(1), withdrawn })], precision: precision(400, 0.4) },
    tnt_four: { versions: [] },
  }
  const found = await measured(tenants, nowMs)

  expect(found.versions).toEqual({ candidate: 1, serving: 2, previous: 0, recalled: 0, withdrawn: 1 })
  expect(found.withdrawn).toEqual({ '': 1 })
  expect(found.oldest).toEqual({ '': 3_600 })
  expect(found.precision['estimate']).toBe(0.85)
  expect(found.precision['lower']).toBeCloseTo(0.75)
  expect(found.scored).toEqual({ '': 900 })
})

test('what no tenant has is absent, also after it was there', async () => {
  await measured({ tnt_one: { versions: [version(1, { promoted_at: at(1) })], precision: precision(800, 0.97) } }, 0)
  const found = await measured({ tnt_one: { versions: [version(1)] } }, 0)

  expect([found.oldest, found.precision]).toEqual([{}, {}])
  expect(found.versions).toMatchObject({ candidate: 1, serving: 0 })
  expect(found.scored).toEqual({ '': 0 })
})
