import type { Delivery } from '../delivery.js'
import type { StoredHealth } from '../health.js'
import { NO_HEALTH } from '../health.js'
import { type AttemptTask, EndpointQueue, TenantQueues } from './endpoint-queue.js'

export interface EndpointQueuesDeps {
  readonly inFlightPerEndpoint: number
  readonly healthOf: (endpointId: string) => StoredHealth | undefined
  readonly writeHealth: (endpointId: string, health: StoredHealth) => Promise<void>
}

/** Whom a queue leads to, and whose it is. */
type Addressee = Pick<Delivery, 'endpointId' | 'tenantId'>

/** Attempts under way in this process at most. */
export const IN_FLIGHT_MAX = 2_048
/** Of them a tenant's: receivers of its that answer, and slowly, must not take the place of all others. */
export const IN_FLIGHT_MAX_OF_TENANT = IN_FLIGHT_MAX / 4
const SWEEP_EVERY_MS = 500
/** Health that did not change its status is written so often at most. */
const HEALTH_EVERY_MS = 10_000
/** A queue without work is forgotten after so long. */
const FORGOTTEN_MS = 10 * 60 * 1000

/** The queues of all endpoints that this process has work for. */
export class EndpointQueues {
  private readonly deps: EndpointQueuesDeps
  private readonly queues = new Map<string, EndpointQueue>()
  private readonly tenants = new Map<string, TenantQueues>()
  private readonly healthWrittenAt = new Map<string, number>()
  /** EndpointQueues that had to wait for room in the process, in their order. */
  private readonly blocked = new Set<EndpointQueue>()
  /** EndpointQueues whose next task could not be started since nobody was sure whose it is. */
  private readonly unsure = new Set<EndpointQueue>()
  private inFlight = 0
  private readonly timer: NodeJS.Timeout

  constructor(deps: EndpointQueuesDeps) {
    this.deps = deps
    this.timer = setInterval(() => this.sweep(), SWEEP_EVERY_MS)
  }

  of({ endpointId, tenantId }: Addressee): EndpointQueue {
    let queue = this.queues.get(endpointId)
    if (queue === undefined) {
      const health = this.deps.healthOf(endpointId) ?? NO_HEALTH
      queue = new EndpointQueue(this.deps.inFlightPerEndpoint, health, this.tenantOf(tenantId))
      queue.tenant.queues++
      this.queues.set(endpointId, queue)
    }
    return queue
  }

  add(to: Addressee, task: AttemptTask): void {
    const queue = this.of(to)
    if (queue.add(task)) this.start(queue)
    else task.park()
  }

  /** Starts whatever may start now; called when tasks that could not be started may be. */
  pump(): void {
    const unsure = [...this.unsure]
    this.unsure.clear()
    for (const queue of unsure) this.start(queue)
  }

  /** Puts off what an owner's endpoints have waiting: what of a queue is for `pick` to say, which takes it out. */
  park(owner: object, pick: (queue: EndpointQueue) => readonly AttemptTask[]): void {
    for (const queue of this.queues.values()) if (queue.isOf(owner)) for (const task of pick(queue)) task.park()
  }

  /**
   * Puts off the youngest of what an owner's endpoints have waiting until no tenant has more than so much. It is shared out
   * evenly among a tenant's endpoints: those with little keep all of it, so that a busy one costs them nothing.
   */
  parkBeyond(owner: object, ofTenantMax: number): void {
    const queuesOf = new Map<TenantQueues, EndpointQueue[]>()
    for (const queue of this.queues.values()) {
      if (!queue.isOf(owner)) continue
      const others = queuesOf.get(queue.tenant)
      if (others === undefined) queuesOf.set(queue.tenant, [queue])
      else others.push(queue)
    }
    for (const queues of queuesOf.values()) {
      // What one with little leaves of its share is for those after it.
      queues.sort((one, next) => one.waitingCount - next.waitingCount)
      let left = ofTenantMax
      for (const [i, queue] of queues.entries()) {
        for (const task of queue.takeBeyond(Math.floor(left / (queues.length - i)))) task.park()
        left -= queue.waitingCount
      }
    }
  }

  /** Takes out what waits and is an owner's. */
  removeOf(owner: object): void {
    for (const queue of this.queues.values()) queue.removeOf(owner)
  }

  async close(): Promise<void> {
    clearInterval(this.timer)
    await this.writeHealth(true)
  }

  private tenantOf(tenantId: string): TenantQueues {
    let tenant = this.tenants.get(tenantId)
    if (tenant === undefined) {
      tenant = new TenantQueues(tenantId)
      this.tenants.set(tenantId, tenant)
    }
    return tenant
  }

  private start(queue: EndpointQueue): void {
    const { tenant } = queue
    for (;;) {
      if (tenant.inFlight >= IN_FLIGHT_MAX_OF_TENANT) {
        tenant.blocked.add(queue)
        return
      }
      if (this.inFlight >= IN_FLIGHT_MAX) {
        this.blocked.add(queue)
        return
      }
      const next = queue.take()
      if (next === undefined) {
        if (queue.isHeldBack) this.unsure.add(queue)
        return
      }
      this.inFlight++
      tenant.inFlight++
      next.task.run(() => {
        this.inFlight--
        tenant.inFlight--
        next.end()
        this.release(tenant)
        this.unblock()
        this.start(queue)
      })
    }
  }

  private unblock(): void {
    for (const queue of this.blocked) {
      this.blocked.delete(queue)
      this.start(queue)
      this.release(queue.tenant)
      if (this.inFlight >= IN_FLIGHT_MAX) return
    }
  }

  /**
   * Lets the first of a tenant's blocked queues that has something to start wait for room in the process, behind those of
   * the others. One and not all: where a tenant has room and queues that are blocked, one of them is always on its way.
   */
  private release(tenant: TenantQueues): void {
    if (tenant.blocked.size === 0 || tenant.inFlight >= IN_FLIGHT_MAX_OF_TENANT) return
    for (const queue of tenant.blocked) {
      tenant.blocked.delete(queue)
      if (!queue.isHeldBack) continue
      this.blocked.add(queue)
      return
    }
  }

  private sweep(): void {
    const now = performance.now()
    for (const [endpointId, queue] of this.queues) {
      for (const task of queue.excess()) task.park()
      const isForgotten = queue.isIdle && queue.unwritten === 'nothing' && now - queue.usedAt > FORGOTTEN_MS
      if (!isForgotten) continue
      this.queues.delete(endpointId)
      this.healthWrittenAt.delete(endpointId)
      if (--queue.tenant.queues === 0) this.tenants.delete(queue.tenant.id)
    }
    void this.writeHealth(false)
  }

  private async writeHealth(all: boolean): Promise<void> {
    const now = performance.now()
    const writes: Promise<void>[] = []
    for (const [endpointId, queue] of this.queues) {
      if (queue.unwritten === 'nothing') continue
      const age = now - (this.healthWrittenAt.get(endpointId) ?? Number.NEGATIVE_INFINITY)
      if (!all && queue.unwritten === 'detail' && age < HEALTH_EVERY_MS) continue
      queue.unwritten = 'nothing'
      this.healthWrittenAt.set(endpointId, now)
      // It is told again with the next attempt.
      writes.push(this.deps.writeHealth(endpointId, queue.health).catch(() => undefined))
    }
    await Promise.all(writes)
  }
}
