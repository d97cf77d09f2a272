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

/**
 * What serves each tenant in the inference stage, derived from the model registry, tenant settings and the faults that
 * this process found.
 */
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
  const faults = new Faults(deps)
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
  const degradations = await mirrorBucket<StoredDegradation>(
    deps.degradations,
    deps.onLost,
    (tenantId, degradation) => {
      faults.follow(tenantId, degradation?.fault ?? undefined)
      changed(tenantId)
    },
  )

  return {
    of(tenantId) {
      let serving = known.get(tenantId)
      if (serving === undefined) {
        const fault = faults.of(tenantId)
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

    faultOf: (tenantId) => faults.of(tenantId),
    tenantsWithFaults: () => faults.tenants(),

    reportFault(version, kind) {
      faults.report(version, kind)
      changed(version.tenant_id)
    },

    clearFault(version) {
      faults.clear(version)
      changed(version.tenant_id)
    },

    hasFindings: (tenantId) => faults.hasFindings(tenantId),
    withFindings: (degradation) => faults.withFindings(degradation),
    settingsChanged: changed,
    revision: models.revision,
    onChange: (listener) => void listeners.push(listener),
    degradations: bucketRecords(deps.degradations, degradations.reached),
  }
}

/** The faults of serving versions: those that are stored, and what this process has found and is not stored yet. */
class Faults {
  private readonly stored = new Map<string, Fault>()
  /** By tenant: the fault that this process has reported and that is not stored yet. */
  private readonly reported = new Map<string, Fault>()
  /** By tenant: id of the version that this process has seen to work again. */
  private readonly cleared = new Map<string, string>()
  private readonly deps: Pick<ServingBoardDeps, 'member' | 'clock'>

  constructor(deps: Pick<ServingBoardDeps, 'member' | 'clock'>) {
    this.deps = deps
  }

  /** A stored fault belongs to all processes: any of them may clear it. */
  follow(tenantId: string, fault: Fault | undefined): void {
    if (fault === undefined) {
      this.stored.delete(tenantId)
      this.cleared.delete(tenantId)
      return
    }
    this.stored.set(tenantId, fault)
    if (fault.model_id === this.reported.get(tenantId)?.model_id) this.reported.delete(tenantId)
  }

  of(tenantId: string): Fault | undefined {
    const own = this.reported.get(tenantId)
    if (own !== undefined) return own
    const stored = this.stored.get(tenantId)
    return stored?.model_id === this.cleared.get(tenantId) ? undefined : stored
  }

  /** The tenants with a stored fault. */
  tenants(): Iterable<string> {
    return this.stored.keys()
  }

  report({ id, tenant_id: tenantId }: StoredModel, kind: FaultKind): void {
    const { member, clock } = this.deps
    this.reported.set(tenantId, { model_id: id, kind, since: new Date(clock()).toISOString(), member })
    this.cleared.delete(tenantId)
  }

  clear({ id, tenant_id: tenantId }: StoredModel): void {
    this.reported.delete(tenantId)
    this.cleared.set(tenantId, id)
  }

  hasFindings(tenantId: string): boolean {
    return this.reported.has(tenantId) || this.cleared.has(tenantId)
  }

  withFindings(degradation: StoredDegradation): StoredDegradation {
    const { tenant_id: tenantId, fault } = degradation
    const own = this.reported.get(tenantId)
    if (own !== undefined) return fault?.model_id === own.model_id ? degradation : { ...degradation, fault: own }
    return fault !== null && fault.model_id === this.cleared.get(tenantId)
      ? { ...degradation, fault: null }
      : degradation
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
