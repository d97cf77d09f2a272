import { formatQuantity, parseSum, type Quantity } from '../../units/quantity.js'
import { DAY_MS, dayOf, startOfDay } from '../../units/time-zone.js'
import { daysOf } from './period.js'

/**
 * What a running period will have cost at its end: what it has cost so far, and for the time that is left what days like
 * these cost on average lately. An estimate, rounded as such; but no float, as all money.
 */

/** Of history that is looked at: four of each weekday. */
export const HISTORY_DAYS = 28
/** With fewer days of history, weekdays are not told apart; with fewer still, there is no estimate. */
const DAYS_FOR_WEEKDAYS = 14
const DAYS_MIN = 7

/** @returns the end of a period that is running; undefined for one that is over, and for "the last 30 days" */
export function endOfRunning(stated: string, zone: string, nowMs: number): number | undefined {
  const today = dayOf(zone, nowMs)
  const date = new Date(today)
  const days = daysOf(stated)
  if (days !== undefined) {
    const endMs = startOfDay(days.last + DAY_MS, zone)
    return startOfDay(days.first, zone) <= nowMs && endMs > nowMs ? endMs : undefined
  }
  if (stated === 'today') return startOfDay(today + DAY_MS, zone)
  if (stated !== 'month') return undefined
  return startOfDay(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1), zone)
}

export interface Forecast {
  /** At the end, decimal text. */
  readonly usd: string
  /** Days of history that it rests on. */
  readonly days: number
  readonly byWeekday: boolean
}

interface Known {
  readonly soFarUsd: string
  readonly nowMs: number
  readonly endMs: number
  readonly zone: string
  /** Costs of the days before today, by the start of the day; days without calls may be missing. */
  readonly history: ReadonlyMap<number, string>
  /** Of these days together, what cannot be told by day. */
  readonly togetherUsd: string
}

/** @returns undefined with less than a week of history */
export function forecastOf({ soFarUsd, nowMs, endMs, zone, history, togetherUsd }: Known): Forecast | undefined {
  const firstMs = Math.min(...history.keys())
  const today = dayOf(zone, nowMs)
  const days = Array.from({ length: HISTORY_DAYS }, (_, i) => today - (i + 1) * DAY_MS).filter(
    (day) => startOfDay(day, zone) >= firstMs,
  )
  if (days.length < DAYS_MIN) return undefined
  const usdOf = (day: number): bigint => parseSum(history.get(startOfDay(day, zone)) ?? '0')
  const mean = (some: readonly number[]): bigint =>
    some.reduce((sum, day) => sum + usdOf(day), 0n) / BigInt(Math.max(1, some.length))
  const byWeekday = days.length >= DAYS_FOR_WEEKDAYS
  const together: bigint = parseSum(togetherUsd) / BigInt(days.length)
  let usd: bigint = parseSum(soFarUsd)
  for (let day = today; startOfDay(day, zone) < endMs; day += DAY_MS) {
    const [fromMs, toMs] = [startOfDay(day, zone), startOfDay(day + DAY_MS, zone)]
    const like = byWeekday ? days.filter((each) => weekdayOf(each) === weekdayOf(day)) : days
    const leftMs = Math.min(toMs, endMs) - Math.max(fromMs, nowMs)
    usd += ((mean(like) + together) * BigInt(Math.max(0, leftMs))) / BigInt(toMs - fromMs)
  }
  return { usd: formatQuantity(usd as Quantity<'USD'>), days: days.length, byWeekday }
}

const weekdayOf = (day: number): number => new Date(day).getUTCDay()
