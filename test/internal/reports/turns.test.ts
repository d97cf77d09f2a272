import { expect, test } from 'vitest'
import { Folds } from '../../../internal/reports/folds.js'
import { readQuestion } from '../../../internal/reports/kinds.js'
import { reportOf } from '../../../internal/reports/report.js'
import { USAGE } from '../../../internal/reports/usage.js'
import { type ReportedCall, reportReads } from '../../support/report-reads.js'

const START_MS = Date.UTC(2026, 9, 5)
const HOUR_MS = 3_600_000

/** Calls whose groups take about a second to fold. */
const MANY: readonly ReportedCall[] = Array.from({ length: 6_000 }, (_, i) => ({
  person: 1 + ((i * 7_919) % 300),
  service: `service-${(i * 31) % 97}`,
  provider: `provider-${(i * 17) % 13}`,
  atMs: START_MS + ((i * 13) % 480) * HOUR_MS,
}))
const FEW: readonly ReportedCall[] = Array.from({ length: 12 }, (_, i) => ({
  person: 1 + i,
  service: 'chat',
  provider: 'one',
  atMs: START_MS,
}))

function report(calls: readonly ReportedCall[], signal: AbortSignal, folds = new Folds()) {
  const query = 'group_by=service&from=2026-10-01T00:00:00Z&to=2026-11-01T00:00:00Z'
  const read = readQuestion('usage', query, START_MS)
  if (!read.ok) throw new Error('invalid report query')
  return reportOf('tnt_one', read.question, USAGE, reportReads(calls), signal, folds)
}
const never = new AbortController().signal

test('a small report is answered while a large one is folded', async () => {
  const ended: string[] = []
  const large = report(MANY, never).then(() => ended.push('large'))
  const small = report(FEW, never).then(() => ended.push('small'))

  await Promise.all([large, small])

  expect(ended).toEqual(['small', 'large'])
})

test('a large report that is cancelled while it waits lets the next one run', async () => {
  const folds = new Folds()
  const leaving = new AbortController()
  const left = new Error('the caller has left')
  const first = report(MANY, never, folds)
  const second = report(MANY, leaving.signal, folds)
  const third = report(MANY, never, folds)
  leaving.abort(left)

  await expect(second).rejects.toBe(left)
  expect((await third).rows).toEqual((await first).rows)
})

test('folding stops when the report is cancelled', async () => {
  const leaving = new AbortController()
  const left = new Error('the caller has left')
  setImmediate(() => leaving.abort(left))

  await expect(report(MANY, leaving.signal)).rejects.toBe(left)
})

test('a filter that cannot be applied in one month is applied in none, and months are read one by one', async () => {
  const month = (index: number): number => Date.UTC(2026, index, 5)
  const calls = (index: number, service: string, people: number): ReportedCall[] =>
    Array.from({ length: people }, (_, i) => ({ person: 1 + i, service, provider: 'one', atMs: month(index) }))
  const all = [
    ...calls(7, 'chat', 9),
    ...calls(7, 'search', 8),
    // In September two people search: their calls are shown only together with those of others.
    ...calls(8, 'chat', 9),
    ...calls(8, 'search', 2),
    ...calls(9, 'chat', 9),
    ...calls(9, 'search', 8),
  ]
  const query = 'interval=month&from=2026-08-01T00:00:00Z&to=2026-11-01T00:00:00Z&filter[service][eq]=search'
  const read = readQuestion('usage', query, START_MS)
  if (!read.ok) throw new Error('not a question')
  const reads = reportReads(all)
  const scopes: number[] = []
  const sums: typeof reads.sums = (scope, ...rest) => {
    scopes.push(scope.fromMs)
    return reads.sums(scope, ...rest)
  }

  const { rows, widened } = await reportOf('tnt_one', read.question, USAGE, { ...reads, sums }, never)

  expect(widened).toEqual(['service'])
  expect(rows.map(({ sum }) => sum.counts.calls)).toEqual([17, 11, 17])
  expect([...new Set(scopes)]).toEqual([Date.UTC(2026, 7), Date.UTC(2026, 8), Date.UTC(2026, 9)])
})
