import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { EventParts } from '../../invocations/event-writer.js'
import type { Logger } from '../../telemetry/log.js'
import { counter, histogram, SECONDS_BUCKETS } from '../../telemetry/metrics.js'

const VISIBLE = histogram(
  'probe_visible_seconds',
  'From the acceptance of a call of our own to its record being readable at this gateway.',
  SECONDS_BUCKETS,
)
const FAILURES = counter(
  'probe_failures_total',
  'Calls of our own that were refused, or whose record was not readable within half a minute.',
  ['reason'],
)

export type ProbeFailure = 'refused' | 'late'

export interface ProbeDeps {
  /** 0: no probes. */
  readonly everyMs: number
  /** @returns whether the event is durable; false: it was refused */
  readonly admit: (event: EventParts) => Promise<boolean>
  /** Whether a read of the record of an event would find it now. */
  readonly isReadable: (eventId: string) => Promise<boolean>
  /** A record that is not readable after this long is a failure. Default: half a minute. */
  readonly lateMs?: number
  readonly log: Logger
}

/** A call is visible within about half a minute. */
const LATE_MS = 30_000
const LOOK_EVERY_MS = 50
/** Provider, model and service of the call. */
const PROBE = 'attribution-probe'

/** Sends calls of our own, one at a time, and measures when each becomes readable, until `signal` aborts. */
export async function runProbes({ everyMs, ...deps }: ProbeDeps, signal: AbortSignal): Promise<void> {
  if (everyMs === 0) return
  // So that a rate of them is 0 and not absent.
  for (const reason of ['refused', 'late'] satisfies ProbeFailure[]) FAILURES.inc({ reason }, 0)
  while (!signal.aborted) {
    const failed = await probeOnce(deps, signal)
    if (failed !== undefined && !signal.aborted) {
      FAILURES.inc({ reason: failed })
      deps.log.warn({ reason: failed }, 'a probe failed')
    }
    await sleep(everyMs, undefined, { signal }).catch(() => undefined)
  }
}

async function probeOnce(
  { admit, isReadable, lateMs = LATE_MS, log }: Omit<ProbeDeps, 'everyMs'>,
  signal: AbortSignal,
): Promise<ProbeFailure | undefined> {
  const eventId = randomUUID()
  if (!(await admit(probeEvent(eventId)))) return 'refused'
  const acceptedAt = performance.now()
  const secondsSince = (): number => (performance.now() - acceptedAt) / 1_000
  while (!signal.aborted && secondsSince() * 1_000 < lateMs) {
    const isThere = await isReadable(eventId).catch((cause: unknown) => {
      log.debug({ err: cause }, "could not look for a probe's record")
      return false
    })
    if (isThere) {
      VISIBLE.observe(secondsSince())
      return undefined
    }
    await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined)
  }
  return 'late'
}

/** It costs nothing: it says that the caller's own cache answered. */
const probeEvent = (eventId: string): EventParts => ({
  event_id: eventId,
  ingestion_layer: 'gateway',
  ingestion_timestamp: new Date().toISOString(),
  provider: PROBE,
  requested_model: PROBE,
  attributed_service: PROBE,
  served_from_cache: true,
})
