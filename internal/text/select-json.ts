import { isUtf8 } from 'node:buffer'
import { isContentKey } from './content-keys.js'

/**
 * Which values of a JSON text are read:
 * - `value`: a text, number, boolean or null
 * - `digits`: a number as its own digits, for exact decimals; also a text
 * - `texts`: the texts of an array
 * - `scalars`: an object's texts, numbers and booleans, under whatever names but those of content
 * - `skip`: known, and not read
 * - members of an object; a value that is no object is read as `value`
 */
export type Wanted = 'value' | 'digits' | 'texts' | 'scalars' | 'skip' | { readonly [member: string]: Wanted }

/** What was read: a member is absent when the text has none, or one of another kind. */
export interface Selected {
  readonly [member: string]: unknown
}

export interface Selection {
  readonly value: Selected
  /** Members beside those that are wanted, in the objects that are read. */
  readonly unknownMembers: number
}

type Compiled = Exclude<Wanted, object> | ReadonlyMap<string, Compiled>

/** Elements of `texts` and members of `scalars` that are read; the others are skipped. */
const ENTRIES_MAX = 64
const DEPTH_MAX = 1_000
/** Bytes of a text that are looked at one by one before it counts as long. */
const NEAR_BYTES = 48
/** Longer names are skipped as unknown without being decoded. */
const NAME_BYTES_MAX = 128

/**
 * Reads chosen values of JSON objects and passes over all others: their bytes are never decoded, so that what may be a
 * prompt or a completion does not exist as a text at any moment, and a long one costs little.
 *
 * It is as strict as needed to find where values end: what it passes over need not be valid JSON in every detail.
 */
export class JsonSelector {
  private readonly wanted: ReadonlyMap<string, Compiled>
  private readonly open = new Uint8Array(DEPTH_MAX)
  private bytes: Buffer = NO_BYTES
  private at = 0
  private end = 0
  private unknownMembers = 0

  constructor(wanted: Extract<Wanted, object>) {
    this.wanted = compile(wanted) as ReadonlyMap<string, Compiled>
  }

  /** @returns undefined when the bytes are not one JSON object in UTF-8 */
  select(bytes: Buffer, start = 0, end = bytes.length): Selection | undefined {
    this.bytes = bytes.subarray(start, end)
    this.at = 0
    this.end = this.bytes.length
    this.unknownMembers = 0
    try {
      if (!isUtf8(this.bytes) || this.next() !== OPEN_OBJECT) return undefined
      const value = this.object(this.wanted)
      return this.next() === NOTHING ? { value, unknownMembers: this.unknownMembers } : undefined
    } catch (cause) {
      if (cause instanceof NotJson) return undefined
      throw cause
    } finally {
      this.bytes = NO_BYTES
    }
  }

  /** From the opening brace to behind the closing one. */
  private object(wanted: ReadonlyMap<string, Compiled>): Selected {
    const selected: Record<string, unknown> = {}
    this.eachMember((name) => {
      const kind = name === undefined ? undefined : wanted.get(name)
      if (kind === undefined) this.unknownMembers++
      const value = kind === undefined ? this.skip() : this.value(kind)
      if (value !== undefined && name !== undefined) selected[name] = value
    })
    return selected
  }

  private value(kind: Compiled): unknown {
    const byte = this.next()
    if (byte === OPEN_OBJECT) {
      if (typeof kind !== 'string') return this.object(kind)
      return kind === 'scalars' ? this.scalars() : this.skip()
    }
    if (byte === OPEN_ARRAY) return kind === 'texts' ? this.texts() : this.skip()
    if (kind === 'skip' || kind === 'texts' || kind === 'scalars') return this.skip()
    return this.scalar(kind === 'digits')
  }

  private scalars(): Selected {
    // No prototype: names come from outside.
    const selected: Record<string, unknown> = Object.create(null)
    let count = 0
    this.eachMember((name) => {
      const byte = this.next()
      const isScalar = byte !== OPEN_OBJECT && byte !== OPEN_ARRAY
      const isRead = isScalar && name !== undefined && !isContentKey(name) && ++count <= ENTRIES_MAX
      if (isRead) selected[name] = this.scalar(false)
      else this.skip()
    })
    return selected
  }

  private texts(): readonly string[] {
    const texts: string[] = []
    this.at++
    if (this.next() === CLOSE_ARRAY) {
      this.at++
      return texts
    }
    for (;;) {
      if (this.next() === QUOTE && texts.length < ENTRIES_MAX) texts.push(this.text())
      else this.skip()
      const byte = this.next()
      this.at++
      if (byte === CLOSE_ARRAY) return texts
      if (byte !== COMMA) throw new NotJson()
    }
  }

  private eachMember(read: (name: string | undefined) => void): void {
    this.at++
    if (this.next() === CLOSE_OBJECT) {
      this.at++
      return
    }
    for (;;) {
      if (this.next() !== QUOTE) throw new NotJson()
      const name = this.name()
      if (this.next() !== COLON) throw new NotJson()
      this.at++
      read(name)
      const byte = this.next()
      this.at++
      if (byte === CLOSE_OBJECT) return
      if (byte !== COMMA) throw new NotJson()
    }
  }

  private name(): string | undefined {
    const start = this.at
    this.skipText()
    return this.at - start > NAME_BYTES_MAX ? undefined : this.decoded(start, this.at)
  }

  private text(): string {
    const start = this.at
    this.skipText()
    return this.decoded(start, this.at)
  }

  private scalar(asDigits: boolean): unknown {
    if (this.bytes[this.at] === QUOTE) return this.text()
    const start = this.at
    this.skipLiteral()
    const text = this.bytes.toString('latin1', start, this.at)
    if (text === 'null') return null
    if (text === 'true') return true
    if (text === 'false') return false
    if (NOT_FINITE.has(text)) return undefined
    if (!NUMBER.test(text)) throw new NotJson()
    return asDigits ? text : Number(text)
  }

  private decoded(start: number, end: number): string {
    // Most are without escapes, which need no parser.
    const inner = this.bytes.toString('utf8', start + 1, end - 1)
    if (!inner.includes('\\')) return inner
    try {
      return JSON.parse(`"${inner}"`) as string
    } catch {
      throw new NotJson()
    }
  }

  /** Passes over any value. */
  private skip(): undefined {
    const { bytes, open } = this
    let depth = 0
    do {
      const byte = this.next()
      switch (byte) {
        case QUOTE:
          this.skipText()
          break
        case OPEN_OBJECT:
        case OPEN_ARRAY:
          if (depth === DEPTH_MAX) throw new NotJson()
          open[depth++] = byte
          this.at++
          break
        case CLOSE_OBJECT:
        case CLOSE_ARRAY:
          if (depth === 0 || open[--depth] !== (byte === CLOSE_OBJECT ? OPEN_OBJECT : OPEN_ARRAY)) throw new NotJson()
          this.at++
          break
        case COMMA:
        case COLON:
          if (depth === 0) throw new NotJson()
          this.at++
          break
        case NOTHING:
          throw new NotJson()
        default:
          this.skipLiteral()
      }
    } while (depth > 0 && this.at <= bytes.length)
    return undefined
  }

  /** From the opening quote to behind the closing one. */
  private skipText(): void {
    const { bytes, end } = this
    let at = this.at + 1
    while (at < end) {
      for (const near = Math.min(end, at + NEAR_BYTES); at < near; at++) {
        const byte = bytes[at]
        if (byte === QUOTE) {
          this.at = at + 1
          return
        }
        if (byte === BACKSLASH) at++
      }
      // A long text without quotes and escapes: the search of the engine is faster.
      const quote = bytes.indexOf(QUOTE, at)
      if (quote < 0) break
      let escapes = quote
      while (escapes > at && bytes[escapes - 1] === BACKSLASH) escapes--
      if ((quote - escapes) % 2 === 0) {
        this.at = quote + 1
        return
      }
      at = quote + 1
    }
    throw new NotJson()
  }

  private skipLiteral(): void {
    const start = this.at
    while (this.at < this.end && IS_LITERAL[this.bytes[this.at] as number] === 1) this.at++
    if (this.at === start) throw new NotJson()
  }

  /** The next byte that is not blank, which is where `at` then is; `NOTHING` at the end. */
  private next(): number {
    const { bytes, end } = this
    let { at } = this
    while (at < end && isBlank(bytes[at] as number)) at++
    this.at = at
    return at < end ? (bytes[at] as number) : NOTHING
  }
}

class NotJson extends Error {}

const NO_BYTES = Buffer.alloc(0)
const NOTHING = -1
const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
/** Python writes them, though JSON has none. */
const NOT_FINITE = new Set(['NaN', 'Infinity', '-Infinity'])
/** Bytes of numbers and of names. */
const IS_LITERAL = Uint8Array.from({ length: 256 }, (_, byte) => (/[\w.+-]/.test(String.fromCharCode(byte)) ? 1 : 0))
const isBlank = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

const compile = (wanted: Wanted): Compiled =>
  typeof wanted === 'string'
    ? wanted
    : new Map(Object.entries(wanted).map(([name, inner]) => [name, compile(inner)] as const))
