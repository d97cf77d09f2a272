import { expect, test } from 'vitest'
import {
  type BulkOverride,
  overriddenRows,
  restoredRows,
} from '../../../../internal/attribution/changes/bulk-override.js'
import { decidedOf, decidedRow, withDecision } from '../../../../internal/attribution/changes/decided.js'
import { idOf, NOW_MS } from '../../../support/invocations.js'
import { finishedRow } from '../../../support/rows.js'

const ROW = finishedRow({ id: new Uint8Array(idOf(1)) })
const OVERRIDE: BulkOverride = {
  conditions: [],
  snapshot_ms: NOW_MS,
  service: 'chat',
  owner: 'team-chat',
  reason: 'so it is',
  records: 1,
  cost_usd: '1',
}
const JOB = { id: 'ovr_1', actor: 'key_1' }
const [OVERRIDDEN = ROW] = overriddenRows([ROW], OVERRIDE, JOB, NOW_MS + 1)
const DISPUTE = { kind: 'dispute', reason: 'not ours' } as const

test('a bulk override sets what a single one does, and names itself', () => {
  expect(OVERRIDDEN).toMatchObject({ service: 'chat', owner: 'team-chat', outputState: 'overridden' })
  expect(JSON.parse(OVERRIDDEN.evidence)).toMatchObject({
    override: { reason: 'so it is', actor: 'key_1', bulk_override: 'ovr_1' },
    replaced: { service: ROW.service },
  })
})

test('undoing restores the version before, to the last figure', () => {
  expect(restoredRows([OVERRIDDEN], [ROW], 'ovr_1', 'key_2', NOW_MS + 2)).toEqual([{ ...ROW, validFromMs: NOW_MS + 2 }])
})

test('undoing keeps a dispute that was opened since', () => {
  const disputed = decidedRow(ROW, withDecision(decidedOf(OVERRIDDEN), DISPUTE, 'key_2'), NOW_MS + 2)

  const [restored] = restoredRows([disputed], [ROW], 'ovr_1', 'key_2', NOW_MS + 3)

  expect(restored).toMatchObject({ service: ROW.service, outputState: 'disputed' })
})

test('undoing leaves what was undone, or overridden by somebody since', () => {
  const single = { service: 'search', owner: 'team-search', reason: 'no', actor: 'key_2' }
  const others = [
    ROW,
    decidedRow(ROW, { override: single }, NOW_MS + 2),
    ...overriddenRows([ROW], OVERRIDE, { ...JOB, id: 'ovr_2' }, NOW_MS + 2),
  ]

  for (const other of others) expect(restoredRows([other], [ROW], 'ovr_1', 'key_2', NOW_MS + 3)).toEqual([])
})
