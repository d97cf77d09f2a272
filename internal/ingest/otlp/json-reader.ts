import { unescapedBytes } from '../../text/unescape-json.js'
import { MalformedRequest } from './malformed.js'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const MINUS = 0x2d

/** Nesting of a request; OTLP needs about 12, and more where attributes hold objects. */
export const DEPTH_MAX = 64
/** Objects and arrays of a request: more than 20 MiB of real attributes have. */
const CONTAINERS_MAX = 1_000_000

/** Of a value, before it is read. */
export interface Place {
  readonly at: number
  readonly depth: number
}

/**
 * Reads JSON text from bytes, value by value: the caller reads the members that it knows and skips the rest, of which
 * no string is ever made. Skipped text is checked as strictly as what is read. Nesting is bounded.
 */
export class JsonReader {
  readonly bytes: Buffer
  at = 0
  /** Where the text of the current member's key lies, without its quotes. */
  keyStart = 0
  keyEnd = 0
  private depth = 0
  private containers = 0

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  /**
   * Enters the object at the cursor, up to its first value. `null`, which stands for an absent message, has no member:
   * `for (let more = json.enterObject(); more; more = json.nextMember())`.
   *
   * @returns whether there is a member; its value must be read or skipped
   */
  enterObject(): boolean {
    return !this.isNothing() && this.open(OPEN_OBJECT, CLOSE_OBJECT) && this.key()
  }

  nextMember(): boolean {
    return this.more(CLOSE_OBJECT) && this.key()
  }

  /** The same for the elements of an array. */
  enterArray(): boolean {
    return !this.isNothing() && this.open(OPEN_ARRAY, CLOSE_ARRAY)
  }

  nextElement(): boolean {
    return this.more(CLOSE_ARRAY)
  }

  /** Whether the key of the current member is this one, written without escapes. */
  isKey(name: Buffer): boolean {
    return this.isText(this.keyStart, this.keyEnd, name)
  }

  skip(): void {
    switch (this.bytes[this.blanks()]) {
      case QUOTE:
        return this.skipString()
      case OPEN_OBJECT:
        for (let more = this.enterObject(); more; more = this.nextMember()) this.skip()
        return
      case OPEN_ARRAY:
        for (let more = this.enterArray(); more; more = this.nextElement()) this.skip()
        return
      default:
        this.scalar()
    }
  }

  /** @returns undefined for a value that is no string, or is longer than so many bytes: it is skipped */
  text(bytesMax: number): string | undefined {
    const start = this.blanks()
    this.skip()
    if (this.bytes[start] !== QUOTE || !this.isShort(start, bytesMax)) return undefined
    return JSON.parse(this.bytes.toString('utf8', start, this.at)) as string
  }

  /** The same as the bytes that the string stands for: no text is made of it. */
  textBytes(bytesMax: number): Buffer | undefined {
    const start = this.blanks()
    this.skip()
    if (this.bytes[start] !== QUOTE || !this.isShort(start, bytesMax)) return undefined
    return unescapedBytes(this.bytes.subarray(start + 1, this.at - 1))
  }

  /** Whether the string that begins here and was skipped stands for so few bytes: escapes make it longer. */
  private isShort(start: number, bytesMax: number): boolean {
    const written = this.at - start - 2
    if (written <= bytesMax) return true
    if (written > bytesMax * ESCAPED_BYTES_MAX) return false
    const bytes = unescapedBytes(this.bytes.subarray(start + 1, this.at - 1))
    return bytes !== undefined && bytes.length <= bytesMax
  }

  /** A number or a boolean, or a number in a text. @returns undefined for other values, which are skipped */
  scalarValue(): number | boolean | undefined {
    const start = this.blanks()
    const first = this.bytes[start]
    this.skip()
    if (first === OPEN_OBJECT || first === OPEN_ARRAY || this.at - start > NUMBER_BYTES_MAX) return undefined
    const isText = first === QUOTE
    const text = this.bytes.toString('latin1', isText ? start + 1 : start, isText ? this.at - 1 : this.at)
    if (text === 'true' || text === 'false') return text === 'true'
    return NUMBER.test(text) ? Number(text) : undefined
  }

  /** Where the cursor is, for `goTo`. */
  get place(): Place {
    return { at: this.at, depth: this.depth }
  }

  /** Back to a value: within it, reading may have stopped at any depth. */
  goTo({ at, depth }: Place): void {
    this.at = at
    this.depth = depth
  }

  /** @returns the offset of the next byte that is not white space; the cursor is there */
  blanks(): number {
    const { bytes } = this
    let { at } = this
    for (let byte = bytes[at]; byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09; byte = bytes[at]) at++
    this.at = at
    return at
  }

  malformed(what: string): MalformedRequest {
    const where = this.at >= this.bytes.length ? 'the text ends too early' : what
    return new MalformedRequest(`The body is not valid JSON: at byte ${this.at}, ${where}.`)
  }

  private key(): boolean {
    this.keyStart = this.blanks() + 1
    this.skipString()
    this.keyEnd = this.at - 1
    if (this.bytes[this.blanks()] !== COLON) throw this.malformed('a colon is missing')
    this.at++
    return true
  }

  private isText(start: number, end: number, text: Buffer): boolean {
    return end - start === text.length && this.bytes.compare(text, 0, text.length, start, end) === 0
  }

  private isNothing(): boolean {
    if (this.bytes[this.blanks()] !== NULL[0]) return false
    this.scalar()
    return true
  }

  /** Enters an object or array. @returns whether it has a first element */
  private open(bracket: number, closing: number): boolean {
    if (this.bytes[this.blanks()] !== bracket) {
      throw this.malformed(bracket === OPEN_OBJECT ? 'an object is expected' : 'an array is expected')
    }
    if (++this.depth > DEPTH_MAX) throw this.malformed(`it is nested more than ${DEPTH_MAX} deep`)
    if (++this.containers > CONTAINERS_MAX) {
      throw this.malformed(`it has more than ${CONTAINERS_MAX} objects and arrays`)
    }
    this.at++
    if (this.bytes[this.blanks()] !== closing) return true
    this.leave()
    return false
  }

  private more(closing: number): boolean {
    const byte = this.bytes[this.blanks()]
    if (byte === COMMA) {
      this.at++
      return true
    }
    if (byte !== closing) throw this.malformed('a comma or closing bracket is missing')
    this.leave()
    return false
  }

  private leave(): void {
    this.at++
    this.depth--
  }

  private skipString(): void {
    const { bytes } = this
    if (bytes[this.at] !== QUOTE) throw this.malformed('a string is expected')
    let at = this.at + 1
    for (;;) {
      const byte = bytes[at]
      if (byte === undefined || byte < 0x20) {
        this.at = at
        throw this.malformed('a string has a control character')
      }
      at++
      if (byte === QUOTE) break
      if (byte !== BACKSLASH) continue
      const length = escapeLength(bytes, at)
      if (length === 0) {
        this.at = at
        throw this.malformed('a string has an invalid escape')
      }
      at += length
    }
    this.at = at
  }

  private scalar(): void {
    const { bytes } = this
    const start = this.at
    const word = WORDS.find((each) => bytes[start] === each[0])
    if (word !== undefined) {
      if (!this.isText(start, Math.min(start + word.length, bytes.length), word))
        throw this.malformed('a value is unknown')
      this.at = start + word.length
      return
    }
    let at = start
    while (isOfNumber(bytes[at])) at++
    // Longer ones exist, but no field needs them.
    if (at - start > NUMBER_BYTES_MAX || !NUMBER.test(bytes.toString('latin1', start, at))) {
      throw this.malformed('a value is expected')
    }
    this.at = at
  }
}

const NULL = Buffer.from('null')
const WORDS = [Buffer.from('true'), Buffer.from('false'), NULL]
/** A byte takes six at most, as `\\u0000`. */
const ESCAPED_BYTES_MAX = 6
const NUMBER_BYTES_MAX = 64
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** Whether these bytes are a number, `true`, `false` or `null`. */
export const isJsonScalar = (bytes: Buffer, start: number, end: number): boolean =>
  end - start <= NUMBER_BYTES_MAX && SCALAR.test(bytes.toString('latin1', start, end))
const SCALAR = new RegExp(`${NUMBER.source}|^(?:true|false|null)$`)

/** Whether what is between these quotes has no control characters, and only escapes that JSON knows. */
export function isJsonText(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start + 1; at < end - 1; at++) {
    const byte = bytes[at] as number
    if (byte < 0x20) return false
    if (byte !== BACKSLASH) continue
    const length = escapeLength(bytes, at + 1)
    if (length === 0) return false
    at += length
  }
  return true
}

const isOfNumber = (byte: number | undefined): boolean =>
  byte !== undefined &&
  ((byte >= 0x30 && byte <= 0x39) || byte === MINUS || byte === 0x2b || byte === 0x2e || (byte | 0x20) === 0x65)

/** @returns bytes after the backslash; 0 for an escape that JSON does not know */
function escapeLength(bytes: Buffer, at: number): number {
  const byte = bytes[at]
  if (byte === undefined) return 0
  if (byte !== 0x75) return ESCAPES.includes(byte) ? 1 : 0
  return HEX_4.test(bytes.toString('latin1', at + 1, at + 5)) ? 5 : 0
}
const ESCAPES = Buffer.from('"\\/bfnrt')
const HEX_4 = /^[0-9a-fA-F]{4}$/
