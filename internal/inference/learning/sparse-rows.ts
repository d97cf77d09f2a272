/** Compressed sparse rows: row i holds `columns[k]` with `values[k]` for k from `starts[i]` to `starts[i + 1]` - 1. */
export interface SparseRows {
  readonly count: number
  readonly starts: Uint32Array
  readonly columns: Uint32Array
  readonly values: Float32Array
}

export class SparseRowsBuilder {
  readonly #starts: Uint32Array
  #columns = new Uint32Array(1024)
  #values = new Float32Array(1024)
  #rows = 0
  #size = 0

  constructor(count: number) {
    this.#starts = new Uint32Array(count + 1)
  }

  add(column: number, value: number): void {
    if (this.#size === this.#columns.length) this.#grow()
    this.#columns[this.#size] = column
    this.#values[this.#size] = value
    this.#size++
  }

  endRow(): void {
    this.#rows++
    this.#starts[this.#rows] = this.#size
  }

  build(): SparseRows {
    return {
      count: this.#rows,
      starts: this.#starts.slice(0, this.#rows + 1),
      columns: this.#columns.slice(0, this.#size),
      values: this.#values.slice(0, this.#size),
    }
  }

  #grow(): void {
    const columns = new Uint32Array(2 * this.#size)
    columns.set(this.#columns)
    const values = new Float32Array(2 * this.#size)
    values.set(this.#values)
    this.#columns = columns
    this.#values = values
  }
}

/** The columns that occur, ascending, and the rows with columns renumbered by their index in that list. */
export function compact(rows: SparseRows): { readonly columns: Uint32Array; readonly rows: SparseRows } {
  const columns = Uint32Array.from(new Set(rows.columns)).sort()
  return { columns, rows: renumber(rows, columns) }
}

/** The rows with columns renumbered by their index in `columns`; other columns are dropped. */
export function renumber(rows: SparseRows, columns: Uint32Array): SparseRows {
  const places = new Map<number, number>()
  for (const [place, column] of columns.entries()) places.set(column, place)
  const builder = new SparseRowsBuilder(rows.count)
  for (let row = 0; row < rows.count; row++) {
    for (let k = rows.starts[row] ?? 0; k < (rows.starts[row + 1] ?? 0); k++) {
      const place = places.get(rows.columns[k] ?? -1)
      if (place !== undefined) builder.add(place, rows.values[k] ?? 0)
    }
    builder.endRow()
  }
  return builder.build()
}
