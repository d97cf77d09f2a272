/** Days of a time zone: names come from the tz database, whose rules decide when daylight saving time applies. */

export const DAY_MS = 24 * 60 * 60 * 1000

const ZONES: ReadonlySet<string> = new Set(['UTC', ...Intl.supportedValuesOf('timeZone')])

/** The names of today, for those that Node still calls by an older one. */
const RENAMED: Readonly<Record<string, string>> = {
  'Africa/Asmera': 'Africa/Asmara',
  'America/Buenos_Aires': 'America/Argentina/Buenos_Aires',
  'America/Catamarca': 'America/Argentina/Catamarca',
  'America/Coral_Harbour': 'America/Atikokan',
  'America/Cordoba': 'America/Argentina/Cordoba',
  'America/Godthab': 'America/Nuuk',
  'America/Indianapolis': 'America/Indiana/Indianapolis',
  'America/Jujuy': 'America/Argentina/Jujuy',
  'America/Louisville': 'America/Kentucky/Louisville',
  'America/Mendoza': 'America/Argentina/Mendoza',
  'Asia/Calcutta': 'Asia/Kolkata',
  'Asia/Katmandu': 'Asia/Kathmandu',
  'Asia/Rangoon': 'Asia/Yangon',
  'Asia/Saigon': 'Asia/Ho_Chi_Minh',
  'Atlantic/Faeroe': 'Atlantic/Faroe',
  'Europe/Kiev': 'Europe/Kyiv',
  'Pacific/Enderbury': 'Pacific/Kanton',
  'Pacific/Ponape': 'Pacific/Pohnpei',
  'Pacific/Truk': 'Pacific/Chuuk',
}

/** @returns the canonical name of the tz database; undefined for an unknown name */
export function readZone(text: string): string | undefined {
  try {
    // Some JavaScript engines accept offsets such as +02:00. They ignore daylight saving time, so they are rejected.
    if (!/^[A-Za-z]/.test(text)) return undefined
    const name = new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone
    // Node also knows names (SystemV/PST8) that ClickHouse does not.
    return ZONES.has(name) || /^Etc\/GMT[+-]\d+$/.test(name) ? (RENAMED[name] ?? name) : undefined
  } catch {
    return undefined
  }
}

/** Cached per zone: creating a formatter takes ten times as long as using it. */
const clocks = new Map<string, Intl.DateTimeFormat>()

function clockOf(zone: string): Intl.DateTimeFormat {
  const known = clocks.get(zone)
  if (known !== undefined) return known
  const clock = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  clocks.set(zone, clock)
  return clock
}

/** Offset of a zone from UTC at an instant, in milliseconds. */
export function offsetMs(zone: string, ms: number): number {
  const parts = clockOf(zone).formatToParts(ms)
  const part = (name: string): number => Number(parts.find(({ type }) => type === name)?.value)
  const local = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'))
  return local - Math.floor(ms / 1000) * 1000
}

/**
 * The instant at which a day starts in a zone: midnight, or the moment of the change when clocks go forward across
 * midnight.
 *
 * @param dayMs midnight of that day, as if the zone were UTC
 */
export function startOfDay(dayMs: number, zone: string): number {
  const localMs = (ms: number): number => ms + offsetMs(zone, ms)
  const [before, after] = [dayMs - offsetMs(zone, dayMs - DAY_MS), dayMs - offsetMs(zone, dayMs + DAY_MS)]
  // When clocks go back there may be two midnights: if they go back across midnight, the second counts; if to midnight,
  // the first.
  const midnights = [before, after].filter((ms) => localMs(ms) === dayMs && localMs(ms - 1000) < dayMs)
  return midnights.length === 0 ? before : Math.max(...midnights)
}

/** Midnight of the instant's day, as if the zone were UTC. */
export const dayOf = (zone: string, ms: number): number => Math.floor((ms + offsetMs(zone, ms)) / DAY_MS) * DAY_MS
