/** Compares element by element, by code units: the same on every gateway, whatever its locale. */
export function compareKeys(one: readonly string[], other: readonly string[]): number {
  for (const [i, text] of one.entries()) {
    const against = other[i] ?? ''
    if (text !== against) return text < against ? -1 : 1
  }
  return 0
}

export type Order = 'ascending' | 'descending'

interface Row<T> {
  readonly key: readonly string[]
  readonly record: T
}

/** Maximum rows per chunk, which bounds the cost of an insertion. */
const CHUNK_ROWS_MAX = 512

/**
 * Records that stay sorted by key at each change: a page costs the same among a hundred thousand records as among a
 * hundred. A list of chunks of sorted rows; all rows of a chunk precede those of the next, and no chunk is empty.
 */
export class SortedRecords<T> {
  private readonly chunks: Row<T>[][] = []
  private count = 0

  get size(): number {
    return this.count
  }

  /** Replaces the record with the same key. */
  set(key: readonly string[], record: T): void {
    const at = this.chunkOf(key)
    const chunk = this.chunks[at]
    if (chunk === undefined) {
      this.chunks.push([{ key, record }])
      this.count++
      return
    }
    const index = firstNotBefore(chunk, key)
    const isThere = isAt(chunk, index, key)
    chunk.splice(index, isThere ? 1 : 0, { key, record })
    if (isThere) return
    this.count++
    if (chunk.length > CHUNK_ROWS_MAX) this.chunks.splice(at + 1, 0, chunk.splice(CHUNK_ROWS_MAX >> 1))
  }

  delete(key: readonly string[]): void {
    const at = this.chunkOf(key)
    const chunk = this.chunks[at]
    if (chunk === undefined) return
    const index = firstNotBefore(chunk, key)
    if (!isAt(chunk, index, key)) return
    chunk.splice(index, 1)
    this.count--
    if (chunk.length === 0) this.chunks.splice(at, 1)
  }

  /** Up to `count` wanted rows after a key, which may have been deleted since; the first ones without a key. */
  after(
    key: readonly string[] | undefined,
    order: Order,
    count: number,
    isWanted: (record: T) => boolean = () => true,
  ): readonly Row<T>[] {
    const found: Row<T>[] = []
    const step = order === 'ascending' ? 1 : -1
    let [at, index] = key === undefined ? this.start(order) : this.nextTo(key, order)
    for (let chunk = this.chunks[at]; chunk !== undefined && found.length < count; chunk = this.chunks[at]) {
      for (; index >= 0 && index < chunk.length && found.length < count; index += step) {
        const row = chunk[index] as Row<T>
        if (isWanted(row.record)) found.push(row)
      }
      at += step
      index = step > 0 ? 0 : (this.chunks[at]?.length ?? 0) - 1
    }
    return found
  }

  /** Up to `count` records from a place on, counted from 0 in ascending order: whole chunks before it are passed. */
  at(place: number, count: number): readonly T[] {
    const found: T[] = []
    let before = 0
    for (const chunk of this.chunks) {
      if (found.length >= count) break
      const from = Math.max(0, place - before)
      for (const { record } of chunk.slice(from, from + count - found.length)) found.push(record)
      before += chunk.length
    }
    return found
  }

  /** The position of the first row in this order. */
  private start(order: Order): [chunk: number, index: number] {
    const last = this.chunks.length - 1
    return order === 'ascending' ? [0, 0] : [last, (this.chunks[last]?.length ?? 0) - 1]
  }

  private nextTo(key: readonly string[], order: Order): [chunk: number, index: number] {
    const at = this.chunkOf(key)
    const chunk = this.chunks[at] ?? []
    const index = firstNotBefore(chunk, key)
    if (order === 'ascending') return [at, isAt(chunk, index, key) ? index + 1 : index]
    if (index > 0) return [at, index - 1]
    return [at - 1, (this.chunks[at - 1]?.length ?? 0) - 1]
  }

  /** Index of the last chunk that starts at or before a key; 0 when none does. */
  private chunkOf(key: readonly string[]): number {
    let [low, high] = [0, this.chunks.length - 1]
    while (low < high) {
      const middle = (low + high + 1) >>> 1
      if (compareKeys(this.chunks[middle]?.[0]?.key ?? [], key) <= 0) low = middle
      else high = middle - 1
    }
    return low
  }
}

function firstNotBefore(rows: readonly Row<unknown>[], key: readonly string[]): number {
  let [low, high] = [0, rows.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compareKeys(rows[middle]?.key ?? [], key) < 0) low = middle + 1
    else high = middle
  }
  return low
}

function isAt(rows: readonly Row<unknown>[], index: number, key: readonly string[]): boolean {
  const row = rows[index]
  return row !== undefined && compareKeys(row.key, key) === 0
}
