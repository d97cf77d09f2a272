/**
 * Reads an RFC 3339 instant in UTC: `Z` or a zero offset, no leap second, up to 32 fraction digits (cut to
 * milliseconds). Day 31 of a short month and the like are refused, and so are the years 0000 to 0099.
 *
 * @returns milliseconds since the epoch, or undefined
 */
export function parseInstant(text: string): number | undefined {
  const match = INSTANT.exec(text)
  if (match === null) return undefined
  const [, year, month, day, hour, minute, second, fraction = ''] = match
  const milliseconds = Number(fraction.padEnd(3, '0').slice(0, 3))
  const instant = Date.UTC(
    Number(year),
    Number(month) - 1,
    Number(day),
    Number(hour),
    Number(minute),
    Number(second),
    milliseconds,
  )
  const back = new Date(instant)
  // Date.UTC rolls over what is out of range, and moves the years 0 to 99.
  const isExact =
    back.getUTCFullYear() === Number(year) &&
    back.getUTCMonth() === Number(month) - 1 &&
    back.getUTCDate() === Number(day) &&
    back.getUTCHours() === Number(hour) &&
    back.getUTCMinutes() === Number(minute) &&
    back.getUTCSeconds() === Number(second)
  return isExact ? instant : undefined
}

const INSTANT = /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,32}))?(?:[Zz]|[+-]00:00)$/

export const formatInstant = (ms: number): string => new Date(ms).toISOString()
