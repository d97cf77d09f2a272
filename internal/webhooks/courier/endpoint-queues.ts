import type { Delivery } from '../delivery.js'
import type { StoredHealth } from '../endpoint-health.js'
import { NO_HEALTH } from '../endpoint-health.js'
import { type AttemptTask, EndpointQueue, TenantQueues } from './endpoint-queue.js'

export interface EndpointQueuesDeps {
  readonly inFlightPerEndpoint: number
  readonly healthOf: (endpointId: string) => StoredHealth | undefined
  readonly writeHealth: (endpointId: string, health: StoredHealth) => Promise<void>
}

/** The endpoint of a queue, and its tenant. */
type Addressee = Pick<Delivery, 'endpointId' | 'tenantId'>

/** Maximum attempts in flight in this process. */
export const IN_FLIGHT_MAX = 2_048
/** Maximum per tenant: one tenant's slow receivers must not use up the capacity of all others. */
export const IN_FLIGHT_MAX_OF_TENANT = IN_FLIGHT_MAX / 4
const SWEEP_EVERY_MS = 500
/** The shortest interval between writes of an endpoint's health while its status does not change. */
const HEALTH_EVERY_MS = 10_000
/** An unused queue is removed after this time. */
const FORGOTTEN_MS = 10 * 60 * 1000

/**
 * The queues of all endpoints that this process delivers to. They share the process's and their tenant's in-flight
 * limits.
 */
export class EndpointQueues {
  private readonly deps: EndpointQueuesDeps
  private readonly queues = new Map<string, EndpointQueue>()
  private readonly tenants = new Map<string, TenantQueues>()
  private readonly healthWrittenAt = new Map<string, number>()
  /** Queues that wait for the process's in-flight limit, in their order. */
  private readonly blocked = new Set<EndpointQueue>()
  /** Queues whose next task may not start until its owner's ownership is confirmed. */
  private readonly unconfirmed = new Set<EndpointQueue>()
  private inFlight = 0
  private writing: Promise<void> | undefined
  /** While there are queues. */
  private timer: NodeJS.Timeout | undefined

  constructor(deps: EndpointQueuesDeps) {
    this.deps = deps
  }

  of({ endpointId, tenantId }: Addressee): EndpointQueue {
    let queue = this.queues.get(endpointId)
    if (queue === undefined) {
      const health = this.deps.healthOf(endpointId) ?? NO_HEALTH
      queue = new EndpointQueue(this.deps.inFlightPerEndpoint, health, this.tenantOf(tenantId))
      queue.tenant.queues++
      this.queues.set(endpointId, queue)
      this.timer ??= setInterval(() => this.sweep(), SWEEP_EVERY_MS)
    }
    return queue
  }

  add(to: Addressee, task: AttemptTask): void {
    const queue = this.of(to)
    if (queue.add(task)) this.start(queue)
    else task.park()
  }

  /** Starts the tasks that have waited for a confirmed ownership; called after each confirmation. */
  pump(): void {
    const unconfirmed = [...this.unconfirmed]
    this.unconfirmed.clear()
    for (const queue of unconfirmed) this.start(queue)
  }

  /** Parks waiting tasks of an owner. @param pick removes the tasks to park from a queue */
  park(owner: object, pick: (queue: EndpointQueue) => readonly AttemptTask[]): void {
    for (const queue of this.queues.values()) if (queue.isOf(owner)) for (const task of pick(queue)) task.park()
  }

  /**
   * Parks the newest waiting tasks of an owner until no tenant has more than `ofTenantMax`. The limit is divided evenly
   * among the tenant's endpoints: those with short queues keep everything, so that a busy endpoint costs them nothing.
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
      // The unused share of a short queue goes to the longer ones after it.
      queues.sort((one, next) => one.waitingCount - next.waitingCount)
      let left = ofTenantMax
      for (const [i, queue] of queues.entries()) {
        for (const task of queue.takeBeyond(Math.floor(left / (queues.length - i)))) task.park()
        left -= queue.waitingCount
      }
    }
  }

  /** Removes an owner's waiting tasks from all queues. */
  removeOf(owner: object): void {
    for (const queue of this.queues.values()) queue.removeOf(owner)
  }

  async close(): Promise<void> {
    clearInterval(this.timer)
    await this.writing
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
        if (queue.isHeldBack) this.unconfirmed.add(queue)
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
   * Moves the first of a tenant's blocked queues that has a task to start to the end of the process's blocked queues.
   * Only one: while a tenant is below its limit and has blocked queues, one of them is always in the process's list.
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
    // A slow broker gets the newest health of an endpoint, and not a queue of those before it.
    this.writing ??= this.writeHealth(false).finally(() => {
      this.writing = undefined
    })
    if (this.queues.size > 0) return
    clearInterval(this.timer)
    this.timer = undefined
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
      // A failed write is repeated after the next attempt.
      writes.push(this.deps.writeHealth(endpointId, queue.health).catch(() => undefined))
    }
    await Promise.all(writes)
  }
}
