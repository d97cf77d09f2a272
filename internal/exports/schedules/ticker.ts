import { setTimeout as sleep } from 'node:timers/promises'
import { isDue, type RunnerDeps, runSchedule } from './runner.js'

export interface TickerDeps extends RunnerDeps {
  /** Ids of progress whose schedule was deleted. */
  readonly orphans: () => readonly string[]
}

const TICK_MS = 2_000
/**
 * Schedules that an exporter works on at the same time, each of another tenant: a slow bucket holds up no other tenant.
 */
const AT_ONCE = 4
/** How long a schedule is left alone after an unexpected error. */
const PAUSE_MS = 30_000

/** Looks for due schedules at an interval until `signal` aborts. Resolves when no delivery is in flight any more. */
export async function tickUntil(deps: TickerDeps, signal: AbortSignal): Promise<void> {
  const ticker = new Ticker(deps)
  while (!signal.aborted) {
    await ticker.start(signal)
    await sleep(TICK_MS, undefined, { signal }).catch(() => undefined)
  }
  await ticker.idle()
}

/** Starts what is due, as far as there is capacity. */
export class Ticker {
  private readonly deps: TickerDeps
  /** By tenant. */
  private readonly inFlight = new Map<string, Promise<void>>()
  private readonly pausedUntilMs = new Map<string, number>()

  constructor(deps: TickerDeps) {
    this.deps = deps
  }

  async start(signal: AbortSignal): Promise<void> {
    const { deps } = this
    for (const id of deps.orphans()) await this.guarded(id, () => runSchedule(id, deps, signal))
    for (const schedule of deps.schedules()) {
      const { id, tenant_id: tenantId } = schedule
      if (this.inFlight.size >= AT_ONCE) return
      if (this.inFlight.has(tenantId)) continue
      if ((this.pausedUntilMs.get(id) ?? 0) > deps.clock()) continue
      await this.guarded(id, async () => {
        if (!(await isDue(schedule, deps))) return
        const work = this.guarded(id, () => runSchedule(id, deps, signal)).finally(() => this.inFlight.delete(tenantId))
        this.inFlight.set(tenantId, work)
      })
    }
  }

  /** Resolves when nothing is in flight. */
  async idle(): Promise<void> {
    await Promise.all(this.inFlight.values())
  }

  private async guarded(id: string, work: () => Promise<void>): Promise<void> {
    try {
      await work()
      this.pausedUntilMs.delete(id)
    } catch (cause) {
      const { clock, log } = this.deps
      this.pausedUntilMs.set(id, clock() + PAUSE_MS)
      log.warn({ err: cause, schedule_id: id }, 'could not run an export schedule; will retry')
    }
  }
}
