import { BULK_EVENTS_MAX } from '../../invocations/limits.js'
import { ownTurn } from '../../process/own-turn.js'

/** Bytes scanned before yielding to the event loop: about half a millisecond. */
export const SLICE_BYTES = 256 * 1024

const RANGES_USUAL = 1_024

/** Byte ranges of the events of a bulk body: two numbers per event. */
export class EventRanges {
  private offsets = new Uint32Array(2 * RANGES_USUAL)
  count = 0

  /** @returns false when there are too many */
  add(start: number, end: number): boolean {
    if (this.count === BULK_EVENTS_MAX) return false
    if (2 * this.count === this.offsets.length) {
      const longer = new Uint32Array(2 * this.offsets.length)
      longer.set(this.offsets)
      this.offsets = longer
    }
    this.offsets[2 * this.count] = start
    this.offsets[2 * this.count + 1] = end
    this.count++
    return true
  }

  start(index: number): number {
    return this.offsets[2 * index] ?? 0
  }

  end(index: number): number {
    return this.offsets[2 * index + 1] ?? 0
  }
}

/** Space, tab, line feed and carriage return: the white space of JSON. */
export const isBlank = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

/** @returns the offset of the first byte at or after `from` that is not blank, `to` when there is none */
export function skipBlanks(bytes: Uint8Array, from: number, to: number): number {
  let at = from
  while (at < to && isBlank(bytes[at])) at++
  return at
}

/** The same of any number of bytes, in slices. */
export async function skipBlanksInTurns(bytes: Uint8Array, from: number, to: number): Promise<number> {
  for (let at = from; ; await ownTurn()) {
    const sliceEnd = Math.min(to, at + SLICE_BYTES)
    at = skipBlanks(bytes, at, sliceEnd)
    if (at < sliceEnd || at === to) return at
  }
}

/** @returns where `from` to `to` ends without its trailing blanks */
export function trimBlanks(bytes: Uint8Array, from: number, to: number): number {
  let end = to
  while (end > from && isBlank(bytes[end - 1])) end--
  return end
}

/** The same of any number of bytes, in slices. */
export async function trimBlanksInTurns(bytes: Uint8Array, from: number, to: number): Promise<number> {
  for (let end = to; ; await ownTurn()) {
    const sliceStart = Math.max(from, end - SLICE_BYTES)
    end = trimBlanks(bytes, sliceStart, end)
    if (end > sliceStart || end === from) return end
  }
}
