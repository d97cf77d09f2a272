import { afterFailure, afterSuccess, type StoredHealth } from '../endpoint-health.js'
import type { Failed } from './attempt.js'

/**
 * A delivery attempt that waits for its endpoint: either `run` makes it, or `park` reschedules it without an attempt.
 */
export interface AttemptTask {
  /** The session that has queued it. */
  readonly owner: object
  /** When it was read from its log, by `performance.now()`; it is queued at once. */
  readonly readAt: number
  /** Whether this process's ownership is recent enough that no other process can make the same attempt. */
  mayStart(): boolean
  /** @param onEnd called once, never before this returns */
  run(onEnd: () => void): void
  park(): void
}

/** After this many consecutive failures, only one attempt at a time is in flight. */
const FAILURES_UNTIL_ALONE = 3
/** Attempts in flight to an endpoint without known successes. */
const FIRST_IN_FLIGHT = 2
/** Queue limit of a slow endpoint; further attempts are parked. The queue of any other endpoint is not limited here. */
export const WAITING_MAX_SLOW = 16
/**
 * The longest time in the queue of a slow endpoint. A log cannot advance past a delivery until it is attempted or
 * parked, and with one attempt of several seconds at a time, the last one in the queue would wait for minutes.
 */
export const WAITED_MS_MAX_SLOW = 2_000
/**
 * An endpoint is slow after this many consecutive failures, or when its oldest attempt has been in flight for this
 * long. An endpoint that answers is not slow, however long its queue: parking would cost its deliveries their order.
 */
const SLOW_FROM_FAILURES = 2
const SLOW_AFTER_MS = 5_000

/** State shared by the queues of one tenant. */
export class TenantQueues {
  readonly id: string
  /** Number of the tenant's queues. */
  queues = 0
  inFlight = 0
  /** Queues that wait for the tenant's in-flight limit, in their order. */
  readonly blocked = new Set<EndpointQueue>()

  constructor(id: string) {
    this.id = id
  }
}

/**
 * The queue of one endpoint's attempts in this process: in order, with an adaptive limit of attempts in flight. The
 * limit starts low, grows with each success, and falls to one while the endpoint fails, so that a receiver that hangs
 * occupies almost nothing of the shared capacity.
 */
export class EndpointQueue {
  readonly tenant: TenantQueues
  private readonly inFlightMax: number
  private waiting: AttemptTask[] = []
  private successes = 0
  private readonly startedAt = new Set<{ readonly at: number }>()
  private known: StoredHealth
  /** The last success after `known`; merged when `health` is read, since there is one per delivery. */
  private succeededAtMs: number | undefined
  private failures: number
  /** Whether `health` has unwritten changes, and whether they change its status. */
  unwritten: 'nothing' | 'detail' | 'status' = 'nothing'
  usedAt = performance.now()

  constructor(inFlightMax: number, health: StoredHealth, tenant: TenantQueues) {
    this.tenant = tenant
    this.inFlightMax = inFlightMax
    this.known = health
    this.failures = health.consecutive_failures
  }

  get health(): StoredHealth {
    if (this.succeededAtMs !== undefined) {
      this.known = afterSuccess(this.known, new Date(this.succeededAtMs).toISOString())
      this.succeededAtMs = undefined
    }
    return this.known
  }

  get inFlight(): number {
    return this.startedAt.size
  }

  get waitingCount(): number {
    return this.waiting.length
  }

  get isIdle(): boolean {
    return this.waiting.length === 0 && this.inFlight === 0
  }

  get isSlow(): boolean {
    if (this.failures >= SLOW_FROM_FAILURES) return true
    const [oldest] = this.startedAt
    return oldest !== undefined && performance.now() - oldest.at > SLOW_AFTER_MS
  }

  private get limit(): number {
    if (this.failures >= FAILURES_UNTIL_ALONE) return 1
    return Math.min(this.inFlightMax, FIRST_IN_FLIGHT + this.successes)
  }

  /** Whether an attempt waits although the limit allows it: `take` could not start it. */
  get isHeldBack(): boolean {
    return this.waiting.length > 0 && this.inFlight < this.limit
  }

  /** @returns false when the queue is full: the caller then parks the task */
  add(task: AttemptTask): boolean {
    this.usedAt = performance.now()
    if (this.waiting.length >= WAITING_MAX_SLOW && this.isSlow) return false
    this.waiting.push(task)
    return true
  }

  /** The next task that may start now, with a function that the caller calls when it has ended. */
  take(): { readonly task: AttemptTask; readonly end: () => void } | undefined {
    if (this.inFlight >= this.limit) return undefined
    const [task] = this.waiting
    if (task?.mayStart() !== true) return undefined
    this.waiting.shift()
    const mark = { at: performance.now() }
    this.startedAt.add(mark)
    return { task, end: () => this.startedAt.delete(mark) }
  }

  /**
   * Removes the tasks that a slow endpoint must park: those that have waited too long, and the newest beyond the limit.
   */
  excess(): readonly AttemptTask[] {
    if (!this.isSlow) return []
    return [...this.takeReadBefore(performance.now() - WAITED_MS_MAX_SLOW), ...this.takeBeyond(WAITING_MAX_SLOW)]
  }

  /** Removes the newest waiting tasks, and leaves `count`. */
  takeBeyond(count: number): readonly AttemptTask[] {
    return this.waiting.splice(count)
  }

  /** Removes the waiting tasks that were read before `at`: the oldest, since tasks wait in the order of reading. */
  takeReadBefore(at: number): readonly AttemptTask[] {
    const kept = this.waiting.findIndex(({ readAt }) => readAt >= at)
    return this.waiting.splice(0, kept === -1 ? this.waiting.length : kept)
  }

  /** Whether the waiting tasks belong to an owner; those of two owners never wait at the same time. */
  isOf(owner: object): boolean {
    return this.waiting[0]?.owner === owner
  }

  /** Removes an owner's waiting tasks. */
  removeOf(owner: object): void {
    this.waiting = this.waiting.filter((task) => task.owner !== owner)
  }

  succeeded(nowMs: number): void {
    this.successes++
    const isFirst = this.succeededAtMs === undefined && this.known.last_success_at === null
    this.markUnwritten(this.failures > 0 || isFirst)
    this.failures = 0
    this.succeededAtMs = nowMs
  }

  failed({ reason, status }: Pick<Failed, 'reason' | 'status'>, nowMs: number): void {
    this.successes = 0
    this.markUnwritten(this.failures === 0)
    this.known = afterFailure(this.health, new Date(nowMs).toISOString(), reason, status)
    this.failures = this.known.consecutive_failures
  }

  private markUnwritten(isStatus: boolean): void {
    if (isStatus || this.unwritten === 'nothing') this.unwritten = isStatus ? 'status' : 'detail'
  }
}
