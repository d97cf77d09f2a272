import { PerformanceObserver } from 'node:perf_hooks'

/**
 * Times stretches of calls: single calls are too short for a clock. On a machine that others use too, a stretch's
 * wall time says how long it was kept off the processor; its processor time says what the calls themselves took
 * (with the collector's threads, if they ran meanwhile).
 */
export class Stretches {
  longestWallMs = 0
  longestCpuMs = 0
  /** Of the collector's pauses, concurrent work left out. */
  longestCollectionMs = 0
  private startedMs = 0
  private startedCpuUs = 0
  private readonly observer: PerformanceObserver

  constructor() {
    this.observer = new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) {
        this.longestCollectionMs = Math.max(this.longestCollectionMs, duration)
      }
    })
    this.observer.observe({ entryTypes: ['gc'] })
  }

  start(): void {
    this.startedMs = performance.now()
    this.startedCpuUs = cpuUs()
  }

  stop(): void {
    const cpuMs = (cpuUs() - this.startedCpuUs) / 1_000
    const wallMs = performance.now() - this.startedMs
    if (cpuMs > this.longestCpuMs) this.longestCpuMs = cpuMs
    if (wallMs > this.longestWallMs) this.longestWallMs = wallMs
  }

  /** After an event-loop turn, when the observer has been told of everything. */
  async close(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    this.observer.disconnect()
  }
}

export function cpuUs(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}
