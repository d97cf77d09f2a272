import { MirrorBehind } from './errors.js'

/** A healthy watch delivers a write within milliseconds. One that has not by then may be dead, and is renewed. */
const RENEW_AFTER_MS = 1_000
const REACHED_AFTER_MS_MAX = 5_000

/** The newest revision that the mirror of a bucket holds, and the callers that wait for a later one. */
export class RevisionWaits {
  private revision = 0
  private readonly waiting = new Set<() => void>()

  get newest(): number {
    return this.revision
  }

  advance(revision: number): void {
    this.revision = Math.max(this.revision, revision)
    for (const check of this.waiting) check()
  }

  /**
   * @param renew called when the revision is late, to replace a watch that may be dead
   * @throws MirrorBehind
   */
  reached(revision: number, renew: () => Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.revision >= revision) return resolve()
      const settle = (): void => {
        this.waiting.delete(check)
        clearTimeout(renewal)
        clearTimeout(deadline)
      }
      const check = (otherwise?: () => void): void => {
        if (this.revision < revision) return otherwise?.()
        settle()
        resolve()
      }
      const fail = (cause?: unknown): void => {
        settle()
        reject(
          new MirrorBehind(`the mirror of a bucket is at revision ${this.revision}, not yet at ${revision}`, { cause }),
        )
      }
      const renewal = setTimeout(() => renew().catch(fail), RENEW_AFTER_MS)
      // Entries that arrived meanwhile are applied first: this process may have been stalled.
      const deadline = setTimeout(() => setImmediate(() => check(fail)), REACHED_AFTER_MS_MAX)
      this.waiting.add(check)
    })
  }
}
