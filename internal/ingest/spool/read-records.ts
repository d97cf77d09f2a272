import { readAll, type SpoolFile } from './files.js'
import { decodeRecord, HEADER_BYTES, type SpoolRecord, statedBytes } from './spool-record.js'

/** The content of a segment from one offset to the next. */
export type Found =
  | { readonly kind: 'record'; readonly record: SpoolRecord; readonly end: number }
  | { readonly kind: 'damaged'; readonly offset: number; readonly end: number }

/** Bytes read at once; a larger record is read whole. */
const CHUNK_BYTES = 256 * 1024

/**
 * Reads a segment's records in order, holding one chunk or one record in memory.
 *
 * A damaged record is skipped alone where its stated length still leads to a good one; otherwise, since the start of
 * the next one is unknown, the rest of the range is damaged.
 *
 * @param from where a record begins
 * @param to where the last one ends, as far as it is known
 * @throws the system's error when the file cannot be read
 */
export async function* readRecords(file: SpoolFile, from: number, to: number): AsyncGenerator<Found, void> {
  const window = new Window(file, to)
  let at = from
  while (at < to) {
    const record = await recordAt(window, at)
    if (record !== undefined) {
      yield { kind: 'record', ...record }
      at = record.end
    } else {
      const end = await nextGood(window, at, to)
      yield { kind: 'damaged', offset: at, end }
      at = end
    }
  }
}

async function recordAt(window: Window, at: number): Promise<{ record: SpoolRecord; end: number } | undefined> {
  const end = await statedEnd(window, at)
  if (end === undefined) return undefined
  const bytes = await window.view(at, end)
  const record = bytes === undefined ? undefined : decodeRecord(bytes)
  return record === undefined ? undefined : { record, end }
}

async function statedEnd(window: Window, at: number): Promise<number | undefined> {
  const header = await window.view(at, at + HEADER_BYTES)
  const bytes = header === undefined ? undefined : statedBytes(header)
  return bytes === undefined ? undefined : at + bytes
}

/** Follows the stated lengths from a damaged record on, to the next good one or else to the range's end. */
async function nextGood(window: Window, damaged: number, to: number): Promise<number> {
  let at = damaged
  for (;;) {
    const end = await statedEnd(window, at)
    if (end === undefined || end >= to) return to
    if ((await recordAt(window, end)) !== undefined) return end
    at = end
  }
}

/** The part of a file that is in memory. */
class Window {
  private readonly file: SpoolFile
  private readonly to: number
  private start = 0
  private bytes = Buffer.alloc(0)

  constructor(file: SpoolFile, to: number) {
    this.file = file
    this.to = to
  }

  /** @returns the bytes from `at` to `end`; undefined when the range or the file ends before */
  async view(at: number, end: number): Promise<Buffer | undefined> {
    if (end > this.to) return undefined
    if (at < this.start || end > this.start + this.bytes.length) {
      // A new buffer each time: records already returned still point into the previous one.
      const chunk = Buffer.allocUnsafeSlow(Math.min(Math.max(end - at, CHUNK_BYTES), this.to - at))
      const read = await readAll(this.file, chunk, at)
      this.bytes = chunk.subarray(0, read)
      this.start = at
      if (end > at + read) return undefined
    }
    return this.bytes.subarray(at - this.start, end - this.start)
  }
}
