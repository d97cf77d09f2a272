import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import type { Budgets } from '../../auth/rate-limits.js'
import type { Watermark } from '../../broker/watermark.js'
import { idHex, invocationIdBytes, type TenantIds, uuidBytes } from '../../ids/ids.js'
import { PROBE_TENANT_ID } from '../../ids/probe-tenant.js'
import type { EventParts } from '../../invocations/event-writer.js'
import { hasAttribution } from '../../store/queries/records/attributions.js'
import type { Logger } from '../../telemetry/log.js'
import { counter, histogram, SECONDS_BUCKETS } from '../../telemetry/metrics.js'
import type { AdmissionDeps } from '../admission/admission.js'
import { admitSourceEvents } from '../intake/admit-source-events.js'
import { UNNAMED_SENDER } from '../received/sender.js'
import { Tally } from '../received/tally.js'

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

export interface OpenProbeDeps {
  /** 0: no probes. */
  readonly everyMs: number
  readonly admission: AdmissionDeps
  readonly budgetsOf: (tenantId: string, principal: string) => Budgets
  readonly store: ClickHouseClient
  readonly watermark: Pick<Watermark, 'latest'>
  readonly idsOf: (tenantId: string) => TenantIds
  readonly clock: () => number
  readonly log: Logger
}

/**
 * The probe of a gateway. It enters where the intake port does, behind authentication: a credential of its own would be
 * one more secret to keep, and could be stolen.
 */
export function openProbe(deps: OpenProbeDeps, signal: AbortSignal): Promise<void> {
  const { everyMs, admission, store, watermark, log } = deps
  const caller = {
    tenantId: PROBE_TENANT_ID,
    principal: 'probe',
    scopes: new Set<never>(),
    ingestionLayers: undefined,
    budgets: deps.budgetsOf(PROBE_TENANT_ID, 'probe'),
  }
  const ids = deps.idsOf(PROBE_TENANT_ID)
  // Nobody asks what came of the probes: they tell it themselves.
  const sender = new Tally(UNNAMED_SENDER)
  return runProbes(
    {
      everyMs,
      async admit(event) {
        const admitted = await admitSourceEvents([{ place: 0, event, sender }], caller, deps.clock(), admission)
        return !('code' in admitted) && admitted.accepted === 1
      },
      async isReadable(eventId) {
        const hex = idHex(invocationIdBytes(ids, uuidBytes(eventId)))
        return hasAttribution(store, PROBE_TENANT_ID, hex, await watermark.latest(), signal)
      },
      log,
    },
    signal,
  )
}
