import type { KV } from '@nats-io/kv'
import { isLostRace, NotStored, WRONG_LAST_SEQUENCE } from './errors.js'
import { type Publisher, TIMEOUT_MS } from './publisher.js'

/**
 * A log reader's progress. It is written by compare-and-set before a batch takes effect: a reader that loses the race
 * is no longer the owner and must not apply the batch.
 */
export interface Progress {
  /** Everything up to this sequence has taken effect. */
  readonly done: number
  /** The instant of the last batch that has taken effect. Instants rise strictly from batch to batch. */
  readonly doneMs?: number
  /** The instant of a batch that is prepared but not yet planned: a snapshot at or after it would be incomplete. */
  readonly reservedMs?: number
  /** The batch that is about to take effect: exactly these messages, also when another process prepares it again. */
  readonly plan?: Extent
}

/** The messages of a batch, by their first and last sequence, and when it was planned. */
export interface Extent {
  readonly first: number
  readonly last: number
  /** Milliseconds since the epoch. */
  readonly atMs: number
}

/** Another process has written the checkpoint since it was read. */
export class OwnershipLost extends Error {}

/** A log's checkpoint, for reading only; undefined when nobody has read the log yet. */
export async function readCheckpoint<C extends Progress>(bucket: KV, key: string): Promise<C | undefined> {
  const entry = await bucket.get(key)
  // A deleted key leaves a marker without a value.
  return entry?.operation === 'PUT' ? entry.json<C>() : undefined
}

/** Writes a bucket's entry if its revision is still `revision`. @returns the new revision; @throws when it is not */
export type UpdateEntry = (key: string, text: string, revision: number) => Promise<number>

/** `KV.update` through a publisher, for writers with hundreds of writes per second: it takes a quarter of the time. */
export const entryUpdater =
  (publish: Publisher['publish'], bucket: string): UpdateEntry =>
  async (key, text, revision) => {
    const more = { lastSubjectSequence: revision }
    const result = await publish(`$KV.${bucket}.${key}`, Buffer.from(text), '', TIMEOUT_MS, more)
    if (result.kind === 'stored') return result.sequence
    if (result.kind === 'refused' && result.errorCode === WRONG_LAST_SEQUENCE) {
      throw new OwnershipLost(`${key} was written by another owner`)
    }
    throw new NotStored(`${bucket} did not store ${key}: ${result.kind}`)
  }

/** A checkpoint as its owner reads and writes it, fenced by the entry's revision. */
export class CheckpointHold<C extends Progress> {
  private readonly bucket: KV
  private readonly update: UpdateEntry
  private readonly key: string
  private current: C
  private currentRevision: number
  private isWritten = true
  private provenAtMs: number
  /** The last write that got no reply: it may have been stored. */
  private unanswered: string | undefined

  private constructor(bucket: KV, update: UpdateEntry, key: string, current: C, revision: number, readAtMs: number) {
    this.bucket = bucket
    this.update = update
    this.key = key
    this.current = current
    this.currentRevision = revision
    this.provenAtMs = readAtMs
  }

  /** @param initial written when there is no checkpoint yet */
  static async take<C extends Progress>(
    bucket: KV,
    key: string,
    initial: C,
    update: UpdateEntry = (name, text, revision) => bucket.update(name, text, revision),
  ): Promise<CheckpointHold<C>> {
    const askedAtMs = performance.now()
    const entry = await bucket.get(key)
    if (entry?.operation === 'PUT') {
      return new CheckpointHold(bucket, update, key, entry.json<C>(), entry.revision, askedAtMs)
    }
    try {
      const revision = await bucket.create(key, JSON.stringify(initial))
      return new CheckpointHold(bucket, update, key, initial, revision, askedAtMs)
    } catch (cause) {
      throw isLostRace(cause) ? new OwnershipLost(`${key} was created by another owner`, { cause }) : cause
    }
  }

  get value(): C {
    return this.current
  }

  /** The revision that was last read or written here; a write by another process changes it. */
  get revision(): number {
    return this.currentRevision
  }

  /** The last time at which certainly no other process had written, by `performance.now()`. */
  get provenAt(): number {
    return this.provenAtMs
  }

  /** Whether the value is stored; false after `advance`. */
  get isSaved(): boolean {
    return this.isWritten
  }

  /** Sets the value; the next `save` writes it. Until then, a new owner would apply the last plan again. */
  advance(next: C): void {
    this.current = next
    this.isWritten = false
  }

  /**
   * Safe to repeat with the same value after a failure, even when the broker has stored it and died before it replied.
   *
   * @throws OwnershipLost when another owner has written since
   */
  async save(next: C): Promise<void> {
    const text = JSON.stringify(next)
    const askedAtMs = performance.now()
    this.currentRevision = await this.write(text)
    this.provenAtMs = askedAtMs
    this.unanswered = undefined
    this.current = next
    this.isWritten = true
  }

  private async write(text: string): Promise<number> {
    try {
      return await this.update(this.key, text, this.currentRevision)
    } catch (cause) {
      if (!(cause instanceof OwnershipLost) && !isLostRace(cause)) {
        this.unanswered = text
        throw cause
      }
      const entry = this.unanswered === text ? await this.bucket.get(this.key) : null
      if (entry?.operation === 'PUT' && entry.string() === text) return entry.revision
      throw new OwnershipLost(`${this.key} was written by another owner`, { cause })
    }
  }
}
