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

/**
 * The deliveries of a log that a courier has read and not settled, and those settled among them. Each has a place, in
 * the order of the log and within its message.
 */
export class DeliveryWindow {
  private done: number
  private readonly before: Buffer
  /** Places count from the first delivery behind the `done` that the window began with. */
  private readCount = 0
  /** In the order of the log; those before `head` are done. */
  private messages: { readonly sequence: number; readonly end: number }[] = []
  private head = 0
  /** The place of the first delivery behind `done`, and of the first that is not settled. */
  private doneCount = 0
  private settledCount = 0
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

  /** Deliveries from the first that is not settled to the last that was read. */
  get size(): number {
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
    for (let place = first; place < this.readCount; place++) if (this.wasSettled(place)) this.settledAhead.add(place)
    this.advance()
    return first
  }

  isSettled(place: number): boolean {
    return place < this.settledCount || this.settledAhead.has(place)
  }

  settle(place: number): void {
    this.settledAhead.add(place)
    this.advance()
  }

  private advance(): void {
    while (this.settledAhead.delete(this.settledCount)) this.settledCount++
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
  }

  /** Deliveries that were settled before and not read again yet count as settled: they stand in their places. */
  progress(): WindowProgress {
    const bits = this.settledBits()
    return { done: this.done, ...(bits.length > 0 && { settled: bits.toString('base64') }) }
  }

  private wasSettled(place: number): boolean {
    return ((this.before[place >> 3] ?? 0) & (1 << (place & 7))) !== 0
  }

  /** Without zeros at the end. */
  private settledBits(): Buffer {
    const bytes = Buffer.alloc(Math.ceil((Math.max(this.readCount, this.before.length * 8) - this.doneCount) / 8))
    let end = 0
    const set = (place: number): void => {
      const at = place - this.doneCount
      bytes[at >> 3] = (bytes[at >> 3] ?? 0) | (1 << (at & 7))
      end = Math.max(end, (at >> 3) + 1)
    }
    for (let place = this.doneCount; place < this.settledCount; place++) set(place)
    for (const place of this.settledAhead) set(place)
    for (let old = this.readCount; old < this.before.length * 8; old++) if (this.wasSettled(old)) set(old)
    return bytes.subarray(0, end)
  }
}
