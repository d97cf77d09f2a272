import { Transform, type TransformCallback } from 'node:stream'

/** Before each message: a byte that says whether it is compressed, then its length. */
const PREFIX_BYTES = 5

/** What the prefix of a message says. */
export interface MessageHead {
  readonly isCompressed: boolean
  readonly bytes: number
}

/**
 * The one message of a unary call, as it arrives (gRPC over HTTP/2, "Length-Prefixed-Message"). It emits `head` before
 * the first byte of the message, and fails where the call has none, more than one or half of one.
 */
export class UnaryMessage extends Transform {
  private readonly prefix = Buffer.alloc(PREFIX_BYTES)
  private prefixSize = 0
  /** Of the message: bytes that have not come yet. */
  private missing = 0

  override _transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback): void {
    let at = 0
    if (this.prefixSize < PREFIX_BYTES) {
      at = chunk.copy(this.prefix, this.prefixSize)
      this.prefixSize += at
      if (this.prefixSize < PREFIX_BYTES) return done()
      const head = this.head()
      if (head === undefined) return done(NOT_ONE_MESSAGE())
      this.missing = head.bytes
      this.emit('head', head)
    }
    const size = chunk.length - at
    if (size > this.missing) return done(NOT_ONE_MESSAGE())
    this.missing -= size
    done(null, size === 0 ? undefined : chunk.subarray(at))
  }

  override _flush(done: TransformCallback): void {
    done(this.prefixSize === PREFIX_BYTES && this.missing === 0 ? null : NOT_ONE_MESSAGE())
  }

  private head(): MessageHead | undefined {
    const flag = this.prefix[0] as number
    return flag > 1 ? undefined : { isCompressed: flag === 1, bytes: this.prefix.readUInt32BE(1) }
  }
}

const NOT_ONE_MESSAGE = (): Error => new Error('the call does not hold exactly one message')

/** A message as a call has it, not compressed. */
export function framed(message: Uint8Array): Buffer {
  const bytes = Buffer.alloc(PREFIX_BYTES + message.length)
  bytes.writeUInt32BE(message.length, 1)
  bytes.set(message, PREFIX_BYTES)
  return bytes
}
