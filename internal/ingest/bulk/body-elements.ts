import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COMMA,
  JsonScanner,
  NOTHING,
  NotJson,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from '../../text/json-scanner.js'
import { findArrayElements } from './array-elements.js'
import { type EventRanges, isBlank, SLICE_BYTES, skipBlanks, trimBlanks } from './event-ranges.js'

/**
 * Finds the elements of a JSON body without parsing them: those of an array, the lines of NDJSON, or objects one behind
 * the other (concatenated JSON), which may be written on several lines each. The body decides which it is.
 *
 * What is no JSON costs only itself, wherever it stands: it is an element that its reader then rejects. It ends with
 * its line or, where lines hold several elements, before the next object that follows a comma or another object.
 *
 * @param bytes must not change until this has settled
 * @param from the offset of the first byte that is not blank
 * @param isLines whether the sender says that each line is an element; else the body shows it
 * @returns false when there are too many
 */
export async function findElements(
  bytes: Buffer,
  from: number,
  isLines: boolean,
  ranges: EventRanges,
): Promise<boolean> {
  if (bytes[from] === OPEN_ARRAY) {
    const found = await findArrayElements(bytes, from, ranges)
    if (found !== 'broken') return found === 'found'
    ranges.count = 0
  }
  const isText = bytes[from] !== OPEN_ARRAY && bytes[from] !== OPEN_OBJECT
  const elements = new LooseElements(bytes, isLines || isText || hasObjectLine(bytes, from))
  let sliceEnd = from + SLICE_BYTES
  for (let at = from; at < bytes.length; ) {
    if (at + elements.wasted > sliceEnd) {
      await nextTurn()
      sliceEnd = at + elements.wasted + SLICE_BYTES
    }
    if (elements.isBetween(at)) at++
    else {
      const end = elements.endOf(at)
      if (!ranges.add(at, end)) return false
      at = end
    }
  }
  return true
}

/** Whether a body that is no array holds several objects, as far as that is certain without parsing it. */
export function holdsSeveral(bytes: Buffer): boolean {
  const from = skipBlanks(bytes, 0, bytes.length)
  if (!hasObjectLine(bytes, from) && !hasNeighbours(bytes)) return false
  if (bytes[from] !== OPEN_OBJECT) return true
  const json = new JsonScanner(bytes, true)
  json.at = from
  try {
    json.skip()
    return json.next() !== NOTHING
  } catch (cause) {
    if (cause instanceof NotJson) return true
    throw cause
  }
}

const hasObjectLine = (bytes: Buffer, from: number): boolean => bytes.indexOf(OBJECT_LINE, from) >= 0
const OBJECT_LINE = '\n{'

/** Whether one object may follow another on its line; in texts within them it may look so, too. */
const hasNeighbours = (bytes: Buffer): boolean => NEIGHBOURS.some((text) => bytes.includes(text))
const NEIGHBOURS: readonly string[] = ['}{', '} {', '},{', '}, {', '}\t{', '}  ']

const LINE_FEED = 0x0a

/** Objects that follow one another, and what is between them. */
class LooseElements {
  /** Bytes of objects that were begun and did not end: they are looked at again. */
  wasted = 0
  private readonly bytes: Buffer
  private readonly isLines: boolean
  private readonly json: JsonScanner
  /** A line that begins and ends like an object is one: it need not be looked through. */
  private readonly isOnePerLine: boolean
  private lineEnd = -1
  /** Without the blanks at its end. */
  private lineTextEnd = -1
  private nextObjectLine = -1

  constructor(bytes: Buffer, isLines: boolean) {
    this.bytes = bytes
    this.isLines = isLines
    this.json = new JsonScanner(bytes, true)
    this.isOnePerLine = isLines && !hasNeighbours(bytes)
  }

  /** Blanks, commas, and the brackets around objects. */
  isBetween(at: number): boolean {
    const { bytes } = this
    const byte = bytes[at]
    if (isBlank(byte) || byte === COMMA || byte === CLOSE_ARRAY) return true
    return byte === OPEN_ARRAY && bytes[skipBlanks(bytes, at + 1, bytes.length)] === OPEN_OBJECT
  }

  /** @param at where an element begins */
  endOf(at: number): number {
    const { bytes, isLines } = this
    if (isLines && at > this.lineEnd) this.readLine(at)
    if (bytes[at] === OPEN_OBJECT) {
      const isLine = this.isOnePerLine && bytes[this.lineTextEnd - 1] === CLOSE_OBJECT && this.beginsLine(at)
      const end = isLine ? this.lineTextEnd : this.objectEnd(at)
      if (end !== undefined) return end
    }
    if (!isLines) return this.nextBehindOther(at, bytes.length)
    return this.isOnePerLine ? this.lineTextEnd : this.nextBehindOther(at, this.lineTextEnd)
  }

  private readLine(at: number): void {
    const feed = this.bytes.indexOf(LINE_FEED, at)
    this.lineEnd = feed < 0 ? this.bytes.length : feed
    this.lineTextEnd = trimBlanks(this.bytes, at, this.lineEnd)
  }

  private beginsLine(at: number): boolean {
    const { bytes } = this
    let before = at - 1
    while (before >= 0 && bytes[before] !== LINE_FEED && isBlank(bytes[before])) before--
    return before < 0 || bytes[before] === LINE_FEED
  }

  /** @returns undefined if it does not end, or only behind the beginning of another one */
  private objectEnd(at: number): number | undefined {
    const { bytes, json } = this
    const reach = this.reachOf(at)
    json.bytes = reach === bytes.length ? bytes : bytes.subarray(0, reach)
    json.at = at
    try {
      json.skip()
      return json.at
    } catch (cause) {
      if (!(cause instanceof NotJson)) throw cause
      this.wasted += cause.at - at
      return undefined
    }
  }

  private reachOf(at: number): number {
    const { bytes, isLines } = this
    // A body of many objects that do not end would be looked through once for each.
    if (this.wasted > WASTED_MAX * bytes.length) return isLines ? this.lineEnd : this.nextBehindOther(at, bytes.length)
    if (!isLines) return bytes.length
    if (this.nextObjectLine < at) {
      const next = bytes.indexOf(OBJECT_LINE, at)
      this.nextObjectLine = next < 0 ? bytes.length : next
    }
    return this.nextObjectLine
  }

  /** @returns where the next object begins, before `to`: behind a comma or another one, with a member */
  private nextBehindOther(from: number, to: number): number {
    const bytes = this.bytes.subarray(0, to)
    for (let at = bytes.indexOf(OPEN_OBJECT, from + 1); at >= 0; at = bytes.indexOf(OPEN_OBJECT, at + 1)) {
      const before = bytes[trimBlanks(bytes, from, at) - 1]
      const isNext = before === COMMA || before === CLOSE_OBJECT
      if (isNext && bytes[skipBlanks(bytes, at + 1, to)] === QUOTE) return at
    }
    return to
  }
}

/** As a multiple of the body. */
const WASTED_MAX = 4
