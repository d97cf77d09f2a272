/** How far a courier has come with a log of deliveries, of which it works on many at once. */
export interface WindowProgress {
  /** Everything up to this sequence is settled. */
  readonly done: number
  /**
   * Which of the messages behind `done` are settled too: base64 of a bit a message in their order, least significant
   * first; absent when none is.
   */
  readonly settled?: string
}

/** The messages of a log that a courier has read and not settled, and those settled among them. */
export class DeliveryWindow {
  private done: number
  private readonly before: Buffer
  private readCount = 0
  /** In the order of the log; `head` of them are settled and counted in `done`. */
  private sequences: number[] = []
  private head = 0
  private readonly settledAhead = new Set<number>()
  private last: number

  constructor({ done, settled = '' }: WindowProgress) {
    this.done = done
    this.last = done
    this.before = Buffer.from(settled, 'base64')
  }

  /** The first sequence that was not read yet. */
  get next(): number {
    return this.last + 1
  }

  /** Messages from the first that is not settled to the last that was read. */
  get size(): number {
    return this.sequences.length - this.head
  }

  /**
   * Takes a message of the log, in its order.
   *
   * @returns whether it is still to be settled
   */
  read(sequence: number): boolean {
    const at = this.readCount++
    this.last = sequence
    this.sequences.push(sequence)
    if (((this.before[at >> 3] ?? 0) & (1 << (at & 7))) === 0) return true
    this.settle(sequence)
    return false
  }

  settle(sequence: number): void {
    this.settledAhead.add(sequence)
    for (let first = this.sequences[this.head]; first !== undefined; first = this.sequences[this.head]) {
      if (!this.settledAhead.delete(first)) break
      this.done = first
      this.head++
    }
    if (this.head > 1_024) {
      this.sequences = this.sequences.slice(this.head)
      this.head = 0
    }
  }

  /** Messages that were settled before and not read again yet count as settled: they stand in their places. */
  progress(): WindowProgress {
    const bits = this.settledBits()
    return { done: this.done, ...(bits.length > 0 && { settled: bits.toString('base64') }) }
  }

  /** Without zeros at the end. */
  private settledBits(): Buffer {
    const bytes = Buffer.alloc(Math.ceil((this.size + Math.max(0, this.before.length * 8 - this.readCount)) / 8))
    let end = 0
    const set = (at: number): void => {
      bytes[at >> 3] = (bytes[at >> 3] ?? 0) | (1 << (at & 7))
      end = (at >> 3) + 1
    }
    for (let at = 0; at < this.size; at++) if (this.settledAhead.has(this.sequences[this.head + at] ?? 0)) set(at)
    for (let old = this.readCount; old < this.before.length * 8; old++) {
      if (((this.before[old >> 3] ?? 0) & (1 << (old & 7))) !== 0) set(this.size + old - this.readCount)
    }
    return bytes.subarray(0, end)
  }
}
