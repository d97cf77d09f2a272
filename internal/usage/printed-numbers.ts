/** Numbers by the names under which they stand; a list holds trees. Texts are left out, but for short words of `WORDS`. */
export interface NumberTree {
  readonly [name: string]: NumberTree | readonly NumberTree[] | number | string
}

/**
 * The numbers of an object that is written as JSON, or as Python prints a dictionary or an object
 * (`Usage(prompt_tokens=12, details=None)`), read from its bytes: texts within it are skipped and never decoded, for
 * they can be content. What comes after the first error is left out.
 *
 * @param isEscaped whether the bytes are those of a JSON string: its quotes then have backslashes
 */
export function numbersOf(bytes: Uint8Array, start: number, end: number, isEscaped = false): NumberTree | undefined {
  if (isEscaped) {
    const plain = unescaped(bytes, start, end)
    return numbersOf(plain, 0, plain.length)
  }
  const tree = new PrintedNumbers(bytes, start, end).value(0)
  return typeof tree === 'object' && !Array.isArray(tree) ? (tree as NumberTree) : undefined
}

type Value = NumberTree | readonly NumberTree[] | number | string | undefined

const DEPTH_MAX = 8
const NAMES_MAX = 256
const NAME_BYTES_MAX = 64
/** Texts that say what is counted: Gemini's modalities, and how long Bedrock keeps a cache. */
const WORDS = new Set(['AUDIO', 'IMAGE', 'TEXT', 'VIDEO', 'DOCUMENT', '5m', '1h'])
const WORD_BYTES_MAX = 8

const QUOTE = 0x22
const APOSTROPHE = 0x27
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const EQUALS = 0x3d
const MINUS = 0x2d
const CLOSING = new Map([
  [0x7b, 0x7d],
  [0x5b, 0x5d],
  [0x28, 0x29],
])
const OPEN_OBJECT = 0x7b
const OPEN_CALL = 0x28

class PrintedNumbers {
  private at: number
  private names = 0
  private isBroken = false
  private readonly bytes: Uint8Array
  private readonly end: number

  constructor(bytes: Uint8Array, start: number, end: number) {
    this.bytes = bytes
    this.at = start
    this.end = end
  }

  /** The value at the cursor; undefined for one that has no number. */
  value(depth: number): Value {
    const byte = this.next()
    if (byte === OPEN_OBJECT) return this.members(depth)
    if (byte === QUOTE || byte === APOSTROPHE) return this.word()
    if (CLOSING.has(byte)) return this.elements(depth)
    const start = this.at
    while (this.at < this.end && isOfWord(this.bytes[this.at] as number)) this.at++
    if (this.at === start) return this.broken()
    // A call of a class is an object: `Usage(prompt_tokens=12)`.
    if (this.bytes[this.at] === OPEN_CALL) return this.members(depth)
    const first = this.bytes[start] as number
    return isDigit(first) || first === MINUS ? this.number(start) : undefined
  }

  private members(depth: number): NumberTree | undefined {
    const closing = CLOSING.get(this.bytes[this.at++] as number)
    const tree: Record<string, NumberTree | readonly NumberTree[] | number | string> = {}
    while (!this.isBroken && this.next() !== closing) {
      const name = this.name()
      const separator = this.next()
      if (separator !== COLON && separator !== EQUALS) return this.broken(tree)
      this.at++
      const value = depth < DEPTH_MAX ? this.value(depth + 1) : this.broken()
      if (name !== undefined && value !== undefined && this.names++ < NAMES_MAX) tree[name] = value
      if (this.next() === COMMA) this.at++
      else if (this.next() !== closing) return this.broken(tree)
    }
    this.at++
    return tree
  }

  private elements(depth: number): readonly NumberTree[] {
    const closing = CLOSING.get(this.bytes[this.at++] as number)
    const trees: NumberTree[] = []
    while (!this.isBroken && this.next() !== closing) {
      const value = depth < DEPTH_MAX ? this.value(depth + 1) : this.broken()
      if (typeof value === 'object' && !Array.isArray(value)) trees.push(value as NumberTree)
      if (this.next() === COMMA) this.at++
      else if (this.next() !== closing) this.broken()
    }
    this.at++
    return trees
  }

  /** A name in quotes or, of a class, without. */
  private name(): string | undefined {
    const byte = this.next()
    const isQuoted = byte === QUOTE || byte === APOSTROPHE
    let [start, end] = [this.at, this.at]
    if (isQuoted) {
      start++
      this.skipText(byte)
      end = this.at - 1
    } else {
      while (this.at < this.end && isOfWord(this.bytes[this.at] as number)) this.at++
      end = this.at
      if (end === start) this.broken()
    }
    if (end <= start || end - start > NAME_BYTES_MAX) return undefined
    for (let at = start; at < end; at++) if (!isOfWord(this.bytes[at] as number)) return undefined
    const name = this.text(start, end)
    return name === '__proto__' ? undefined : name
  }

  private word(): string | undefined {
    const start = this.at + 1
    this.skipText(this.bytes[this.at] as number)
    const end = this.at - 1
    if (end <= start || end - start > WORD_BYTES_MAX) return undefined
    const word = this.text(start, end)
    return WORDS.has(word) ? word : undefined
  }

  private number(start: number): number | undefined {
    const number = Number(this.text(start, this.at))
    return Number.isFinite(number) ? number : undefined
  }

  private skipText(quote: number): void {
    this.at++
    while (this.at < this.end && this.bytes[this.at] !== quote) this.at += this.bytes[this.at] === BACKSLASH ? 2 : 1
    if (this.at >= this.end) this.broken()
    this.at++
  }

  /** The next byte that is not white space; 0 at the end. */
  private next(): number {
    while (this.at < this.end && isBlank(this.bytes[this.at] as number)) this.at++
    if (this.at < this.end) return this.bytes[this.at] as number
    this.broken()
    return 0
  }

  private broken<T = undefined>(soFar?: T): T {
    this.isBroken = true
    this.at = this.end
    return soFar as T
  }

  private text(start: number, end: number): string {
    return String.fromCharCode(...this.bytes.subarray(start, end))
  }
}

const isBlank = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39

/** Letters, digits, and `_`, `-`, `+` and `.`, which numbers and names have. */
const isOfWord = (byte: number): boolean =>
  isDigit(byte) ||
  ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a) ||
  byte === 0x5f ||
  byte === MINUS ||
  byte === 0x2b ||
  byte === 0x2e

/** `\n`, `\r` and `\t` are white space. */
const BLANK_ESCAPES = new Set([0x6e, 0x72, 0x74])
const OTHER = 0x3f

/** What a JSON string stands for, as bytes; characters that are written by their number are none that count here. */
function unescaped(bytes: Uint8Array, start: number, end: number): Uint8Array {
  const plain = new Uint8Array(end - start)
  let length = 0
  for (let at = start; at < end; at++) {
    let byte = bytes[at] as number
    if (byte === BACKSLASH && at + 1 < end) {
      byte = bytes[++at] as number
      if (byte === 0x75) at += 4
      if (byte !== QUOTE && byte !== BACKSLASH) byte = BLANK_ESCAPES.has(byte) ? 0x20 : OTHER
    }
    plain[length++] = byte
  }
  return plain.subarray(0, length)
}
