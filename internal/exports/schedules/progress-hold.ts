import type { KV } from '@nats-io/kv'
import { isLostRace } from '../../broker/errors.js'
import { initialProgress, type StoredProgress } from './progress.js'
import type { Schedule } from './schedule.js'

/** Another exporter has taken over the schedule. */
export class ClaimLost extends Error {}

/** An exporter that has not renewed its claim for this long is considered dead. */
export const CLAIM_MS = 15_000

/**
 * One exporter's claim on a schedule: while it is renewed, no other exporter works on the schedule, and every write is
 * compare-and-set, so that a stale owner writes nothing.
 */
export class ProgressHold {
  private readonly bucket: KV
  private readonly by: string
  private readonly clock: () => number
  private current: StoredProgress
  private revision: number
  /** Writes of the same hold follow each other. */
  private last: Promise<unknown> = Promise.resolve()

  private constructor(bucket: KV, by: string, clock: () => number, current: StoredProgress, revision: number) {
    this.bucket = bucket
    this.by = by
    this.clock = clock
    this.current = current
    this.revision = revision
  }

  /**
   * @param by unique among exporters
   * @returns undefined when another exporter has the claim
   */
  static async claim(
    bucket: KV,
    schedule: Pick<Schedule, 'id' | 'tenant_id'>,
    by: string,
    clock: () => number,
  ): Promise<ProgressHold | undefined> {
    const nowMs = clock()
    const entry = await bucket.get(schedule.id)
    const found = entry?.operation === 'PUT' ? entry.json<StoredProgress>() : undefined
    const { claim } = found ?? {}
    if (claim != null && claim.by !== by && claim.until_ms > nowMs) return undefined
    const claimed = { ...(found ?? initialProgress(schedule)), claim: { by, until_ms: nowMs + CLAIM_MS } }
    const text = JSON.stringify(claimed)
    try {
      const revision =
        found === undefined || entry === null
          ? await bucket.create(schedule.id, text)
          : await bucket.update(schedule.id, text, entry.revision)
      return new ProgressHold(bucket, by, clock, claimed, revision)
    } catch (cause) {
      if (isLostRace(cause)) return undefined
      throw cause
    }
  }

  get progress(): StoredProgress {
    return this.current
  }

  /** Saves a change and extends the claim. @throws ClaimLost */
  save(change: (progress: StoredProgress) => StoredProgress): Promise<void> {
    return this.write((progress) => ({
      ...change(progress),
      claim: { by: this.by, until_ms: this.clock() + CLAIM_MS },
    }))
  }

  /** @throws ClaimLost */
  release(): Promise<void> {
    return this.write((progress) => ({ ...progress, claim: null }))
  }

  private write(change: (progress: StoredProgress) => StoredProgress): Promise<void> {
    const written = this.last.then(async () => {
      const next = change(this.current)
      try {
        this.revision = await this.bucket.update(next.id, JSON.stringify(next), this.revision)
      } catch (cause) {
        throw isLostRace(cause) ? new ClaimLost('another exporter has taken over', { cause }) : cause
      }
      this.current = next
    })
    this.last = written.catch(() => undefined)
    return written
  }
}
