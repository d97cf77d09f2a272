import type { AttributionRow } from '../records/record-fields.js'

/** A table that accepts rows in RowBinary. */
export interface RowBinaryTable<Row> {
  readonly name: string
  /** In the order in which `write` writes them. */
  readonly columns: readonly string[]
  /** Usual size of a row: with it the buffer rarely needs to grow. */
  readonly rowBytes: number
  readonly write: (to: RowBinaryWriter, row: Row) => void
  /** The records in rows whose values have to be in `attribution_values` first. */
  readonly recordsIn?: (rows: readonly Row[]) => readonly AttributionRow[]
}

/**
 * Writes rows in ClickHouse's RowBinary format, which ClickHouse reads 2.5 times as fast as JSON. Uses one growing
 * buffer; `take` empties it.
 */
export class RowBinaryWriter {
  private buffer = NOTHING
  private at = 0
  /** Of the next buffer, at least. */
  private bytesHint: number

  constructor(bytesHint = 1024 * 1024) {
    this.bytesHint = bytesHint
  }

  /** Returns the rows written so far; the next ones go to a fresh buffer. */
  take(): Buffer {
    const rows = this.buffer.subarray(0, this.at)
    this.bytesHint = Math.max(1024, this.at)
    this.buffer = NOTHING
    this.at = 0
    return rows
  }

  uint8(value: number): void {
    this.reserve(1)
    this.buffer[this.at++] = value
  }

  uint16(value: number): void {
    this.reserve(2)
    this.at = this.buffer.writeUInt16LE(value, this.at)
  }

  uint32(value: number): void {
    this.reserve(4)
    this.at = this.buffer.writeUInt32LE(value, this.at)
  }

  int32(value: number): void {
    this.reserve(4)
    this.at = this.buffer.writeInt32LE(value, this.at)
  }

  /** @param value a whole number from 0 to 2^53 - 1 */
  uint64(value: number): void {
    this.reserve(8)
    this.at = this.buffer.writeUInt32LE(value % 2 ** 32, this.at)
    this.at = this.buffer.writeUInt32LE(Math.floor(value / 2 ** 32), this.at)
  }

  nullableUint64(value: number | undefined): void {
    this.uint8(value === undefined ? 1 : 0)
    if (value !== undefined) this.uint64(value)
  }

  /** DateTime64(3): milliseconds since the epoch, 0 or more. */
  dateTime64(ms: number): void {
    this.uint64(ms)
  }

  /** Decimal(38, 18): steps of 1e-18, 0 or more. Throws when they exceed 128 bits. */
  decimal128(steps: bigint): void {
    this.reserve(16)
    // BigUint64Array truncates to the low word; most amounts have no high word.
    WORDS[0] = steps
    WORDS[1] = steps > MASK_64 || steps < 0n ? highWord(steps) : 0n
    const { buffer, at } = this
    for (let i = 0; i < 16; i++) buffer[at + i] = WORD_BYTES[i] as number
    this.at = at + 16
  }

  nullableDecimal128(steps: bigint | undefined): void {
    this.uint8(steps === undefined ? 1 : 0)
    if (steps !== undefined) this.decimal128(steps)
  }

  string(text: string): void {
    this.reserve(text.length * 3 + 5)
    if (text.length <= SHORT_CHARS && this.shortAscii(text)) return
    this.varint(Buffer.byteLength(text))
    this.at += this.buffer.write(text, this.at, 'utf8')
  }

  /** Most texts are short names: writing them byte by byte costs a third of a call of the encoder. */
  private shortAscii(text: string): boolean {
    const { buffer } = this
    const from = this.at + 1
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i)
      if (code > 127) return false
      buffer[from + i] = code
    }
    buffer[this.at] = text.length
    this.at = from + text.length
    return true
  }

  fixed(bytes: Uint8Array): void {
    this.reserve(bytes.length)
    this.buffer.set(bytes, this.at)
    this.at += bytes.length
  }

  /** A UUID is written as two little-endian halves. @param bytes 16, in the order of the text */
  uuid(bytes: Uint8Array): void {
    this.reserve(16)
    for (let i = 7; i >= 0; i--) this.buffer[this.at++] = bytes[i] ?? 0
    for (let i = 15; i >= 8; i--) this.buffer[this.at++] = bytes[i] ?? 0
  }

  stringMap(map: Readonly<Record<string, string>> | undefined): void {
    const entries = map === undefined ? [] : Object.entries(map)
    this.reserve(5)
    this.varint(entries.length)
    for (const [key, value] of entries) {
      this.string(key)
      this.string(value)
    }
  }

  strings(texts: readonly string[]): void {
    this.reserve(5)
    this.varint(texts.length)
    for (const text of texts) this.string(text)
  }

  private varint(value: number): void {
    let rest = value
    while (rest >= 128) {
      this.buffer[this.at++] = (rest & 127) | 128
      rest >>>= 7
    }
    this.buffer[this.at++] = rest
  }

  private reserve(bytes: number): void {
    if (this.at + bytes <= this.buffer.length) return
    const larger = Buffer.allocUnsafe(Math.max(this.buffer.length * 2, this.at + bytes, this.bytesHint))
    this.buffer.copy(larger, 0, 0, this.at)
    this.buffer = larger
  }
}

const NOTHING = Buffer.alloc(0)

/** @throws RangeError instead of silently truncating the amount */
function highWord(steps: bigint): bigint {
  const word = steps >> 64n
  if (word > MASK_64 || word < 0n) throw new RangeError('amount exceeds Decimal(38, 18)')
  return word
}

const MASK_64 = (1n << 64n) - 1n
/** Two words of a decimal, and their bytes: little-endian, as every machine that Node runs on. */
const WORDS = new BigUint64Array(2)
const WORD_BYTES = new Uint8Array(WORDS.buffer)
/** For longer texts the encoder is faster. Lengths up to this one take one byte. */
const SHORT_CHARS = 48
