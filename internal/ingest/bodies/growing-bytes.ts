import type { TakenBuffers } from './body-buffers.js'

/** Where the memory comes from. */
export type BufferSource = Pick<TakenBuffers, 'take' | 'longer'>

/** Bytes that are added one after the other. */
export class GrowingBytes {
  /** Longer than what was added. */
  bytes: Buffer = NO_BYTES
  length = 0
  private readonly buffers: BufferSource

  constructor(buffers: BufferSource = OWN_BUFFERS) {
    this.buffers = buffers
  }

  /** Makes room for so many more bytes. */
  reserve(more: number): void {
    const needed = this.length + more
    if (needed <= this.bytes.length) return
    this.bytes =
      this.bytes.length === 0 ? this.buffers.take(needed) : this.buffers.longer(this.bytes, this.length, needed)
  }

  /** Adds the bytes from `start` to before `end`. */
  add(bytes: Buffer, start = 0, end = bytes.length): void {
    const length = end - start
    this.reserve(length)
    if (length > SHORT_BYTES_MAX) bytes.copy(this.bytes, this.length, start, end)
    else for (let i = 0; i < length; i++) this.bytes[this.length + i] = bytes[start + i] as number
    this.length += length
  }

  addByte(byte: number): void {
    if (this.length === this.bytes.length) this.reserve(1)
    this.bytes[this.length++] = byte
  }

  /** Another, with memory from where this has it. */
  another(): GrowingBytes {
    return new GrowingBytes(this.buffers)
  }

  get written(): Buffer {
    return this.bytes.subarray(0, this.length)
  }
}

const NO_BYTES: Buffer = Buffer.alloc(0)
/** A loop costs less than a call of the engine. */
const SHORT_BYTES_MAX = 16
const OWN_BYTES_MIN = 1024

const OWN_BUFFERS: BufferSource = {
  take: (bytes) => Buffer.allocUnsafeSlow(Math.max(OWN_BYTES_MIN, bytes)),
  longer(buffer, size, bytes) {
    const longer = Buffer.allocUnsafeSlow(Math.max(bytes, 2 * buffer.length))
    buffer.copy(longer, 0, 0, size)
    return longer
  },
}
