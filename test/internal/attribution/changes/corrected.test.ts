import { describe, expect, test } from 'vitest'
import type { Change } from '../../../../internal/attribution/changes/change.js'
import { applyChanges } from '../../../../internal/attribution/changes/ledger.js'
import { toRow, type Verdict } from '../../../../internal/attribution/records/row.js'
import { admitted, NOW_MS } from '../../../support/invocations.js'
import { CORRELATED } from '../../../support/rows.js'
import { ROW_DEPS } from '../../../support/stages.js'

const POOLED: Verdict = {
  service: 'unallocated',
  owner: 'unallocated',
  stageOrigin: 'stage_c',
  evidenceBasis: 'default_pool',
  confidence: 1_000,
  outputState: 'unresolved',
  modelVersion: 'rules-5',
  degradationState: 'degraded_serving',
  evidence: { pool: 'unallocated' },
}
const rowOf = (verdict: Verdict, attributionConfidence?: number) => {
  const invocation = attributionConfidence === undefined ? {} : { attributionConfidence }
  return toRow(admitted({ invocation }), verdict, { partition: 0, validFromMs: NOW_MS }, ROW_DEPS)
}
const change = (decision: Change['decision'], id = 'one'): Change => ({
  id,
  tenantId: 'tnt_one',
  recordId: '00',
  actor: 'stage_a',
  decision,
})
const correction = (verdict: Verdict, id?: string) => change({ kind: 'correction', verdict }, id)
const apply = (row: ReturnType<typeof rowOf>, ...changes: Change[]) =>
  applyChanges(changes, () => [{ row, closed: undefined }], NOW_MS + 1_000)

describe('a correction', () => {
  test('a correction replaces the attribution of a call but not its cost', () => {
    const before = rowOf(POOLED)
    const { rows, closed } = apply(before, correction(CORRELATED))

    expect(rows).toEqual([
      {
        ...before,
        validFromMs: NOW_MS + 1_000,
        service: 'search',
        owner: 'team-search',
        stageOrigin: 'stage_a',
        evidenceBasis: 'trace_correlated',
        confidence: 8_200,
        confidenceBand: 'chargeback_ready',
        exportEligibility: 'eligible',
        outputState: 'deterministically_resolved',
        degradationState: 'none',
        evidence: '{"service_from":"trace","confidence":"0.8200"}',
      },
    ])
    expect(closed).toMatchObject([{ version: before, change: 'correction', closedAtMs: NOW_MS + 1_000 }])
  })

  test('a correction never exceeds the confidence that the producer stated', () => {
    expect(apply(rowOf(POOLED, 0.5), correction(CORRELATED)).rows).toMatchObject([
      { confidence: 5_000, confidenceBand: 'provisional', exportEligibility: 'below_floor' },
    ])
  })

  test('a correction equal to the record’s attribution changes nothing, also when repeated', () => {
    expect(apply(rowOf(CORRELATED), correction(CORRELATED)).rows).toEqual([])
    expect(apply(rowOf(POOLED), correction(CORRELATED), correction(CORRELATED)).rows).toHaveLength(1)
  })

  test('a correction yields to evidence stated by the event, and to a person’s decision', () => {
    const stated = rowOf({ ...CORRELATED, evidenceBasis: 'service_resolved' })
    const override = change({ kind: 'override', service: 'x', owner: 'y', reason: 'z' }, 'first')
    const dispute = change({ kind: 'dispute', reason: 'z' }, 'first')

    expect(apply(stated, correction(POOLED)).rows).toEqual([])
    expect(apply(rowOf(POOLED), override, correction(CORRELATED)).rows).toMatchObject([{ outputState: 'overridden' }])
    expect(apply(rowOf(POOLED), dispute, correction(CORRELATED)).rows).toMatchObject([{ outputState: 'disputed' }])
  })

  test('that a trace has several services withdraws what it decided and marks a pooled call, but leaves an inference', () => {
    const contested: Verdict = { ...POOLED, contested: 'trace' }
    const inferred = rowOf({ ...CORRELATED, stageOrigin: 'stage_b', evidenceBasis: 'trained_inference' })

    for (const before of [rowOf(CORRELATED), rowOf(POOLED)]) {
      const { rows } = apply(before, correction(contested))
      expect(rows).toMatchObject([{ service: 'unallocated', contested: 'trace' }])
      expect(apply(rows[0] ?? before, correction(contested)).rows).toEqual([])
    }
    expect(apply(inferred, correction(contested)).rows).toEqual([])
  })

  test('undoing an override restores the correction', () => {
    const override = change({ kind: 'override', service: 'x', owner: 'y', reason: 'z' }, 'second')
    const undo = change({ kind: 'undo_override' }, 'third')
    const { rows } = apply(rowOf(POOLED), correction(CORRELATED), override, undo)

    expect(rows.at(-1)).toMatchObject({ service: 'search', evidenceBasis: 'trace_correlated', confidence: 8_200 })
  })
})
