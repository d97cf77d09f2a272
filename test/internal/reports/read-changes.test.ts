import { expect, test } from 'vitest'
import { readChanges } from '../../../internal/reports/changes-question.js'
import { CELLS_MAX, readChangesOf } from '../../../internal/reports/read-changes.js'
import type { ReportReads } from '../../../internal/reports/report.js'
import type { AnswerRow } from '../../../internal/store/queries/reports/answer.js'
import type { Compared } from '../../../internal/store/queries/reports/compared.js'
import { FIGURE_NAMES } from '../../../internal/store/queries/reports/figures.js'
import { parseSum } from '../../../internal/units/quantity.js'

/** How the changes are read; what they are of real calls is tested beside their route. */

const NOW_MS = Date.UTC(2026, 11, 2)
const OF = { tenantId: 'tnt_one', snapshotMs: NOW_MS, notPeople: [], cohortMin: 5, months: [] }

function changesFrom(read: ReportReads['read']) {
  const asked = readChanges('from=2026-11-01&to=2026-12-01&group_by=service', NOW_MS, [])
  if (!asked.ok) throw new Error(asked.problem.detail)
  const reads = { hasClosed: async () => true, holdingFilters: async () => 0, read }
  return readChangesOf(asked.question, OF, reads, new AbortController().signal)
}

test('one query reads both periods, by group and as a whole', async () => {
  let queries = 0
  const { parts } = await changesFrom(async () => {
    queries++
    const { figures } = row('both')
    const sums = { now: { ...figures, cost_usd: '3' }, before: { ...figures, cost_usd: '1' } }
    return { rows: [row('both')], totals: { rows: 1, costUsd: '3', sums } }
  })

  expect(queries).toBe(1)
  expect(parts.whole).toMatchObject({ now: { cost: parseSum('3') }, before: { cost: parseSum('1') } })
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
