interface HeldRecord {
  readonly text: string
  readonly atMs: number
}

/** Texts by key, limited in memory and age: the oldest are dropped first. */
export class HeldRecords {
  private readonly options: HeldRecordsOptions
  /** Oldest first. */
  private readonly records = new Map<string, HeldRecord>()
  /**
   * Kept between calls: a new iterator would first skip all entries deleted before the oldest one, some ten thousand in
   * a full map.
   */
  private byAge = this.records.entries()
  private oldestEntry: [key: string, record: HeldRecord] | undefined
  private bytes = 0
  private droppedCount = 0

  constructor(options: HeldRecordsOptions) {
    this.options = options
  }

  get size(): number {
    return this.records.size
  }

  /** Number of records dropped for memory or age. */
  get dropped(): number {
    return this.droppedCount
  }

  get(key: string): string | undefined {
    const record = this.records.get(key)
    return record === undefined || this.isTooOld(record) ? undefined : record.text
  }

  set(key: string, text: string): void {
    this.delete(key)
    this.records.set(key, { text, atMs: this.options.clock() })
    this.bytes += bytesOf(key, text)
    for (;;) {
      const oldestEntry = this.findOldest()
      if (oldestEntry === undefined || (this.bytes <= this.options.bytesMax && !this.isTooOld(oldestEntry[1]))) break
      this.drop(oldestEntry[0])
    }
  }

  delete(key: string): void {
    const record = this.records.get(key)
    if (record === undefined) return
    this.records.delete(key)
    this.bytes -= bytesOf(key, record.text)
  }

  /** The oldest records, at most `count`. */
  oldest(count: number): (readonly [key: string, text: string])[] {
    const found: (readonly [string, string])[] = []
    for (const [key, record] of this.records) {
      if (found.length === count) break
      if (this.isTooOld(record)) this.drop(key)
      else found.push([key, record.text])
    }
    return found
  }

  private findOldest(): [key: string, record: HeldRecord] | undefined {
    while (this.oldestEntry === undefined || this.records.get(this.oldestEntry[0]) !== this.oldestEntry[1]) {
      let next = this.byAge.next()
      if (next.done === true) {
        // A finished iterator does not see entries added later.
        this.byAge = this.records.entries()
        next = this.byAge.next()
      }
      if (next.done === true) return undefined
      this.oldestEntry = next.value
    }
    return this.oldestEntry
  }

  private isTooOld({ atMs }: { readonly atMs: number }): boolean {
    return this.options.clock() - atMs > this.options.ageMsMax
  }

  private drop(key: string): void {
    this.delete(key)
    this.droppedCount++
  }
}

export interface HeldRecordsOptions {
  /** Estimated memory of all records. */
  readonly bytesMax: number
  readonly ageMsMax: number
  readonly clock: () => number
}

/** Memory per map entry besides its characters. */
const ENTRY_BYTES = 150
const bytesOf = (key: string, text: string): number => ENTRY_BYTES + key.length + text.length
