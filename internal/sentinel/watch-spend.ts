import { createHash } from 'node:crypto'
import type { HourlySpend } from '../store/queries/hourly-spend.js'
import { formatQuantity } from '../units/quantity.js'
import { type AnnounceDeps, announceOnce } from './announce.js'
import { anomalyOf, HOUR_MS } from './anomaly.js'

/** An hour is looked at once events of it have had so long to come. */
const SETTLED_MS = 5 * 60 * 1000

/** Tells of each service, owner and provider whose spend of the last whole hour is out of the ordinary. */
export async function watchSpend(
  tenantId: string,
  read: (tenantId: string, hourMs: number) => Promise<HourlySpend[]>,
  deps: AnnounceDeps,
): Promise<void> {
  const hourMs = Math.floor((deps.clock() - SETTLED_MS) / HOUR_MS) * HOUR_MS - HOUR_MS
  for (const { service, owner, provider, spent, firstMs } of await read(tenantId, hourMs)) {
    const anomaly = anomalyOf(spent, firstMs, hourMs)
    if (anomaly === undefined) continue
    const cause = JSON.stringify([service, owner, provider, hourMs])
    const key = `${tenantId}.anomaly.${createHash('sha256').update(cause).digest('hex').slice(0, 32)}`
    await announceOnce(
      key,
      async () => ({
        tenantId,
        type: 'anomaly.detected',
        cause,
        data: {
          scope: { service, owner, provider },
          observed: formatQuantity(anomaly.observed),
          expected: formatQuantity(anomaly.expected),
          window: { from: new Date(hourMs).toISOString(), to: new Date(hourMs + HOUR_MS).toISOString() },
          score: anomaly.score,
        },
      }),
      deps,
    )
  }
}
