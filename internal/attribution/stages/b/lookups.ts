import type { Logger } from '../../../telemetry/log.js'

export interface LookupsDeps {
  /** The latest instant up to which the read model is complete. */
  readonly completeAsOf: () => Promise<number>
  /** Monotonic clock, milliseconds. */
  readonly ticks: () => number
  readonly log: Logger
}

/** Maximum total wait of a batch for the read model. */
const BATCH_MS_MAX = 500

/**
 * The inference stage's lookups in the read model for one batch. The batch is attributed with the results that arrive
 * in time: when ClickHouse is slow, or the batch has very many tenants, calls are left to allocation and processing
 * does not stall.
 */
export class Lookups {
  private readonly deps: LookupsDeps
  private leftMs = BATCH_MS_MAX
  private instant: Promise<number> | undefined

  constructor(deps: LookupsDeps) {
    this.deps = deps
  }

  /** The same instant for the whole batch. */
  completeAsOf(): Promise<number> {
    this.instant ??= this.deps.completeAsOf()
    return this.instant
  }

  /** @returns undefined on failure or timeout; after a timeout the query continues for other callers */
  async within<T>(work: () => Promise<T>): Promise<T | undefined> {
    const { ticks, log } = this.deps
    if (this.leftMs <= 0) return undefined
    const from = ticks()
    let timer: NodeJS.Timeout | undefined
    let isLate = false
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => {
        isLate = true
        resolve(undefined)
      }, this.leftMs)
    })
    try {
      return await Promise.race([
        work().catch((cause: unknown) => {
          log.warn({ err: cause }, 'stage B lookup in the read model failed')
          return undefined
        }),
        late,
      ])
    } finally {
      clearTimeout(timer)
      // A timer may fire slightly before its time by the clock; the budget is still used up.
      this.leftMs = isLate ? 0 : this.leftMs - (ticks() - from)
    }
  }
}
