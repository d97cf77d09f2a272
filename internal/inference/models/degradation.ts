import type { DegradationState } from '../../records/interpretation.js'

/** How the inference stage serves a tenant, stored under the tenant id in the bucket `degradations`. */
export interface StoredDegradation {
  readonly tenant_id: string
  readonly state: DegradationState
  /** The state before the last change. */
  readonly was: DegradationState
  readonly since: string
  /** Number of changes so far; identifies each change. */
  readonly changes: number
  /** Whether the last change was published. */
  readonly is_announced: boolean
  readonly fault: Fault | null
}

const FAULT_KINDS = ['missing', 'corrupt', 'unavailable', 'slow'] as const
export type FaultKind = (typeof FAULT_KINDS)[number]

/** Why a version that should serve cannot. Stored until the version has been seen to work again. */
export interface Fault {
  readonly model_id: string
  readonly kind: FaultKind
  readonly since: string
  /** The process that reported the fault. */
  readonly member: string
}

/** The initial record of a tenant, before any change. */
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
