import { isUtf8 } from 'node:buffer'
import { isContentKey } from './content-keys.js'
import { withoutDoubleNoise } from './double-digits.js'
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  JsonScanner,
  NOTHING,
  NotJson,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from './json-scanner.js'
import { unescapedBytes } from './unescape-json.js'

/**
 * Which values of a JSON text are read:
 * - `value`: a text, number, boolean or null
 * - `digits`: a number as its own digits without the noise of a double, for exact decimals; also a text, as it is
 * - `texts`: the texts of an array
 * - `scalars`: an object's texts, numbers and booleans, under whatever names but those of content
 * - `skip`: known, and not read
 * - members of an object; a value that is no object is read as `value`. The member `*` is every other one that is an
 *   object, unless its name is one of content
 * - `InText`: the same of an object, also where it is the JSON within a text
 * - `ByReader`: what another reader makes of its bytes
 */
export type Wanted =
  | 'value'
  | 'digits'
  | 'texts'
  | 'scalars'
  | 'skip'
  | InText
  | ByReader
  | { readonly [member: string]: Wanted }

/** A value of a form of its own. The reader gets the bytes of the value, from `start` to before `end`. */
export class ByReader {
  readonly read: (bytes: Buffer, start: number, end: number) => unknown

  constructor(read: ByReader['read']) {
    this.read = read
  }
}

/** An object that may stand in a text: collectors of logs put a line of JSON into a string. */
export class InText {
  readonly members: WantedMembers

  constructor(members: WantedMembers) {
    this.members = members
  }
}

export interface WantedMembers {
  readonly [member: string]: Wanted
}

/** What was read: a member is absent when the text has none, or one of another kind. */
export interface Selected {
  readonly [member: string]: unknown
}

export interface Selection {
  readonly value: Selected
  /** Members beside those that are wanted, in the objects that are read. */
  readonly unknownMembers: number
}

type Compiled = Exclude<Wanted, object> | Members | JsonSelector | ByReader
type Members = ReadonlyMap<string, Compiled>

const ANY = '*'
/** A longer text is no line of a log, even with a prompt. */
const TEXT_BYTES_MAX = 1024 * 1024

/** Elements of `texts` and members of `scalars` that are read; the others are skipped. */
const ENTRIES_MAX = 64
/** Longer names are skipped as unknown without being decoded. */
const NAME_BYTES_MAX = 128

/**
 * Reads chosen values of JSON objects and passes over all others: their bytes are never decoded, so that what may be a
 * prompt or a completion does not exist as a text at any moment, and a long one costs little.
 *
 * It is as strict as needed to find where values end: what it passes over need not be valid JSON in every detail.
 */
export class JsonSelector {
  private readonly wanted: Members
  private readonly json = new JsonScanner(NO_BYTES, false)
  private unknownMembers = 0
  private onUnknown: ((name: string) => void) | undefined

  constructor(wanted: WantedMembers) {
    this.wanted = compileMembers(wanted)
  }

  /**
   * @param onUnknown gets the names of members beside those that are wanted
   * @returns undefined when the bytes are not one JSON object in UTF-8
   */
  select(bytes: Buffer, start = 0, end = bytes.length, onUnknown?: (name: string) => void): Selection | undefined {
    const { json } = this
    this.onUnknown = onUnknown
    json.bytes = bytes.subarray(start, end)
    json.at = 0
    this.unknownMembers = 0
    try {
      if (!isUtf8(json.bytes) || json.next() !== OPEN_OBJECT) return undefined
      const value = this.object(this.wanted)
      return json.next() === NOTHING ? { value, unknownMembers: this.unknownMembers } : undefined
    } catch (cause) {
      if (cause instanceof NotJson) return undefined
      throw cause
    } finally {
      json.bytes = NO_BYTES
      this.onUnknown = undefined
    }
  }

  /** From the opening brace to behind the closing one. */
  private object(wanted: Members): Selected {
    const { json } = this
    const any = wanted.get(ANY)
    const selected: Record<string, unknown> = any === undefined ? {} : Object.create(null)
    let others = 0
    this.eachMember((name) => {
      const isOther = name !== undefined && any !== undefined && !wanted.has(name)
      const isRead = isOther && json.next() === OPEN_OBJECT && !isContentKey(name) && ++others <= ENTRIES_MAX
      const kind = isOther ? (isRead ? any : 'skip') : name === undefined ? undefined : wanted.get(name)
      if (kind === undefined) {
        this.unknownMembers++
        if (name !== undefined) this.onUnknown?.(name)
      }
      const value = kind === undefined ? json.skip() : this.value(kind)
      if (value !== undefined && name !== undefined) selected[name] = value
    })
    return selected
  }

  private value(kind: Compiled): unknown {
    const { json } = this
    const byte = json.next()
    if (kind instanceof JsonSelector) return this.inText(kind)
    if (kind instanceof ByReader) {
      const start = json.at
      json.skip()
      return kind.read(json.bytes, start, json.at)
    }
    if (byte === OPEN_OBJECT) {
      if (typeof kind !== 'string') return this.object(kind)
      return kind === 'scalars' ? this.scalars() : json.skip()
    }
    if (byte === OPEN_ARRAY) return kind === 'texts' ? this.texts() : json.skip()
    if (kind === 'skip' || kind === 'texts' || kind === 'scalars') return json.skip()
    return this.scalar(kind === 'digits')
  }

  /** Of an object, or of one within a text: a text that is none is never decoded. */
  private inText(selector: JsonSelector): Selected | undefined {
    const { json } = this
    const isText = json.bytes[json.at] === QUOTE
    const start = json.at
    json.skip()
    if (json.at - start > TEXT_BYTES_MAX) return undefined
    const inner = isText
      ? unescapedBytes(json.bytes.subarray(start + 1, json.at - 1))
      : json.bytes.subarray(start, json.at)
    const selection = inner === undefined ? undefined : selector.select(inner)
    this.unknownMembers += selection?.unknownMembers ?? 0
    return selection?.value
  }

  private scalars(): Selected {
    const { json } = this
    // No prototype: names come from outside.
    const selected: Record<string, unknown> = Object.create(null)
    let count = 0
    this.eachMember((name) => {
      const byte = json.next()
      const isScalar = byte !== OPEN_OBJECT && byte !== OPEN_ARRAY
      const isRead = isScalar && name !== undefined && !isContentKey(name) && ++count <= ENTRIES_MAX
      if (isRead) selected[name] = this.scalar(false)
      else json.skip()
    })
    return selected
  }

  private texts(): readonly string[] {
    const { json } = this
    const texts: string[] = []
    json.take(OPEN_ARRAY)
    if (json.takes(CLOSE_ARRAY)) return texts
    do {
      if (json.next() === QUOTE && texts.length < ENTRIES_MAX) texts.push(this.text())
      else json.skip()
    } while (json.takes(COMMA))
    json.take(CLOSE_ARRAY)
    return texts
  }

  private eachMember(read: (name: string | undefined) => void): void {
    const { json } = this
    json.take(OPEN_OBJECT)
    if (json.takes(CLOSE_OBJECT)) return
    do {
      const name = this.name()
      json.take(COLON)
      read(name)
    } while (json.takes(COMMA))
    json.take(CLOSE_OBJECT)
  }

  private name(): string | undefined {
    const { json } = this
    if (json.next() !== QUOTE) throw new NotJson(json.at, 'a name is missing')
    const start = json.at
    json.skip()
    return json.at - start > NAME_BYTES_MAX ? undefined : this.decoded(start, json.at)
  }

  private text(): string {
    const { json } = this
    const start = json.at
    json.skip()
    return this.decoded(start, json.at)
  }

  private scalar(asDigits: boolean): unknown {
    const { json } = this
    const start = json.at
    if (json.bytes[start] === QUOTE) return this.text()
    json.skip()
    const text = json.bytes.toString('latin1', start, json.at)
    if (text === 'null') return null
    if (text === 'true') return true
    if (text === 'false') return false
    if (NOT_FINITE.has(text)) return undefined
    if (!NUMBER.test(text)) throw new NotJson(start, 'a value is unknown')
    return asDigits ? withoutDoubleNoise(text) : Number(text)
  }

  private decoded(start: number, end: number): string {
    // Most are without escapes, which need no parser.
    const inner = this.json.bytes.toString('utf8', start + 1, end - 1)
    if (!inner.includes('\\')) return inner
    try {
      return JSON.parse(`"${inner}"`) as string
    } catch {
      throw new NotJson(this.json.at, 'a string has an invalid escape')
    }
  }
}

const NO_BYTES = Buffer.alloc(0)
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
/** Python writes them, though JSON has none. */
const NOT_FINITE = new Set(['NaN', 'Infinity', '-Infinity'])

function compile(wanted: Wanted): Compiled {
  if (typeof wanted === 'string' || wanted instanceof ByReader) return wanted
  return wanted instanceof InText ? new JsonSelector(wanted.members) : compileMembers(wanted)
}

const compileMembers = (wanted: WantedMembers): Members =>
  new Map(Object.entries(wanted).map(([name, inner]) => [name, compile(inner)] as const))
