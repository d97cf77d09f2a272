import { type SpoolFile, type SpoolFiles, writeAll } from './files.js'
import { asError } from './incident.js'
import { type Segment, segmentPath } from './segment.js'

/** `stored` is durable: it survives kill -9 and a power loss. `failed` carries ENOSPC, EIO and the like as its code. */
export type Appended =
  | { readonly kind: 'stored' }
  | { readonly kind: 'full' }
  | { readonly kind: 'failed'; readonly error: Error }

interface Waiting {
  readonly bytes: readonly Buffer[]
  readonly size: number
  readonly settle: (appended: Appended) => void
}

const STORED: Appended = { kind: 'stored' }

/** Limit of bytes per write, except that a single append is never split. */
const BATCH_BYTES_MAX = 4 * 1024 * 1024

/**
 * Writes records to the newest segment, one write and one fsync at a time: records added while they are in flight
 * share the next ones.
 */
export class Appender {
  private readonly folder: string
  private readonly files: SpoolFiles
  /** Shared with the drain, which takes segments from its front. */
  private readonly segments: Segment[]
  private readonly segmentBytes: number
  private nextNumber: number
  private active: { readonly segment: Segment; readonly file: SpoolFile } | undefined
  private queue: Waiting[] = []
  private isFlushing = false
  private whenFlushed: (() => void)[] = []
  /** Bytes that wait to be written. */
  queuedBytes = 0

  /** @param nextNumber of the next segment; recovered segments are not written to again */
  constructor(folder: string, files: SpoolFiles, segments: Segment[], segmentBytes: number, nextNumber: number) {
    this.folder = folder
    this.files = files
    this.segments = segments
    this.segmentBytes = segmentBytes
    this.nextNumber = nextNumber
  }

  get isBusy(): boolean {
    return this.isFlushing
  }

  /** @param records encoded; they are stored together or, short of a crash in between, not at all */
  append(records: readonly Buffer[], size: number): Promise<Appended> {
    return new Promise((settle) => {
      this.queue.push({ bytes: records, size, settle })
      this.queuedBytes += size
      if (this.isFlushing) return
      this.isFlushing = true
      // Deferred: records added in this same turn share the first write.
      queueMicrotask(() => void this.flush())
    })
  }

  /** Resolves when the write in flight has settled. */
  flushed(): Promise<void> {
    if (!this.isFlushing) return Promise.resolve()
    return new Promise((resolve) => {
      this.whenFlushed.push(resolve)
    })
  }

  /** Stops writing to a segment, so that it can be removed; the next append begins another one. */
  async retire(segment: Segment): Promise<void> {
    if (this.active?.segment !== segment) return
    const { file } = this.active
    this.active = undefined
    await file.close()
  }

  /** Waits for the queued records, and closes the file. */
  async close(): Promise<void> {
    while (this.isFlushing) await this.flushed()
    if (this.active !== undefined) await this.retire(this.active.segment)
  }

  private async flush(): Promise<void> {
    while (this.queue.length > 0) {
      const batch = this.takeBatch()
      const size = batch.reduce((sum, waiting) => sum + waiting.size, 0)
      const appended = await this.write(batch, size)
      this.queuedBytes -= size
      if (this.queue.length === 0) this.isFlushing = false
      for (const { settle } of batch) settle(appended)
      const waiters = this.whenFlushed
      this.whenFlushed = []
      for (const resolve of waiters) resolve()
    }
  }

  private takeBatch(): Waiting[] {
    let size = 0
    let count = 0
    for (const waiting of this.queue) {
      size += waiting.size
      if (size > BATCH_BYTES_MAX && count > 0) break
      count++
    }
    return this.queue.splice(0, count)
  }

  private async write(batch: readonly Waiting[], size: number): Promise<Appended> {
    const records = batch.flatMap(({ bytes }) => bytes)
    try {
      const { segment, file } = await this.activeFor(size)
      try {
        await writeAll(file, Buffer.concat(records, size), segment.size)
      } catch (cause) {
        await this.cutBack(segment, file)
        throw cause
      }
      try {
        await file.datasync()
      } catch (cause) {
        // After a failed fsync the kernel may call the lost pages clean, and a second one would succeed: this file is
        // not written to again.
        await this.cutBack(segment, file)
        await this.abandon(segment)
        throw cause
      }
      segment.size += size
      segment.records += records.length
      return STORED
    } catch (cause) {
      return { kind: 'failed', error: asError(cause) }
    }
  }

  /** @throws the system's error when no new segment can be created */
  private async activeFor(size: number): Promise<{ readonly segment: Segment; readonly file: SpoolFile }> {
    if (this.active !== undefined && this.active.segment.size > 0) {
      if (this.active.segment.size + size > this.segmentBytes) await this.retire(this.active.segment)
    }
    if (this.active !== undefined) return this.active
    const number = this.nextNumber++
    const path = segmentPath(this.folder, number)
    const file = await this.files.create(path)
    try {
      await this.files.syncFolder(this.folder)
    } catch (cause) {
      await file.close()
      await this.files.remove(path)
      throw cause
    }
    const segment: Segment = { number, path, size: 0, deliveredTo: 0, records: 0 }
    this.segments.push(segment)
    this.active = { segment, file }
    return this.active
  }

  /**
   * Removes the bytes that a failed write left after the last good record. If even that fails, the file is not written
   * to again: a reader stops at the segment's size. After a restart the rest may be delivered; the event_id then
   * deduplicates the repeat that the sender was asked for.
   */
  private async cutBack(segment: Segment, file: SpoolFile): Promise<void> {
    try {
      await file.truncate(segment.size)
    } catch {
      await this.abandon(segment)
    }
  }

  private async abandon(segment: Segment): Promise<void> {
    await this.retire(segment).catch(() => undefined)
    if (segment.size > 0) return
    const at = this.segments.indexOf(segment)
    if (at >= 0) this.segments.splice(at, 1)
    await this.files.remove(segment.path).catch(() => undefined)
  }
}
