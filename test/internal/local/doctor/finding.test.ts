import { expect, test } from 'vitest'
import { checkClock } from '../../../../internal/local/doctor/clocks.js'
import { exitCodeOf, type FindingStatus, graded } from '../../../../internal/local/doctor/finding.js'

test.each<[readonly FindingStatus[], number]>([
  [[], 0],
  [['ok', 'ok'], 0],
  [['ok', 'warning', 'ok'], 1],
  [['failure', 'warning'], 2],
  [['warning', 'failure', 'ok'], 2],
])('the exit code of %j is %i', (statuses, code) => {
  expect(exitCodeOf(statuses.map((status) => ({ status })))).toBe(code)
})

test.each<[number, FindingStatus]>([
  [0.74, 'ok'],
  [0.75, 'warning'],
  [0.89, 'warning'],
  [0.9, 'failure'],
])('%d of a disk is %s, and advice is given only where it is needed', (used, status) => {
  const found = graded('disk', used, { warningFrom: 0.75, failureFrom: 0.9 }, 'seen', 'do this')

  expect(found).toEqual({ check: 'disk', status, detail: status === 'ok' ? 'seen' : 'seen: do this' })
})

test.each<[number, FindingStatus, string]>([
  [0, 'ok', 'agrees'],
  [3_000, 'warning', 'ahead of'],
  [-3_000, 'warning', 'behind'],
  [60_000, 'failure', 'ahead of'],
])('a clock that is %i ms ahead is %s', async (aheadMs, status, word) => {
  const found = await checkClock('broker', async () => Date.now() + aheadMs)

  expect(found).toMatchObject({ check: 'clock of the broker', status, detail: expect.stringContaining(word) })
})
