import { CsvReader, type CsvRecord } from '../../text/csv.js'

/** Rows of a table that was exported to a file, read as they come: a file may be larger than the memory. */
export type Row = Readonly<Record<string, unknown>>

/**
 * CSV (RFC 4180): the first line names the columns; quoted fields may have line breaks. Empty fields that are not
 * quoted are absent, as PostgreSQL writes NULL.
 *
 * @throws Error that names the line of a row with another number of fields
 */
export async function* csvRows(chunks: AsyncIterable<string>): AsyncGenerator<Row> {
  let columns: readonly (string | undefined)[] | undefined
  for await (const { fields, line } of csvRecords(chunks)) {
    if (columns === undefined) columns = fields
    else if (fields.length === columns.length) yield Object.fromEntries(columns.map((name, i) => [name, fields[i]]))
    else throw new Error(`line ${line} has ${fields.length} fields, and the header has ${columns.length}`)
  }
}

async function* csvRecords(chunks: AsyncIterable<string>): AsyncGenerator<CsvRecord> {
  const reader = new CsvReader()
  for await (const chunk of chunks) yield* reader.read(chunk)
  yield* reader.end()
}

/** One JSON object per line. @throws Error that names the line that is none */
export async function* jsonRows(lines: AsyncIterable<string>): AsyncGenerator<Row> {
  let line = 0
  for await (const text of lines) {
    line++
    if (text.trim() === '') continue
    let row: unknown
    try {
      row = JSON.parse(text)
    } catch {
      // Not the parser's words, which quote the text.
    }
    if (typeof row !== 'object' || row === null || Array.isArray(row))
      throw new Error(`line ${line} is not a JSON object`)
    yield row as Row
  }
}
