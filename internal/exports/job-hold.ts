import type { KV } from '@nats-io/kv'
import { isLostRace } from '../broker/errors.js'
import type { StoredJob } from './export-job.js'

/** Another exporter has taken over the job. */
export class JobLost extends Error {}

/** One exporter's optimistic lock on a job (compare-and-set): it is lost as soon as another exporter writes. */
export class JobHold {
  private readonly bucket: KV
  private current: StoredJob
  private revision: number

  private constructor(bucket: KV, current: StoredJob, revision: number) {
    this.bucket = bucket
    this.current = current
    this.revision = revision
  }

  /** @returns undefined when the job does not exist */
  static async take(bucket: KV, id: string): Promise<JobHold | undefined> {
    const entry = await bucket.get(id)
    return entry?.operation === 'PUT' ? new JobHold(bucket, entry.json<StoredJob>(), entry.revision) : undefined
  }

  get job(): StoredJob {
    return this.current
  }

  /** @throws JobLost when another exporter has written in the meantime */
  async save(change: Partial<StoredJob>): Promise<void> {
    const next = { ...this.current, ...change }
    try {
      this.revision = await this.bucket.update(next.id, JSON.stringify(next), this.revision)
      this.current = next
    } catch (cause) {
      throw isLostRace(cause) ? new JobLost(`another exporter has taken over ${next.id}`, { cause }) : cause
    }
  }
}
