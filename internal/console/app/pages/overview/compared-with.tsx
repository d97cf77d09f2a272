import { COMPARISONS, spanOf } from '../../../figures/comparison.js'
import { dayTextOf } from '../../../figures/days.js'
import { daysOf, type Period } from '../../../figures/period.js'
import { setParams } from '../../address/address.js'

interface ComparedWithProps {
  readonly period: Period
  readonly zone: string
  readonly params: URLSearchParams
}

/** With what the figures are compared: the period before, the same days of another month or year, or any days. */
export function ComparedWith({ period, zone, params }: ComparedWithProps) {
  const stated = params.get('compare') ?? 'previous'
  const days = daysOf(stated)
  const day = (ms: number): string => dayTextOf(ms, zone)
  const asDays = ({ fromMs, toMs }: Pick<Period, 'fromMs' | 'toMs'>): string => `${day(fromMs)}..${day(toMs - 1)}`
  const choose = (chosen: string): void => {
    const { fromMs, toMs } = period
    const before = spanOf(stated, period, zone) ?? { fromMs: fromMs - (toMs - fromMs), toMs: fromMs }
    setParams({ compare: chosen === 'previous' ? '' : chosen === 'days' ? asDays(before) : chosen })
  }
  const [first = '', last = ''] = days === undefined ? [] : stated.split('..')
  const setDays = (from: string, to: string): void => {
    if (daysOf(`${from}..${to}`) !== undefined) setParams({ compare: `${from}..${to}` }, 'replace')
  }
  const offered = Object.entries(COMPARISONS).filter(
    ([name]) => name === 'previous' || spanOf(name, period, zone) !== undefined,
  )
  const isOffered = days !== undefined || offered.some(([name]) => name === stated)
  return (
    <div class="compared muted">
      <label>
        compared with{' '}
        <select
          value={days !== undefined ? 'days' : isOffered ? stated : 'previous'}
          onChange={({ currentTarget }) => choose(currentTarget.value)}
        >
          {offered.map(([name, title]) => (
            <option key={name} value={name}>
              {title}
            </option>
          ))}
          <option value="days">From – to …</option>
        </select>
      </label>
      {days !== undefined && (
        <>
          <input
            type="date"
            aria-label="First day to compare with"
            value={first}
            onChange={({ currentTarget }) => setDays(currentTarget.value, last)}
          />
          <input
            type="date"
            aria-label="Last day to compare with"
            value={last}
            onChange={({ currentTarget }) => setDays(first, currentTarget.value)}
          />
          {spanOf(stated, period, zone) === undefined && (
            <span role="status">These days overlap the period: it is compared with the period before.</span>
          )}
        </>
      )}
    </div>
  )
}
