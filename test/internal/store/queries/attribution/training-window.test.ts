import { beforeAll, expect, test } from 'vitest'
import type { Decision } from '../../../../../internal/attribution/changes/change.js'
import { decidedRow, withDecision } from '../../../../../internal/attribution/changes/decided.js'
import type { Verdict } from '../../../../../internal/attribution/records/row.js'
import {
  type TrainingRow,
  type TrainingWindow,
  trainingRows,
} from '../../../../../internal/store/queries/attribution/training-window.js'
import { insertRows } from '../../../../../internal/store/sink.js'
import { ATTRIBUTIONS, type AttributionRow } from '../../../../../internal/store/tables/attributions.js'
import { type Database, openDatabase } from '../../../../support/database.js'
import { idOf, NOW_MS, type Stated } from '../../../../support/invocations.js'
import { finishedRow } from '../../../../support/rows.js'

let store: Database
beforeAll(async () => {
  store = await openDatabase()
})

const INFERRED: Partial<Verdict> = {
  stageOrigin: 'stage_b',
  evidenceBasis: 'trained_inference',
  outputState: 'inferred',
}
const OWNED: Partial<Verdict> = { evidenceBasis: 'owner_resolved', confidence: 8_500 }
const POOLED: Partial<Verdict> = { stageOrigin: 'stage_c', evidenceBasis: 'default_pool', confidence: 1_000 }

/** The record of that number, as the stages made it and, perhaps, as somebody has decided since. */
function row(number: number, verdict: Partial<Verdict>, decision?: Decision, event: Stated = {}): AttributionRow {
  const base = finishedRow({ ...event, id: idOf(number) }, { verdict: { ...verdict, service: `service-${number}` } })
  return decision === undefined ? base : decidedRow(base, withDecision({}, decision, 'key_one'), NOW_MS + 1)
}

/** As one of many, by filters. */
const overriddenByFilters = (number: number, verdict: Partial<Verdict>): AttributionRow =>
  decidedRow(
    row(number, verdict),
    {
      override: { service: 'right', owner: 'team-right', reason: 'known', actor: 'key_one', bulk_override: 'ovr_one' },
    },
    NOW_MS + 1,
  )

const override = { kind: 'override', service: 'right', owner: 'team-right', reason: 'known' } as const
const dispute = { kind: 'dispute', reason: 'not ours' } as const

const window = (stated: Partial<TrainingWindow> = {}): TrainingWindow => ({
  tenantId: 'tnt_one',
  fromMs: NOW_MS - 1_000,
  asOfMs: NOW_MS + 1_000,
  recordsMax: 1_000,
  ...stated,
})

async function rowsOf(asked: TrainingWindow): Promise<TrainingRow[]> {
  const rows: TrainingRow[] = []
  for await (const one of trainingRows(store.client, asked)) rows.push(one)
  return rows
}

test('resolved calls, open calls and overrides of one tenant are told apart', async () => {
  const rows = [
    row(1, {}),
    row(2, INFERRED),
    row(3, POOLED),
    row(4, INFERRED, override),
    row(5, POOLED, override),
    row(6, {}, override),
    overriddenByFilters(13, POOLED),
    row(7, INFERRED, dispute),
    row(8, POOLED, dispute),
    row(9, {}, dispute),
    row(10, { evidenceBasis: 'service_declared', confidence: 7_000 }),
    row(11, {}, undefined, { tenantId: 'tnt_two' }),
    row(14, OWNED),
    row(15, OWNED, override),
    row(12, {}, undefined, { invocation: { eventTimeMs: NOW_MS - 5_000 } }),
  ]
  await insertRows(store.client, ATTRIBUTIONS, rows, 'kinds')

  const read = (await rowsOf(window())).map(({ kind, service }) => `${service} ${kind}`).sort()

  expect(read).toEqual(
    [
      'service-1 resolved',
      'service-2 unresolved',
      'service-3 unresolved',
      'right override',
      'right override',
      'right override',
      'service-14 unresolved',
      'right resolved',
      'right resolved',
      'service-7 dispute',
      'service-8 unresolved',
    ].sort(),
  )
})

test('beyond its limit a window is sampled by whole traces, always the same; audits are all kept', async () => {
  const tenantId = 'tnt_many'
  const rows = Array.from({ length: 2_000 }, (_, i) =>
    row(1_000 + i, {}, undefined, { tenantId, invocation: { traceId: `trace-${i >> 2}` } }),
  )
  const audits = Array.from({ length: 300 }, (_, i) => row(5_000 + i, INFERRED, override, { tenantId }))
  await insertRows(store.client, ATTRIBUTIONS, [...rows, ...audits], 'many')

  const read = await rowsOf(window({ tenantId, recordsMax: 200 }))

  const ofTraces = new Map<string, number>()
  for (const { kind, trace_id } of read)
    if (kind === 'resolved') ofTraces.set(trace_id, (ofTraces.get(trace_id) ?? 0) + 1)
  expect(read.filter(({ kind }) => kind === 'override').length).toBe(300)
  expect(ofTraces.size).toBeGreaterThan(20)
  expect(ofTraces.size).toBeLessThan(100)
  expect(new Set(ofTraces.values())).toEqual(new Set([4]))
  expect(await rowsOf(window({ tenantId, recordsMax: 200 }))).toEqual(read)
})
