import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Change, Decision } from '../../../../internal/attribution/changes/change.js'
import { applyChanges } from '../../../../internal/attribution/changes/ledger.js'
import { toRow, type Verdict } from '../../../../internal/attribution/records/row.js'
import type { Version } from '../../../../internal/store/queries/records/versions.js'
import type { AttributionRow } from '../../../../internal/store/tables/attributions.js'
import { admitted, idOf, NOW_MS } from '../../../support/invocations.js'
import { CORRELATED, finishedRow } from '../../../support/rows.js'
import { ROW_DEPS } from '../../../support/stages.js'

const baseRow = (stated: Partial<AttributionRow> = {}): AttributionRow => ({
  ...finishedRow({ id: idOf(1) }, { verdict: { evidence: { service_from: 'event' } } }),
  ...stated,
})

const RECORD = Buffer.from(idOf(1)).toString('hex')
let ids = 0
const change = (decision: Change['decision'], id = `chg_${++ids}`): Change => ({
  id,
  tenantId: 'tnt_one',
  recordId: RECORD,
  actor: 'key_one',
  decision,
})
const override = (service: string): Change => change({ kind: 'override', service, owner: 'team', reason: 'so it is' })

/** The versions of a record in the read model after batches of changes. */
function historyAfter(base: AttributionRow, batches: readonly (readonly Change[])[], atMs: (batch: number) => number) {
  let versions: Version[] = [{ row: base, closed: undefined }]
  const applied: string[] = []
  for (const [i, batch] of batches.entries()) {
    const entries = applyChanges(batch, () => versions, atMs(i))
    versions = [...versions, ...entries.rows.map((row) => ({ row, closed: undefined }))].map(({ row, closed }) => {
      const closing = entries.closed.find(({ version }) => version.validFromMs === row.validFromMs)
      const { closedAtMs = 0, change: kind = 'override', changeId = '', actor = '' } = closing ?? {}
      return { row, closed: closing === undefined ? closed : { atMs: closedAtMs, change: kind, changeId, actor } }
    })
    applied.push(...entries.applied.map(({ change: { id } }) => id))
  }
  return { versions, applied }
}

const decision: fc.Arbitrary<Decision> = fc.oneof(
  fc.record({
    kind: fc.constant('override' as const),
    service: fc.constantFrom('a', 'b'),
    owner: fc.constantFrom('x', 'y'),
    reason: fc.constantFrom('one', 'two'),
  }),
  fc.record({ kind: fc.constant('dispute' as const), reason: fc.constantFrom('three', 'four') }),
  fc.constant({ kind: 'undo_override' as const }),
  fc.constant({ kind: 'undo_dispute' as const }),
)
const batches = fc.array(fc.array(decision, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 6 })
const base = fc
  .record({
    exportEligibility: fc.constantFrom('eligible', 'residency_restricted', 'below_floor', 'unpriced'),
    costBasis: fc.constantFrom('price_book', 'unpriced'),
    inference: fc.constantFrom('', '{"probability":"0.7","alternatives":[]}'),
  })
  .map(baseRow)

const current = (versions: readonly Version[]): AttributionRow[] =>
  versions.filter(({ closed }) => closed === undefined).map(({ row }) => row)

describe('for any decisions in any batches', () => {
  test('exactly one version is valid at any instant, and each begins where the previous one ends', () => {
    fc.assert(
      fc.property(base, batches, fc.nat(3), (row, decisions, stepMs) => {
        const changes = decisions.map((batch) => batch.map((each) => change(each)))
        const { versions } = historyAfter(row, changes, (i) => NOW_MS + 1 + i * stepMs)

        const inOrder = [...versions].sort((one, other) => one.row.validFromMs - other.row.validFromMs)
        expect(current(versions)).toHaveLength(1)
        for (const [i, { closed }] of inOrder.entries()) {
          expect(closed?.atMs).toBe(inOrder[i + 1]?.row.validFromMs)
        }
        expect(new Set(inOrder.map(({ row: { validFromMs } }) => validFromMs)).size).toBe(inOrder.length)
      }),
    )
  })

  test('undoing all decisions restores the result of the stages exactly', () => {
    fc.assert(
      fc.property(base, batches, (row, decisions) => {
        const changes = decisions.map((batch) => batch.map((each) => change(each)))
        const undoing = [change({ kind: 'undo_override' }), change({ kind: 'undo_dispute' })]
        const { versions } = historyAfter(row, [...changes, undoing], (i) => NOW_MS + 1 + i)

        const [last] = current(versions)
        expect({ ...last, validFromMs: 0 }).toEqual({ ...row, validFromMs: 0 })
      }),
    )
  })

  test('the record shows people’s decisions, and its cost never changes', () => {
    fc.assert(
      fc.property(base, batches, (row, decisions) => {
        const changes = decisions.map((batch) => batch.map((each) => change(each)))
        const { versions, applied } = historyAfter(row, changes, (i) => NOW_MS + 1 + i)

        let [service, isDisputed]: [string | undefined, boolean] = [undefined, false]
        for (const { id, decision: made } of changes.flat()) {
          if (!applied.includes(id)) continue
          if (made.kind === 'override') service = made.service
          else if (made.kind === 'undo_override') service = undefined
          else isDisputed = made.kind === 'dispute'
        }
        const [last] = current(versions)
        expect(last?.service).toBe(service ?? row.service)
        expect(last?.outputState).toBe(isDisputed ? 'disputed' : service === undefined ? row.outputState : 'overridden')
        if (row.exportEligibility === 'residency_restricted')
          expect(last?.exportEligibility).toBe('residency_restricted')
        else if (isDisputed) expect(last?.exportEligibility).toBe('disputed')
        expect(last).toMatchObject({ costUsd: row.costUsd, energyWh: row.energyWh, identityHash: row.identityHash })
      }),
    )
  })

  test('a repeated change has no further effect', () => {
    fc.assert(
      fc.property(base, batches, (row, decisions) => {
        const changes = decisions.map((batch) => batch.map((each) => change(each)))
        const once = historyAfter(row, changes, (i) => NOW_MS + 1 + i)
        const done = changes.flat().filter(({ id }) => once.applied.includes(id))

        const again = applyChanges(done, () => once.versions, NOW_MS + 1_000)

        expect(again).toEqual({ rows: [], closed: [], applied: [], broken: [] })
      }),
    )
  })
})

test('of two overrides of one record in one batch, only the first takes effect', () => {
  const [first, second] = [override('a'), override('b')]

  const { rows, applied } = applyChanges([first, second], () => [{ row: baseRow(), closed: undefined }], NOW_MS + 5)

  expect(rows.map(({ service }) => service)).toEqual(['a'])
  expect(applied.map(({ change: { id } }) => id)).toEqual([first.id])
})

test('an override has the highest confidence, whatever the previous version had', () => {
  const unresolved = baseRow({
    stageOrigin: 'stage_c',
    confidence: 1_000,
    confidenceBand: 'estimated',
    exportEligibility: 'below_floor',
    degradationState: 'disabled',
  })

  const { rows } = applyChanges([override('a')], () => [{ row: unresolved, closed: undefined }], NOW_MS + 5)

  expect(rows[0]).toMatchObject({
    stageOrigin: 'stage_a',
    evidenceBasis: 'manual_override',
    confidence: 9_500,
    confidenceBand: 'chargeback_ready',
    degradationState: 'none',
    exportEligibility: 'eligible',
  })
})

test.each([
  ['stays one that is not charged back', 'upper', {}, 'cost_upper_bound'],
  ['of a tenant that charges such costs back is charged', 'upper', { upper_bound_charged: true }, 'eligible'],
  ['is one, too, if an earlier version did not say so', '', {}, 'cost_upper_bound'],
])('the upper bound of a record that somebody overrides %s', (_, costBound, more, exportEligibility) => {
  const costDetails = JSON.stringify({ basis: 'price_book', price: { flags: ['cache_read_rate_missing'] }, ...more })
  const bounded = baseRow({ costBound, costDetails, confidence: 1_000, exportEligibility: 'below_floor' })
  const { rows } = applyChanges([override('a')], () => [{ row: bounded, closed: undefined }], NOW_MS + 5)
  expect(rows[0]).toMatchObject({ confidence: 9_500, costBound: 'upper', exportEligibility })
})

test('a change of a nonexistent record does not create one', () => {
  expect(applyChanges([override('a')], () => [], NOW_MS)).toEqual({ rows: [], closed: [], applied: [], broken: [] })
})

const POOLED: Verdict = {
  service: 'unallocated',
  owner: 'unallocated',
  stageOrigin: 'stage_c',
  evidenceBasis: 'default_pool',
  confidence: 1_000,
  outputState: 'unresolved',
  modelVersion: 'rules-7',
  degradationState: 'degraded_serving',
  evidence: { pool: 'unallocated' },
}
const rowOf = (verdict: Verdict, attributionConfidence?: number) => {
  const invocation = attributionConfidence === undefined ? {} : { attributionConfidence }
  return toRow(admitted({ invocation }), verdict, { partition: 0, validFromMs: NOW_MS }, ROW_DEPS)
}
const correction = (verdict: Verdict, id = 'one') => change({ kind: 'correction', verdict }, id)
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

  test('a contested trace withdraws what it decided and marks a pooled call, but leaves an inference', () => {
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
