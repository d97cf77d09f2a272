import { afterFailure, afterSuccess, type StoredHealth } from '../health.js'
import type { Failed } from './attempt.js'

/** Work for an endpoint: an attempt that `run` makes, or that is put off. */
export interface AttemptTask {
  /** Whose it is. */
  readonly owner: object
  /** When it was read from its log, by `performance.now()`; added to a queue at once. */
  readonly readAt: number
  /** Whether this process may still be sure that nobody else makes it. */
  mayStart(): boolean
  /** @param ended called once, and not before this returns */
  run(ended: () => void): void
  park(): void
}

/** In flight to an endpoint that has failed so often in a row: one. */
const FAILURES_UNTIL_ALONE = 3
/** In flight to an endpoint of which nothing is known yet. */
const FIRST_IN_FLIGHT = 2
/** Waiting for an endpoint that is slow; what comes beyond that is put off. For one that is not, all that was read may. */
export const WAITING_MAX_SLOW = 16
/**
 * Waiting for an endpoint that is slow no longer than this: until it is tried or put off its log cannot be done with it,
 * and one attempt at a time, each of seconds, would keep the last of those that wait for minutes.
 */
export const WAITED_MS_MAX_SLOW = 2_000
/**
 * What makes an endpoint slow: it has failed so often in a row, or its oldest attempt has been under way for so long.
 * One that answers is not, however much waits for it: what is put off loses its place in the order.
 */
const SLOW_FROM_FAILURES = 2
const SLOW_AFTER_MS = 5_000

/** What the queues of a tenant share. */
export class TenantQueues {
  readonly id: string
  /** There are so many. */
  queues = 0
  inFlight = 0
  /** EndpointQueues that had to wait for room among those of their tenant, in their order. */
  readonly blocked = new Set<EndpointQueue>()

  constructor(id: string) {
    this.id = id
  }
}

/**
 * What goes to one endpoint: in its order, and no more at a time than the endpoint can be trusted with. Its limit starts
 * low, grows with each success, and falls to one while it fails, so that a receiver that hangs holds next to nothing of
 * what others need.
 */
export class EndpointQueue {
  readonly tenant: TenantQueues
  private readonly inFlightMax: number
  private waiting: AttemptTask[] = []
  private successes = 0
  private readonly startedAt = new Set<{ readonly at: number }>()
  private known: StoredHealth
  /** Since `known` was made; put into it when somebody asks, since there is one a delivery. */
  private succeededAtMs: number | undefined
  private failures: number
  /** Whether `health` is newer than what was written of it, and what that said. */
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

  /** Whether something waits though there is room for it: it could not be started when it was taken last. */
  get isHeldBack(): boolean {
    return this.waiting.length > 0 && this.inFlight < this.limit
  }

  /** @returns false when there is no room: the task is then to be put off */
  add(task: AttemptTask): boolean {
    this.usedAt = performance.now()
    if (this.waiting.length >= WAITING_MAX_SLOW && this.isSlow) return false
    this.waiting.push(task)
    return true
  }

  /** The next task that may start now; the caller tells its end by the function beside it. */
  take(): { readonly task: AttemptTask; readonly end: () => void } | undefined {
    if (this.inFlight >= this.limit) return undefined
    const [task] = this.waiting
    if (task?.mayStart() !== true) return undefined
    this.waiting.shift()
    const mark = { at: performance.now() }
    this.startedAt.add(mark)
    return { task, end: () => this.startedAt.delete(mark) }
  }

  /** Of an endpoint that is slow: all that has waited too long, and of the others the youngest that exceed what may wait. */
  excess(): readonly AttemptTask[] {
    if (!this.isSlow) return []
    return [...this.takeReadBefore(performance.now() - WAITED_MS_MAX_SLOW), ...this.takeBeyond(WAITING_MAX_SLOW)]
  }

  /** Takes out the youngest of what waits: all but so many. */
  takeBeyond(count: number): readonly AttemptTask[] {
    return this.waiting.splice(count)
  }

  /** Takes out the oldest of what waits: it waits in the order in which it was read. */
  takeReadBefore(at: number): readonly AttemptTask[] {
    const kept = this.waiting.findIndex(({ readAt }) => readAt >= at)
    return this.waiting.splice(0, kept === -1 ? this.waiting.length : kept)
  }

  /** Whether what waits is an owner's; that of two never waits at once. */
  isOf(owner: object): boolean {
    return this.waiting[0]?.owner === owner
  }

  /** Takes out what waits and is an owner's. */
  removeOf(owner: object): void {
    this.waiting = this.waiting.filter((task) => task.owner !== owner)
  }

  succeeded(nowMs: number): void {
    this.successes++
    const isFirst = this.succeededAtMs === undefined && this.known.last_success_at === null
    this.tells(this.failures > 0 || isFirst)
    this.failures = 0
    this.succeededAtMs = nowMs
  }

  failed({ reason, status }: Pick<Failed, 'reason' | 'status'>, nowMs: number): void {
    this.successes = 0
    this.tells(this.failures === 0)
    this.known = afterFailure(this.health, new Date(nowMs).toISOString(), reason, status)
    this.failures = this.known.consecutive_failures
  }

  private tells(isStatus: boolean): void {
    if (isStatus || this.unwritten === 'nothing') this.unwritten = isStatus ? 'status' : 'detail'
  }
}
