import type { DegradationState } from '../../../records/interpretation.js'

/** How a tenant is served by stage B, as it is kept under its id in the bucket `degradations`. */
export interface StoredDegradation {
  readonly tenant_id: string
  readonly state: DegradationState
  /** Before the last change. */
  readonly was: DegradationState
  readonly since: string
  /** How often the state has changed: names each change. */
  readonly changes: number
  /** Whether the last change was published. */
  readonly is_announced: boolean
  readonly fault: Fault | null
}

export const FAULT_KINDS = ['missing', 'corrupt', 'unavailable', 'slow'] as const
export type FaultKind = (typeof FAULT_KINDS)[number]

/** Why a version that should serve cannot. It stays until the version was seen to be fit again. */
export interface Fault {
  readonly model_id: string
  readonly kind: FaultKind
  readonly since: string
  /** The process that has met it. */
  readonly member: string
}

/** The first that is known of a tenant: nothing has changed yet. */
export const firstDegradation = (tenantId: string, state: DegradationState, nowMs: number): StoredDegradation => ({
  tenant_id: tenantId,
  state,
  was: state,
  since: new Date(nowMs).toISOString(),
  changes: 0,
  is_announced: true,
  fault: null,
})

export const withState = (
  degradation: StoredDegradation,
  state: DegradationState,
  nowMs: number,
): StoredDegradation => ({
  ...degradation,
  state,
  was: degradation.state,
  since: new Date(nowMs).toISOString(),
  changes: degradation.changes + 1,
  is_announced: false,
})
