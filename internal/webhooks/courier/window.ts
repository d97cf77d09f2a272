/** A courier's progress in a log of deliveries, which it settles out of order. */
export interface WindowProgress {
  /** Every delivery of every message up to this sequence is settled. */
  readonly done: number
  /**
   * The settled deliveries after `done`: base64 of one bit per delivery, in log order, least significant bit first;
   * absent when there is none.
   */
  readonly settled?: string
}

/** Initial size of the bit set; also how many bytes of done deliveries accumulate before they are dropped. */
const BITS_BYTES_MIN = 1_024

/**
 * The deliveries of a log from the first unsettled one to the last one read, and which of them are settled. Each has an
 * index, in the order of the log and within its message.
 */
export class DeliveryWindow {
  private done: number
  /**
   * One bit per index, starting at `bitsFrom` (a multiple of 8): settled here, or according to the initial progress.
   */
  private bits: Buffer
  private bitsFrom = 0
  /** Number of deliveries read; indexes count from the first delivery after the initial `done`. */
  private readCount = 0
  /** In log order; those before `head` are done. */
  private messages: { readonly sequence: number; readonly end: number }[] = []
  private head = 0
  /** The index of the first delivery after `done`, and of the first unsettled one. */
  private doneCount = 0
  private settledCount = 0
  private last: number

  constructor({ done, settled = '' }: WindowProgress) {
    this.done = done
    this.last = done
    this.bits = Buffer.from(settled, 'base64')
  }

  /** The first sequence that is not read yet. */
  get next(): number {
    return this.last + 1
  }

  /** Number of deliveries from the first unsettled one to the last one read; most of them may be settled. */
  get span(): number {
    return this.readCount - this.settledCount
  }

  /**
   * Adds the next message of the log.
   *
   * @param count its number of deliveries
   * @returns the index of its first delivery; some of its deliveries may already be settled (`isSettled`)
   */
  read(sequence: number, count: number): number {
    const first = this.readCount
    this.last = sequence
    this.readCount += count
    this.messages.push({ sequence, end: this.readCount })
    this.advance()
    return first
  }

  isSettled(index: number): boolean {
    return index < this.settledCount || this.hasBit(index)
  }

  settle(index: number): void {
    const at = (index - this.bitsFrom) >> 3
    if (at >= this.bits.length) this.bits = Buffer.concat([this.bits], Math.max(2 * at, BITS_BYTES_MIN))
    this.bits[at] = (this.bits[at] ?? 0) | (1 << (index & 7))
    this.advance()
  }

  private hasBit(index: number): boolean {
    return ((this.bits[(index - this.bitsFrom) >> 3] ?? 0) & (1 << (index & 7))) !== 0
  }

  private advance(): void {
    while (this.settledCount < this.readCount && this.hasBit(this.settledCount)) this.settledCount++
    for (let first = this.messages[this.head]; first !== undefined; first = this.messages[this.head]) {
      if (first.end > this.settledCount) break
      this.done = first.sequence
      this.doneCount = first.end
      this.head++
    }
    if (this.head > 1_024) {
      this.messages = this.messages.slice(this.head)
      this.head = 0
    }
    const doneBytes = (this.doneCount - this.bitsFrom) >> 3
    if (doneBytes < BITS_BYTES_MIN) return
    this.bits = Buffer.from(this.bits.subarray(doneBytes))
    this.bitsFrom += 8 * doneBytes
  }

  /** Includes deliveries that the initial progress has as settled, even when they are not read again yet. */
  progress(): WindowProgress {
    const bits = this.bitsBehindDone()
    return { done: this.done, ...(bits.length > 0 && { settled: bits.toString('base64') }) }
  }

  /** Without trailing zero bytes. */
  private bitsBehindDone(): Buffer {
    const from = this.doneCount - this.bitsFrom
    const [skipped, shift] = [from >> 3, from & 7]
    const bytes = Buffer.alloc(Math.max(0, this.bits.length - skipped))
    let end = 0
    for (let i = 0; i < bytes.length; i++) {
      const at = skipped + i
      const byte = (((this.bits[at] ?? 0) | ((this.bits[at + 1] ?? 0) << 8)) >> shift) & 0xff
      bytes[i] = byte
      if (byte !== 0) end = i + 1
    }
    return bytes.subarray(0, end)
  }
}
