import { DEFAULT_PERIOD, type Period, periodOf } from '../../figures/period.js'

const QUARTER_MS = 15 * 60 * 1000

/** The period that the address names, or the default. It stays for a quarter of an hour, so that answers do too. */
export const shownPeriod = (params: URLSearchParams, zone: string): Period =>
  periodOf(params.get('period') ?? DEFAULT_PERIOD, zone, Math.floor(Date.now() / QUARTER_MS) * QUARTER_MS)
