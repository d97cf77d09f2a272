import type { ClickHouseClient } from '@clickhouse/client'
import type { Budgets } from '../../auth/rate-limits.js'
import type { Watermark } from '../../broker/watermark.js'
import { idHex, invocationIdBytes, type TenantIds, uuidBytes } from '../../ids/ids.js'
import { PROBE_TENANT_ID } from '../../ids/probe-tenant.js'
import { hasAttribution } from '../../store/queries/records/attributions.js'
import type { Logger } from '../../telemetry/log.js'
import type { AdmissionDeps } from '../admission/admission.js'
import { admitSourceEvents } from '../intake/admit-source-events.js'
import { runProbes } from './probe.js'

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
  return runProbes(
    {
      everyMs,
      async admit(event) {
        const admitted = await admitSourceEvents([{ place: 0, event }], caller, deps.clock(), admission)
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
