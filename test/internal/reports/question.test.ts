import { expect, test } from 'vitest'
import { readReport } from '../../../internal/reports/question.js'

const NOW_MS = Date.UTC(2026, 10, 23, 10, 30)

const periodOf = (query: string): readonly [from: string, to: string] => {
  const read = readReport('usage', query, NOW_MS, [])
  if (!read.ok) throw new Error(read.problem.detail)
  const { fromMs, toMs } = read.question.period
  return [new Date(fromMs).toISOString(), new Date(toMs).toISOString()]
}

test.each([
  ['', '2026-10-24T00:00:00.000Z', '2026-11-24T00:00:00.000Z'],
  ['from=2026-11-20', '2026-11-20T00:00:00.000Z', '2026-11-24T00:00:00.000Z'],
  ['to=2026-10-01', '2026-09-01T00:00:00.000Z', '2026-10-01T00:00:00.000Z'],
  ['to=2026-11-23T09:15:00Z', '2026-10-24T00:00:00.000Z', '2026-11-23T09:15:00.000Z'],
  ['to=2027-01-31', '2027-01-01T00:00:00.000Z', '2027-01-31T00:00:00.000Z'],
  ['filter[event_time][lt]=2026-10-01T00:00:00Z', '2026-09-01T00:00:00.000Z', '2026-10-01T00:00:00.000Z'],
  ['to=1970-01-02', '1970-01-01T00:00:00.000Z', '1970-01-02T00:00:00.000Z'],
  // Clocks go back in between.
  ['to=2026-11-20&time_zone=Europe/Berlin', '2026-10-20T22:00:00.000Z', '2026-11-19T23:00:00.000Z'],
])('the default period starts thirty days before its end, or before today: %s', (query, from, to) => {
  expect(periodOf(query)).toEqual([from, to])
})

test('declared tags are groups, filters and a sort, in any case of their key; others are refused, with a list', () => {
  const declared = [{ key: 'Team' }, { key: 'env' }]
  const read = (query: string) => readReport('usage', query, NOW_MS, declared)

  expect(read('group_by=service,tags.TEAM&filter[tags.env][eq]=&sort=-tags.Team')).toMatchObject({
    question: {
      groupBy: ['service', 'tags.team'],
      filters: [{ field: 'tags.env', operator: 'eq', values: [''] }],
      sort: [{ key: { kind: 'label', name: 'tags.team' }, isDescending: true }],
    },
  })
  for (const query of ['group_by=tags.release', 'group_by=tags.team,tags.TEAM', 'filter[tags.release][eq]=7']) {
    const refused = read(query)
    expect([query, refused.ok ? undefined : refused.problem.detail]).toEqual([
      query,
      expect.stringMatching(/team, (tags\.)?env/),
    ])
  }
})

test.each([
  ['compare=previous&compare_from=2026-09-01&compare_to=2026-10-01', 'together, without compare'],
  ['compare_from=2026-09-01', 'must be stated together'],
  ['compare_from=2026-09-01&compare_to=2026-10-01&interval=day', 'without interval'],
  ['compare_from=2026-10-01&compare_to=2026-09-01', 'must be before'],
  ['compare_from=2026-11-30&compare_to=2026-12-02', 'must not overlap'],
  ['compare_from=yesterday&compare_to=2026-12-02', 'must be days'],
])('a period to compare with is refused where it cannot be compared: %s', (query, reason) => {
  const read = readReport('usage', `from=2026-11-01&to=2026-12-01&${query}`, NOW_MS)

  expect(read.ok ? 'taken' : read.problem.detail).toContain(reason)
})

test('a period to compare with may be before or after, and as long as it likes', () => {
  for (const [from, to] of [
    ['2025-11-01', '2026-11-01'],
    ['2026-12-01', '2026-12-02'],
  ] as const) {
    const read = readReport('usage', `from=2026-11-01&to=2026-12-01&compare_from=${from}&compare_to=${to}`, NOW_MS)

    expect(read).toMatchObject({ question: { previous: { fromMs: Date.parse(from), toMs: Date.parse(to) } } })
  }
})
