import { Transform, type TransformCallback } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import zlib from 'node:zlib'
import { Decompress } from 'fzstd'

/** Every receiver of zstd over HTTP has this window, and no sender may use a longer one (RFC 9659). */
const WINDOW_LOG_MAX = 23
export const WINDOW_BYTES_MAX = 2 ** WINDOW_LOG_MAX

/** Node's own from 22.15 on, which works in its thread pool; the types are those of Node 20. */
interface ZlibWithZstd {
  readonly constants: { readonly ZSTD_d_windowLogMax: number }
  createZstdDecompress?(options: { chunkSize: number; params: Readonly<Record<number, number>> }): Transform
}

export function createZstdUnpacker(chunkSize: number): Transform {
  const { createZstdDecompress, constants } = zlib as unknown as ZlibWithZstd
  if (createZstdDecompress === undefined) return new ZstdUnpacker()
  return createZstdDecompress({ chunkSize, params: { [constants.ZSTD_d_windowLogMax]: WINDOW_LOG_MAX } })
}

const NO_BYTES: Buffer = Buffer.alloc(0)
const MAGIC = 0xfd2fb528
const CHECKSUM_BYTES = 4
/** Magic, descriptor, and the window or the first byte of the length. */
const HEADER_BYTES_MIN = 6
const BLOCK_HEADER_BYTES = 3
const BLOCK_BYTES_MAX = 128 * 1024
const REPEATED_BYTE = 1
/** Blocks between which others have their turn: some three milliseconds. */
const BLOCKS_PER_TURN = 2
/** Each block costs a move of the window. Senders fill their blocks, but for the last one and those that they flush. */
const BLOCK_BYTES_MEAN_MIN = 8 * 1024
const SMALL_BLOCKS_MAX = 64

/**
 * For Nodes whose zlib has no zstd. `fzstd` unpacks a block at a time; this finds where frames and blocks end (RFC 8878
 * section 3), so that no window is too long, no turn unpacks much, and small blocks cannot cost more than they hold.
 */
export class ZstdUnpacker extends Transform {
  private pending: Buffer = NO_BYTES
  private place: 'frame' | 'block' | 'checksum' = 'frame'
  private hasChecksum = false
  private blocks = 0
  unpackedBytes = 0
  private readonly frames = new Decompress((bytes) => {
    this.unpackedBytes += bytes.length
    if (bytes.length > 0) this.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length))
  })

  override _transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback): void {
    this.pending = this.pending.length === 0 ? chunk : Buffer.concat([this.pending, chunk])
    this.unpackPending().then(() => done(), done)
  }

  override _flush(done: TransformCallback): void {
    if (this.place !== 'frame' || this.pending.length > 0) return done(new Error('the frame does not end'))
    try {
      // It holds back a frame of less than 18 bytes.
      this.frames.push(NO_BYTES, true)
      done()
    } catch (cause) {
      done(cause as Error)
    }
  }

  private async unpackPending(): Promise<void> {
    for (let length = this.unitLength(); length > 0 && !this.destroyed; length = this.unitLength()) {
      this.frames.push(this.pending.subarray(0, length))
      this.pending = this.pending.subarray(length)
      if (this.blocks % BLOCKS_PER_TURN === 0) await nextTurn()
    }
  }

  /** @returns bytes of the header, block or checksum at the beginning of what is pending; 0 before it is all there */
  private unitLength(): number {
    const { pending, place } = this
    switch (place) {
      case 'frame':
        return pending.length < HEADER_BYTES_MIN ? 0 : this.frameHeader(pending)
      case 'block':
        return pending.length < BLOCK_HEADER_BYTES ? 0 : this.block(pending)
      case 'checksum':
        if (pending.length < CHECKSUM_BYTES) return 0
        this.place = 'frame'
        return CHECKSUM_BYTES
    }
  }

  private frameHeader(bytes: Buffer): number {
    if (bytes.readUInt32LE(0) !== MAGIC) throw new Error('this is no frame')
    const descriptor = bytes[4] as number
    const isSingle = (descriptor & 0x20) !== 0
    const lengthFlag = descriptor >> 6
    const lengthBytes = lengthFlag === 0 ? Number(isSingle) : 1 << lengthFlag
    const lengthAt = isSingle ? 5 : 6
    if ((descriptor & 3) !== 0) throw new Error('the frame has a dictionary')
    if (bytes.length < lengthAt + lengthBytes) return 0
    const window = isSingle ? contentLength(bytes, lengthAt, lengthBytes) : windowOf(bytes[5] as number)
    if (window > WINDOW_BYTES_MAX) throw new Error('the window is too long')
    this.hasChecksum = (descriptor & 4) !== 0
    this.place = 'block'
    return lengthAt + lengthBytes
  }

  private block(bytes: Buffer): number {
    const header = bytes.readUIntLE(0, BLOCK_HEADER_BYTES)
    const size = header >> 3
    if (size > BLOCK_BYTES_MAX) throw new Error('a block is too long')
    const length = BLOCK_HEADER_BYTES + (((header >> 1) & 3) === REPEATED_BYTE ? 1 : size)
    if (bytes.length < length) return 0
    if (++this.blocks > SMALL_BLOCKS_MAX + this.unpackedBytes / BLOCK_BYTES_MEAN_MIN) {
      throw new Error('too many blocks are small')
    }
    if ((header & 1) !== 0) this.place = this.hasChecksum ? 'checksum' : 'frame'
    return length
  }
}

/** Of a frame that is its own window. */
function contentLength(bytes: Buffer, at: number, size: number): number {
  if (size === 8) return Number(bytes.readBigUInt64LE(at))
  return bytes.readUIntLE(at, size) + (size === 2 ? 256 : 0)
}

function windowOf(descriptor: number): number {
  const base = 2 ** (10 + (descriptor >> 3))
  return base + (base / 8) * (descriptor & 7)
}
