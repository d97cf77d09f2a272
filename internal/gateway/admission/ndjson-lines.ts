import { type EventRanges, skipBlanks, trimBlanks } from './event-ranges.js'

const LINE_FEED = 0x0a

/**
 * Finds the lines of an NDJSON body that hold something. Lines end with LF or CRLF, the last one need not end at all;
 * blank ones are passed over. A line feed within a string is escaped in JSON, so that a malformed line cannot reach
 * into the next.
 *
 * @returns false when there are too many
 */
export function findLines(bytes: Buffer, ranges: EventRanges): boolean {
  let at = skipBlanks(bytes, 0, bytes.length)
  while (at < bytes.length) {
    const feed = bytes.indexOf(LINE_FEED, at)
    const end = feed < 0 ? bytes.length : feed
    if (!ranges.add(at, trimBlanks(bytes, at, end))) return false
    // Past the feed and all blank lines that follow it, as well as the next line's indentation.
    at = skipBlanks(bytes, end, bytes.length)
  }
  return true
}
