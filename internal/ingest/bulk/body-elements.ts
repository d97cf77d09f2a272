import { ownTurn } from '../../process/own-turn.js'
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
import { GrowingBytes } from '../bodies/growing-bytes.js'
import { JsonObjects } from '../bodies/json-objects.js'
import { findArrayElements } from './array-elements.js'
import { type EventRanges, isBlank, SLICE_BYTES, skipBlanks, trimBlanks, trimBlanksInTurns } from './event-ranges.js'

/**
 * Finds the elements of a JSON body without parsing them: those of an array, the lines of NDJSON, or objects one behind
 * the other (concatenated JSON), which may be written on several lines each. The body decides which it is.
 *
 * What is no JSON costs only itself, wherever it stands: it is an element that its reader then rejects. It ends with
 * its line or, where lines hold several elements, before the next object that follows a comma or another object. The
 * last record of a body that was cut off ends with the body, whatever is in it.
 *
 * @param body must not change until this has settled
 * @param from the offset of the first byte that is not blank
 * @param isLines whether the sender says that each line is an element; else the body shows it
 * @returns false when there are too many
 */
export async function findElements(
  body: Buffer,
  from: number,
  isLines: boolean,
  ranges: EventRanges,
): Promise<boolean> {
  const bytes = body.subarray(0, await trimBlanksInTurns(body, from, body.length))
  if (bytes[from] === OPEN_ARRAY) {
    const found = await findArrayElements(bytes, from, ranges)
    if (found !== 'broken') return found === 'found'
    ranges.count = 0
  }
  const isText = bytes[from] !== OPEN_ARRAY && bytes[from] !== OPEN_OBJECT
  const areLines = isLines || isText || (await hasAnyInTurns(bytes, from, OBJECT_LINES))
  const areOnePerLine = areLines && !(await hasAnyInTurns(bytes, 0, NEIGHBOURS))
  const isClosed = bytes[from] === OPEN_ARRAY && bytes[bytes.length - 1] === CLOSE_ARRAY
  const elements = new LooseElements(bytes, areLines, areOnePerLine, isClosed)
  let sliceEnd = from + SLICE_BYTES
  for (let at = from; at < bytes.length; ) {
    if (at + elements.wasted > sliceEnd) {
      await ownTurn()
      sliceEnd = at + elements.wasted + SLICE_BYTES
    }
    if (elements.isBetween(at)) at++
    else {
      let end = elements.endOf(at)
      for (; end === undefined; end = elements.searchOn()) await ownTurn()
      if (!ranges.add(at, end)) return false
      at = end
    }
  }
  return true
}

/**
 * Whether a body that is no array holds several objects, as far as that is certain without parsing it.
 *
 * @param bytes no more than one event may have: they are looked through in one go
 */
export function holdsSeveral(bytes: Buffer): boolean {
  const from = skipBlanks(bytes, 0, bytes.length)
  if (!hasAny(bytes, OBJECT_LINES) && !hasAny(bytes, NEIGHBOURS)) return false
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

const OBJECT_LINE = '\n{'
const OBJECT_LINES: readonly string[] = [OBJECT_LINE]
/** Where one object may follow another on its line; in texts within them it may look so, too. */
const NEIGHBOURS: readonly string[] = ['}{', '} {', '},{', '}, {', '}\t{', '}  ']

const hasAny = (bytes: Buffer, texts: readonly string[]): boolean => texts.some((text) => bytes.includes(text))

/** Each text is looked for by itself: among bytes that all are like its first one, some three milliseconds. */
const LOOKED_THROUGH_BYTES = SLICE_BYTES / 4

async function hasAnyInTurns(bytes: Buffer, from: number, texts: readonly string[]): Promise<boolean> {
  for (let at = from; at < bytes.length; at += LOOKED_THROUGH_BYTES) {
    if (at > from) await ownTurn()
    // The longest of the texts may begin in one slice and end in the next.
    if (hasAny(bytes.subarray(at, at + LOOKED_THROUGH_BYTES + 3), texts)) return true
  }
  return false
}

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
  /** The body is an array with its end: no record of it was cut off by the end of the body. */
  private readonly isClosed: boolean
  /** Whether the last object that did not end was open at the end of the body. */
  private isOpenAtEnd = false
  /** What is read of such an object as long as nothing else can have begun within it. */
  private beginning: JsonObjects | undefined
  private lineEnd = -1
  /** Without the blanks at its end. */
  private lineTextEnd = -1
  /** How much may be wasted up to its end, where more is than the whole body may waste. */
  private lineWastedMax = 0
  private nextObjectLine = -1
  private search = { from: 0, at: 0, to: 0 }

  constructor(bytes: Buffer, isLines: boolean, isOnePerLine: boolean, isClosed: boolean) {
    this.bytes = bytes
    this.isLines = isLines
    this.json = new JsonScanner(bytes, true)
    this.isOnePerLine = isOnePerLine
    this.isClosed = isClosed
  }

  /** Blanks, commas, and the brackets around objects. */
  isBetween(at: number): boolean {
    const { bytes } = this
    const byte = bytes[at]
    if (isBlank(byte) || byte === COMMA || byte === CLOSE_ARRAY) return true
    return byte === OPEN_ARRAY && bytes[skipBlanks(bytes, at + 1, bytes.length)] === OPEN_OBJECT
  }

  /** @param at where an element begins @returns undefined if `searchOn` must look further */
  endOf(at: number): number | undefined {
    const { bytes, isLines } = this
    if (isLines && at > this.lineEnd) this.readLine(at)
    if (bytes[at] === OPEN_OBJECT) {
      const isLine = this.isOnePerLine && bytes[this.lineTextEnd - 1] === CLOSE_OBJECT && this.beginsLine(at)
      const end = isLine ? this.lineTextEnd : this.objectEnd(at)
      if (end !== undefined) return end
      if (this.isOpenAtEnd && !this.isClosed && this.mayWaste()) {
        this.beginning = new JsonObjects(new GrowingBytes(), NOTHING_KEPT)
      }
    }
    this.search = { from: at, at, to: isLines ? this.lineTextEnd : bytes.length }
    return this.valueEnd(at) ?? this.searchOn()
  }

  /** The end of a value that is no object, where an object follows: text ends elsewhere. */
  private valueEnd(at: number): number | undefined {
    const { bytes } = this
    if (this.isOnePerLine || bytes[at] === OPEN_OBJECT) return undefined
    const end = this.objectEnd(at)
    return end !== undefined && bytes[skipBlanks(bytes, end, bytes.length)] === OPEN_OBJECT ? end : undefined
  }

  /** Goes on with the search for an end. @returns undefined where others should have their turn before */
  searchOn(): number | undefined {
    if (this.beginning !== undefined) {
      const end = this.readOn(this.beginning)
      if (end !== undefined || this.beginning !== undefined) return end
    }
    return this.isOnePerLine ? this.lineTextEnd : this.nextBehindOther()
  }

  /** @returns the end of the body if all up to it is the beginning of one object: a record that was cut off */
  private readOn(beginning: JsonObjects): number | undefined {
    const { bytes, search } = this
    const end = Math.min(bytes.length, search.at + SLICE_BYTES)
    beginning.write(bytes.subarray(search.at, end))
    this.wasted += end - search.at
    const isWithin = beginning.count === 0
    search.at = isWithin ? end : search.from
    if (!isWithin || end === bytes.length) this.beginning = undefined
    return isWithin && end === bytes.length ? end : undefined
  }

  private readLine(at: number): void {
    const feed = this.bytes.indexOf(LINE_FEED, at)
    this.lineEnd = feed < 0 ? this.bytes.length : feed
    this.lineTextEnd = trimBlanks(this.bytes, at, this.lineEnd)
    // What is wrong with earlier lines costs this one nothing.
    this.lineWastedMax = this.wasted + WASTED_MAX * (this.lineEnd - at)
  }

  private beginsLine(at: number): boolean {
    const { bytes } = this
    let before = at - 1
    while (before >= 0 && bytes[before] !== LINE_FEED && isBlank(bytes[before])) before--
    return before < 0 || bytes[before] === LINE_FEED
  }

  /** @returns undefined if it does not end, or only behind the beginning of another one */
  private objectEnd(at: number): number | undefined {
    if (!this.mayWaste()) return undefined
    if (this.isBodyWasteful()) return this.endWithin(at, this.lineEnd)
    return this.endWithin(at, this.isLines ? this.nextLineOfObject(at) : this.bytes.length)
  }

  /** A body, or a line, of many objects that do not end would be looked through once for each. */
  private mayWaste(): boolean {
    return !this.isBodyWasteful() || this.wasted <= this.lineWastedMax
  }

  private isBodyWasteful(): boolean {
    return this.wasted > WASTED_MAX * this.bytes.length
  }

  private endWithin(at: number, reach: number): number | undefined {
    const { bytes, json } = this
    this.isOpenAtEnd = false
    json.bytes = reach === bytes.length ? bytes : bytes.subarray(0, reach)
    json.at = at
    try {
      json.skip()
      return json.at
    } catch (cause) {
      if (!(cause instanceof NotJson)) throw cause
      this.wasted += cause.at - at
      this.isOpenAtEnd = cause.at === bytes.length
      return undefined
    }
  }

  private nextLineOfObject(at: number): number {
    const { bytes } = this
    if (this.nextObjectLine < at) {
      const next = bytes.indexOf(OBJECT_LINE, at)
      this.nextObjectLine = next < 0 ? bytes.length : next
    }
    return this.nextObjectLine
  }

  /**
   * Goes on with the search for the next object: behind a comma or another one, with a member.
   *
   * @returns where it begins, or the end of what is searched; undefined where others should have their turn before
   */
  private nextBehindOther(): number | undefined {
    const { from, to } = this.search
    const bytes = this.bytes.subarray(0, Math.min(to, this.search.at + SLICE_BYTES))
    for (let at = bytes.indexOf(OPEN_OBJECT, this.search.at + 1); at >= 0; at = bytes.indexOf(OPEN_OBJECT, at + 1)) {
      const before = bytes[trimBlanks(bytes, from, at) - 1]
      const isNext = before === COMMA || before === CLOSE_OBJECT
      if (isNext && this.bytes[skipBlanks(this.bytes, at + 1, to)] === QUOTE) return this.endOfOther(at)
    }
    this.search.at = bytes.length - 1
    return bytes.length === to ? this.endOfOther(to) : undefined
  }

  /** Where objects are only looked for before the next one, this may be a good one. */
  private endOfOther(to: number): number {
    const { from } = this.search
    const isUntried = !this.mayWaste() && this.bytes[from] === OPEN_OBJECT
    return (isUntried ? this.endWithin(from, to) : undefined) ?? to
  }
}

const NOTHING_KEPT = { members: new Map() }
/** As a multiple of the body, or of a line. */
const WASTED_MAX = 4
