interface HeldRecord {
  readonly text: string
  readonly atMs: number
}

/** Texts by a key, of which the oldest go first when there are too many or too old ones. */
export class HeldRecords {
  private readonly options: HeldRecordsOptions
  /** By age. */
  private readonly records = new Map<string, HeldRecord>()
  /**
   * Goes on where it was: one that begins anew would pass all that was deleted before the first, of which a full map has
   * some ten thousand.
   */
  private byAge = this.records.entries()
  private eldest: [key: string, record: HeldRecord] | undefined
  private bytes = 0
  private droppedCount = 0

  constructor(options: HeldRecordsOptions) {
    this.options = options
  }

  get size(): number {
    return this.records.size
  }

  /** How many had to go. */
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
      const eldest = this.findEldest()
      if (eldest === undefined || (this.bytes <= this.options.bytesMax && !this.isTooOld(eldest[1]))) break
      this.drop(eldest[0])
    }
  }

  delete(key: string): void {
    const record = this.records.get(key)
    if (record === undefined) return
    this.records.delete(key)
    this.bytes -= bytesOf(key, record.text)
  }

  /** So many of the oldest at most. */
  oldest(count: number): (readonly [key: string, text: string])[] {
    const found: (readonly [string, string])[] = []
    for (const [key, record] of this.records) {
      if (found.length === count) break
      if (this.isTooOld(record)) this.drop(key)
      else found.push([key, record.text])
    }
    return found
  }

  private findEldest(): [key: string, record: HeldRecord] | undefined {
    while (this.eldest === undefined || this.records.get(this.eldest[0]) !== this.eldest[1]) {
      let next = this.byAge.next()
      if (next.done === true) {
        // It has come to the end once, and would not see what was added since.
        this.byAge = this.records.entries()
        next = this.byAge.next()
      }
      if (next.done === true) return undefined
      this.eldest = next.value
    }
    return this.eldest
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
  /** Of all, as they lie in memory; an estimate. */
  readonly bytesMax: number
  readonly ageMsMax: number
  readonly clock: () => number
}

/** What an entry of the map costs beside its characters. */
const ENTRY_BYTES = 150
const bytesOf = (key: string, text: string): number => ENTRY_BYTES + key.length + text.length
