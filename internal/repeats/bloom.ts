import type { KeyHash } from '../ids/key-hash.js'

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
  private bits: Int32Array
  /** Half a number once an odd number was folded: `i` of `2n + 1` and `i / 2` of `n + 0.5` are the same place. */
  private blocks: number
  /** While it is being folded: what it becomes, and how many of its blocks are there already. */
  private half: Int32Array | undefined
  private foldedBlocks = 0
  /** Bits that each key sets. */
  readonly hashes: number

  private constructor(bits: Int32Array, hashes: number) {
    this.bits = bits
    this.blocks = bits.length / BLOCK_WORDS
    this.hashes = hashes
  }

  /**
   * @param keysMax keys up to which the expected rate of false positives holds; beyond that the rate rises
   * @param bitsPerKey 1 to 40
   * @param hashes bits that a key sets, 1 to 32
   */
  static forKeys(keysMax: number, bitsPerKey: number, hashes = bestHashes(bitsPerKey)): Bloom {
    if (!(bitsPerKey >= 1 && bitsPerKey <= 40)) throw new RangeError('bitsPerKey must be from 1 to 40')
    if (!(hashes >= 1 && hashes <= HASHES_MAX)) throw new RangeError('hashes must be from 1 to 32')
    const blocks = Math.max(1, Math.ceil((keysMax * bitsPerKey) / BLOCK_BITS))
    return new Bloom(new Int32Array(blocks * BLOCK_WORDS), hashes)
  }

  get bytes(): number {
    return this.bits.byteLength + (this.half?.byteLength ?? 0)
  }

  get isFoldable(): boolean {
    return this.bits.length > BLOCK_WORDS
  }

  /** @param at index of the key's first of four words */
  add(key: KeyHash, at = 0): void {
    const block = this.blockOf(key[at] ?? 0)
    const bits = this.wordsOf(block)
    const base = this.baseOf(block)
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
    const block = this.blockOf(key[0] ?? 0)
    const bits = this.wordsOf(block)
    const base = this.baseOf(block)
    let random = key[3] ?? 0
    for (let i = 0; i < this.hashes; i++) {
      random = next(random)
      if (((bits[base + (random >>> 28)] ?? 0) & (1 << ((random >>> 23) & 31))) === 0) return false
    }
    return true
  }

  /**
   * Halves the memory, some blocks per call: each pair of neighbouring blocks becomes one. Keys stay known at any
   * moment; false positives become far more, as those of a filter of half the bits per key (`falsePositiveRate`).
   *
   * Blocks are ordered by the first word, so block `i` becomes block `i / 2`, however often a filter is folded.
   *
   * @returns whether there is more to do
   */
  fold(blocks: number): boolean {
    this.half ??= new Int32Array(Math.ceil(this.bits.length / BLOCK_WORDS / 2) * BLOCK_WORDS)
    const { bits, half } = this
    const end = Math.min(bits.length, (this.foldedBlocks + blocks) * BLOCK_WORDS)
    for (let word = this.foldedBlocks * BLOCK_WORDS; word < end; word++) {
      const to = ((word >>> (BLOCK_SHIFT + 1)) << BLOCK_SHIFT) | (word & (BLOCK_WORDS - 1))
      half[to] = (half[to] as number) | (bits[word] as number)
    }
    this.foldedBlocks = end / BLOCK_WORDS
    if (end < bits.length) return true
    this.bits = half
    this.half = undefined
    this.foldedBlocks = 0
    this.blocks /= 2
    return false
  }

  private blockOf(word: number): number {
    return ((word >>> 0) * this.blocks * 2 ** -32) >>> 0
  }

  private wordsOf(block: number): Int32Array {
    return block < this.foldedBlocks ? (this.half as Int32Array) : this.bits
  }

  /** The first word of a block. */
  private baseOf(block: number): number {
    return (block < this.foldedBlocks ? block >>> 1 : block) << BLOCK_SHIFT
  }
}

const BLOCK_BITS = 512
const BLOCK_WORDS = BLOCK_BITS / 32
const BLOCK_SHIFT = 4
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
 * The number of bits to set per key for the fewest false positives; for blocks a little below the classic bitsPerKey *
 * ln 2. Takes milliseconds: call it once and keep the result.
 */
export function bestHashes(bitsPerKey: number): number {
  let best = 1
  let lowest = falsePositiveRate(bitsPerKey, best)
  for (let hashes = 2; hashes <= HASHES_MAX; hashes++) {
    const rate = falsePositiveRate(bitsPerKey, hashes)
    if (rate < lowest) {
      best = hashes
      lowest = rate
    }
  }
  return best
}
