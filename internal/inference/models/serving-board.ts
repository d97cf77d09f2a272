import type { KV } from '@nats-io/kv'
import { ByTenant } from '../../broker/by-tenant.js'
import { mirrorBucket } from '../../broker/mirror.js'
import { bucketRecords, type Records } from '../../broker/records.js'
import { DEGRADATION_STATES } from '../../records/interpretation.js'
import { gauge, whenRead } from '../../telemetry/metrics.js'
import type { Fault, FaultKind, StoredDegradation } from './degradation.js'
import { candidateOf, chosenVersion, type Serving, type StoredModel, servingOf } from './model-version.js'

export interface ServingBoardDeps {
  readonly models: KV
  readonly degradations: KV
  readonly isEnabled: (tenantId: string) => boolean
  /** Member name of this process. */
  readonly member: string
  readonly clock: () => number
  readonly onLost: (cause: unknown) => void
}

/** What serves each tenant in stage B, derived from the model registry, tenant settings and the faults this process found. */
export interface ServingBoard {
  of(tenantId: string): Serving
  version(id: string): StoredModel | undefined
  /** The version to evaluate in the shadow of the serving one. */
  candidateOf(tenantId: string): StoredModel | undefined
  /** The known fault of the version that should serve. */
  faultOf(tenantId: string): Fault | undefined
  tenantsWithFaults(): Iterable<string>
  /** Reports that a version cannot serve. Takes effect here at once, and in other processes once it is stored. */
  reportFault(version: StoredModel, kind: FaultKind): void
  /** Reports that the version works again. */
  clearFault(version: StoredModel): void
  /** Whether this process has findings that the tenant's record may lack. */
  hasFindings(tenantId: string): boolean
  /** The record with the faults that this process has reported or cleared. */
  withFindings(degradation: StoredDegradation): StoredDegradation
  /** To be called when the settings of the tenant may have changed. */
  settingsChanged(tenantId: string): void
  /** Revision that the mirror of the registry has reached. */
  readonly revision: () => number
  /** Registers a listener, called when the serving version or state of a tenant may have changed. */
  onChange(listener: (tenantId: string) => void): void
  readonly degradations: Records<StoredDegradation>
}

export async function openServingBoard(deps: ServingBoardDeps): Promise<ServingBoard> {
  const versions = new ByTenant<StoredModel>()
  /** By tenant: the fault that this process has reported and that is not stored yet. */
  const reported = new Map<string, Fault>()
  /** By tenant: id of the version that this process has seen to work again. */
  const cleared = new Map<string, string>()
  const known = new Map<string, Serving>()
  const listeners: ((tenantId: string) => void)[] = []
  const changed = (tenantId: string): void => {
    known.delete(tenantId)
    for (const listener of listeners) listener(tenantId)
  }

  const tenantOf = new Map<string, string>()
  const models = await mirrorBucket<StoredModel>(deps.models, deps.onLost, (id, version) => {
    versions.follow(id, version)
    const tenantId = version?.tenant_id ?? tenantOf.get(id)
    if (version !== undefined) tenantOf.set(id, version.tenant_id)
    else tenantOf.delete(id)
    if (tenantId !== undefined) changed(tenantId)
  })
  const withFaults = new Set<string>()
  const degradations = await mirrorBucket<StoredDegradation>(
    deps.degradations,
    deps.onLost,
    (tenantId, degradation) => {
      const fault = degradation?.fault ?? undefined
      if (fault === undefined) withFaults.delete(tenantId)
      else withFaults.add(tenantId)
      // A stored fault belongs to all processes: any of them may clear it.
      if (fault !== undefined && fault.model_id === reported.get(tenantId)?.model_id) reported.delete(tenantId)
      if (fault === undefined) cleared.delete(tenantId)
      changed(tenantId)
    },
  )

  const faultOf = (tenantId: string): Fault | undefined => {
    const own = reported.get(tenantId)
    if (own !== undefined) return own
    const stored = degradations.get(tenantId)?.fault ?? undefined
    return stored?.model_id === cleared.get(tenantId) ? undefined : stored
  }

  return {
    of(tenantId) {
      let serving = known.get(tenantId)
      if (serving === undefined) {
        const fault = faultOf(tenantId)
        serving = servingOf(versions.of(tenantId), deps.isEnabled(tenantId), ({ id }) => id === fault?.model_id)
        known.set(tenantId, serving)
      }
      return serving
    },

    version: models.get,

    candidateOf(tenantId) {
      const chosen = chosenVersion(versions.of(tenantId))
      return chosen && candidateOf(versions.of(tenantId), chosen)
    },

    faultOf,
    tenantsWithFaults: () => withFaults,

    reportFault({ id, tenant_id: tenantId }, kind) {
      reported.set(tenantId, { model_id: id, kind, since: new Date(deps.clock()).toISOString(), member: deps.member })
      cleared.delete(tenantId)
      changed(tenantId)
    },

    clearFault({ id, tenant_id: tenantId }) {
      reported.delete(tenantId)
      cleared.set(tenantId, id)
      changed(tenantId)
    },

    hasFindings: (tenantId) => reported.has(tenantId) || cleared.has(tenantId),

    withFindings(degradation) {
      const { tenant_id: tenantId, fault } = degradation
      const own = reported.get(tenantId)
      if (own !== undefined) return fault?.model_id === own.model_id ? degradation : { ...degradation, fault: own }
      return fault !== null && fault.model_id === cleared.get(tenantId) ? { ...degradation, fault: null } : degradation
    },

    settingsChanged: changed,
    revision: models.revision,
    onChange: (listener) => void listeners.push(listener),
    degradations: bucketRecords(deps.degradations, degradations.reached),
  }
}

const SERVING = gauge(
  'model_serving_tenants',
  'Tenants by what names their calls that no fact decides: `none` a model in service, `model_recalled` an earlier one.',
  ['state'],
)

/** Sets which models serve when the metrics are read. No label names a tenant. */
export function measureServing(board: Pick<ServingBoard, 'of'>, tenantIds: () => Iterable<string>): void {
  whenRead(() => {
    const counts = new Map<string, number>(DEGRADATION_STATES.map((state) => [state, 0]))
    for (const tenantId of tenantIds()) {
      const { state } = board.of(tenantId)
      counts.set(state, (counts.get(state) ?? 0) + 1)
    }
    for (const [state, count] of counts) SERVING.set({ state }, count)
  })
}
