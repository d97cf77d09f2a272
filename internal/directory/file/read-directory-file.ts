import { isUtf8 } from 'node:buffer'
import { CsvReader, type CsvRecord, restored } from '../../text/csv.js'
import { pointerTo } from '../../text/field-errors.js'
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  JsonScanner,
  NOTHING,
  NotJson,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from '../../text/json-scanner.js'
import { parseJson } from '../../text/parse-json.js'
import { DIRECTORY_KINDS, type DirectoryKind } from '../entries.js'

/** Reads a file of directory entries, as CSV or JSON. */

/** Where an entry is in its file: the line of a CSV, the pointer (RFC 6901) of a JSON document. */
export interface Place {
  readonly line: number | null
  readonly pointer: string | null
}

/** An entry as the file states it: its fields are not checked yet. */
export interface FileRow extends Place {
  readonly kind: DirectoryKind
  readonly fields: Readonly<Record<string, unknown>>
}

/** A line that cannot be one. */
export interface BadRow extends Place {
  readonly kind: DirectoryKind | null
  /** null where the entry of the line cannot be determined. */
  readonly name: string | null
  readonly reason: string
}

export type ReadFile =
  | { readonly ok: true; readonly rows: readonly FileRow[]; readonly bad: readonly BadRow[] }
  | { readonly ok: false; readonly detail: string; readonly pointer?: string }

/** Lets others work, since a large file takes seconds. */
export type Pause = () => Promise<unknown>

/** More than a directory can have. */
const ROWS_MAX = 200_000
const TOO_MANY_ROWS = { ok: false, detail: `must have at most ${ROWS_MAX.toLocaleString('en')} entries` } as const
const CHARACTERS_AT_ONCE = 32 * 1024

export const COLUMNS = [
  'kind',
  'name',
  'owner',
  'service',
  'aliases',
  'changes',
  'is_workload',
  'exclusive',
  'pathway',
  'is_discovery_only',
] as const
export type Column = (typeof COLUMNS)[number]

/** The columns of each kind, beside `kind` and `name`; of a principal, `name` is its id. */
const COLUMNS_OF: Readonly<Record<DirectoryKind, readonly Column[]>> = {
  services: ['owner', 'aliases', 'changes'],
  identities: ['owner', 'service', 'is_workload'],
  principals: ['service', 'exclusive'],
  sources: ['pathway', 'is_discovery_only'],
}
const FLAGS: ReadonlySet<Column> = new Set(['is_workload', 'exclusive', 'is_discovery_only'])
/** Between aliases; a list with an alias that contains it is written as a JSON array. */
export const SEPARATOR = ';'

export async function readJsonFile(bytes: Buffer, pause: Pause): Promise<ReadFile> {
  try {
    return isUtf8(bytes) ? await jsonRows(new JsonScanner(bytes, false), pause) : NO_OBJECT
  } catch (cause) {
    if (cause instanceof NotJson) return NO_OBJECT
    throw cause
  }
}

const NO_OBJECT = { ok: false, detail: `must be a JSON object with the lists ${DIRECTORY_KINDS.join(', ')}` } as const
const BYTES_AT_ONCE = 16 * 1024
/** Several times the longest entry. */
const ENTRY_BYTES_MAX = 1024 * 1024

/** Entry by entry: to parse a long document in one go would hold up others. @throws NotJson */
async function jsonRows(json: JsonScanner, pause: Pause): Promise<ReadFile> {
  const rows: FileRow[] = []
  const bad: BadRow[] = []
  let pauseAt = BYTES_AT_ONCE
  json.take(OPEN_OBJECT)
  for (let more = !json.takes(CLOSE_OBJECT); more; more = json.takes(COMMA) || !closes(json, CLOSE_OBJECT)) {
    const name = String(json.next() === QUOTE ? valueAt(json) : undefined)
    json.take(COLON)
    const kind = DIRECTORY_KINDS.find((each) => each === name)
    if (kind === undefined) {
      return { ok: false, detail: `is none of ${DIRECTORY_KINDS.join(', ')}`, pointer: pointerTo('', name) }
    }
    if (!json.takes(OPEN_ARRAY)) return { ok: false, detail: 'must be a list', pointer: `/${kind}` }
    let i = 0
    for (let next = !json.takes(CLOSE_ARRAY); next; next = json.takes(COMMA) || !closes(json, CLOSE_ARRAY)) {
      const place = { kind, line: null, pointer: `/${kind}/${i++}` }
      const fields = valueAt(json)
      if (typeof fields === 'object' && fields !== null && !Array.isArray(fields)) {
        rows.push({ ...place, fields: fields as Readonly<Record<string, unknown>> })
      } else bad.push({ ...place, name: null, reason: 'must be an object' })
      if (rows.length + bad.length > ROWS_MAX) return TOO_MANY_ROWS
      if (json.at < pauseAt) continue
      await pause()
      pauseAt = json.at + BYTES_AT_ONCE
    }
  }
  return json.next() === NOTHING ? { ok: true, rows, bad } : NO_OBJECT
}

function closes(json: JsonScanner, bracket: number): true {
  json.take(bracket)
  return true
}

/** The value at the cursor, which is then behind it; undefined for one that is longer than an entry. */
function valueAt(json: JsonScanner): unknown {
  json.next()
  const { at } = json
  json.skip()
  if (json.at - at > ENTRY_BYTES_MAX) return undefined
  const value = parseJson(json.bytes.subarray(at, json.at))
  if (value === undefined) throw new NotJson(at, 'a value is none')
  return value
}

/** The first line names columns of `COLUMNS`; `kind` and `name` are required. An empty cell is absent. */
export async function readCsvFile(bytes: Buffer, pause: Pause): Promise<ReadFile> {
  if (!isUtf8(bytes)) return { ok: false, detail: 'is not text in UTF-8' }
  const rows: FileRow[] = []
  const bad: BadRow[] = []
  let columns: readonly (string | undefined)[] | undefined
  try {
    for await (const { fields, line } of csvRecords(bytes.toString('utf8').replace(/^\ufeff/, ''), pause)) {
      if (columns === undefined) {
        columns = fields.map((name) => name?.trim().toLowerCase())
        const refusal = refusalOfColumns(columns)
        if (refusal !== undefined) return { ok: false, detail: refusal }
        continue
      }
      if (rows.length + bad.length >= ROWS_MAX) return TOO_MANY_ROWS
      const row = fields.length === columns.length ? rowOf(columns, fields, line) : undefined
      if (row === undefined)
        bad.push({ kind: null, name: null, line, pointer: null, reason: `must have ${columns.length} fields` })
      else if ('reason' in row) bad.push(row)
      else rows.push(row)
    }
  } catch (cause) {
    // The reader names the line, never its text.
    return { ok: false, detail: (cause as Error).message }
  }
  return columns === undefined ? { ok: false, detail: 'has no line of column names' } : { ok: true, rows, bad }
}

async function* csvRecords(text: string, pause: Pause): AsyncGenerator<CsvRecord> {
  const reader = new CsvReader()
  for (let at = 0; at < text.length; at += CHARACTERS_AT_ONCE) {
    yield* reader.read(text.slice(at, at + CHARACTERS_AT_ONCE))
    await pause()
  }
  yield* reader.end()
}

function refusalOfColumns(columns: readonly (string | undefined)[]): string | undefined {
  if (columns.some((name) => !COLUMNS.some((known) => known === name))) {
    return `must have no other columns than ${COLUMNS.join(', ')}`
  }
  if (new Set(columns).size < columns.length) return 'must have each column only once'
  return columns.includes('kind') && columns.includes('name') ? undefined : 'must have the columns kind and name'
}

function rowOf(
  columns: readonly (string | undefined)[],
  cells: readonly (string | undefined)[],
  line: number,
): FileRow | BadRow {
  const values = new Map(columns.map((name, i) => [name as Column, cells[i] ? restored(cells[i]) : undefined]))
  const stated = values.get('kind')?.trim().toLowerCase()
  const kind = DIRECTORY_KINDS.find((each) => each === stated)
  const name = values.get('name') ?? null
  const bad = (reason: string): BadRow => ({ kind: kind ?? null, name, line, pointer: null, reason })
  if (kind === undefined) return bad(`kind must be one of ${DIRECTORY_KINDS.join(', ')}`)
  const fields: Record<string, unknown> = {}
  for (const [column, text] of values) {
    if (column === 'kind' || text === undefined) continue
    if (column === 'name') fields[kind === 'principals' ? 'principal_id' : 'name'] = text
    else if (!COLUMNS_OF[kind].includes(column)) return bad(`${column} is no field of ${kind}`)
    else fields[column] = cellValue(column, text)
    if (fields[column] === MALFORMED)
      return bad(`${column} must be ${FLAGS.has(column) ? 'true or false' : 'a JSON array'}`)
  }
  return { kind, line, pointer: null, fields }
}

const MALFORMED = Symbol('malformed')

function cellValue(column: Column, text: string): unknown {
  if (FLAGS.has(column)) {
    const flag = text.trim().toLowerCase()
    return flag === 'true' ? true : flag === 'false' ? false : MALFORMED
  }
  if (column === 'changes' || (column === 'aliases' && text.startsWith('['))) {
    const list = parseJson(Buffer.from(text))
    return Array.isArray(list) ? list : MALFORMED
  }
  if (column !== 'aliases') return text
  return text
    .split(SEPARATOR)
    .map((alias) => alias.trim())
    .filter((alias) => alias !== '')
}
