import type { KeyHash } from '../../ids/key-hash.js'

/**
 * Bloom filter in blocks of 512 bits, one cache line (Putze, Sanders and Singler, "Cache-, Hash- and Space-Efficient
 * Bloom Filters", 2009). All bits of a key lie in one block: asking and adding touch one line of memory whatever the
 * size, where the classic layout touches up to ten. It pays with more false positives at equal size, about twice as
 * many at 16 bits a key.
 *
 * The 128-bit hash is never hashed again: its first word names the block, the fourth draws the bits in it. Blocks
 * stand in the order of the first word, as segments of a `KeyTable` do: a segment that moves into a filter touches
 * one stretch of it, and of its memory, which the system hands out page by page as it is first touched.
 */
export class Bloom {
  /** Keys added. */
  size = 0
  private readonly bits: Int32Array
  private readonly blocks: number
  /** Bits a key. */
  readonly hashes: number

  private constructor(bits: Int32Array, hashes: number) {
    this.bits = bits
    this.blocks = bits.length / BLOCK_WORDS
    this.hashes = hashes
  }

  /**
   * @param keysMax keys for which the rate of false positives holds; more may be added, the rate then rises
   * @param bitsPerKey 4 to 40
   * @param hashes bits that a key sets, 1 to 32
   */
  static forKeys(keysMax: number, bitsPerKey: number, hashes = bestHashes(bitsPerKey)): Bloom {
    if (!(bitsPerKey >= 4 && bitsPerKey <= 40)) throw new RangeError('a filter has 4 to 40 bits a key')
    if (!(hashes >= 1 && hashes <= HASHES_MAX)) throw new RangeError('a key sets 1 to 32 bits')
    const blocks = Math.max(1, Math.ceil((keysMax * bitsPerKey) / BLOCK_BITS))
    return new Bloom(new Int32Array(blocks * BLOCK_WORDS), hashes)
  }

  get bytes(): number {
    return this.bits.byteLength
  }

  /** @param at where the key's four words begin */
  add(key: KeyHash, at = 0): void {
    const { bits } = this
    const base = this.baseOf(key[at] ?? 0)
    let drawn = key[at + 3] ?? 0
    for (let i = 0; i < this.hashes; i++) {
      drawn = next(drawn)
      const word = base + (drawn >>> 28)
      bits[word] = (bits[word] ?? 0) | (1 << ((drawn >>> 23) & 31))
    }
    this.size++
  }

  /** False: the key was certainly not added. True: it was, or this is one of the false positives. */
  has(key: KeyHash): boolean {
    const { bits } = this
    const base = this.baseOf(key[0] ?? 0)
    let drawn = key[3] ?? 0
    for (let i = 0; i < this.hashes; i++) {
      drawn = next(drawn)
      if (((bits[base + (drawn >>> 28)] ?? 0) & (1 << ((drawn >>> 23) & 31))) === 0) return false
    }
    return true
  }

  /** In the byte order of the machine, which is little-endian wherever Node runs here. */
  toBytes(): Uint8Array {
    const bytes = new Uint8Array(HEADER_BYTES + this.bits.byteLength)
    const header = new DataView(bytes.buffer)
    header.setUint32(0, MAGIC, true)
    header.setUint32(4, this.hashes, true)
    header.setFloat64(8, this.size, true)
    bytes.set(new Uint8Array(this.bits.buffer), HEADER_BYTES)
    return bytes
  }

  /** @returns undefined for bytes that `toBytes` has not made */
  static fromBytes(bytes: Uint8Array): Bloom | undefined {
    const bodyBytes = bytes.length - HEADER_BYTES
    if (bodyBytes < BLOCK_WORDS * 4 || bodyBytes % (BLOCK_WORDS * 4) !== 0) return undefined
    const header = new DataView(bytes.buffer, bytes.byteOffset, HEADER_BYTES)
    const hashes = header.getUint32(4, true)
    const size = header.getFloat64(8, true)
    if (header.getUint32(0, true) !== MAGIC || hashes < 1 || hashes > HASHES_MAX || !Number.isSafeInteger(size)) {
      return undefined
    }
    const bits = new Int32Array(bodyBytes / 4)
    new Uint8Array(bits.buffer).set(bytes.subarray(HEADER_BYTES))
    const filter = new Bloom(bits, hashes)
    filter.size = size
    return filter
  }

  /** The first word of a key's block. */
  private baseOf(word: number): number {
    return (((word >>> 0) * this.blocks * 2 ** -32) >>> 0) * BLOCK_WORDS
  }
}

const BLOCK_BITS = 512
const BLOCK_WORDS = BLOCK_BITS / 32
const HEADER_BYTES = 16
/** "blm1" */
const MAGIC = 0x316d6c62
const HASHES_MAX = 32

/**
 * The next 32 pseudo-random bits (linear congruential, Numerical Recipes' constants), of which the highest nine are
 * used. Two words start different sequences, so that two keys of a block share all bits only by chance.
 */
const next = (drawn: number): number => (Math.imul(drawn, 1664525) + 1013904223) | 0

/**
 * The expected share of false positives of a full filter: the classic formula for one block, over the Poisson
 * distribution of the keys that a block gets.
 */
export function falsePositiveRate(bitsPerKey: number, hashes: number): number {
  const mean = BLOCK_BITS / bitsPerKey
  let rate = 0
  let probability = Math.exp(-mean)
  for (let keys = 0; keys <= mean * 4 + 40; keys++) {
    rate += probability * (1 - (1 - 1 / BLOCK_BITS) ** (keys * hashes)) ** hashes
    probability *= mean / (keys + 1)
  }
  return rate
}

/**
 * How many bits a key sets for the fewest false positives; in blocks a little below the classic bitsPerKey * ln 2.
 * Takes milliseconds: to be asked once.
 */
export function bestHashes(bitsPerKey: number): number {
  let best = 1
  for (let hashes = 2; hashes <= HASHES_MAX; hashes++) {
    if (falsePositiveRate(bitsPerKey, hashes) < falsePositiveRate(bitsPerKey, best)) best = hashes
  }
  return best
}
