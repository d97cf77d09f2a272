export const QUOTE = 0x22
export const BACKSLASH = 0x5c
export const COMMA = 0x2c
export const COLON = 0x3a
export const OPEN_ARRAY = 0x5b
export const CLOSE_ARRAY = 0x5d
export const OPEN_OBJECT = 0x7b
export const CLOSE_OBJECT = 0x7d
/** What `next` says at the end of the text. */
export const NOTHING = -1

/** Where a text is not JSON, and why; never its words. */
export class NotJson extends Error {
  readonly at: number
  readonly reason: string

  constructor(at: number, reason: string) {
    super(reason)
    this.at = at
    this.reason = reason
  }
}

/** Far beyond any event or payload; the scanner keeps one byte per level. */
const DEPTH_MAX = 1_000
/** Bytes of a string that are looked at one by one before it counts as long. */
const NEAR_BYTES = 48
const FIRST_PRINTABLE = 0x20

/**
 * Finds where values of a JSON text end, without parsing them: it looks at brackets and strings only, and leaves the
 * rest of JSON's grammar to those who read the values.
 *
 * Bytes of 0x80 and above never look like any of these, in valid UTF-8 or not.
 */
export class JsonScanner {
  bytes: Buffer
  at = 0
  private readonly open = new Uint8Array(DEPTH_MAX)
  private readonly refusesControls: boolean

  /** @param refusesControls in strings, and what may not follow one: a closing quote is then likely missing. Otherwise a
   * long string costs little */
  constructor(bytes: Buffer, refusesControls: boolean) {
    this.bytes = bytes
    this.refusesControls = refusesControls
  }

  /** The next byte that is not blank, which is where `at` then is; `NOTHING` at the end. */
  next(): number {
    const { bytes } = this
    const { length } = bytes
    let { at } = this
    while (at < length && isBlank(bytes[at] as number)) at++
    this.at = at
    return at < length ? (bytes[at] as number) : NOTHING
  }

  /** Whether the next byte is this one, which is then passed over. */
  takes(byte: number): boolean {
    const isNext = this.next() === byte
    if (isNext) this.at++
    return isNext
  }

  /** @throws NotJson when the next byte is another one */
  take(byte: number): void {
    if (!this.takes(byte)) throw new NotJson(this.at, `"${String.fromCharCode(byte)}" is missing`)
  }

  /** Passes over a value. */
  skip(): void {
    const byte = this.next()
    if (byte === QUOTE) this.at = this.stringEnd(this.at)
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) this.at = this.containerEnd(this.at)
    else this.at = this.literalEnd(this.at)
  }

  private literalEnd(from: number): number {
    const { bytes } = this
    let at = from
    while (at < bytes.length && IS_LITERAL[bytes[at] as number] === 1) at++
    if (at === from) throw new NotJson(at, 'a value is missing')
    return at
  }

  /** @returns the offset of the comma or bracket that ends an element of an array, whatever the element is */
  elementEnd(from: number): number {
    const { bytes } = this
    const { length } = bytes
    for (let at = from; at < length; ) {
      switch (bytes[at]) {
        case QUOTE:
          at = this.stringEnd(at)
          break
        case OPEN_ARRAY:
        case OPEN_OBJECT:
          at = this.containerEnd(at)
          break
        case CLOSE_ARRAY:
        case COMMA:
          return at
        case CLOSE_OBJECT:
          throw new NotJson(at, 'brackets do not match')
        default:
          at++
      }
    }
    throw new NotJson(length, 'the array does not end')
  }

  /** @param from the offset of the opening bracket @returns the offset behind the closing one */
  private containerEnd(from: number): number {
    const { bytes, open } = this
    const { length } = bytes
    let depth = 0
    for (let at = from; at < length; at++) {
      const byte = bytes[at] as number
      switch (byte) {
        case QUOTE:
          at = this.stringEnd(at) - 1
          if (this.refusesControls && !this.mayFollowString(at + 1)) {
            throw new NotJson(at, 'something follows a string that may not')
          }
          break
        case OPEN_ARRAY:
        case OPEN_OBJECT:
          if (depth === DEPTH_MAX) throw new NotJson(at, `an element is nested more than ${DEPTH_MAX} deep`)
          open[depth++] = byte
          break
        case CLOSE_ARRAY:
        case CLOSE_OBJECT:
          if (open[--depth] !== (byte === CLOSE_ARRAY ? OPEN_ARRAY : OPEN_OBJECT)) {
            throw new NotJson(at, 'brackets do not match')
          }
          if (depth === 0) return at + 1
          break
      }
    }
    throw new NotJson(length, 'the array does not end')
  }

  /** Where the closing quote of a string is missing, the opening one of the next looks like it. */
  private mayFollowString(from: number): boolean {
    const { bytes } = this
    let at = from
    while (at < bytes.length && isBlank(bytes[at] as number)) at++
    const byte = bytes[at]
    return byte === COLON || byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_ARRAY || byte === undefined
  }

  /** @param from the offset of the opening quote @returns the offset behind the closing one */
  private stringEnd(from: number): number {
    const { bytes, refusesControls } = this
    const { length } = bytes
    for (let at = from + 1; at < length; ) {
      for (const near = refusesControls ? length : Math.min(length, at + NEAR_BYTES); at < near; at++) {
        const byte = bytes[at] as number
        if (byte === QUOTE) return at + 1
        if (byte === BACKSLASH) at++
        else if (byte < FIRST_PRINTABLE && refusesControls) {
          throw new NotJson(at, 'a string holds a bare control character')
        }
      }
      // A long string without quotes and escapes: the search of the engine is faster.
      const quote = bytes.indexOf(QUOTE, at)
      if (quote < 0) break
      let escapes = quote
      while (escapes > at && bytes[escapes - 1] === BACKSLASH) escapes--
      if ((quote - escapes) % 2 === 0) return quote + 1
      at = quote + 1
    }
    throw new NotJson(length, 'a string does not end')
  }
}

export const isBlank = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
/** Bytes of numbers and of names. */
export const IS_LITERAL = Uint8Array.from({ length: 256 }, (_, byte) =>
  /[\w.+-]/.test(String.fromCharCode(byte)) ? 1 : 0,
)
