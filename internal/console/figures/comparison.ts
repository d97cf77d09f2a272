import { DAY_MS, dayOf, startOfDay } from '../../units/time-zone.js'
import { daysOf, type Period, periodOf } from './period.js'

/** What a period is compared with, as the address names it: `compare=year`, or two days as those of `period`. */

export const COMPARISONS = {
  previous: 'the period before',
  month: 'the same days a month before',
  year: 'the same days a year before',
} as const
export type Comparison = keyof typeof COMPARISONS

type Span = Pick<Period, 'fromMs' | 'toMs'>

/**
 * The period that a report compares its own with, as its parameters. What overlaps the period, or is no period, is the
 * one before.
 */
export function comparisonParams(text: string | null, period: Span, zone: string): Readonly<Record<string, string>> {
  const other = text === null ? undefined : spanOf(text, period, zone)
  return other === undefined
    ? { compare: 'previous' }
    : { compare_from: new Date(other.fromMs).toISOString(), compare_to: new Date(other.toMs).toISOString() }
}

/** @returns undefined for the period before, and for what cannot be compared */
export function spanOf(text: string, period: Span, zone: string): Span | undefined {
  const other = stated(text, period, zone)
  const isApart = other !== undefined && (other.toMs <= period.fromMs || other.fromMs >= period.toMs)
  return isApart && other.fromMs < other.toMs ? other : undefined
}

function stated(text: string, { fromMs, toMs }: Span, zone: string): Span | undefined {
  if (daysOf(text) !== undefined) return periodOf(text, zone, Date.now())
  const months = text === 'month' ? 1 : text === 'year' ? 12 : undefined
  if (months === undefined) return undefined
  return { fromMs: monthsBefore(fromMs, months, zone), toMs: monthsBefore(toMs, months, zone) }
}

/** The same time of the same day of an earlier month, or of its last day. */
function monthsBefore(ms: number, months: number, zone: string): number {
  const day = dayOf(zone, ms)
  const date = new Date(day)
  const firstOf = (add: number): number => Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - months + add)
  const last = new Date(firstOf(1) - DAY_MS).getUTCDate()
  const then = firstOf(0) + (Math.min(date.getUTCDate(), last) - 1) * DAY_MS
  return startOfDay(then, zone) + ms - startOfDay(day, zone)
}
