/** By code units, part by part: the same on every gateway, whatever its locale. */
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

/** Rows of a chunk at most; what an insertion moves. */
const CHUNK_ROWS_MAX = 512

/**
 * Records in the order of their keys, kept so at each change: a page of a hundred thousand costs as much as one of a
 * hundred. Chunks of sorted rows, each chunk before the next, none of them empty.
 */
export class SortedRecords<T> {
  private readonly chunks: Row<T>[][] = []
  private count = 0

  get size(): number {
    return this.count
  }

  /** Takes the place of the record with the same key. */
  set(key: readonly string[], record: T): void {
    const at = this.chunkOf(key)
    const chunk = this.chunks[at]
    if (chunk === undefined) {
      this.chunks.push([{ key, record }])
      this.count++
      return
    }
    const place = firstNotBefore(chunk, key)
    const isThere = isAt(chunk, place, key)
    chunk.splice(place, isThere ? 1 : 0, { key, record })
    if (isThere) return
    this.count++
    if (chunk.length > CHUNK_ROWS_MAX) this.chunks.splice(at + 1, 0, chunk.splice(CHUNK_ROWS_MAX >> 1))
  }

  delete(key: readonly string[]): void {
    const at = this.chunkOf(key)
    const chunk = this.chunks[at]
    if (chunk === undefined) return
    const place = firstNotBefore(chunk, key)
    if (!isAt(chunk, place, key)) return
    chunk.splice(place, 1)
    this.count--
    if (chunk.length === 0) this.chunks.splice(at, 1)
  }

  /** The next so many rows behind a key, which need not be there any more; from the first one on without it. */
  behind(key: readonly string[] | undefined, order: Order, count: number): readonly Row<T>[] {
    const found: Row<T>[] = []
    const step = order === 'ascending' ? 1 : -1
    let [at, place] = key === undefined ? this.end(order) : this.nextTo(key, order)
    for (let chunk = this.chunks[at]; chunk !== undefined && found.length < count; chunk = this.chunks[at]) {
      for (; place >= 0 && place < chunk.length && found.length < count; place += step) {
        found.push(chunk[place] as Row<T>)
      }
      at += step
      place = step > 0 ? 0 : (this.chunks[at]?.length ?? 0) - 1
    }
    return found
  }

  /** Where the rows begin that come in this order. */
  private end(order: Order): [chunk: number, place: number] {
    const last = this.chunks.length - 1
    return order === 'ascending' ? [0, 0] : [last, (this.chunks[last]?.length ?? 0) - 1]
  }

  private nextTo(key: readonly string[], order: Order): [chunk: number, place: number] {
    const at = this.chunkOf(key)
    const chunk = this.chunks[at] ?? []
    const place = firstNotBefore(chunk, key)
    if (order === 'ascending') return [at, isAt(chunk, place, key) ? place + 1 : place]
    if (place > 0) return [at, place - 1]
    return [at - 1, (this.chunks[at - 1]?.length ?? 0) - 1]
  }

  /** The last chunk that begins at or before a key; the first one when none does. */
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

function isAt(rows: readonly Row<unknown>[], place: number, key: readonly string[]): boolean {
  const row = rows[place]
  return row !== undefined && compareKeys(row.key, key) === 0
}
