import { expect, test } from 'vitest'
import { readChanges } from '../../../internal/reports/changes-question.js'
import { CELLS_MAX, readChangesOf } from '../../../internal/reports/read-changes.js'
import type { ReportReads } from '../../../internal/reports/report.js'
import type { AnswerRow } from '../../../internal/store/queries/reports/answer.js'
import type { Compared } from '../../../internal/store/queries/reports/compared.js'
import { FIGURE_NAMES } from '../../../internal/store/queries/reports/figures.js'

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

test('groups are unread only if they could have been shown: not those that fold in one of the periods', async () => {
  const shown = Array.from({ length: CELLS_MAX }, () => row('both'))
  const isCutOf = async (rows: readonly AnswerRow[]) => {
    const { isCut } = await changesFrom(async (_, limit) => ({
      rows: rows.slice(0, limit),
      totals: { rows: rows.length, costUsd: '0' },
    }))
    return isCut
  }

  expect(await isCutOf(shown)).toBe(false)
  expect(await isCutOf([...shown, row('not_shown')])).toBe(false)
  expect(await isCutOf([...shown, row('gone')])).toBe(true)
})

function row(compared: Compared): AnswerRow {
  const figures = Object.fromEntries(FIGURE_NAMES.map((name) => [name, '0'])) as AnswerRow['figures']
  const previous = { compared, people: 0, figures }
  return { interval: undefined, labels: ['search'], isFolded: false, groups: 1, people: 0, figures, previous }
}
