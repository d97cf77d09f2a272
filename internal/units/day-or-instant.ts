import { parseInstant } from './instant.js'
import { startOfDay } from './time-zone.js'

const DAY = /^\d{4}-\d{2}-\d{2}$/
const WITH_OFFSET = /^(.{19,52})([+-])(\d{2}):(\d{2})$/
const MINUTE_MS = 60_000

/**
 * Reads a day, which is its start in the zone, or an RFC 3339 instant with any offset.
 *
 * @returns milliseconds since the epoch, or undefined
 */
export function parseDayOrInstant(text: string, zone: string): number | undefined {
  if (DAY.test(text)) {
    const dayMs = parseInstant(`${text}T00:00:00Z`)
    return dayMs === undefined ? undefined : startOfDay(dayMs, zone)
  }
  const [, local, sign, hours = '', minutes = ''] = WITH_OFFSET.exec(text) ?? []
  if (local === undefined) return parseInstant(text)
  const localMs = parseInstant(`${local}Z`)
  if (localMs === undefined || Number(hours) > 23 || Number(minutes) > 59) return undefined
  const offsetMs = (Number(hours) * 60 + Number(minutes)) * MINUTE_MS
  return sign === '+' ? localMs - offsetMs : localMs + offsetMs
}
