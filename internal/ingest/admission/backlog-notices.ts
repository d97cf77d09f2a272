import type { Records } from '../../broker/records.js'
import type { BacklogLevel } from '../../events/event-catalogue.js'
import type { PublishEvent } from '../../events/publish-event.js'
import type { Logger } from '../../telemetry/log.js'

/** A time in which the log filled up with a tenant's calls. Times in milliseconds since the epoch. */
export interface BacklogEpisode {
  readonly since_ms: number
  readonly seen_ms: number
  readonly is_told: boolean
}

export interface BacklogNoticesDeps {
  /** backlog_episodes */
  readonly episodes: Pick<Records<BacklogEpisode>, 'createOnce' | 'change'>
  readonly publishEvent: PublishEvent
  readonly clock: () => number
  readonly log: Logger
}

/** An episode ends after this long without an occasion: a tenant that repeats after Retry-After stays in it. */
const ENDED_AFTER_MS = 10 * 60_000
/** Between two looks at the bucket for one tenant, of this gateway. */
const LOOK_EVERY_MS = 60_000

/**
 * Notifies tenants, by one event per episode, that the log fills up with their calls. All gateways share the episodes.
 * A tenant gets notices about its own calls only.
 *
 * @returns notes an occasion in the background: it never throws, and costs nothing when the tenant has just had one
 */
export function backlogNotices(deps: BacklogNoticesDeps): (tenantId: string, level: BacklogLevel) => void {
  const lookedAtMs = new Map<string, number>()
  return (tenantId, level) => {
    const key = `${tenantId}.${level}`
    const nowMs = deps.clock()
    if (nowMs - (lookedAtMs.get(key) ?? Number.NEGATIVE_INFINITY) < LOOK_EVERY_MS) return
    lookedAtMs.set(key, nowMs)
    notify(tenantId, level, key, nowMs, deps).catch((cause: unknown) => {
      lookedAtMs.delete(key)
      deps.log.warn({ tenantId, err: cause }, 'could not notify a tenant of its backlog; will retry')
    })
  }
}

async function notify(
  tenantId: string,
  level: BacklogLevel,
  key: string,
  nowMs: number,
  { episodes, publishEvent }: BacklogNoticesDeps,
): Promise<void> {
  const begun: BacklogEpisode = { since_ms: nowMs, seen_ms: nowMs, is_told: false }
  await episodes.createOnce(key, begun)
  const episode = await episodes.change(key, (found) =>
    nowMs - found.seen_ms > ENDED_AFTER_MS ? begun : { ...found, seen_ms: Math.max(nowMs, found.seen_ms) },
  )
  if (episode === undefined || episode.is_told) return
  // Another gateway may publish it at the same time: the same cause is the same event.
  const since = new Date(episode.since_ms).toISOString()
  await publishEvent({ tenantId, type: 'ingestion.backlog', cause: `${level} ${since}`, data: { level, since } })
  await episodes.change(key, (found) => (found.since_ms === episode.since_ms ? { ...found, is_told: true } : undefined))
}
