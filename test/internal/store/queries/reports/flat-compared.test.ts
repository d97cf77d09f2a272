import { expect, test } from 'vitest'
import type { AnswerRow } from '../../../../../internal/store/queries/reports/answer.js'
import { comparedRows } from '../../../../../internal/store/queries/reports/flat-compared.js'

const row = (label: string, cost: string, isFolded = false): AnswerRow => ({
  interval: undefined,
  labels: isFolded ? [] : [label],
  isFolded,
  groups: 1,
  people: 5,
  figures: { cost_usd: cost } as AnswerRow['figures'],
})
const NOW = {
  own: [row('a', '1'), row('b', '2'), row('c', '3')],
  folded: row('', '9', true),
  members: new Set(['few now']),
}
const BEFORE = {
  own: [row('a', '4'), row('gone', '5'), row('few now', '6')],
  folded: row('', '8', true),
  members: new Set(['b', 'few before']),
}
const shown = (rows: readonly AnswerRow[]) =>
  rows.map(({ labels: [label = 'folded'], figures, people, previous }) => [
    ...[label, figures.cost_usd, people],
    ...[previous?.compared, previous?.figures.cost_usd, previous?.people],
  ])

test('a figure of the period before is shown only where its group has a row in both', () => {
  expect(shown(comparedRows(NOW, BEFORE, ['cost_usd'], true))).toEqual([
    ['a', '1', 5, 'both', '4', 5],
    // Folded in the period before.
    ['b', '2', 5, 'not_shown', '0', 0],
    ['c', '3', 5, 'new', '0', 0],
    ['folded', '9', 5, 'not_shown', '0', 0],
    // That of few people now has no row.
    ['gone', '0', 0, 'gone', '5', 5],
  ])
})

test('of a period before whose filters do not hold nothing is shown', () => {
  expect(shown(comparedRows(NOW, BEFORE, ['cost_usd'], false))).toEqual([
    ['a', '1', 5, 'not_shown', '0', 0],
    ['b', '2', 5, 'not_shown', '0', 0],
    ['c', '3', 5, 'not_shown', '0', 0],
    ['folded', '9', 5, 'not_shown', '0', 0],
  ])
})
