import { readZone } from '../../../units/time-zone.js'

/** The time zone in which days begin, and times are shown: that of the address, else that of the browser. */
export const viewerZone = (params: URLSearchParams): string =>
  readZone(params.get('zone') ?? '') ?? readZone(Intl.DateTimeFormat().resolvedOptions().timeZone) ?? 'UTC'

/** Zones to choose from: those that a person most likely wants, then all. */
export function zoneChoices(current: string): readonly string[] {
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone
  return [...new Set([current, 'UTC', own, ...Intl.supportedValuesOf('timeZone')])]
}
