import { Transform, type TransformCallback } from 'node:stream'
import { Decompress } from 'fzstd'
import { ownTurn } from '../../process/own-turn.js'
import { GrowingBytes } from './growing-bytes.js'

/** Every receiver of zstd over HTTP has this window, and no sender may use a longer one (RFC 9659). */
export const WINDOW_BYTES_MAX = 2 ** 23

const NO_BYTES: Buffer = Buffer.alloc(0)
const MAGIC = 0xfd2fb528
/** Of frames that hold nothing to unpack; the last four bits are free (RFC 8878 section 3.1.2). */
const SKIPPABLE_MAGIC = 0x184d2a50
/** Magic and length. */
const SKIPPABLE_HEADER_BYTES = 8
/** Of one body. Programs that pack in parallel write 12 bytes per frame, and tables of their places at the end. */
const SKIPPED_BYTES_MAX = 1024 * 1024
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

/** `fzstd` keeps what is shorter until more comes. */
const KEPT_BYTES_MAX = 17

/**
 * `fzstd` unpacks a block at a time; this finds where frames and blocks end (RFC 8878 section 3), so that no window is
 * too long, no turn unpacks much, and small blocks cannot cost more than they hold. Node's own stops behind the first
 * frame (nodejs/node#64741), and in some versions takes one that is cut off for a whole one (nodejs/node#64592).
 */
export class ZstdUnpacker extends Transform {
  /** The header, block or checksum that is read, in memory that each of them has after the other. */
  private readonly unit = new GrowingBytes()
  private place: 'header' | 'block' | 'checksum' = 'header'
  private hasChecksum = false
  private blocks = 0
  /** Bytes of the current frame that are to be skipped, and of all such frames. */
  private toSkip = 0
  private skippedBytes = 0
  unpackedBytes = 0
  private readonly frames = new Decompress((bytes) => {
    this.unpackedBytes += bytes.length
    if (bytes.length > 0) this.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length))
  })

  override _transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback): void {
    this.unpack(chunk).then(() => done(), done)
  }

  override _flush(done: TransformCallback): void {
    if (this.place !== 'header' || this.unit.length + this.toSkip > 0) return done(new Error('the frame does not end'))
    try {
      // It holds back a frame of less than 18 bytes.
      this.frames.push(NO_BYTES, true)
      done()
    } catch (cause) {
      done(cause as Error)
    }
  }

  private async unpack(chunk: Buffer): Promise<void> {
    const { unit } = this
    for (let at = 0; at < chunk.length && !this.destroyed; ) {
      if (this.toSkip > 0) {
        const skipped = Math.min(this.toSkip, chunk.length - at)
        this.toSkip -= skipped
        at += skipped
        continue
      }
      const end = Math.min(chunk.length, at + this.unitLength() - unit.length)
      unit.add(chunk, at, end)
      at = end
      if (unit.length < this.unitLength()) continue
      const bytes = unit.written
      if (this.place === 'header' && isSkippable(bytes)) this.skip(bytes)
      else {
        this.endUnit(bytes)
        this.frames.push(bytes.length > KEPT_BYTES_MAX ? bytes : Buffer.from(bytes))
      }
      unit.length = 0
      if (this.blocks % BLOCKS_PER_TURN === 0) await ownTurn()
    }
  }

  /** @returns bytes of the unit, as far as what has come of it says */
  private unitLength(): number {
    const bytes = this.unit.written
    switch (this.place) {
      case 'header':
        return bytes.length < HEADER_BYTES_MIN ? HEADER_BYTES_MIN : headerLength(bytes)
      case 'block':
        return bytes.length < BLOCK_HEADER_BYTES ? BLOCK_HEADER_BYTES : blockLength(bytes)
      case 'checksum':
        return CHECKSUM_BYTES
    }
  }

  private skip(header: Buffer): void {
    this.toSkip = header.readUInt32LE(4)
    this.skippedBytes += this.toSkip
    if (this.skippedBytes > SKIPPED_BYTES_MAX) throw new Error('too much of it is to be skipped')
    this.countBlock()
  }

  /** Also a frame that is skipped: it costs a turn, and holds nothing. */
  private countBlock(): void {
    if (++this.blocks > SMALL_BLOCKS_MAX + this.unpackedBytes / BLOCK_BYTES_MEAN_MIN) {
      throw new Error('too many blocks are small')
    }
  }

  private endUnit(bytes: Buffer): void {
    switch (this.place) {
      case 'header':
        if (windowOf(bytes) > WINDOW_BYTES_MAX) throw new Error('the window is too long')
        this.hasChecksum = ((bytes[4] as number) & 4) !== 0
        this.place = 'block'
        return
      case 'block':
        this.countBlock()
        if (((bytes[0] as number) & 1) !== 0) this.place = this.hasChecksum ? 'checksum' : 'header'
        return
      case 'checksum':
        this.place = 'header'
    }
  }
}

const isSkippable = (header: Buffer): boolean => (header.readUInt32LE(0) & ~0xf) === SKIPPABLE_MAGIC

function headerLength(bytes: Buffer): number {
  if (isSkippable(bytes)) return SKIPPABLE_HEADER_BYTES
  if (bytes.readUInt32LE(0) !== MAGIC) throw new Error('this is no frame')
  const { isSingle, lengthBytes, hasDictionary } = descriptorOf(bytes)
  if (hasDictionary) throw new Error('the frame has a dictionary')
  return HEADER_BYTES_MIN - Number(isSingle) + lengthBytes
}

function descriptorOf(bytes: Buffer) {
  const descriptor = bytes[4] as number
  const isSingle = (descriptor & 0x20) !== 0
  const lengthFlag = descriptor >> 6
  const lengthBytes = lengthFlag === 0 ? Number(isSingle) : 1 << lengthFlag
  return { isSingle, lengthBytes, hasDictionary: (descriptor & 3) !== 0 }
}

function blockLength(bytes: Buffer): number {
  const header = bytes.readUIntLE(0, BLOCK_HEADER_BYTES)
  const size = header >> 3
  if (size > BLOCK_BYTES_MAX) throw new Error('a block is too long')
  return BLOCK_HEADER_BYTES + (((header >> 1) & 3) === REPEATED_BYTE ? 1 : size)
}

/** @param bytes the whole header of a frame */
function windowOf(bytes: Buffer): number {
  const { isSingle, lengthBytes } = descriptorOf(bytes)
  if (isSingle) return contentLength(bytes, HEADER_BYTES_MIN - 1, lengthBytes)
  const descriptor = bytes[5] as number
  const base = 2 ** (10 + (descriptor >> 3))
  return base + (base / 8) * (descriptor & 7)
}

/** Of a frame that is its own window. */
function contentLength(bytes: Buffer, at: number, size: number): number {
  if (size === 8) return Number(bytes.readBigUInt64LE(at))
  return bytes.readUIntLE(at, size) + (size === 2 ? 256 : 0)
}
