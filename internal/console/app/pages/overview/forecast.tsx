import { formatQuantity, parseSum, type Quantity, sum } from '../../../../units/quantity.js'
import { DAY_MS, dayOf, startOfDay } from '../../../../units/time-zone.js'
import { filterParams } from '../../../figures/filters.js'
import { endOfRunning, forecastOf, HISTORY_DAYS } from '../../../figures/forecast.js'
import { intervalLabel } from '../../../figures/period.js'
import { countShown, decimalShown, usdShown } from '../../../figures/shown.js'
import { readUsage } from '../../api/usage.js'
import { useAnswer } from '../../api/use-answer.js'
import type { OverviewFigures } from './load.js'

/** What a running period will have cost at its end; nothing for one that is over, or that has no end. */
export function Forecast({ figures }: { readonly figures: OverviewFigures }) {
  const { charging, stated, zone, filters } = figures
  const nowMs = Date.now()
  const endMs = endOfRunning(stated, zone, nowMs)
  const today = dayOf(zone, nowMs)
  const asked = endMs === undefined || charging.suppressed !== undefined ? '' : JSON.stringify([today, zone, filters])
  const { value: history, isEarlier } = useAnswer(asked, (signal) =>
    readUsage(
      {
        from: new Date(startOfDay(today - HISTORY_DAYS * DAY_MS, zone)).toISOString(),
        to: new Date(startOfDay(today, zone)).toISOString(),
        time_zone: zone,
        interval: 'day',
        ...filterParams(filters),
      },
      signal,
    ),
  )
  if (endMs === undefined || history === undefined || isEarlier || history.suppressed !== undefined) return null
  const [folded, apart] = [true, false].map((isFolded) => history.rows.filter((row) => row.folded === isFolded))
  const forecast = forecastOf({
    soFarUsd: charging.scope.total_cost_usd,
    nowMs,
    endMs,
    zone,
    history: new Map(apart?.map((row) => [Date.parse(row.from), row.cost_usd])),
    togetherUsd: formatQuantity(sum((folded ?? []).map((row) => parseSum(row.cost_usd)) as Quantity<'USD'>[])),
  })
  if (forecast === undefined) return null
  const left = decimalShown(((endMs - nowMs) / DAY_MS).toFixed(1), 1)
  return (
    <p class="forecast" data-forecast={forecast.usd}>
      about USD {usdShown(forecast.usd)} by the end of {intervalLabel(endMs - 1, 'day', zone)}{' '}
      <span class="muted">
        – an estimate: so far, and for the {left} days left what {forecast.byWeekday ? 'the same weekdays' : 'a day'}{' '}
        cost on average in the last {countShown(forecast.days)} days
      </span>
    </p>
  )
}
