import {
  type EventRanges,
  SLICE_BYTES,
  skipBlanks,
  skipBlanksInTurns,
  trimBlanks,
  trimBlanksInTurns,
} from './event-ranges.js'

const LINE_FEED = 0x0a

/**
 * Finds the lines of an NDJSON body that hold something. Lines end with LF or CRLF, the last one need not end at all;
 * blank ones are passed over. A line feed within a string is escaped in JSON, so that a malformed line cannot reach
 * into the next.
 *
 * @param from the offset of the first byte that is not blank
 * @returns false when there are too many
 */
export async function findLines(bytes: Buffer, from: number, ranges: EventRanges): Promise<boolean> {
  const { length } = bytes
  let at = from
  while (at < length) {
    const feed = bytes.indexOf(LINE_FEED, at)
    const end = feed < 0 ? length : feed
    const isLong = end - at > SLICE_BYTES
    if (!ranges.add(at, isLong ? await trimBlanksInTurns(bytes, at, end) : trimBlanks(bytes, at, end))) return false
    // Past the feed and all blank lines that follow it, as well as the next line's indentation.
    const sliceEnd = Math.min(length, end + SLICE_BYTES)
    at = skipBlanks(bytes, end, sliceEnd)
    if (at === sliceEnd) at = await skipBlanksInTurns(bytes, at, length)
  }
  return true
}
