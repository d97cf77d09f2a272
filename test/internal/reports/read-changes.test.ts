import { expect, test } from 'vitest'
import { readChanges } from '../../../internal/reports/changes-question.js'
import { readChangesOf } from '../../../internal/reports/read-changes.js'
import type { ReportReads } from '../../../internal/reports/report.js'

/** How the changes are read; what they are of real calls is tested beside their route. */

const NOW_MS = Date.UTC(2026, 11, 2)
const OF = { tenantId: 'tnt_one', snapshotMs: NOW_MS, notPeople: [], cohortMin: 5, months: [] }

function changesFrom(read: ReportReads['read']) {
  const asked = readChanges('from=2026-11-01&to=2026-12-01&group_by=service', NOW_MS, [])
  if (!asked.ok) throw new Error(asked.problem.detail)
  const reads = { hasClosed: async () => true, holdingFilters: async () => 0, read }
  return readChangesOf(asked.question, OF, reads, new AbortController().signal)
}

test('one query is in flight at a time: a tenant that asks has no more of the store than with any other report', async () => {
  let inFlight = 0
  let most = 0
  await changesFrom(async () => {
    inFlight++
    most = Math.max(most, inFlight)
    await new Promise(setImmediate)
    inFlight--
    return { rows: [], totals: { rows: 0, costUsd: '0' } }
  })

  expect(most).toBe(1)
})
