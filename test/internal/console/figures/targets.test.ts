import { expect, test } from 'vitest'
import { deliveryShown, heardBy, listeners, targetsOf, unheard } from '../../../../internal/console/figures/targets.js'

const webhook = (id: string, events: readonly string[], status: 'pending' | 'verified' = 'verified') =>
  ({ id, url: `https://${id}.example.com`, events, status, health: { status: HEALTH[id] ?? 'healthy' } }) as Parameters<
    typeof targetsOf
  >[0][number]
const HEALTH: Readonly<Record<string, string>> = { failing: 'failing' }
const CROSSED = 'budget.threshold.crossed'
const CUSTOM = 'budget.threshold.custom'

test('a target hears of the thresholds whose event it subscribes to', () => {
  const all = [webhook('one', [CROSSED]), webhook('both', [CROSSED, CUSTOM]), webhook('other', ['export.failed'])]

  expect(targetsOf(all, [50, 75, 100]).map(({ id, hears }) => [id, hears])).toEqual([
    ['one', [75, 100]],
    ['both', [50, 75, 100]],
  ])
})

test.each([
  ['nobody', [], [75]],
  ['nobody', [webhook('one', [CROSSED], 'pending')], [75]],
  ['1 webhook', [webhook('one', [CROSSED]), webhook('two', [CROSSED], 'pending')], [75, 100]],
  ['2 webhooks, nobody at 50 %', [webhook('one', [CROSSED]), webhook('two', [CROSSED])], [50, 75]],
  ['2 webhooks, 1 failing', [webhook('one', [CROSSED]), webhook('failing', [CROSSED])], [75]],
  ['no events', [webhook('one', [CROSSED])], []],
])('is said as: %s', (words, webhooks, thresholds) => {
  const targets = targetsOf(webhooks, thresholds)

  expect(heardBy(targets, thresholds)).toBe(words)
  expect(unheard(targets, thresholds).length === 0).toBe(!words.includes('nobody'))
})

test('an alert is heard by those that subscribe to it, once they are verified', () => {
  const all = [
    webhook('one', ['anomaly.detected']),
    webhook('two', ['anomaly.detected'], 'pending'),
    webhook('three', [CROSSED]),
  ]

  expect(listeners(all, 'anomaly.detected')).toEqual(['https://one.example.com'])
  expect(listeners(all, 'price.missing')).toEqual([])
})

test.each([
  ['delivered: 204 in 84 ms', { outcome: 'acknowledged', response_status: 204, reason: null }],
  ['not delivered: 503; 1 attempt, more follow', { outcome: 'retried', response_status: 503, reason: 'status' }],
  [
    'not delivered: no answer: timeout; given up',
    { outcome: 'dead_lettered', response_status: null, reason: 'timeout' },
  ],
] as const)('%s', (words, attempt) => {
  expect(deliveryShown({ latency_ms: 84, attempt: 1, ...attempt })).toBe(words)
})
