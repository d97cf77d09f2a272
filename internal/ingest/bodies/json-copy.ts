import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  IS_LITERAL,
  isBlank,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from '../../text/json-scanner.js'
import type { BodyCopy } from './body-copy.js'
import type { GrowingBytes } from './growing-bytes.js'

/** What is kept of a value: `all` of it, a `scalar` but no object or array, or the members of an object. */
export type Kept = 'all' | 'scalar' | KeptMembers

export interface KeptMembers {
  readonly members: ReadonlyMap<string, Kept>
  /** Of members that are not listed, if they are objects. */
  readonly others?: KeptMembers
  readonly isOfOthers?: true
}

/** What comes next: `between` units, `text`, `literal` and `broken` within something. */
type State =
  | 'between'
  | 'firstName'
  | 'name'
  | 'colon'
  | 'firstElement'
  | 'value'
  | 'after'
  | 'text'
  | 'literal'
  | 'broken'

/** A name longer than any that is listed. */
const NAME_BYTES_MAX = 128
/** A longer text of what is kept as a whole is content, whatever it is called. */
const TEXT_BYTES_MAX = 1024 * 1024
/** Of a unit, beside what is not kept. */
export const UNIT_BYTES_MAX = 4 * 1024 * 1024
/** Bytes of a text that are looked at one by one before it counts as long. */
const NEAR_BYTES = 48
export const LINE_FEED = 0x0a
export const SPACE = 0x20
const CARRIAGE_RETURN = 0x0d
const NULL = Buffer.from('null')

/**
 * Copies JSON as it comes: without blanks, and without the values that nobody reads, which are passed over wherever the
 * chunks end. It checks brackets, commas, colons and quotes. The rest of JSON's grammar is left to those who read the
 * copy.
 *
 * A unit is an object that is left out alone when it is broken. Behind what is broken, the next one is looked for by
 * brackets and commas, whatever the quotes say: one that is missing would turn texts and structure around.
 */
export abstract class JsonCopy implements BodyCopy {
  readonly kept: GrowingBytes
  /** Brackets, names and values so far. */
  steps = 0
  protected state: State = 'between'
  /** Of open objects and arrays; in what is broken, any number. */
  protected depth = 0
  /** The depth from which on nothing is copied; 0 where everything is. */
  protected droppedFrom = 0
  /** Of the copy, without a member or element that has begun and is not complete. */
  protected cleanLength = 0
  /** What is kept of the value of the current member. */
  protected member: Kept | undefined
  protected isInUnit = false
  protected isUnitBad = false
  /** The depth around the unit, where it begins in the copy, and its line feeds so far. */
  protected unitDepth = 0
  protected unitStart = 0
  protected lines = 0
  private readonly depthMax: number
  protected readonly brackets: Uint8Array
  /** Of each level: the next one around it that has the other kind of bracket. */
  private readonly othersAround: Uint16Array
  protected readonly forms: (Kept | undefined)[] = []
  /** Of the text or literal at the cursor. */
  private isCopied = false
  private isName = false
  private isEscaped = false
  private textStart = 0
  private textBytesMax = 0
  /** Behind the last text that was copied. */
  private textEnd = -1
  /** Whether this came just before. */
  private isAfterComma = false
  private isAfterFeed = false
  private isAtLineStart = false
  private isAtFirstBreak = false
  private feedBytes: Buffer | undefined
  private feedAt = -1

  constructor(kept: GrowingBytes, depthMax: number) {
    this.kept = kept
    this.depthMax = depthMax
    this.brackets = new Uint8Array(depthMax + 1)
    this.othersAround = new Uint16Array(depthMax + 1)
  }

  write(chunk: Buffer): void {
    this.copy(chunk)
  }

  private copy(bytes: Buffer): void {
    let at = 0
    while (at < bytes.length) at = this.step(bytes, at)
  }

  abstract end(): void

  /** In state `between`. @returns the offset of the next byte to look at, as all that follow */
  protected abstract between(bytes: Buffer, at: number): number
  /** The unit is complete, or cannot become one. */
  protected abstract onUnit(isBad: boolean): void
  /** Whether lines tell where units end. */
  protected abstract readonly hasLines: boolean
  /** Behind a line feed between units. */
  protected onLine(): void {
    // Means nothing, unless lines are elements.
  }
  /** Outside of a unit. */
  protected abstract failOutside(at: number): number
  /** Behind a value that nothing is around. */
  protected behind(_byte: number, at: number): number {
    return this.failOutside(at)
  }
  /** Whether an object with this form, which begins, is a unit. */
  protected abstract isUnit(form: Kept): boolean
  /** What is kept of a member, whose name lies in the copy between these offsets. */
  protected abstract memberOf(form: KeptMembers, start: number, end: number): Kept | undefined
  /** Instead of a value that is not kept, whose name may stand in the copy. */
  protected abstract writeDropped(): void
  /** A longer text of a scalar is content. */
  protected abstract readonly scalarBytesMax: number
  /** Whether elements of an array have the form of the array. */
  protected abstract readonly hasLists: boolean
  /** Whether units are elements of an array. */
  protected abstract readonly isInArray: boolean
  /** A text or literal was copied from here on. */
  protected abstract checkScalar(start: number): void
  /** After a unit that is broken. */
  protected abstract readonly afterUnit: 'between' | 'after'
  protected abstract readonly beforeUnit: 'between' | 'value'

  protected beginUnit(): void {
    this.isInUnit = true
    this.isUnitBad = false
    this.unitDepth = this.depth
    this.unitStart = this.kept.length
    this.lines = 0
  }

  /** Leaves the unit out of the copy. */
  protected rejectUnit(): void {
    this.kept.length = this.unitStart
    this.cleanLength = this.unitStart
    this.droppedFrom = 0
    this.isInUnit = false
    this.onUnit(true)
  }

  /** Of what is left of it, nothing is copied. */
  private dropUnit(): void {
    this.isUnitBad = true
    this.kept.length = this.unitStart
    this.droppedFrom = this.unitDepth + 1
  }

  private step(bytes: Buffer, at: number): number {
    const byte = bytes[at] as number
    if (this.isAtFirstBreak && byte !== LINE_FEED && byte !== CARRIAGE_RETURN) {
      this.isAtFirstBreak = false
      // An object on several lines is indented, or goes on with one of these: this is another line.
      if (this.hasLines && this.isInUnit && !isBlank(byte) && !MAY_BEGIN_LINE.has(byte)) {
        this.rejectUnit()
        this.onLine()
        return this.resume(at)
      }
    }
    if (this.state === 'text') return this.text(bytes, at)
    if (this.state === 'literal') return this.literal(bytes, at)
    if (this.state === 'broken') return this.passBroken(byte, at)
    if (this.state === 'between') return this.between(bytes, at)
    if (isBlank(byte)) {
      this.isAfterFeed = byte === LINE_FEED
      if (!this.isAfterFeed) return spacesEnd(bytes, at + 1)
      this.steps++
      if (++this.lines === 1) this.isAtFirstBreak = true
      return at + 1
    }
    this.isAtLineStart = this.isAfterFeed
    this.isAfterFeed = false
    this.steps++
    switch (this.state) {
      case 'firstName':
        return byte === CLOSE_OBJECT ? this.close(byte, at) : this.name(byte, at)
      case 'name':
        return this.name(byte, at)
      case 'colon':
        if (byte !== COLON) return this.fail(byte, at)
        this.state = 'value'
        return at + 1
      case 'firstElement':
        return byte === CLOSE_ARRAY ? this.close(byte, at) : this.value(byte, at)
      case 'value':
        return this.value(byte, at)
      case 'after':
        return this.after(byte, at)
    }
  }

  private name(byte: number, at: number): number {
    if (byte !== QUOTE) return this.fail(byte, at)
    this.isCopied = this.droppedFrom === 0
    if (this.isCopied && this.kept.bytes[this.kept.length - 1] !== OPEN_OBJECT) this.kept.addByte(COMMA)
    this.isName = true
    this.textBytesMax = this.scalarBytesMax
    return this.beginText(at)
  }

  private beginText(at: number): number {
    this.state = 'text'
    this.textStart = this.kept.length
    if (this.isCopied) this.kept.addByte(QUOTE)
    return at + 1
  }

  protected value(byte: number, at: number): number {
    const isOpening = byte === OPEN_OBJECT || byte === OPEN_ARRAY
    if (!isOpening && byte !== QUOTE && IS_LITERAL[byte] !== 1) return this.fail(byte, at)
    const isDropped = this.droppedFrom > 0
    const isElement = this.brackets[this.depth] === OPEN_ARRAY && this.depth > 0
    const form = isDropped ? undefined : isElement ? this.forms[this.depth] : this.member
    const kept = isOpening ? this.formOf(form, byte) : isObjectsOnly(form) ? undefined : form
    if (byte === OPEN_OBJECT && kept !== undefined && this.isUnit(kept)) this.beginUnit()
    if (!isDropped) {
      if (isElement && this.kept.bytes[this.kept.length - 1] !== OPEN_ARRAY) this.kept.addByte(COMMA)
      if (kept === undefined) this.writeDropped()
    }
    if (isOpening) return this.open(byte, at, kept)
    this.isCopied = kept !== undefined
    this.textBytesMax = kept === 'all' ? TEXT_BYTES_MAX : this.scalarBytesMax
    if (byte === QUOTE) {
      this.isName = false
      return this.beginText(at)
    }
    this.state = 'literal'
    this.textStart = this.kept.length
    return at
  }

  /** What is kept of an object or array. */
  private formOf(form: Kept | undefined, bracket: number): Kept | undefined {
    if (form === 'scalar') return undefined
    return typeof form === 'object' && bracket === OPEN_ARRAY && !this.hasLists ? undefined : form
  }

  private open(bracket: number, at: number, kept: Kept | undefined): number {
    if (this.depth === this.depthMax) return this.fail(bracket, at)
    this.enter(bracket)
    this.forms[this.depth] = kept
    this.state = bracket === OPEN_OBJECT ? 'firstName' : 'firstElement'
    if (this.droppedFrom > 0) return at + 1
    if (kept === undefined) this.droppedFrom = this.depth
    else {
      this.kept.addByte(bracket)
      this.cleanLength = this.kept.length
    }
    return at + 1
  }

  private enter(bracket: number): void {
    const { brackets, othersAround } = this
    const depth = ++this.depth
    if (depth > this.depthMax) return
    brackets[depth] = bracket
    othersAround[depth] = brackets[depth - 1] === bracket ? (othersAround[depth - 1] as number) : depth - 1
  }

  private after(byte: number, at: number): number {
    if (this.depth === 0) return this.behind(byte, at)
    const isObject = this.brackets[this.depth] === OPEN_OBJECT
    if (byte === COMMA) {
      this.state = isObject ? 'name' : 'value'
      return at + 1
    }
    return byte === (isObject ? CLOSE_OBJECT : CLOSE_ARRAY) ? this.close(byte, at) : this.fail(byte, at)
  }

  private close(byte: number, at: number): number {
    if (this.droppedFrom === 0) this.kept.addByte(byte)
    else if (this.droppedFrom === this.depth) this.droppedFrom = 0
    this.depth--
    this.complete()
    return at + 1
  }

  /** A value has ended. */
  private complete(): void {
    this.state = 'after'
    if (this.droppedFrom > 0) return
    this.cleanLength = this.kept.length
    if (!this.isInUnit) return
    if (this.depth !== this.unitDepth) {
      if (this.kept.length - this.unitStart > UNIT_BYTES_MAX) this.dropUnit()
      return
    }
    if (this.isUnitBad) this.rejectUnit()
    else {
      this.isInUnit = false
      this.onUnit(false)
    }
    this.state = this.afterUnit
  }

  private text(bytes: Buffer, from: number): number {
    const { length } = bytes
    let at = from
    if (this.isEscaped) {
      this.isEscaped = false
      if (bytes[at] === LINE_FEED && this.hasLines) return this.failInText(at)
      at++
    }
    for (const near = Math.min(length, at + NEAR_BYTES); at < near; at++) {
      const byte = bytes[at] as number
      if (byte === QUOTE) return this.endText(bytes, from, at + 1)
      if (byte === BACKSLASH && bytes[++at] !== LINE_FEED) continue
      if (bytes[at] === LINE_FEED && this.hasLines) return this.failInText(at)
    }
    return at < length ? this.longText(bytes, from, at) : this.restOfText(bytes, from, at > length)
  }

  /** The searches of the engine are faster than a loop. */
  private longText(bytes: Buffer, from: number, start: number): number {
    for (let at = start; ; ) {
      const quote = bytes.indexOf(QUOTE, at)
      const feed = this.hasLines ? this.nextFeed(bytes, at) : -1
      if (feed >= 0 && (quote < 0 || feed < quote)) return this.failInText(feed)
      const end = quote < 0 ? bytes.length : quote
      let escapes = end
      while (escapes > at && bytes[escapes - 1] === BACKSLASH) escapes--
      const isEscaped = (end - escapes) % 2 === 1
      if (quote < 0) return this.restOfText(bytes, from, isEscaped)
      if (!isEscaped) return this.endText(bytes, from, quote + 1)
      at = quote + 1
    }
  }

  private nextFeed(bytes: Buffer, at: number): number {
    if (this.feedBytes !== bytes || (this.feedAt >= 0 && this.feedAt < at)) {
      this.feedBytes = bytes
      this.feedAt = bytes.indexOf(LINE_FEED, at)
    }
    return this.feedAt
  }

  private restOfText(bytes: Buffer, from: number, isEscaped: boolean): number {
    this.isEscaped = isEscaped
    this.copyText(bytes, from, bytes.length)
    return bytes.length
  }

  private copyText(bytes: Buffer, from: number, end: number): void {
    if (!this.isCopied) return
    this.kept.add(bytes, from, end)
    if (this.kept.length - this.textStart <= this.textBytesMax) return
    this.isCopied = false
    this.kept.length = this.isName ? this.cleanLength : this.textStart
    if (!this.isName) this.writeDropped()
  }

  private endText(bytes: Buffer, from: number, end: number): number {
    this.copyText(bytes, from, end)
    this.textEnd = this.isCopied ? this.kept.length : -1
    if (!this.isName) {
      if (this.isCopied) this.checkScalar(this.textStart)
      this.complete()
    } else {
      this.state = 'colon'
      if (this.droppedFrom === 0) this.endName()
    }
    return end
  }

  private endName(): void {
    const { kept, textStart } = this
    const form = this.forms[this.depth]
    const isShort = this.isCopied && kept.length - textStart <= NAME_BYTES_MAX
    if (!isShort) this.member = undefined
    else this.member = typeof form === 'object' ? this.memberOf(form, textStart + 1, kept.length - 1) : form
    if (this.isCopied) kept.addByte(COLON)
  }

  private literal(bytes: Buffer, from: number): number {
    let at = from
    while (at < bytes.length && IS_LITERAL[bytes[at] as number] === 1) at++
    if (this.isCopied) this.kept.add(bytes, from, at)
    if (at < bytes.length) this.endLiteral()
    return at
  }

  protected endLiteral(): void {
    if (this.isCopied) this.checkScalar(this.textStart)
    this.complete()
  }

  /** A line feed within a text: its end is missing. */
  private failInText(at: number): number {
    if (!this.isInUnit) return this.failOutside(at)
    this.rejectUnit()
    if (this.lines === 0) return this.resume(at)
    this.beginBroken()
    return at
  }

  /** What comes is no JSON here. */
  private fail(byte: number, at: number): number {
    if (!this.isInUnit) return this.failOutside(at)
    const text = this.lastText()
    const isOther = byte === OPEN_OBJECT && (this.state === 'name' || (this.hasLines && this.isAtLineStart))
    this.rejectUnit()
    if (isOther) {
      if (this.isAtLineStart) this.onLine()
      return this.resume(at)
    }
    this.beginBroken()
    // Where a quote is missing, the last text is none: it may hold the end of the unit. No name begins with a bracket.
    if (text !== undefined && !IS_BRACKET.has(byte)) this.copy(text)
    return at
  }

  /** The text that has just ended, behind its first quote, if it was copied. */
  private lastText(): Buffer | undefined {
    const isLast = (this.state === 'after' && this.kept.length === this.textEnd) || this.state === 'colon'
    if (!isLast || this.textEnd < 0) return undefined
    return Buffer.from(this.kept.bytes.subarray(this.textStart + 1, this.textEnd))
  }

  protected beginBroken(): void {
    this.state = 'broken'
    this.isAfterComma = false
    this.isAfterFeed = false
  }

  /** Another unit may begin here. */
  private resume(at: number): number {
    this.depth = this.unitDepth
    this.state = this.beforeUnit
    return at
  }

  private passBroken(byte: number, at: number): number {
    this.steps++
    const isOutside = this.depth === this.unitDepth
    switch (byte) {
      case LINE_FEED:
        if (!this.hasLines) return at + 1
        if (isOutside || this.lines++ === 0) return this.resume(at)
        this.isAfterComma = false
        this.isAfterFeed = true
        return at + 1
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        return this.openBroken(byte, at, isOutside)
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        return this.closeBroken(byte, at)
      case COMMA:
        if (isOutside) return this.leaveBroken(at)
        this.isAfterComma = true
        this.isAfterFeed = false
        return at + 1
      default:
        if (!isBlank(byte)) this.isAfterComma = false
        this.isAfterFeed = false
        return at + 1
    }
  }

  private openBroken(byte: number, at: number, isOutside: boolean): number {
    // No object has an object behind a comma, and few have one at the beginning of a line: an end is missing.
    const isBehind = this.isAfterFeed || (this.isAfterComma && this.brackets[this.depth] === OPEN_OBJECT)
    if (byte === OPEN_OBJECT && (isOutside || isBehind)) {
      if (this.isAfterFeed) this.onLine()
      return this.resume(at)
    }
    this.isAfterComma = false
    this.isAfterFeed = false
    this.enter(byte)
    return at + 1
  }

  /** Closes what was opened by its kind, whatever is open within. */
  private closeBroken(byte: number, at: number): number {
    const bracket = byte === CLOSE_ARRAY ? OPEN_ARRAY : OPEN_OBJECT
    const isOther = this.depth <= this.depthMax && this.brackets[this.depth] !== bracket
    const depth = isOther ? (this.othersAround[this.depth] as number) : this.depth
    if (depth > this.unitDepth) this.depth = depth - 1
    else if (byte === CLOSE_ARRAY && this.isInArray) return this.leaveBroken(at)
    this.isAfterComma = false
    this.isAfterFeed = false
    return at + 1
  }

  private leaveBroken(at: number): number {
    this.depth = this.unitDepth
    this.state = this.afterUnit
    return at
  }
}

/** @returns the offset of the next byte that is no space */
export function spacesEnd(bytes: Buffer, from: number): number {
  let at = from
  while (bytes[at] === SPACE) at++
  return at
}

const isObjectsOnly = (form: Kept | undefined): boolean => typeof form === 'object' && form.isOfOthers === true

const IS_BRACKET: ReadonlySet<number> = new Set([OPEN_OBJECT, OPEN_ARRAY, CLOSE_OBJECT, CLOSE_ARRAY])
const MAY_BEGIN_LINE: ReadonlySet<number> = new Set([QUOTE, CLOSE_OBJECT, CLOSE_ARRAY, COMMA, COLON])

/** Instead of a value that is not kept, where its name is. */
export const addNull = (kept: GrowingBytes): void => kept.add(NULL)
