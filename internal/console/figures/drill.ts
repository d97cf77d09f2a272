import { dayTextOf } from './days.js'
import type { Filter } from './filters.js'
import type { Interval } from './period.js'

/** Where a click on a part of a chart leads: to those days, and from the hours of a day to their calls. */
type Drill =
  /** As the address names a period. */
  { readonly period: string } & (
    | { readonly kind: 'period' }
    /** The calls of the times, which are within days. */
    | { readonly kind: 'calls'; readonly filters: readonly Filter[] }
  )

/** @param toMs exclusive */
export function drillOf(interval: Interval, fromMs: number, toMs: number, zone: string): Drill {
  const period = `${dayTextOf(fromMs, zone)}..${dayTextOf(toMs - 1, zone)}`
  if (interval !== 'hour' && interval !== '15m') return { kind: 'period', period }
  const at = (operator: Filter['operator'], ms: number): Filter => ({
    field: 'event_time',
    operator,
    value: new Date(ms).toISOString(),
  })
  return { kind: 'calls', period, filters: [at('gte', fromMs), at('lt', toMs)] }
}
