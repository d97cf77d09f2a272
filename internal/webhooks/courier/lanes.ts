import type { StoredHealth } from '../health.js'
import { NO_HEALTH } from '../health.js'
import { Lane, type LaneTask } from './lane.js'

export interface LanesDeps {
  readonly inFlightPerEndpoint: number
  readonly healthOf: (endpointId: string) => StoredHealth | undefined
  readonly writeHealth: (endpointId: string, health: StoredHealth) => Promise<void>
}

/** Attempts under way in this process at most. */
const IN_FLIGHT_MAX = 2_048
const SWEEP_EVERY_MS = 500
/** Health that did not change its status is written so often at most. */
const HEALTH_EVERY_MS = 10_000
/** A lane without work is forgotten after so long. */
const FORGOTTEN_MS = 10 * 60 * 1000

/** The lanes of all endpoints that this process has work for. */
export class Lanes {
  private readonly deps: LanesDeps
  private readonly lanes = new Map<string, Lane>()
  private readonly healthWrittenAt = new Map<string, number>()
  /** Lanes that had to wait for room in the process, in their order. */
  private readonly blocked = new Set<string>()
  /** Lanes whose next task could not be started since nobody was sure whose it is. */
  private readonly unsure = new Set<string>()
  private inFlight = 0
  private readonly timer: NodeJS.Timeout

  constructor(deps: LanesDeps) {
    this.deps = deps
    this.timer = setInterval(() => this.sweep(), SWEEP_EVERY_MS)
  }

  of(endpointId: string): Lane {
    let lane = this.lanes.get(endpointId)
    if (lane === undefined) {
      lane = new Lane(this.deps.inFlightPerEndpoint, this.deps.healthOf(endpointId) ?? NO_HEALTH)
      this.lanes.set(endpointId, lane)
    }
    return lane
  }

  add(endpointId: string, task: LaneTask): void {
    const lane = this.of(endpointId)
    if (lane.add(task)) this.start(endpointId, lane)
    else task.putOff()
  }

  /** Starts whatever may start now; called when tasks that could not be started may be. */
  pump(): void {
    const unsure = [...this.unsure]
    this.unsure.clear()
    for (const endpointId of unsure) {
      const lane = this.lanes.get(endpointId)
      if (lane !== undefined) this.start(endpointId, lane)
    }
  }

  /** Puts off what an owner's endpoints have waiting: what of a lane is for `pick` to say, which takes it out. */
  putOff(owner: object, pick: (lane: Lane) => readonly LaneTask[]): void {
    for (const lane of this.lanes.values()) if (lane.isOf(owner)) for (const task of pick(lane)) task.putOff()
  }

  /** Takes out what waits and is an owner's. */
  removeOf(owner: object): void {
    for (const lane of this.lanes.values()) lane.removeOf(owner)
  }

  async close(): Promise<void> {
    clearInterval(this.timer)
    await this.writeHealth(true)
  }

  private start(endpointId: string, lane: Lane): void {
    for (;;) {
      if (this.inFlight >= IN_FLIGHT_MAX) {
        this.blocked.add(endpointId)
        return
      }
      const next = lane.take()
      if (next === undefined) {
        if (lane.isHeldBack) this.unsure.add(endpointId)
        return
      }
      this.inFlight++
      next.task.run(() => {
        this.inFlight--
        next.end()
        this.unblock()
        this.start(endpointId, lane)
      })
    }
  }

  private unblock(): void {
    for (const endpointId of this.blocked) {
      this.blocked.delete(endpointId)
      const lane = this.lanes.get(endpointId)
      if (lane !== undefined) this.start(endpointId, lane)
      if (this.inFlight >= IN_FLIGHT_MAX) return
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
