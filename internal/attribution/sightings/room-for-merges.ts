import type { Logger } from '../../telemetry/log.js'

export interface RoomForMergesDeps {
  /** The tenants that have as many closed versions as reads can leave out. */
  readonly fullTenants: () => Promise<ReadonlySet<string>>
  readonly clock: () => number
  readonly log: Pick<Logger, 'warn'>
}

/**
 * Closed versions of a tenant up to which its calls are merged. A merge closes two, which stay for six hours; every read leaves
 * out the closed versions, at a quarter of a second per million.
 */
export const CLOSED_MAX = 1_000_000
const LOOK_EVERY_MS = 60_000

/** Whether a tenant's calls can still be merged; the answer is up to a minute old. */
export class RoomForMerges {
  private readonly deps: RoomForMergesDeps
  private full: ReadonlySet<string> = new Set()
  private lookedAtMs = Number.NEGATIVE_INFINITY

  constructor(deps: RoomForMergesDeps) {
    this.deps = deps
  }

  /** @throws when the store is unavailable */
  async look(): Promise<void> {
    const { clock, fullTenants, log } = this.deps
    if (clock() - this.lookedAtMs < LOOK_EVERY_MS) return
    this.lookedAtMs = clock()
    const before = this.full
    this.full = await fullTenants()
    for (const tenantId of this.full) {
      if (before.has(tenantId)) continue
      log.warn({ tenantId, closed: CLOSED_MAX }, 'calls that are seen twice are not merged: too many closed versions')
    }
  }

  has(tenantId: string): boolean {
    return !this.full.has(tenantId)
  }
}
