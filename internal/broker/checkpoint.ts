import type { KV } from '@nats-io/kv'
import { isLostRace, NotStored, WRONG_LAST_SEQUENCE } from './errors.js'
import { type Publisher, TIMEOUT_MS } from './publisher.js'

/**
 * How far the reader of a log has come. It is written before a batch takes effect, by compare-and-set: whoever loses
 * the race is no longer the owner and must not act.
 */
export interface Progress {
  /** Everything up to this sequence has taken effect. */
  readonly done: number
  /** The instant of the last batch that has taken effect. A later one's is later, so that no two share one. */
  readonly doneMs?: number
  /** The instant of a batch that is being made and not planned yet: what is to be seen as of it or later is under way. */
  readonly reservedMs?: number
  /** The batch that is about to take effect: exactly these messages, whoever forms it again. */
  readonly plan?: Extent
}

/** The messages of a batch, by their first and last sequence, and when it was planned. */
export interface Extent {
  readonly first: number
  readonly last: number
  /** Milliseconds since the epoch. */
  readonly atMs: number
}

/** Somebody else has moved the checkpoint since it was read. */
export class OwnershipLost extends Error {}

/** How far a log's reader has come, for those who only look; undefined where nobody has read it yet. */
export async function readCheckpoint<C extends Progress>(bucket: KV, key: string): Promise<C | undefined> {
  const entry = await bucket.get(key)
  // A deleted key leaves a mark without a value.
  return entry?.operation === 'PUT' ? entry.json<C>() : undefined
}

/** Writes a bucket's entry where its revision is still this one. @returns the new revision; @throws where it is not */
export type UpdateEntry = (key: string, text: string, revision: number) => Promise<number>

/** `KV.update` by way of a publisher, for those who write hundreds of times a second: it costs a quarter of the time. */
export const entryUpdater =
  (publish: Publisher['publish'], bucket: string): UpdateEntry =>
  async (key, text, revision) => {
    const more = { lastSubjectSequence: revision }
    const result = await publish(`$KV.${bucket}.${key}`, Buffer.from(text), '', TIMEOUT_MS, more)
    if (result.kind === 'stored') return result.sequence
    if (result.kind === 'refused' && result.errorCode === WRONG_LAST_SEQUENCE) {
      throw new OwnershipLost(`${key} was moved by another owner`)
    }
    throw new NotStored(`${bucket} did not take ${key}: ${result.kind}`)
  }

/** One owner's hold of a checkpoint. */
export class CheckpointHold<C extends Progress> {
  private readonly bucket: KV
  private readonly update: UpdateEntry
  private readonly key: string
  private current: C
  private currentRevision: number
  private isWritten = true
  private provenAtMs: number
  /** What was sent and not answered: it may have been written. */
  private unanswered: string | undefined

  private constructor(bucket: KV, update: UpdateEntry, key: string, current: C, revision: number, readAtMs: number) {
    this.bucket = bucket
    this.update = update
    this.key = key
    this.current = current
    this.currentRevision = revision
    this.provenAtMs = readAtMs
  }

  /** @param initial written where there is no checkpoint yet */
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

  /** Of what was last read or written here; another process's write changes it. */
  get revision(): number {
    return this.currentRevision
  }

  /** When nobody else had written yet for sure, on the clock of `performance.now()`. */
  get provenAt(): number {
    return this.provenAtMs
  }

  /** Whether everybody can read the value; false after `advance`. */
  get isSaved(): boolean {
    return this.isWritten
  }

  /** Moves on without writing; the next `save` writes it. Until then a new owner carries the last plan out again. */
  advance(next: C): void {
    this.current = next
    this.isWritten = false
  }

  /**
   * Safe to repeat with the same value after a failure, though the broker may have written it and died before it said so.
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
      throw new OwnershipLost(`${this.key} was moved by another owner`, { cause })
    }
  }
}
