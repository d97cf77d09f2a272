import { dirname } from 'node:path'
import { type Appended, Appender } from './appender.js'
import { localFiles, type SpoolFile, type SpoolFiles } from './files.js'
import { asError, type SpoolIncident } from './incident.js'
import { claimFolder } from './ownership.js'
import { openPosition, type PositionFile } from './position.js'
import { type Found, readRecords } from './read-records.js'
import { recoverSegments } from './recover.js'
import { bytesOf, recordsOf, type Segment } from './segment.js'
import { encodeRecord, RECORD_BYTES_MAX, type SpoolRecord } from './spool-record.js'

export interface SpoolSettings {
  /** Of this spool alone, on a disk of this machine. */
  readonly folder: string
  /** Limit of bytes on disk; further appends return `full`. Delivered records count until their segment is removed. */
  readonly bytesMax: number
  /** A new file begins when the newest would become larger. Space is freed one file at a time. */
  readonly segmentBytes: number
  readonly onIncident: (incident: SpoolIncident) => void
  readonly files?: SpoolFiles
}

export type Opened =
  | { readonly kind: 'opened'; readonly spool: Spool }
  /** A living process has the folder. */
  | { readonly kind: 'taken'; readonly pid: number }
  | { readonly kind: 'failed'; readonly error: Error }

/** Why a drain ended. Records delivered before stay delivered in every case. */
export type Drained =
  /** Nothing waits, and nothing is being appended. */
  | { readonly kind: 'empty'; readonly delivered: number }
  | { readonly kind: 'refused'; readonly delivered: number }
  | { readonly kind: 'closed'; readonly delivered: number }
  /** The disk could not be read, or `deliver` rejected. */
  | { readonly kind: 'failed'; readonly delivered: number; readonly error: Error }

/** @returns how many of the first records the log has now; the callee may keep their payloads */
export type Deliver = (records: readonly SpoolRecord[]) => Promise<number>

/** @param deliver whether the log has a record now */
export const oneByOne =
  (deliver: (record: SpoolRecord) => Promise<boolean>): Deliver =>
  async (records) => {
    for (const [i, record] of records.entries()) if (!(await deliver(record))) return i
    return records.length
  }

/** Records are delivered together up to this size, so that few messages and saved positions take many of them along. */
const TOGETHER_BYTES_MAX = 1024 * 1024

/** Memory for records waiting to be written, when the disk is slower than the senders. */
const QUEUED_BYTES_MAX = 64 * 1024 * 1024

/**
 * Opens the spool of one gateway: it stores messages, durable and in order, while the log cannot be reached.
 *
 * Claims the folder, creating it if it is missing, and recovers the records of an earlier process: every record whose
 * append was answered `stored` and that is not delivered yet.
 */
export async function openSpool(settings: SpoolSettings): Promise<Opened> {
  const { folder, onIncident, files = localFiles } = settings
  try {
    await files.makeFolder(folder)
    await files.syncFolder(dirname(folder))
  } catch (cause) {
    return { kind: 'failed', error: asError(cause) }
  }
  const claim = await claimFolder(folder)
  if (claim.kind !== 'owned') return claim
  let position: PositionFile | undefined
  try {
    position = await openPosition(folder, files)
    const segments = await recoverSegments(folder, files, position.saved, onIncident)
    return { kind: 'opened', spool: new Spool(settings, files, segments, position, claim.release) }
  } catch (cause) {
    await position?.close().catch(() => undefined)
    await claim.release()
    return { kind: 'failed', error: asError(cause) }
  }
}

/** An open spool; see `openSpool`. */
export class Spool {
  readonly folder: string
  private readonly settings: SpoolSettings
  private readonly files: SpoolFiles
  private readonly segments: Segment[]
  private readonly position: PositionFile
  private readonly appender: Appender
  private readonly release: () => Promise<void>
  private draining: Promise<Drained> | undefined
  private isClosed = false

  constructor(
    settings: SpoolSettings,
    files: SpoolFiles,
    segments: Segment[],
    position: PositionFile,
    release: () => Promise<void>,
  ) {
    const { folder, segmentBytes } = settings
    this.folder = folder
    this.settings = settings
    this.files = files
    this.segments = segments
    this.position = position
    this.release = release
    // Higher than the saved position's too: a segment of that number would count as delivered.
    const nextNumber = Math.max(position.saved.segment, segments.at(-1)?.number ?? 0) + 1
    this.appender = new Appender(folder, files, segments, segmentBytes, nextNumber)
  }

  /** On disk and on the way there. */
  get bytes(): number {
    return bytesOf(this.segments) + this.appender.queuedBytes
  }

  /** Records that are stored and not delivered. */
  get count(): number {
    return recordsOf(this.segments)
  }

  /** Nothing waits and nothing is being appended: a message sent to the log now overtakes no other. */
  get isEmpty(): boolean {
    return this.count === 0 && !this.appender.isBusy
  }

  /** @param bytes of records as they are encoded */
  hasCapacityFor(bytes: number): boolean {
    return this.bytes + bytes <= this.settings.bytesMax && this.appender.queuedBytes + bytes <= QUEUED_BYTES_MAX
  }

  /**
   * Stores records behind all others, together. Resolves when they are durable, and then never loses them; resolves at
   * once with `full`. After `failed` some records may still be on disk: a crash in mid-write can leave them.
   */
  async append(records: readonly SpoolRecord[]): Promise<Appended> {
    if (this.isClosed) return { kind: 'failed', error: new Error('the spool is closed') }
    const encoded: Buffer[] = []
    let size = 0
    for (const record of records) {
      const bytes = encodeRecord(record)
      if (bytes === undefined) {
        return { kind: 'failed', error: new RangeError(`a record has at most ${RECORD_BYTES_MAX} bytes`) }
      }
      encoded.push(bytes)
      size += bytes.length
    }
    if (!this.hasCapacityFor(size)) return { kind: 'full' }
    return this.appender.append(encoded, size)
  }

  /** The records that wait, oldest first. Not while it is drained: a drain removes segments. */
  async *records(): AsyncGenerator<SpoolRecord> {
    for (const { path, deliveredTo, size } of this.segments) {
      const file = await this.files.open(path)
      try {
        for await (const found of readRecords(file, deliveredTo, size)) if (found.kind === 'record') yield found.record
      } finally {
        await file.close()
      }
    }
  }

  /**
   * Delivers records, some together, oldest first, until none is left or some are refused; records appended
   * meanwhile come last. A segment is removed once all of it is delivered.
   *
   * The position is saved after each delivery: a kill -9 repeats at most the records in flight.
   *
   * @throws Error when a drain is already running
   */
  drain(deliver: Deliver): Promise<Drained> {
    if (this.draining !== undefined) throw new Error('the spool is already being drained')
    this.draining = this.drainAll(deliver).finally(() => {
      this.draining = undefined
    })
    return this.draining
  }

  /**
   * Waits for appends and deliveries in flight, and releases the folder. An empty spool's folder is removed, so that
   * gateways do not leave folders behind.
   */
  async close(): Promise<void> {
    if (this.isClosed) return
    this.isClosed = true
    await this.draining
    await this.appender.close()
    if (this.count > 0) {
      await this.position.close()
      await this.release()
      return
    }
    for (const { path } of this.segments.splice(0)) await this.files.remove(path)
    await this.position.remove()
    await this.release()
    // Another process may just have claimed it: then it is not empty, and stays.
    await this.files.removeFolder(this.folder).catch(() => undefined)
  }

  private async drainAll(deliver: Deliver): Promise<Drained> {
    let delivered = 0
    const counted: Deliver = async (records) => {
      const taken = await deliver(records)
      delivered += taken
      return taken
    }
    try {
      for (;;) {
        const [segment] = this.segments
        if (segment === undefined) {
          if (!this.appender.isBusy) return { kind: 'empty', delivered }
          await this.appender.flushed()
          continue
        }
        const stop = await this.drainSegment(segment, counted)
        if (stop !== undefined) return { kind: stop, delivered }
      }
    } catch (cause) {
      return { kind: 'failed', delivered, error: asError(cause) }
    }
  }

  /** @returns why it stopped before the segment's end; undefined when the segment is delivered and removed */
  private async drainSegment(segment: Segment, deliver: Deliver): Promise<'refused' | 'closed' | undefined> {
    const file = await this.files.open(segment.path)
    try {
      for (;;) {
        const stop = await this.deliverFrom(segment, file, deliver)
        if (stop !== undefined) return stop
        if (segment.deliveredTo < segment.size) continue
        // Only the newest segment is written to, and only while the appender is busy.
        if (segment !== this.segments.at(-1) || !this.appender.isBusy) break
        await this.appender.flushed()
      }
      await this.appender.retire(segment)
    } finally {
      await file.close()
    }
    await this.files.remove(segment.path)
    const at = this.segments.indexOf(segment)
    if (at >= 0) this.segments.splice(at, 1)
    return undefined
  }

  private async deliverFrom(
    segment: Segment,
    file: SpoolFile,
    deliver: Deliver,
  ): Promise<'refused' | 'closed' | undefined> {
    for await (const found of together(readRecords(file, segment.deliveredTo, segment.size))) {
      if (this.isClosed) return 'closed'
      if ('damaged' in found) {
        const { offset, end } = found.damaged
        this.settings.onIncident({ kind: 'damage_skipped', segment: segment.number, offset, bytes: end - offset })
        await this.savePosition(segment, end)
        continue
      }
      const taken = await deliver(found.records.map(({ record }) => record))
      segment.records -= taken
      const last = found.records[taken - 1]
      if (last !== undefined) await this.savePosition(segment, last.end)
      if (taken < found.records.length) return 'refused'
    }
    return undefined
  }

  private async savePosition(segment: Segment, offset: number): Promise<void> {
    segment.deliveredTo = offset
    try {
      await this.position.save({ segment: segment.number, offset })
    } catch (cause) {
      // On a failing disk a repeated delivery, which is deduplicated, is better than a lost record.
      this.settings.onIncident({ kind: 'position_not_saved', error: asError(cause) })
    }
  }
}

type FoundRecord = Extract<Found, { readonly kind: 'record' }>
type Together =
  | { readonly records: readonly FoundRecord[] }
  | { readonly damaged: Extract<Found, { readonly kind: 'damaged' }> }

async function* together(found: AsyncIterable<Found>): AsyncGenerator<Together, void> {
  let [records, bytes]: [FoundRecord[], number] = [[], 0]
  for await (const next of found) {
    if (next.kind === 'record') {
      records.push(next)
      bytes += next.record.payload.length
      if (bytes < TOGETHER_BYTES_MAX) continue
    }
    if (records.length > 0) yield { records }
    ;[records, bytes] = [[], 0]
    if (next.kind === 'damaged') yield { damaged: next }
  }
  if (records.length > 0) yield { records }
}
