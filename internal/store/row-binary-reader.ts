/**
 * Reads ClickHouse's RowBinary format as `RowBinaryWriter` writes it. Texts and byte arrays are copies, so the input
 * can be freed.
 */
export class RowBinaryReader {
  private readonly bytes: Buffer
  private at = 0

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.at >= this.bytes.length
  }

  uint8(): number {
    return this.bytes.readUInt8(this.advance(1))
  }

  uint16(): number {
    return this.bytes.readUInt16LE(this.advance(2))
  }

  uint32(): number {
    return this.bytes.readUInt32LE(this.advance(4))
  }

  int32(): number {
    return this.bytes.readInt32LE(this.advance(4))
  }

  /** At most 2^53 - 1. */
  uint64(): number {
    const at = this.advance(8)
    return this.bytes.readUInt32LE(at) + this.bytes.readUInt32LE(at + 4) * 2 ** 32
  }

  /** Decimal(38, 18): steps of 1e-18, 0 or more. */
  decimal128(): bigint {
    const at = this.advance(16)
    return this.bytes.readBigUInt64LE(at) | (this.bytes.readBigUInt64LE(at + 8) << 64n)
  }

  nullable<T>(read: () => T): T | undefined {
    return this.uint8() === 1 ? undefined : read()
  }

  string(): string {
    const length = this.varint()
    const at = this.advance(length)
    return this.bytes.toString('utf8', at, at + length)
  }

  fixed(length: number): Uint8Array {
    const at = this.advance(length)
    return new Uint8Array(this.bytes.subarray(at, at + length))
  }

  /** The 36 characters of a UUID, stored as two little-endian halves. */
  uuid(): string {
    const at = this.advance(16)
    const half = (from: number): string =>
      Buffer.from(this.bytes.subarray(from, from + 8))
        .reverse()
        .toString('hex')
    const hex = half(at) + half(at + 8)
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
  }

  stringMap(): Record<string, string> {
    const entries: (readonly [string, string])[] = []
    for (let left = this.varint(); left > 0; left--) {
      const key = this.string()
      entries.push([key, this.string()])
    }
    // Handles keys such as `__proto__`, which assignment would not.
    return Object.fromEntries(entries)
  }

  strings(): string[] {
    const texts: string[] = []
    for (let left = this.varint(); left > 0; left--) texts.push(this.string())
    return texts
  }

  private varint(): number {
    let value = 0
    for (let factor = 1; ; factor *= 128) {
      const byte = this.uint8()
      value += (byte & 127) * factor
      if (byte < 128) return value
    }
  }

  private advance(bytes: number): number {
    const from = this.at
    this.at += bytes
    if (this.at > this.bytes.length) throw new RangeError('the bytes end in the middle of a row')
    return from
  }
}
