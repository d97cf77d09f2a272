import { expect, test } from 'vitest'
import { groupsReached, isSending, reachedOf, reachedShown } from '../../../../internal/console/figures/crossings.js'

const AT = '2026-11-29T09:00:00.000Z'
const crossing = (threshold: number, crossed_at: string | null = null) => ({ threshold, crossed_at })

test('a threshold is crossed as soon as spend reaches it: its event may come later', () => {
  const crossings = [crossing(50, AT), crossing(75), crossing(100)]

  expect(reachedShown(reachedOf(crossings, '99.99'))).toBe('50 %, 75 % (sending)')
  expect(reachedShown(reachedOf(crossings, '100.00'))).toBe('50 %, 75 % (sending), 100 % (sending)')
  expect(reachedShown(reachedOf([crossing(50)], '49.99'))).toBe('none')
  expect([isSending({ crossings, percent: '99.99' }), isSending({ crossings, percent: '60.00' })]).toEqual([
    true,
    false,
  ])
})

test('a crossing stays when a correction lowers the spend', () => {
  expect(reachedOf([crossing(50, AT), crossing(75)], '10.00')).toEqual([{ threshold: 50, at: AT }])
  expect(isSending({ percent: null })).toBe(false)
})

test('of groups, those that have reached a threshold count before their events are emitted', () => {
  const group = (percent: string) => ({ percent, crossings: [crossing(75), crossing(100)] })
  const crossed = [
    { threshold: 75, count: 1 },
    { threshold: 100, count: 12 },
  ]

  expect(groupsReached({ crossed, top: [group('120.00'), group('75.00'), group('74.99')] })).toEqual([
    { threshold: 75, count: 2 },
    { threshold: 100, count: 12 },
  ])
})
