import type { KV } from '@nats-io/kv'
import { isLostRace } from '../broker/errors.js'
import type { StoredJob } from './job.js'

/** Another exporter has the job now. */
export class JobLost extends Error {}

/** One exporter's hold of a job: it ends when another writes, by compare-and-set. */
export class JobHold {
  private readonly bucket: KV
  private current: StoredJob
  private revision: number

  private constructor(bucket: KV, current: StoredJob, revision: number) {
    this.bucket = bucket
    this.current = current
    this.revision = revision
  }

  /** @returns undefined when there is no such job */
  static async take(bucket: KV, id: string): Promise<JobHold | undefined> {
    const entry = await bucket.get(id)
    return entry?.operation === 'PUT' ? new JobHold(bucket, entry.json<StoredJob>(), entry.revision) : undefined
  }

  get job(): StoredJob {
    return this.current
  }

  /** @throws JobLost when another has written since */
  async save(change: Partial<StoredJob>): Promise<void> {
    const next = { ...this.current, ...change }
    try {
      this.revision = await this.bucket.update(next.id, JSON.stringify(next), this.revision)
      this.current = next
    } catch (cause) {
      throw isLostRace(cause) ? new JobLost(`another exporter has ${next.id}`, { cause }) : cause
    }
  }
}
