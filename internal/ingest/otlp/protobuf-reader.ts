import { MalformedRequest } from './malformed.js'

/** Wire types of protobuf that OTLP uses. Groups, which are deprecated, are refused. */
export const VARINT = 0
export const FIXED64 = 1
export const BYTES = 2
export const FIXED32 = 5

/**
 * Reads protobuf fields one after the other, without a schema and without copying: the caller descends into the
 * messages it knows and skips the rest by its length. Every error says what is wrong, and where.
 *
 * There is one cursor. A caller that descends into a message reads up to that message's own `end`.
 */
export class ProtobufReader {
  readonly bytes: Buffer
  at = 0
  /** Of the field at the cursor. */
  field = 0
  wireType = 0

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  /** Reads the tag of the next field. @returns false at the end of the message */
  next(end: number): boolean {
    if (this.at >= end) return false
    const short = this.bytes[this.at] as number
    // Nearly every tag has one byte.
    if (short >= FIRST_TAG && short < 0x80) {
      this.at++
      this.wireType = short & 7
      this.field = short >> 3
      return true
    }
    const tag = this.unsigned(end)
    this.wireType = tag & 7
    this.field = Math.floor(tag / 8)
    if (this.field === 0 || tag > 0xffff_ffff) throw this.malformed('the number of a field is not valid')
    return true
  }

  skip(end: number): void {
    switch (this.wireType) {
      case VARINT:
        this.skipVarint(end)
        return
      case FIXED64:
        this.advance(8, end)
        return
      case BYTES:
        this.at = this.enter(end)
        return
      case FIXED32:
        this.advance(4, end)
        return
      default:
        throw this.malformed(`wire type ${this.wireType} is not supported`)
    }
  }

  /** Reads the length of the field at the cursor. @returns where it ends */
  enter(end: number): number {
    const length = this.length(end)
    if (length > end - this.at) throw this.malformed(`a field of ${length} bytes reaches beyond its message`)
    return this.at + length
  }

  /** A varint of one or two bytes without arithmetic beyond 32 bits, which costs less. */
  private length(end: number): number {
    const { bytes, at } = this
    if (at + 1 >= end) return this.unsigned(end)
    const first = bytes[at] as number
    if (first < 0x80) {
      this.at = at + 1
      return first
    }
    const second = bytes[at + 1] as number
    if (second >= 0x80) return this.unsigned(end)
    this.at = at + 2
    return (first & 0x7f) | (second << 7)
  }

  /** Refuses a known field of another wire type than its own. */
  expect(wireType: number): void {
    if (this.wireType === wireType) return
    throw this.malformed(`field ${this.field} has wire type ${this.wireType} instead of ${wireType}`)
  }

  /** A varint: exact up to 2^53, rounded beyond. */
  unsigned(end: number): number {
    const { bytes } = this
    let value = 0
    let unit = 1
    for (let i = 0; i < VARINT_BYTES_MAX; i++) {
      if (this.at >= end) throw this.malformed('it ends within a number')
      const byte = bytes[this.at++] as number
      value += (byte & 0x7f) * unit
      if (byte < 0x80) return value
      unit *= 128
    }
    throw this.malformed('a number has more than 10 bytes')
  }

  /** An `int64`: exact between -2^53 and 2^53, rounded beyond. */
  signed(end: number): number {
    const { bytes } = this
    let [low, middle, high] = [0, 0, 0]
    for (let i = 0; i < VARINT_BYTES_MAX; i++) {
      if (this.at >= end) throw this.malformed('it ends within a number')
      const byte = bytes[this.at++] as number
      const bits = byte & 0x7f
      if (i < 4) low |= bits << (7 * i)
      else if (i < 8) middle |= bits << (7 * (i - 4))
      else high |= bits << (7 * (i - 8))
      if (byte >= 0x80) continue
      // In two's complement; a sum of all 64 bits as an unsigned number would round small negative ones to 2^64.
      return (high & 0x80) === 0
        ? (high & 0xff) * 2 ** 56 + middle * 2 ** 28 + low
        : -((~high & 0xff) * 2 ** 56 + (~middle & BITS_28) * 2 ** 28 + (~low & BITS_28) + 1)
    }
    throw this.malformed('a number has more than 10 bytes')
  }

  double(end: number): number {
    const from = this.at
    this.advance(8, end)
    return this.bytes.readDoubleLE(from)
  }

  /** A `fixed64` of nanoseconds. @returns whole milliseconds, exact */
  nanosAsMs(end: number): number {
    const from = this.at
    this.advance(8, end)
    const low = this.bytes.readUInt32LE(from)
    const high = this.bytes.readUInt32LE(from + 4)
    // 2^32 = 4,294 x 10^6 + 967,296: each part stays below 2^53.
    return high * 4_294 + Math.floor((high * 967_296 + low) / 1_000_000)
  }

  malformed(what: string): MalformedRequest {
    return new MalformedRequest(`The body is not a valid protobuf message: at byte ${this.at}, ${what}.`)
  }

  private skipVarint(end: number): void {
    for (let i = 0; i < VARINT_BYTES_MAX; i++) {
      if (this.at >= end) throw this.malformed('it ends within a number')
      if ((this.bytes[this.at++] as number) < 0x80) return
    }
    throw this.malformed('a number has more than 10 bytes')
  }

  private advance(count: number, end: number): void {
    if (count > end - this.at) throw this.malformed('it ends within a number')
    this.at += count
  }
}

/** Of field 1, with wire type 0. */
const FIRST_TAG = 8
const VARINT_BYTES_MAX = 10
const BITS_28 = 0xfff_ffff
