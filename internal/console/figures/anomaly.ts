import type { Anomaly } from 'attribution-service/sdk/api'
import { parseSum } from '../../units/quantity.js'
import { dayTextOf } from './days.js'
import { shareShown } from './shown.js'

/** How an hour that cost far more than usual is shown, and where its calls are. */

/** "11 times", or how much more where nothing was expected. */
export function timesExpected({ observed_usd: observed, expected_usd: expected }: Anomaly): string {
  const [is, was]: readonly bigint[] = [parseSum(observed), parseSum(expected)]
  if (was === undefined || is === undefined || was === 0n) return 'nothing was expected'
  const times = Number((is * 10n) / was) / 10
  return times < 2
    ? `${shareShown(times.toFixed(1), 0)} of it`
    : `${times < 10 ? times.toFixed(1) : Math.round(times)} times`
}

/** Filters that select the calls of the hour. */
export const filtersOfAnomaly = ({ scope, window }: Anomaly): Readonly<Record<string, string>> => ({
  ...Object.fromEntries(Object.entries(scope).map(([field, value]) => [`filter[${field}][eq]`, value])),
  'filter[event_time][gte]': window.from,
  'filter[event_time][lt]': window.to,
})

/** Parameters of the explorer that show them, the dearest first. */
export function callsOfHour(anomaly: Anomaly, zone: string): Readonly<Record<string, string>> {
  const { from, to } = anomaly.window
  const days = [Date.parse(from), Date.parse(to) - 1].map((ms) => dayTextOf(ms, zone))
  return { period: days.join('..'), ...filtersOfAnomaly(anomaly), sort: '-cost_usd' }
}
