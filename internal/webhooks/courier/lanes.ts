import type { Delivery } from '../delivery.js'
import type { StoredHealth } from '../health.js'
import { NO_HEALTH } from '../health.js'
import { Lane, type LaneTask, TenantLanes } from './lane.js'

export interface LanesDeps {
  readonly inFlightPerEndpoint: number
  readonly healthOf: (endpointId: string) => StoredHealth | undefined
  readonly writeHealth: (endpointId: string, health: StoredHealth) => Promise<void>
}

/** Whom a lane leads to, and whose it is. */
type Addressee = Pick<Delivery, 'endpointId' | 'tenantId'>

/** Attempts under way in this process at most. */
export const IN_FLIGHT_MAX = 2_048
/** Of them a tenant's: receivers of its that answer, and slowly, must not take the place of all others. */
export const IN_FLIGHT_MAX_OF_TENANT = IN_FLIGHT_MAX / 4
const SWEEP_EVERY_MS = 500
/** Health that did not change its status is written so often at most. */
const HEALTH_EVERY_MS = 10_000
/** A lane without work is forgotten after so long. */
const FORGOTTEN_MS = 10 * 60 * 1000

/** The lanes of all endpoints that this process has work for. */
export class Lanes {
  private readonly deps: LanesDeps
  private readonly lanes = new Map<string, Lane>()
  private readonly tenants = new Map<string, TenantLanes>()
  private readonly healthWrittenAt = new Map<string, number>()
  /** Lanes that had to wait for room in the process, in their order. */
  private readonly blocked = new Set<Lane>()
  /** Lanes whose next task could not be started since nobody was sure whose it is. */
  private readonly unsure = new Set<Lane>()
  private inFlight = 0
  private readonly timer: NodeJS.Timeout

  constructor(deps: LanesDeps) {
    this.deps = deps
    this.timer = setInterval(() => this.sweep(), SWEEP_EVERY_MS)
  }

  of({ endpointId, tenantId }: Addressee): Lane {
    let lane = this.lanes.get(endpointId)
    if (lane === undefined) {
      const health = this.deps.healthOf(endpointId) ?? NO_HEALTH
      lane = new Lane(this.deps.inFlightPerEndpoint, health, this.tenantOf(tenantId))
      lane.tenant.lanes++
      this.lanes.set(endpointId, lane)
    }
    return lane
  }

  add(to: Addressee, task: LaneTask): void {
    const lane = this.of(to)
    if (lane.add(task)) this.start(lane)
    else task.putOff()
  }

  /** Starts whatever may start now; called when tasks that could not be started may be. */
  pump(): void {
    const unsure = [...this.unsure]
    this.unsure.clear()
    for (const lane of unsure) this.start(lane)
  }

  /** Puts off what an owner's endpoints have waiting: what of a lane is for `pick` to say, which takes it out. */
  putOff(owner: object, pick: (lane: Lane) => readonly LaneTask[]): void {
    for (const lane of this.lanes.values()) if (lane.isOf(owner)) for (const task of pick(lane)) task.putOff()
  }

  /**
   * Puts off the youngest of what an owner's endpoints have waiting until no tenant has more than so much. It is shared out
   * evenly among a tenant's endpoints: those with little keep all of it, so that a busy one costs them nothing.
   */
  putOffBeyond(owner: object, ofTenantMax: number): void {
    const lanesOf = new Map<TenantLanes, Lane[]>()
    for (const lane of this.lanes.values()) {
      if (!lane.isOf(owner)) continue
      const others = lanesOf.get(lane.tenant)
      if (others === undefined) lanesOf.set(lane.tenant, [lane])
      else others.push(lane)
    }
    for (const lanes of lanesOf.values()) {
      // What one with little leaves of its share is for those after it.
      lanes.sort((one, next) => one.waitingCount - next.waitingCount)
      let left = ofTenantMax
      for (const [i, lane] of lanes.entries()) {
        for (const task of lane.takeBeyond(Math.floor(left / (lanes.length - i)))) task.putOff()
        left -= lane.waitingCount
      }
    }
  }

  /** Takes out what waits and is an owner's. */
  removeOf(owner: object): void {
    for (const lane of this.lanes.values()) lane.removeOf(owner)
  }

  async close(): Promise<void> {
    clearInterval(this.timer)
    await this.writeHealth(true)
  }

  private tenantOf(tenantId: string): TenantLanes {
    let tenant = this.tenants.get(tenantId)
    if (tenant === undefined) {
      tenant = new TenantLanes(tenantId)
      this.tenants.set(tenantId, tenant)
    }
    return tenant
  }

  private start(lane: Lane): void {
    const { tenant } = lane
    for (;;) {
      if (tenant.inFlight >= IN_FLIGHT_MAX_OF_TENANT) {
        tenant.blocked.add(lane)
        return
      }
      if (this.inFlight >= IN_FLIGHT_MAX) {
        this.blocked.add(lane)
        return
      }
      const next = lane.take()
      if (next === undefined) {
        if (lane.isHeldBack) this.unsure.add(lane)
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
        this.start(lane)
      })
    }
  }

  private unblock(): void {
    for (const lane of this.blocked) {
      this.blocked.delete(lane)
      this.start(lane)
      this.release(lane.tenant)
      if (this.inFlight >= IN_FLIGHT_MAX) return
    }
  }

  /**
   * Lets the first of a tenant's blocked lanes that has something to start wait for room in the process, behind those of
   * the others. One and not all: where a tenant has room and lanes that are blocked, one of them is always on its way.
   */
  private release(tenant: TenantLanes): void {
    if (tenant.blocked.size === 0 || tenant.inFlight >= IN_FLIGHT_MAX_OF_TENANT) return
    for (const lane of tenant.blocked) {
      tenant.blocked.delete(lane)
      if (!lane.isHeldBack) continue
      this.blocked.add(lane)
      return
    }
  }

  private sweep(): void {
    const now = performance.now()
    for (const [endpointId, lane] of this.lanes) {
      for (const task of lane.excess()) task.putOff()
      const isForgotten = lane.isIdle && lane.unwritten === 'nothing' && now - lane.usedAt > FORGOTTEN_MS
      if (!isForgotten) continue
      this.lanes.delete(endpointId)
      this.healthWrittenAt.delete(endpointId)
      if (--lane.tenant.lanes === 0) this.tenants.delete(lane.tenant.id)
    }
    void this.writeHealth(false)
  }

  private async writeHealth(all: boolean): Promise<void> {
    const now = performance.now()
    const writes: Promise<void>[] = []
    for (const [endpointId, lane] of this.lanes) {
      if (lane.unwritten === 'nothing') continue
      const age = now - (this.healthWrittenAt.get(endpointId) ?? Number.NEGATIVE_INFINITY)
      if (!all && lane.unwritten === 'detail' && age < HEALTH_EVERY_MS) continue
      lane.unwritten = 'nothing'
      this.healthWrittenAt.set(endpointId, now)
      // It is told again with the next attempt.
      writes.push(this.deps.writeHealth(endpointId, lane.health).catch(() => undefined))
    }
    await Promise.all(writes)
  }
}
