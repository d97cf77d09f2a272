import type { BodyCopy } from '../bodies/body-copy.js'
import type { GrowingBytes } from '../bodies/growing-bytes.js'
import { JSON_TEXT_BYTES_MAX } from './json-members.js'
import type { KeyList } from './key-list.js'
import { BYTES, FIXED32, FIXED64, VARINT } from './protobuf-reader.js'
import type { CopiedRequest, Signal } from './telemetry.js'

/**
 * A body up to here is kept whole: to read it once costs less than to copy it first. One that is packed more tightly
 * than calls are may hold many messages of no bytes, which are counted as they are copied.
 */
const WHOLE_BYTES_MAX = 1024 * 1024
const WHOLE_BYTES_FREE = 64 * 1024
const UNPACKED_PER_BYTE = 64

/** The body of a request in protobuf. Of a long one, what the reader would pass over is left out as it comes. */
export class ProtobufCopy implements BodyCopy {
  kept: GrowingBytes
  private readonly signal: Signal
  private readonly keys: KeyList
  private records: ProtobufRecords | undefined

  constructor(kept: GrowingBytes, signal: Signal, keys: KeyList) {
    this.kept = kept
    this.signal = signal
    this.keys = keys
  }

  get steps(): number {
    return this.records?.steps ?? 0
  }

  /** Undefined while the body is whole. */
  get copied(): CopiedRequest | undefined {
    return this.records
  }

  write(chunk: Buffer, sentBytes: number): void {
    if (this.records !== undefined) return this.records.write(chunk)
    const bytesMax = Math.min(WHOLE_BYTES_MAX, WHOLE_BYTES_FREE + UNPACKED_PER_BYTE * sentBytes)
    if (this.kept.length + chunk.length <= bytesMax) return this.kept.add(chunk)
    const before = this.kept.written
    this.kept = this.kept.another()
    this.records = new ProtobufRecords(this.kept, this.signal, this.keys)
    this.records.write(before)
    this.records.write(chunk)
  }

  end(): void {
    this.records?.end()
  }
}

/** What is copied of a message: of each field of bytes its own message, or the whole of it up to so many bytes. */
interface Form {
  readonly fields: Readonly<Record<number, Form | number>>
  readonly kind?: 'record' | 'attribute' | 'status'
}

const TEXT_BYTES_MAX = 256
const VALUE = 2
/** An `AnyValue` with the longest text that is read, which has a tag and a length. */
const VALUE_BYTES_MAX = JSON_TEXT_BYTES_MAX + 8

const ATTRIBUTE: Form = { kind: 'attribute', fields: { 1: TEXT_BYTES_MAX, [VALUE]: VALUE_BYTES_MAX } }
const NAMED: Form = { fields: { 1: TEXT_BYTES_MAX, 2: TEXT_BYTES_MAX } }
const RECORDS: Readonly<Record<Signal, Form>> = {
  traces: {
    kind: 'record',
    fields: {
      1: TEXT_BYTES_MAX,
      2: TEXT_BYTES_MAX,
      4: TEXT_BYTES_MAX,
      9: ATTRIBUTE,
      15: { kind: 'status', fields: {} },
    },
  },
  logs: {
    kind: 'record',
    fields: {
      5: { fields: { 1: TEXT_BYTES_MAX } },
      6: ATTRIBUTE,
      9: TEXT_BYTES_MAX,
      10: TEXT_BYTES_MAX,
      12: TEXT_BYTES_MAX,
    },
  },
}
const requestOf = (record: Form): Form => ({
  fields: { 1: { fields: { 1: { fields: { 1: ATTRIBUTE } }, 2: { fields: { 1: NAMED, 2: record } } } } },
})
const REQUESTS: Readonly<Record<Signal, Form>> = {
  traces: requestOf(RECORDS.traces),
  logs: requestOf(RECORDS.logs),
}

/** The request is the first level, an attribute's value the last that is looked into. */
const DEPTH_MAX = 8
const VARINT_BYTES_MAX = 10
/** A length in so many bytes, whatever it is: it is known once the message is copied. */
const LENGTH_BYTES = 4

/**
 * Copies a request without content: a message of the same form that `readProtobufRequest` reads. A record that is
 * malformed costs only itself, since its length is known; of one that is cut, what is complete is kept.
 */
export class ProtobufRecords {
  steps = 0
  malformed = 0
  /** Records that were copied as a whole. */
  records = 0
  brokenAt = -1
  readonly kept: GrowingBytes
  private readonly keys: KeyList
  /** The beginning of a field that the next chunk continues. */
  private rest: Buffer = NO_BYTES
  private position = 0
  private depth = 0
  private readonly forms: Form[] = []
  /** Of each level: where it ends in the body, where its field begins in the copy, and where its length is. */
  private readonly ends = new Array<number>(DEPTH_MAX).fill(Number.POSITIVE_INFINITY)
  private readonly starts = new Array<number>(DEPTH_MAX).fill(0)
  private readonly lengthsAt = new Array<number>(DEPTH_MAX).fill(0)
  /** Bytes of the current field's value that are to come, and whether they are copied. */
  private passing = 0
  private isCopied = false
  private fieldStart = 0
  private keyStart = 0
  private keyEnd = -1

  constructor(kept: GrowingBytes, signal: Signal, keys: KeyList) {
    this.kept = kept
    this.keys = keys
    this.forms[0] = REQUESTS[signal]
  }

  write(chunk: Buffer): void {
    if (this.brokenAt >= 0) return
    const bytes = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk])
    this.rest = NO_BYTES
    let at = 0
    while (at < bytes.length) {
      if (this.passing > 0) {
        const end = Math.min(bytes.length, at + this.passing)
        if (this.isCopied) this.kept.add(bytes, at, end)
        this.passing -= end - at
        this.position += end - at
        at = end
        continue
      }
      while (this.position === this.ends[this.depth]) this.leave()
      const next = this.field(bytes, at)
      if (this.brokenAt >= 0) return
      if (next < 0) {
        this.rest = Buffer.from(bytes.subarray(at))
        return
      }
      this.position += next - at
      at = next
    }
  }

  end(): void {
    if (this.brokenAt >= 0) return
    if (this.passing === 0 && this.rest.length === 0) {
      while (this.depth > 0 && this.position === this.ends[this.depth]) this.leave()
      if (this.depth === 0) return
    }
    this.malformed++
    this.brokenAt = this.position + this.rest.length
    if (this.passing > 0 && this.isCopied) this.kept.length = this.fieldStart
    this.leaveRecord()
    while (this.depth > 0) this.leave()
  }

  /** Reads a field up to its value, or with it if it is short. @returns the offset behind it, -1 if more must come */
  private field(bytes: Buffer, at: number): number {
    this.steps++
    const afterTag = varintEnd(bytes, at)
    if (afterTag <= 0) return afterTag < 0 ? -1 : this.broken(at)
    const tag = varint(bytes, at)
    const [field, wireType] = [Math.floor(tag / 8), tag & 7]
    if (field === 0) return this.broken(at)
    let end = afterTag
    if (wireType === BYTES || wireType === VARINT) end = varintEnd(bytes, afterTag)
    else if (wireType === FIXED64) end = afterTag + 8
    else if (wireType === FIXED32) end = afterTag + 4
    else return this.broken(at)
    if (end === 0) return this.broken(at)
    const length = wireType === BYTES && end > 0 ? varint(bytes, afterTag) : 0
    const room = (this.ends[this.depth] as number) - this.position
    if (end < 0 || end > bytes.length) return room < VARINT_BYTES_MAX && bytes.length - at > room ? this.broken(at) : -1
    if (end - at + length > room) return this.broken(at)
    this.fieldStart = this.kept.length
    if (wireType === BYTES) this.bytesField(bytes, at, afterTag, end, field, length)
    else if (this.forms[this.depth]?.kind !== undefined) this.kept.add(bytes, at, end)
    return end
  }

  private bytesField(bytes: Buffer, at: number, afterTag: number, end: number, field: number, length: number): void {
    const form = this.forms[this.depth] as Form
    const inner = form.fields[field]
    if (typeof inner === 'object') return this.enter(bytes, at, afterTag, inner, this.position + (end - at) + length)
    this.passing = length
    this.isCopied = inner !== undefined && length <= inner && !(form.kind === 'attribute' && this.isUnread(field))
    if (this.isCopied) this.kept.add(bytes, at, end)
    if (form.kind !== 'attribute' || field === VALUE) return
    this.keyStart = this.kept.length
    this.keyEnd = this.keyStart + (this.isCopied ? length : 0)
  }

  /** Whether this is the value of a key that is not listed. Keys come first, but need not. */
  private isUnread(field: number): boolean {
    return (
      field === VALUE && this.keyEnd >= 0 && this.keys.find(this.kept.bytes, this.keyStart, this.keyEnd) === undefined
    )
  }

  private enter(bytes: Buffer, at: number, afterTag: number, form: Form, end: number): void {
    this.depth++
    this.forms[this.depth] = form
    this.ends[this.depth] = end
    this.starts[this.depth] = this.kept.length
    this.kept.add(bytes, at, afterTag)
    this.lengthsAt[this.depth] = this.kept.length
    this.kept.add(NO_LENGTH)
    this.keyEnd = -1
  }

  private leave(): void {
    const { kept } = this
    const at = this.lengthsAt[this.depth] as number
    const length = kept.length - at - LENGTH_BYTES
    for (let i = 0; i < LENGTH_BYTES; i++) {
      kept.bytes[at + i] = ((length >> (7 * i)) & 0x7f) | (i < LENGTH_BYTES - 1 ? 0x80 : 0)
    }
    if (this.forms[this.depth]?.kind === 'record') this.records++
    this.depth--
  }

  /** What is malformed goes up to the end of its record, or of what else it is part of. @returns `at` */
  private broken(at: number): number {
    this.malformed++
    const end = this.leaveRecord() ?? (this.ends[this.depth] as number)
    if (end === Number.POSITIVE_INFINITY) this.brokenAt = this.position
    this.passing = end - this.position
    this.isCopied = false
    return at
  }

  /** Takes the current record back. @returns where it ends in the body, undefined outside of records */
  private leaveRecord(): number | undefined {
    for (let depth = this.depth; depth > 0; depth--) {
      if (this.forms[depth]?.kind !== 'record') continue
      this.kept.length = this.starts[depth] as number
      this.depth = depth - 1
      return this.ends[depth]
    }
    return undefined
  }
}

const NO_BYTES: Buffer = Buffer.alloc(0)
const NO_LENGTH = Buffer.alloc(LENGTH_BYTES)

/** @returns the offset behind the varint; -1 if it continues beyond the bytes, 0 if it is too long */
function varintEnd(bytes: Buffer, from: number): number {
  for (let at = from; at < from + VARINT_BYTES_MAX; at++) {
    if (at >= bytes.length) return -1
    if ((bytes[at] as number) < 0x80) return at + 1
  }
  return 0
}

function varint(bytes: Buffer, from: number): number {
  let value = 0
  let unit = 1
  for (let at = from; ; at++, unit *= 128) {
    const byte = bytes[at] as number
    value += (byte & 0x7f) * unit
    if (byte < 0x80) return value
  }
}
