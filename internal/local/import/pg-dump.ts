import type { Row } from './import-rows.js'

/** A COPY line names a few dozen columns; of longer lines outside of the block only the beginning is kept. */
const LINE_BYTES_MAX = 64 * 1024

/** What is kept of one row: the columns that are wanted, which hold no messages. */
const ROW_BYTES_MAX = 16 * 1024 * 1024

const [TAB, NEWLINE, BACKSLASH] = [0x09, 0x0a, 0x5c]

/**
 * The rows of a table in a plain dump of `pg_dump`, read as they come: of the `COPY` block's fields only those that are wanted are
 * kept and decoded, so that a row of any length passes.
 *
 * @param wanted names of columns, as the table has them
 * @throws Error that names the line, never its text; also when the file has no such block, or ends within it
 */
export async function* dumpRows(
  chunks: AsyncIterable<Buffer>,
  table: string,
  wanted: ReadonlySet<string>,
): AsyncGenerator<Row> {
  const reader = new DumpReader(table, wanted)
  for await (const chunk of chunks) yield* reader.read(chunk)
  reader.end()
}

/** A file that begins like this is a dump, whatever its name: no header of a CSV does. */
export const beginsLikeDump = (head: Buffer): boolean => /^(--|PGDMP)/.test(head.toString('latin1', 0, 5))

interface Block {
  /** One per field: its column, or undefined for one that is passed over. */
  readonly columns: readonly (string | undefined)[]
  /** Files written on Windows end lines with CR LF. */
  readonly hasCarriageReturns: boolean
}

class DumpReader {
  private readonly table: string
  private readonly wanted: ReadonlySet<string>
  private line = 1
  private blocks = 0
  private isStart = true

  // Outside of the block: the beginning of the line, and whether it is a row of another table.
  private text = ''
  private isInOtherTable = false

  // Inside: the field that is being read, and the fields before it.
  private block: Block | undefined
  private row: Record<string, string | undefined> = {}
  private fieldIndex = 0
  private field: Buffer[] = []
  private rowBytes = 0
  private rowHead = ''
  private isEscaped = false

  constructor(table: string, wanted: ReadonlySet<string>) {
    this.table = table
    this.wanted = wanted
  }

  *read(chunk: Buffer): Generator<Row> {
    if (this.isStart) refuseOtherFormats(chunk)
    this.isStart = false
    let at = 0
    while (at < chunk.length) {
      if (this.block === undefined) at = this.readLine(chunk, at)
      else at = yield* this.readRow(chunk, at, this.block)
    }
  }

  end(): void {
    if (this.block !== undefined) {
      throw new Error(`the dump is cut off: it ends on line ${this.line}, within the rows of "${this.table}"`)
    }
    if (this.blocks === 0) {
      throw new Error(
        `the dump has no COPY block of "${this.table}": pg_dump writes one as plain SQL, with data and without --inserts`,
      )
    }
  }

  private readLine(chunk: Buffer, from: number): number {
    const newline = chunk.indexOf(NEWLINE, from)
    const end = newline === -1 ? chunk.length : newline
    const room = LINE_BYTES_MAX - this.text.length
    if (room > 0) this.text += chunk.toString('latin1', from, Math.min(end, from + room))
    if (newline === -1) return end
    this.endLine(Buffer.from(this.text, 'latin1').toString('utf8'))
    this.text = ''
    this.line++
    return newline + 1
  }

  private endLine(line: string): void {
    const text = line.trimEnd()
    if (this.isInOtherTable) {
      this.isInOtherTable = text !== END_OF_ROWS
      return
    }
    const encoding = ENCODING.exec(text)?.[1]
    if (encoding !== undefined && !/^(utf-?8|sql_ascii)$/i.test(encoding)) {
      throw new Error(`the dump is written in ${encoding}: dump again with --encoding=UTF8`)
    }
    if (!COPY.test(text)) return
    const header = HEADER.exec(text)
    if (header === null || nameOf(header[1] as string).toLowerCase() !== this.table.toLowerCase()) {
      this.isInOtherTable = true
      return
    }
    if (header[3] !== '') throw new Error(`the COPY line ${this.line} has options: only the text format is read`)
    const names = [...(header[2] as string).matchAll(NAMES)].map(([name]) => nameOf(name))
    this.block = {
      columns: names.map((name) => (this.wanted.has(name) ? name : undefined)),
      hasCarriageReturns: line.endsWith('\r'),
    }
    this.blocks++
  }

  /** Reads up to the end of the row or of the chunk. */
  private *readRow(chunk: Buffer, from: number, block: Block): Generator<Row, number> {
    let start = from
    for (;;) {
      const end = this.endOfField(chunk, start)
      this.keep(chunk.subarray(start, end), block)
      if (end === chunk.length) return end
      if (chunk[end] === NEWLINE) {
        yield* this.endRow(block)
        return end + 1
      }
      this.endField(block, false)
      start = end + 1
    }
  }

  /** Where the next field or row ends. A byte behind a backslash belongs to the field, also a tab and a line break. */
  private endOfField(chunk: Buffer, from: number): number {
    let isEscaped = this.isEscaped
    let at = from
    for (; at < chunk.length; at++) {
      const byte = chunk[at]
      if (byte === NEWLINE) this.line++
      if (isEscaped) isEscaped = false
      else if (byte === BACKSLASH) isEscaped = true
      else if (byte === TAB || byte === NEWLINE) break
    }
    this.isEscaped = isEscaped
    return at
  }

  private keep(bytes: Buffer, { columns }: Block): void {
    if (this.fieldIndex === 0 && this.rowHead.length < 4) this.rowHead += bytes.toString('latin1', 0, 4)
    if (columns[this.fieldIndex] === undefined) return
    this.field.push(bytes)
    this.rowBytes += bytes.length
    if (this.rowBytes > ROW_BYTES_MAX) throw new Error(`line ${this.line} is too long`)
  }

  private endField({ columns, hasCarriageReturns }: Block, isLast: boolean): void {
    const column = columns[this.fieldIndex]
    if (column !== undefined) {
      const bytes = Buffer.concat(this.field)
      const isReturn = isLast && hasCarriageReturns && bytes.at(-1) === 0x0d
      this.row[column] = textOf(isReturn ? bytes.subarray(0, -1) : bytes)
    }
    this.field = []
    this.fieldIndex++
  }

  private *endRow(block: Block): Generator<Row> {
    this.endField(block, true)
    const [row, fields] = [this.row, this.fieldIndex]
    const isEnd = fields === 1 && this.rowHead.trimEnd() === END_OF_ROWS
    this.row = {}
    this.fieldIndex = 0
    this.rowBytes = 0
    this.rowHead = ''
    if (isEnd) this.block = undefined
    else if (fields === block.columns.length) yield row
    else {
      throw new Error(
        `line ${this.line - 1} has ${fields} fields, and the COPY line has ${block.columns.length} columns`,
      )
    }
  }
}

const END_OF_ROWS = '\\.'
const ENCODING = /^SET client_encoding = '([^']+)'/i
const COPY = /^COPY\s.*\sFROM\s+stdin\b/i
const NAME = String.raw`"(?:[^"]|"")+"|[^\s"().,]+`
const NAMES = new RegExp(NAME, 'g')
const HEADER = new RegExp(
  String.raw`^COPY\s+(?:(?:${NAME})\s*\.\s*)?(${NAME})\s*\((.*)\)\s+FROM\s+stdin\b\s*(.*?);?$`,
  'i',
)

const nameOf = (name: string): string => (name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name)

function refuseOtherFormats(head: Buffer): void {
  if (head.toString('latin1', 0, 5) === 'PGDMP') {
    throw new Error('the dump is in the custom format: turn it into plain SQL with pg_restore -f FILE.sql')
  }
  if (head[0] === 0x1f && head[1] === 0x8b) throw new Error('the dump is compressed: unpack it first')
}

const ESCAPED: Readonly<Record<string, number>> = { b: 0x08, f: 0x0c, n: 0x0a, r: 0x0d, t: 0x09, v: 0x0b }

/** A field of COPY's text format. `\N` is NULL; octal and hex escapes are read, though PostgreSQL does not write them. */
function textOf(raw: Buffer): string | undefined {
  if (!raw.includes(BACKSLASH)) return raw.toString('utf8')
  if (raw.length === 2 && raw[1] === 0x4e) return undefined
  const bytes = Buffer.allocUnsafe(raw.length)
  let length = 0
  for (let at = 0; at < raw.length; at++) {
    let byte = raw[at] as number
    if (byte === BACKSLASH && at + 1 < raw.length) {
      const code = /^(?:x[0-9a-f]{1,2}|[0-7]{1,3})/i.exec(raw.toString('latin1', at + 1, at + 4))?.[0]
      const sign = String.fromCharCode(raw[at + 1] as number)
      byte = code === undefined ? (ESCAPED[sign] ?? (raw[at + 1] as number)) : codeOf(code)
      at += code?.length ?? 1
    }
    bytes[length++] = byte
  }
  return bytes.toString('utf8', 0, length)
}

const codeOf = (code: string): number =>
  (/^x/i.test(code) ? Number.parseInt(code.slice(1), 16) : Number.parseInt(code, 8)) & 0xff
