/**
 * Finds what an answer says about itself in its bytes as they pass: JSON, NDJSON, an array of answers, or the events of
 * a stream. Everything else, what was said above all, is stepped over and never becomes text.
 */
import type { Stated } from './answer.js'
import { isAt, joined } from './bytes.js'
import { quietly } from './event.js'

/** Members that are read, with the most bytes that their values may have. */
const WANTED: ReadonlyMap<string, number> = new Map([
  ['id', 512],
  ['responseId', 512],
  ['model', 512],
  ['modelVersion', 512],
  ['type', 128],
  ['object', 128],
  ['status', 64],
  ['background', 8],
  ['service_tier', 64],
  ['usage', 65_536],
  ['usageMetadata', 65_536],
  ['usage_info', 65_536],
  ['amazon-bedrock-invocationMetrics', 4_096],
  ['meta', 4_096],
  ['x_groq', 4_096],
  // Only to know a list that is empty.
  ['choices', 8],
])
const KEY_LENGTH_MAX = 32
/** Objects that hold the answer within an event of a stream, or within a line of a batch. */
const HOLDERS: ReadonlySet<string> = new Set(['response', 'message', 'interaction', 'result', 'delta'])
const HOLDERS_DEEP = 3

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d

export class AnswerScanner {
  private readonly onAnswer: (stated: Stated) => void
  private depth = 0
  /** The innermost object whose members are read: it and those around it are open. 0: none is. */
  private read = 0
  private stated: Record<string, unknown> = {}
  private readonly depthOf = new Map<string, number>()
  private readonly last = new Map<string, { readonly bytes: Uint8Array; readonly value: unknown }>()
  private isInText = false
  private isEscaped = false
  private isKeyNext = false
  /** What has been seen of a key; undefined outside of keys. */
  private keyHead: string | undefined
  private key = ''
  private isValueNext = false
  /** Bytes of a wanted value from earlier chunks, and where it began in this one. */
  private parts: Uint8Array[] = []
  private from = NONE
  private left = 0

  constructor(onAnswer: (stated: Stated) => void) {
    this.onAnswer = onAnswer
  }

  get isBetweenAnswers(): boolean {
    return this.depth === 0
  }

  push(bytes: Uint8Array): void {
    if (this.from >= 0) this.from = 0
    let at = 0
    while (at < bytes.length) at = this.isInText ? this.textFrom(bytes, at) : this.next(bytes, at)
    if (this.from >= 0) this.take(bytes, bytes.length, true)
  }

  /** @returns where to go on */
  private next(bytes: Uint8Array, start: number): number {
    let at = start
    // Between answers there are names of events, `data:` and line ends, or the commas of a list.
    if (this.depth === 0) {
      const opening = bytes.indexOf(OPEN_OBJECT, at)
      if (opening < 0) return bytes.length
      this.depth = this.read = 1
      this.isKeyNext = true
      return opening + 1
    }
    const isRead = this.depth === this.read
    if (!isRead) {
      at = structureFrom(bytes, at)
      if (at === bytes.length) return at
    }
    const byte = bytes[at] as number
    if (byte === QUOTE) {
      this.isInText = true
      if (isRead && this.isKeyNext) this.keyHead = ''
      else this.beginValue(at)
    } else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      if (isRead && byte === OPEN_OBJECT && this.isValueNext && this.read < HOLDERS_DEEP && HOLDERS.has(this.key)) {
        this.read++
        this.isKeyNext = true
        this.isValueNext = false
      } else this.beginValue(at)
      this.depth++
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
      if (isRead) this.close(bytes, at)
      this.depth--
      if (this.depth === 0) this.emit()
    } else if (isRead && byte === COMMA) {
      this.endValue(bytes, at)
      this.isKeyNext = true
    } else if (byte > 0x20 && byte !== COLON) this.beginValue(at)
    return at + 1
  }

  /** Goes to the end of a text, or of the bytes. Long ones are what was said: `indexOf` steps over them. */
  private textFrom(bytes: Uint8Array, start: number): number {
    let from = start
    if (this.isEscaped) {
      this.isEscaped = false
      from++
    }
    for (let at = from; ; ) {
      const quote = bytes.indexOf(QUOTE, at)
      const end = quote < 0 ? bytes.length : quote
      let backslashes = 0
      while (end - 1 - backslashes >= from && bytes[end - 1 - backslashes] === BACKSLASH) backslashes++
      const isOdd = backslashes % 2 === 1
      if (quote < 0) this.isEscaped = isOdd
      else if (isOdd) {
        at = from = quote + 1
        continue
      }
      this.seeKey(bytes, start, end, quote >= 0)
      if (quote >= 0) this.isInText = false
      return end + 1
    }
  }

  private seeKey(bytes: Uint8Array, start: number, end: number, isWhole: boolean): void {
    if (this.keyHead === undefined) return
    const isShort = this.keyHead.length + end - start <= KEY_LENGTH_MAX
    if (isShort) for (let at = start; at < end; at++) this.keyHead += String.fromCharCode(bytes[at] as number)
    else this.keyHead = ' '.repeat(KEY_LENGTH_MAX)
    if (!isWhole) return
    this.key = this.keyHead
    this.keyHead = undefined
    this.isKeyNext = false
    this.isValueNext = true
  }

  private beginValue(at: number): void {
    if (!this.isValueNext || this.depth !== this.read) return
    this.isValueNext = false
    const bytesMax = WANTED.get(this.key)
    if (bytesMax === undefined) return
    this.from = at
    this.left = bytesMax
  }

  private take(bytes: Uint8Array, end: number, isCut: boolean): void {
    this.left -= end - this.from
    if (this.left < 0) this.parts = []
    // What goes on in the next chunk is kept; the chunk is its reader's.
    else this.parts.push(isCut ? bytes.slice(this.from, end) : bytes.subarray(this.from, end))
  }

  private endValue(bytes: Uint8Array, end: number): void {
    this.isValueNext = false
    if (this.from < 0) return
    this.take(bytes, end, false)
    this.from = NONE
    const parts = this.parts
    this.parts = []
    // What an object further in says is of the answer; its outer one is an event.
    if (this.left < 0 || (this.depthOf.get(this.key) ?? 0) > this.read) return
    if (this.key === 'type' && this.read > 1) return
    const value = this.parsed(joined(parts))
    if (value === undefined || value === null) return
    this.stated[this.key] = value
    this.depthOf.set(this.key, this.read)
  }

  /** Most parts of a stream repeat what the first one says. */
  private parsed(bytes: Uint8Array): unknown {
    const last = this.last.get(this.key)
    if (last !== undefined && last.bytes.length === bytes.length && isAt(last.bytes, bytes, 0)) return last.value
    const value = quietly(() => JSON.parse(decoder.decode(bytes)) as unknown)
    this.last.set(this.key, { bytes: bytes.slice(), value })
    return value
  }

  private close(bytes: Uint8Array, at: number): void {
    this.endValue(bytes, at)
    this.read--
    this.isKeyNext = false
  }

  private emit(): void {
    const stated = this.stated
    this.stated = {}
    this.depthOf.clear()
    this.onAnswer(stated)
  }
}

const NONE = -1
const IS_STRUCTURE = Uint8Array.from({ length: 256 }, (_, byte) =>
  [QUOTE, OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST].includes(byte) ? 1 : 0,
)

/** Steps over what is neither text nor the begin or end of anything: the numbers of an embedding. */
function structureFrom(bytes: Uint8Array, start: number): number {
  let at = start
  while (at < bytes.length && IS_STRUCTURE[bytes[at] as number] === 0) at++
  return at
}

const decoder = new TextDecoder()

/** The same of an answer that was parsed already, or of each in a list. */
export function statedIn(value: unknown): readonly Stated[] {
  if (Array.isArray(value)) return value.flatMap(statedIn)
  if (typeof value !== 'object' || value === null) return []
  const stated: Record<string, unknown> = {}
  collect(value as Stated, stated, 1)
  return [stated]
}

function collect(members: Stated, stated: Record<string, unknown>, depth: number): void {
  for (const name of WANTED.keys()) {
    const value = members[name]
    if (value === undefined || value === null || (name === 'type' && depth > 1)) continue
    if (name !== 'choices' || (value as readonly unknown[]).length === 0) stated[name] = value
  }
  if (depth === HOLDERS_DEEP) return
  for (const name of HOLDERS) {
    const inner = members[name]
    if (typeof inner === 'object' && inner !== null) collect(inner as Stated, stated, depth + 1)
  }
}
