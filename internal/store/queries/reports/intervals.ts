/** The intervals into which a report splits its period, as SQL. */
export const INTERVALS = ['15m', 'hour', 'day', 'week', 'month'] as const
export type Interval = (typeof INTERVALS)[number]

/**
 * Start and end of the interval of an instant, in a time zone where days may have 23 or 25 hours. The end is computed
 * from an instant within the next interval: start plus one day would be off by an hour when clocks change.
 */
interface IntervalSql {
  /** @param at expression of the type DateTime */
  readonly start: (at: string, zone: string) => string
  readonly end: (start: string, zone: string) => string
}

const startOfDay = (at: string, zone: string): string => `toStartOfDay(${at}, ${zone})`
const startOfWeek = (at: string, zone: string): string =>
  `toStartOfDay(toDateTime(toStartOfWeek(${at}, 1, ${zone}), ${zone}), ${zone})`
const startOfMonth = (at: string, zone: string): string =>
  `toStartOfDay(toDateTime(toStartOfMonth(${at}, ${zone}), ${zone}), ${zone})`

const SQL: Readonly<Record<Interval, IntervalSql>> = {
  '15m': {
    start: (at) => `toStartOfFifteenMinutes(${at})`,
    end: (start) => `${start} + INTERVAL 15 MINUTE`,
  },
  hour: {
    start: (at, zone) => `toStartOfInterval(${at}, INTERVAL 1 HOUR, ${zone})`,
    end: (start) => `${start} + INTERVAL 1 HOUR`,
  },
  day: { start: startOfDay, end: (start, zone) => startOfDay(`${start} + INTERVAL 36 HOUR`, zone) },
  week: { start: startOfWeek, end: (start, zone) => startOfDay(`${start} + INTERVAL 180 HOUR`, zone) },
  month: { start: startOfMonth, end: (start, zone) => startOfMonth(`${start} + INTERVAL 40 DAY`, zone) },
}

/** @returns SQL of the type DateTime('UTC'); without an interval all instants have the same start */
export const intervalStart = (interval: Interval | undefined, at: string, zone: string): string =>
  interval === undefined ? "toDateTime(0, 'UTC')" : `toDateTime(${SQL[interval].start(at, zone)}, 'UTC')`

export const intervalEnd = (interval: Interval | undefined, start: string, zone: string): string =>
  interval === undefined ? start : SQL[interval].end(start, zone)
