import { createHash } from 'node:crypto'
import type { Records } from '../broker/records.js'
import type { HourlySpend } from '../store/queries/reports/hourly-spend.js'
import { formatQuantity, parseSum } from '../units/quantity.js'
import { type AnnounceDeps, announceOnce, isAnnounced } from './announce.js'
import { type Anomaly, anomalyOf, HOUR_MS } from './anomaly.js'

export interface SpendReads {
  /** What those cost hour by hour that spent enough in an hour: at once, and right but for moments. */
  readonly hourly: (tenantId: string, hourMs: number) => Promise<HourlySpend[]>
  /** What the calls of an hour of one of them cost by the records, all as of one instant. Decimal text. */
  readonly exact: (tenantId: string, hourMs: number, scope: SpendScope) => Promise<string>
}

export type SpendScope = Pick<HourlySpend, 'service' | 'owner' | 'provider'>

/** How far the looks at a tenant's spend have come, as it is kept in the bucket `spend_looks`. */
export interface SpendLook {
  /** The newest hour that was looked at, milliseconds since the epoch of its beginning. */
  readonly hourMs: number
}

/** An hour is looked at once events of it have had so long to come. */
const SETTLED_MS = 5 * 60 * 1000

/** A sentinel or a store that was away for longer leaves the hours before out. */
export const HOURS_MAX = 24

/**
 * Tells of each service, owner and provider whose spend of a whole hour is out of the ordinary: of the last hour at each look,
 * since calls of it may come late, and of those since the last look, be it another sentinel's.
 *
 * The rollups say which may be; a change of a record counts twice in them for some moments, so that the hour of which is told is
 * summed up from the records. What it is compared with is a median of many hours, which a few that count twice hardly move.
 */
export async function watchSpend(
  tenantId: string,
  reads: SpendReads,
  looks: Records<SpendLook>,
  deps: AnnounceDeps,
): Promise<void> {
  const lastMs = Math.floor((deps.clock() - SETTLED_MS) / HOUR_MS) * HOUR_MS - HOUR_MS
  const kept = await looks.read(tenantId)
  // The one that was looked at last once more: what came late for it was not seen by that look.
  const firstMs = Math.max(kept?.hourMs ?? lastMs, lastMs - (HOURS_MAX - 1) * HOUR_MS)
  let hourMs = Math.min(firstMs, lastMs)
  try {
    for (; hourMs <= lastMs; hourMs += HOUR_MS) {
      await watchHour(tenantId, hourMs, reads, deps)
      await keep(tenantId, hourMs, kept, looks)
    }
  } catch (cause) {
    // It is tried again at the next look; what goes on now is told even if it fails each time.
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
      async () => ({ tenantId, type: 'anomaly.detected', cause, data: dataOf(scope, hourMs, anomaly) }),
      deps,
    )
  }
}

const dataOf = (scope: SpendScope, hourMs: number, { observed, expected, score }: Anomaly) => ({
  scope,
  observed: formatQuantity(observed),
  expected: formatQuantity(expected),
  window: { from: new Date(hourMs).toISOString(), to: new Date(hourMs + HOUR_MS).toISOString() },
  score,
})

/** Written when an hour is looked at for the first time, once an hour as a rule. */
async function keep(
  tenantId: string,
  hourMs: number,
  kept: SpendLook | undefined,
  looks: Records<SpendLook>,
): Promise<void> {
  if (kept === undefined) await looks.createOnce(tenantId, { hourMs })
  else if (hourMs > kept.hourMs)
    await looks.change(tenantId, (found) => (found.hourMs < hourMs ? { hourMs } : undefined))
}
