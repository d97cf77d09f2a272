import { expect, test } from 'vitest'
import { callsOfHour, timesExpected } from '../../../../internal/console/figures/anomaly.js'

const anomaly = (observed_usd: string, expected_usd: string) => ({
  id: 'evt_1',
  detected_at: '2026-11-21T09:30:00Z',
  scope: { service: 'support-chat', owner: 'team-support', provider: 'openai' },
  observed_usd,
  expected_usd,
  window: { from: '2026-11-21T23:00:00.000Z', to: '2026-11-22T00:00:00.000Z' },
  observed_until: '2026-11-21T23:29:58.210Z',
  score: 68.02,
})

test.each([
  ['412.8', '37.25', '11 times'],
  ['3', '1', '3.0 times'],
  ['1.5', '1', '150 % of it'],
  ['1', '0', 'nothing was expected'],
])('%s USD where %s was expected is "%s"', (observed, expected, shown) => {
  expect(timesExpected(anomaly(observed, expected))).toBe(shown)
})

test('its calls are those of its hour, service, owner and provider, in the viewer’s days, the dearest first', () => {
  expect(callsOfHour(anomaly('2', '1'), 'Asia/Kolkata')).toEqual({
    period: '2026-11-22..2026-11-22',
    sort: '-cost_usd',
    'filter[service][eq]': 'support-chat',
    'filter[owner][eq]': 'team-support',
    'filter[provider][eq]': 'openai',
    'filter[event_time][gte]': '2026-11-21T23:00:00.000Z',
    'filter[event_time][lt]': '2026-11-22T00:00:00.000Z',
  })
})
