import type { Logger } from '../../telemetry/log.js'
import { gauge } from '../../telemetry/metrics.js'
import { SentBytes } from './sent-bytes.js'

const LANE_TENANTS = gauge(
  'lane_tenants',
  'Tenants that send more than is worked off, whose events this gateway sends to the lane.',
)

export interface LaneDeps {
  /** The number of the lane: behind those of the partitions. */
  readonly lane: number
  /** Whether an event of a tenant may cost stage A many times what others do: such a tenant is in the lane at all times. */
  readonly isCostly: (tenantId: string) => boolean
  /** How long events of a partition wait for stage A, in milliseconds. */
  readonly lagMs: (partition: number) => number
  /** Changes whenever stage A makes progress: while nobody reads the log, another partition of it helps nobody. */
  readonly progress: () => number
  /** Milliseconds. */
  readonly clock: () => number
  readonly log: Pick<Logger, 'info' | 'warn'>
}

const LOOK_EVERY_MS = 200
/** Events that wait longer than this wait behind a backlog. */
const LAGGING_MS = 2_000
/** For how long they must, while they are worked off: the backlog of a restart is gone sooner. */
const LAGGING_FOR_MS = 2_000
/** Nobody has read the log when its reader has made no progress for this long. */
const STALLED_MS = 2_000
/** A lane that has no backlog for this long is given up. */
const CALM_MS = 5_000
const CALM_LAG_MS = 1_000

/**
 * Sends the events of tenants that send more than is worked off to a log of their own, the lane, so that the
 * others wait for one batch of it at a time, not behind all of it. Those that have sent more than the usual since the
 * backlog began go there, until the lane has none.
 *
 * A tenant that is alone has no lane. What passes it goes on to the partitions of stage A, in small batches
 * (`internal/attribution/stages/lane.ts`).
 */
export class Lane {
  private readonly deps: LaneDeps
  private sent: SentBytes
  private tenants: ReadonlySet<string> = new Set()
  private lookedAtMs = Number.NEGATIVE_INFINITY
  private openedAtMs = Number.NEGATIVE_INFINITY
  private laggingSinceMs: number | undefined
  private calmSinceMs: number | undefined
  private progress = 0
  private progressAtMs = Number.NEGATIVE_INFINITY

  constructor(deps: LaneDeps) {
    this.deps = deps
    this.sent = new SentBytes(deps.clock)
  }

  /** @param own where an event of the tenant goes otherwise */
  partitionFor(tenantId: string, own: number): number {
    this.look()
    const isInLane = (this.tenants.size > 0 && this.tenants.has(tenantId)) || this.deps.isCostly(tenantId)
    return isInLane ? this.deps.lane : own
  }

  /** Counts what goes to the log, of tenants that have no lane yet. */
  count(tenantId: string, bytes: number): void {
    if (this.laggingSinceMs !== undefined && !this.tenants.has(tenantId)) this.sent.count(tenantId, bytes)
  }

  private look(): void {
    const { lane, lagMs, progress, clock } = this.deps
    const nowMs = clock()
    if (nowMs - this.lookedAtMs < LOOK_EVERY_MS) return
    this.lookedAtMs = nowMs
    const nowDone = progress()
    if (nowDone !== this.progress) {
      this.progress = nowDone
      this.progressAtMs = nowMs
    }
    let worstMs = 0
    for (let partition = 0; partition < lane; partition++) worstMs = Math.max(worstMs, lagMs(partition))
    // What was written before the lane was opened says nothing of those that send now.
    const isOfNow = worstMs <= nowMs - this.openedAtMs
    const isLagging = isOfNow && worstMs >= LAGGING_MS && nowMs - this.progressAtMs < STALLED_MS
    this.laggingSinceMs = isLagging ? (this.laggingSinceMs ?? nowMs) : undefined
    const isLasting = isLagging && nowMs - (this.laggingSinceMs ?? nowMs) >= LAGGING_FOR_MS
    if (isLasting) this.open(worstMs)
    this.closeIfCalm(worstMs, nowMs)
  }

  private open(worstMs: number): void {
    const added = [...this.sent.aboveUsual()].filter((tenantId) => !this.tenants.has(tenantId))
    if (added.length === 0) return
    this.sent = new SentBytes(this.deps.clock)
    this.openedAtMs = this.deps.clock()
    this.tenants = new Set([...this.tenants, ...added])
    LANE_TENANTS.set(this.tenants.size)
    this.deps.log.warn(
      { tenants: added, lagMs: Math.round(worstMs), lane: this.deps.lane },
      'tenants send more than is worked off; their events wait in the lane',
    )
  }

  private closeIfCalm(worstMs: number, nowMs: number): void {
    if (this.tenants.size === 0) return
    const isCalm = Math.max(worstMs, this.deps.lagMs(this.deps.lane)) < CALM_LAG_MS
    this.calmSinceMs = isCalm ? (this.calmSinceMs ?? nowMs) : undefined
    if (this.calmSinceMs === undefined || nowMs - this.calmSinceMs < CALM_MS) return
    this.deps.log.info({ tenants: [...this.tenants] }, 'the backlog is worked off; events go where they went before')
    this.tenants = new Set()
    this.calmSinceMs = undefined
    LANE_TENANTS.set(0)
  }
}
