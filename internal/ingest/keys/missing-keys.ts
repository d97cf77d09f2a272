import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '../../telemetry/log.js'
import { KEY_WINDOW_MS } from './open-keys.js'

export interface MissingKeysDeps {
  /** Whether the read model has a key that was admitted from one instant on and before another. */
  readonly hasKeysBetween: (fromMs: number, toMs: number) => Promise<boolean>
  readonly clock: () => number
  readonly log: Pick<Logger, 'info' | 'warn'>
  /** Ends the attempts to ask the read model. */
  readonly signal: AbortSignal
}

/** A key is admitted this long before KEYS has it, unless it waits in a spool. */
export const ON_THE_WAY_MS = 10_000
const AGAIN_MS = 1_000

/**
 * Until when Idempotency-Keys may be missing in the index: until KEYS and the end of the log are read, and for a day if
 * KEYS no longer had all of them then, because it was full, purged, made anew or restored from a backup. So long a key that
 * the index does not know is looked for in the read model.
 */
export class MissingKeys {
  private readonly deps: MissingKeysDeps
  private isRead = false
  /** Gaps of which the read model has not said yet whether keys came meanwhile. */
  private asked = 0
  /** Until when keys of the others may be missing. */
  private untilMs = Number.NEGATIVE_INFINITY

  constructor(deps: MissingKeysDeps) {
    this.deps = deps
  }

  arePossible(nowMs: number): boolean {
    return !this.isRead || this.asked > 0 || nowMs < this.untilMs
  }

  /** Called once all that KEYS and the end of the log had at the start is in the index. */
  onCaughtUp(): void {
    this.isRead = true
  }

  /**
   * Called where KEYS does not go on behind the message read last. Keys written meanwhile may be missing, unless the
   * read model has none either.
   *
   * @param fromMs of the message read last; 0: none
   * @param toMs of the one that came instead
   */
  onGap(fromMs: number, toMs: number): void {
    const since = Math.max(fromMs, this.deps.clock() - KEY_WINDOW_MS)
    const before = toMs - ON_THE_WAY_MS
    if (before <= since) return
    this.asked++
    void this.hasAny(since, before).then((hasAny) => {
      this.asked--
      if (!hasAny) return
      this.untilMs = Math.max(this.untilMs, toMs + KEY_WINDOW_MS)
      this.deps.log.info({ until: new Date(this.untilMs) }, 'new keys are also looked for in the read model')
    })
  }

  private async hasAny(fromMs: number, toMs: number): Promise<boolean> {
    const { hasKeysBetween, log, signal } = this.deps
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        return await hasKeysBetween(fromMs, toMs)
      } catch (cause) {
        if (failures % 60 === 0) log.warn({ err: cause }, 'could not find out whether keys are missing; will retry')
      }
      await sleep(AGAIN_MS, undefined, { signal }).catch(() => undefined)
    }
    return true
  }
}
