import type { KV } from '@nats-io/kv'
import { ByTenant } from '../../../broker/by-tenant.js'
import { mirrorBucket } from '../../../broker/mirror.js'
import { bucketRecords, type Records } from '../../../broker/records.js'
import type { Fault, FaultKind, StoredDegradation } from './degradation.js'
import { candidateOf, chosenVersion, type Serving, type StoredModel, servingOf } from './version.js'

export interface ServingBoardDeps {
  readonly models: KV
  readonly degradations: KV
  readonly isEnabled: (tenantId: string) => boolean
  /** Name of this process. */
  readonly member: string
  readonly clock: () => number
  readonly onLost: (cause: unknown) => void
}

/** What serves each tenant in stage B, as far as this process knows: of the registry, of settings, of what it met itself. */
export interface ServingBoard {
  of(tenantId: string): Serving
  version(id: string): StoredModel | undefined
  /** To be looked at in the shadow of what serves now. */
  candidateOf(tenantId: string): StoredModel | undefined
  /** What is known to be wrong with the version that should serve. */
  faultOf(tenantId: string): Fault | undefined
  tenantsWithFaults(): Iterable<string>
  /** This process cannot let a version serve. Counts here at once, and everywhere once it is written down. */
  meet(version: StoredModel, kind: FaultKind): void
  /** The version is fit again. */
  mend(version: StoredModel): void
  /** Whether there is something to write into the tenant's record. */
  hasFindings(tenantId: string): boolean
  /** What this process has met and seen mended, written into the record. */
  withFindings(degradation: StoredDegradation): StoredDegradation
  /** The tenant's settings are perhaps others now. */
  settingsChanged(tenantId: string): void
  /** How new the registry's copy is. */
  readonly revision: () => number
  /** Called when what serves a tenant may have become another. */
  onChange(tell: (tenantId: string) => void): void
  readonly degradations: Records<StoredDegradation>
}

export async function openServingBoard(deps: ServingBoardDeps): Promise<ServingBoard> {
  const versions = new ByTenant<StoredModel>()
  const met = new Map<string, Fault>()
  /** By tenant, the version that was seen to be fit. */
  const mended = new Map<string, string>()
  const known = new Map<string, Serving>()
  const listeners: ((tenantId: string) => void)[] = []
  const changed = (tenantId: string): void => {
    known.delete(tenantId)
    for (const tell of listeners) tell(tenantId)
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
      // Written down, a finding is everybody's: whoever sees that it no longer holds may say so.
      if (fault !== undefined && fault.model_id === met.get(tenantId)?.model_id) met.delete(tenantId)
      if (fault === undefined) mended.delete(tenantId)
      changed(tenantId)
    },
  )

  const faultOf = (tenantId: string): Fault | undefined => {
    const own = met.get(tenantId)
    if (own !== undefined) return own
    const told = degradations.get(tenantId)?.fault ?? undefined
    return told?.model_id === mended.get(tenantId) ? undefined : told
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

    meet({ id, tenant_id: tenantId }, kind) {
      met.set(tenantId, { model_id: id, kind, since: new Date(deps.clock()).toISOString(), member: deps.member })
      mended.delete(tenantId)
      changed(tenantId)
    },

    mend({ id, tenant_id: tenantId }) {
      met.delete(tenantId)
      mended.set(tenantId, id)
      changed(tenantId)
    },

    hasFindings: (tenantId) => met.has(tenantId) || mended.has(tenantId),

    withFindings(degradation) {
      const { tenant_id: tenantId, fault } = degradation
      const own = met.get(tenantId)
      if (own !== undefined) return fault?.model_id === own.model_id ? degradation : { ...degradation, fault: own }
      return fault !== null && fault.model_id === mended.get(tenantId) ? { ...degradation, fault: null } : degradation
    },

    settingsChanged: changed,
    revision: models.revision,
    onChange: (tell) => void listeners.push(tell),
    degradations: bucketRecords(deps.degradations, degradations.reached),
  }
}
