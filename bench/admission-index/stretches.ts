import { PerformanceObserver } from 'node:perf_hooks'

/**
 * Times stretches of calls, a single call being too short for a clock, over several passes that do exactly the same.
 * What the work itself costs comes back in each pass at the same place; what a shared machine takes away does not: on
 * the one where this was written even an empty loop stands still for 10 ms now and then. So of each stretch the
 * quickest pass counts.
 */
export class Stretches {
  /** Longest of all passes, for whatever reason. */
  longestOnceMs = 0
  /** Pauses of the collector, its concurrent work left out. */
  longestCollectionMs = 0
  private readonly quickestMs: Float64Array
  private readonly observer: PerformanceObserver
  private startedMs = 0

  constructor(count: number) {
    this.quickestMs = new Float64Array(count).fill(Number.POSITIVE_INFINITY)
    this.observer = new PerformanceObserver((list) => this.note(list.getEntries()))
    this.observer.observe({ entryTypes: ['gc'] })
  }

  start(): void {
    this.startedMs = performance.now()
  }

  stop(stretch: number): void {
    const ms = performance.now() - this.startedMs
    if (ms > this.longestOnceMs) this.longestOnceMs = ms
    if (ms < (this.quickestMs[stretch] ?? 0)) this.quickestMs[stretch] = ms
  }

  get longestMs(): number {
    return this.quickestMs.reduce((longest, ms) => Math.max(longest, ms), 0)
  }

  /** Of the stretches from ... to - 1. */
  sumMs(from: number, to: number): number {
    return this.quickestMs.subarray(from, to).reduce((sum, ms) => sum + ms, 0)
  }

  /** The observer is notified of collections some event-loop turns after them. */
  async close(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 50))
    this.note(this.observer.takeRecords())
    this.observer.disconnect()
  }

  private note(collections: readonly { readonly duration: number }[]): void {
    for (const { duration } of collections) this.longestCollectionMs = Math.max(this.longestCollectionMs, duration)
  }
}
