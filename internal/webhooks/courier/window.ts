/** How far a courier has come with a log of deliveries, of which it works on many at once. */
export interface WindowProgress {
  /** Every delivery of every message up to this sequence is settled. */
  readonly done: number
  /**
   * Which of the deliveries behind `done` are settled too: base64 of a bit a delivery in their order, least significant
   * first; absent when none is.
   */
  readonly settled?: string
}

/** Bits grow to this at first, and those of what is done are let go when they have become so many. */
const BITS_BYTES_MIN = 1_024

/**
 * The deliveries of a log that a courier has read and not settled, and those settled among them. Each has a place, in
 * the order of the log and within its message.
 */
export class DeliveryWindow {
  private done: number
  /** A bit a place from `bitsFrom` on, a multiple of 8: settled, now or by whoever wrote the progress. */
  private bits: Buffer
  private bitsFrom = 0
  /** Places count from the first delivery behind the `done` that the window began with. */
  private readCount = 0
  /** In the order of the log; those before `head` are done. */
  private messages: { readonly sequence: number; readonly end: number }[] = []
  private head = 0
  /** The place of the first delivery behind `done`, and of the first that is not settled. */
  private doneCount = 0
  private settledCount = 0
  private last: number

  constructor({ done, settled = '' }: WindowProgress) {
    this.done = done
    this.last = done
    this.bits = Buffer.from(settled, 'base64')
  }

  /** The first sequence that was not read yet. */
  get next(): number {
    return this.last + 1
  }

  /** Deliveries from the first that is not settled to the last that was read, most of which may be settled. */
  get span(): number {
    return this.readCount - this.settledCount
  }

  /**
   * Takes a message of the log, in its order.
   *
   * @param count of its deliveries
   * @returns the place of its first delivery; `isSettled` says which are to be settled still
   */
  read(sequence: number, count: number): number {
    const first = this.readCount
    this.last = sequence
    this.readCount += count
    this.messages.push({ sequence, end: this.readCount })
    this.advance()
    return first
  }

  isSettled(place: number): boolean {
    return place < this.settledCount || this.hasBit(place)
  }

  settle(place: number): void {
    const at = (place - this.bitsFrom) >> 3
    if (at >= this.bits.length) this.bits = Buffer.concat([this.bits], Math.max(2 * at, BITS_BYTES_MIN))
    this.bits[at] = (this.bits[at] ?? 0) | (1 << (place & 7))
    this.advance()
  }

  private hasBit(place: number): boolean {
    return ((this.bits[(place - this.bitsFrom) >> 3] ?? 0) & (1 << (place & 7))) !== 0
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

  /** Deliveries that were settled before and not read again yet count as settled: they stand in their places. */
  progress(): WindowProgress {
    const bits = this.bitsBehindDone()
    return { done: this.done, ...(bits.length > 0 && { settled: bits.toString('base64') }) }
  }

  /** Without zeros at the end. */
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
