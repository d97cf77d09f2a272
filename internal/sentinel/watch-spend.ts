import { createHash } from 'node:crypto'
import type { Records } from '../broker/records.js'
import type { HourlySpend } from '../store/queries/reports/hourly-spend.js'
import { formatQuantity, parseSum } from '../units/quantity.js'
import { type AnnounceDeps, announceOnce, isAnnounced } from './announce-findings.js'
import { type Anomaly, anomalyOf, HOUR_MS } from './anomaly.js'

export interface SpendReads {
  /** Hourly cost, from the rollups, of the scopes with enough spend in the hour: fast, and briefly inexact. */
  readonly hourly: (tenantId: string, hourMs: number) => Promise<HourlySpend[]>
  /** Cost of one scope in an hour, summed from the records as of one instant. Decimal text. */
  readonly exact: (tenantId: string, hourMs: number, scope: SpendScope) => Promise<string>
}

export type SpendScope = Pick<HourlySpend, 'service' | 'owner' | 'provider'>

/** Progress of a tenant's spend checks, in the bucket `spend_looks`. */
export interface SpendProgress {
  /** Start of the newest hour checked, milliseconds since the epoch. */
  readonly hourMs: number
}

/** Time to wait for late events before an hour is checked. */
const SETTLED_MS = 5 * 60 * 1000

/** After a longer outage of the sentinel or the store, older hours are skipped. */
export const HOURS_MAX = 24

/**
 * Emits `anomaly.detected` once for each service, owner and provider and each hour in which its spend is anomalous.
 * Every run checks the last full hour, since its calls may come late, all hours since the last run, even that of
 * another sentinel, and the hour that is running.
 *
 * A running hour is compared with whole hours. What is announced then holds for the complete hour too, since spend only
 * grows: no share of an hour is assumed, so that a job at the start of each hour is no anomaly.
 *
 * The rollups select candidates. They briefly count a changed record twice, so that the emitted hour is summed from the
 * records. Its baseline is a median over many hours, which a few records counted twice hardly move.
 */
export async function watchSpend(
  tenantId: string,
  reads: SpendReads,
  progress: Records<SpendProgress>,
  deps: AnnounceDeps,
): Promise<void> {
  const nowMs = deps.clock()
  const lastMs = Math.floor((nowMs - SETTLED_MS) / HOUR_MS) * HOUR_MS - HOUR_MS
  try {
    await watchFullHours(tenantId, lastMs, reads, progress, deps)
  } finally {
    // Shortly after the full hour these are two: one that late calls may still reach, and one that has begun.
    for (let hourMs = lastMs + HOUR_MS; hourMs <= nowMs; hourMs += HOUR_MS) {
      await watchHour(tenantId, hourMs, reads, deps)
    }
  }
}

/** The hours since the last run, up to the last that late calls no longer reach. */
async function watchFullHours(
  tenantId: string,
  lastMs: number,
  reads: SpendReads,
  progress: Records<SpendProgress>,
  deps: AnnounceDeps,
): Promise<void> {
  const saved = await progress.read(tenantId)
  // Includes the last hour checked: the previous run missed its late events.
  const firstMs = Math.max(saved?.hourMs ?? lastMs, lastMs - (HOURS_MAX - 1) * HOUR_MS)
  let hourMs = Math.min(firstMs, lastMs)
  try {
    for (; hourMs <= lastMs; hourMs += HOUR_MS) {
      await watchHour(tenantId, hourMs, reads, deps)
      await saveProgress(tenantId, hourMs, saved, progress)
    }
  } catch (cause) {
    // The next run retries this hour. The last hour is checked even if an older one fails each time.
    if (hourMs < lastMs) await watchHour(tenantId, lastMs, reads, deps)
    throw cause
  }
}

async function watchHour(tenantId: string, hourMs: number, reads: SpendReads, deps: AnnounceDeps): Promise<void> {
  for (const { service, owner, provider, spent, firstMs } of await reads.hourly(tenantId, hourMs)) {
    if (anomalyOf(spent, firstMs, hourMs) === undefined) continue
    const cause = JSON.stringify([service, owner, provider, hourMs])
    const key = `${tenantId}.anomaly.${createHash('sha256').update(cause).digest('hex').slice(0, 32)}`
    if (await isAnnounced(key, deps)) continue
    const scope = { service, owner, provider }
    const exact = parseSum<'USD'>(await reads.exact(tenantId, hourMs, scope))
    const anomaly = anomalyOf(new Map([...spent, [hourMs, exact]]), firstMs, hourMs)
    if (anomaly === undefined) continue
    await announceOnce(
      key,
      async () => ({ tenantId, type: 'anomaly.detected', cause, data: dataOf(scope, hourMs, anomaly, deps.clock()) }),
      deps,
    )
  }
}

function dataOf(scope: SpendScope, hourMs: number, { score, ...found }: Anomaly, nowMs: number) {
  const [observed, expected] = [formatQuantity(found.observed), formatQuantity(found.expected)]
  return {
    scope,
    observed,
    expected,
    observed_usd: observed,
    expected_usd: expected,
    window: { from: new Date(hourMs).toISOString(), to: new Date(hourMs + HOUR_MS).toISOString() },
    observed_until: new Date(Math.min(nowMs, hourMs + HOUR_MS)).toISOString(),
    score,
  }
}

/** Writes only when an hour is checked for the first time, usually once per hour. */
async function saveProgress(
  tenantId: string,
  hourMs: number,
  saved: SpendProgress | undefined,
  progress: Records<SpendProgress>,
): Promise<void> {
  if (saved === undefined) await progress.createOnce(tenantId, { hourMs })
  else if (hourMs > saved.hourMs)
    await progress.change(tenantId, (found) => (found.hourMs < hourMs ? { hourMs } : undefined))
}
