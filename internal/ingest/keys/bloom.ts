import type { KeyHash } from '../../ids/key-hash.js'

/**
 * Bloom filter in blocks of 512 bits, one cache line (Putze, Sanders and Singler, "Cache-, Hash- and Space-Efficient
 * Bloom Filters", 2009). All bits of a key lie in one block: a lookup or an insert touches one cache line at any filter
 * size; the classic layout touches up to ten. The cost is more false positives at equal size, about twice as many at
 * 16 bits per key.
 *
 * The 128-bit hash is not hashed again: its first word selects the block, its fourth word the bits in it. Blocks are
 * ordered by the first word, as the segments of a `KeyTable` are: moving a segment into a filter touches one
 * contiguous range of it, and the operating system allocates pages only when they are first touched.
 */
export class Bloom {
  /** Keys added. */
  size = 0
  private readonly bits: Int32Array
  private readonly blocks: number
  /** Bits that each key sets. */
  readonly hashes: number

  private constructor(bits: Int32Array, hashes: number) {
    this.bits = bits
    this.blocks = bits.length / BLOCK_WORDS
    this.hashes = hashes
  }

  /**
   * @param keysMax keys up to which the expected rate of false positives holds; beyond that the rate rises
   * @param bitsPerKey 4 to 40
   * @param hashes bits that a key sets, 1 to 32
   */
  static forKeys(keysMax: number, bitsPerKey: number, hashes = bestHashes(bitsPerKey)): Bloom {
    if (!(bitsPerKey >= 4 && bitsPerKey <= 40)) throw new RangeError('bitsPerKey must be from 4 to 40')
    if (!(hashes >= 1 && hashes <= HASHES_MAX)) throw new RangeError('hashes must be from 1 to 32')
    const blocks = Math.max(1, Math.ceil((keysMax * bitsPerKey) / BLOCK_BITS))
    return new Bloom(new Int32Array(blocks * BLOCK_WORDS), hashes)
  }

  get bytes(): number {
    return this.bits.byteLength
  }

  /** @param at index of the key's first of four words */
  add(key: KeyHash, at = 0): void {
    const { bits } = this
    const base = this.baseOf(key[at] ?? 0)
    let random = key[at + 3] ?? 0
    for (let i = 0; i < this.hashes; i++) {
      random = next(random)
      const word = base + (random >>> 28)
      bits[word] = (bits[word] ?? 0) | (1 << ((random >>> 23) & 31))
    }
    this.size++
  }

  /** False: the key was certainly not added. True: it was added, or this is a false positive. */
  has(key: KeyHash): boolean {
    const { bits } = this
    const base = this.baseOf(key[0] ?? 0)
    let random = key[3] ?? 0
    for (let i = 0; i < this.hashes; i++) {
      random = next(random)
      if (((bits[base + (random >>> 28)] ?? 0) & (1 << ((random >>> 23) & 31))) === 0) return false
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

  /** @returns undefined for bytes that `toBytes` did not produce */
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
 * used. Different seed words start different sequences: two keys of one block share all bits only by chance.
 */
const next = (random: number): number => (Math.imul(random, 1664525) + 1013904223) | 0

/**
 * The expected false positive rate of a full filter: the classic formula for one block, averaged over the Poisson
 * distribution of keys per block.
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
 * The number of bits to set per key for the fewest false positives; for blocks a little below the classic bitsPerKey * ln 2.
 * Takes milliseconds: call it once and keep the result.
 */
export function bestHashes(bitsPerKey: number): number {
  let best = 1
  for (let hashes = 2; hashes <= HASHES_MAX; hashes++) {
    if (falsePositiveRate(bitsPerKey, hashes) < falsePositiveRate(bitsPerKey, best)) best = hashes
  }
  return best
}
