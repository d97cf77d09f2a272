import type { Logger } from '../../../telemetry/log.js'

export interface LookUpsDeps {
  /** An instant as of which the read model is complete, and as fresh as that can be. */
  readonly completeAsOf: () => Promise<number>
  /** Milliseconds of the wall, which only rise. */
  readonly ticks: () => number
  readonly log: Logger
}

/** What a batch waits for the read model at most, in all. */
const BATCH_MS_MAX = 500

/**
 * What stage B looks up in the read model for one batch. It is attributed with what is known in time: a read model that
 * is slow, or a batch of very many tenants, leaves calls to allocation and stalls nothing.
 */
export class LookUps {
  private readonly deps: LookUpsDeps
  private leftMs = BATCH_MS_MAX
  private instant: Promise<number> | undefined

  constructor(deps: LookUpsDeps) {
    this.deps = deps
  }

  /** The same instant for the whole batch. */
  completeAsOf(): Promise<number> {
    this.instant ??= this.deps.completeAsOf()
    return this.instant
  }

  /** @returns undefined when it fails, or does not come in time; it then goes on for whoever else wants it */
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
          log.warn({ err: cause }, 'the read model does not answer stage B')
          return undefined
        }),
        late,
      ])
    } finally {
      clearTimeout(timer)
      // A timer may fire a little before the clock says so: nothing is left all the same.
      this.leftMs = isLate ? 0 : this.leftMs - (ticks() - from)
    }
  }
}
