import { VIEW_COLUMNS, type ViewColumn } from './sql-views.js'

/**
 * What drivers ask about the views: only what is documented, and the same for every tenant.
 *
 * Each table has the columns that the engine's own has, whatever its version, so that a driver finds every column that
 * it knows of this version. What a column of the engine's means nothing of here has the default of its type.
 */
export interface Catalogue {
  /** Under which the views are shown. */
  readonly database: string
  /** Of the engine's own tables, by table. */
  readonly columns: EngineColumns
  /** That may be called, and of which kind. */
  readonly functions: readonly { readonly name: string; readonly isAggregate: boolean }[]
  /** That a query may cast to. */
  readonly types: readonly string[]
}

export type EngineColumns = ReadonlyMap<string, readonly EngineColumn[]>

export interface EngineColumn {
  readonly name: string
  readonly type: string
}

type Row = Readonly<Record<string, string>>

/** Neither a view nor of one partition, order or key: tools that leave out views would show nothing. */
const ENGINE = 'Merge'

const COMMENTS: Readonly<Record<keyof typeof VIEW_COLUMNS, string>> = {
  records: 'The current version of each record',
  usage: 'Sums per quarter of an hour',
}

const VIEWS = Object.entries<readonly ViewColumn[]>(VIEW_COLUMNS)

/** What each table says of ours, by column. Tables that are not here have no rows. */
const ROWS: Readonly<Record<string, (catalogue: Catalogue) => readonly Row[]>> = {
  databases: ({ database }) => [{ name: database, database, engine: 'Atomic', engine_full: 'Atomic' }],
  tables: ({ database }) =>
    VIEWS.map(([name]) => ({
      ...{ database, name, table: name, engine: ENGINE, comment: COMMENTS[name as keyof typeof COMMENTS] },
      create_table_query: createSql(name as keyof typeof VIEW_COLUMNS, database),
    })),
  columns: ({ database }) =>
    VIEWS.flatMap(([table, of]) =>
      of.map(({ name, type, description }, i) => ({
        ...{ database, table, name, column: name, type, position: String(i + 1), comment: description },
        ...digitsOf(type),
      })),
    ),
  functions: ({ functions }) =>
    functions.map(({ name, isAggregate }) => ({ name, is_aggregate: isAggregate ? '1' : '0' })),
  data_type_families: ({ types }) => types.map((name) => ({ name })),
  table_engines: () => [{ name: ENGINE }],
  one: () => [{ dummy: '0' }],
}

/** The tables of these names as members of a WITH, each called as `nameOf` says. */
export const catalogueSql = (
  tables: readonly string[],
  nameOf: (table: string) => string,
  catalogue: Catalogue,
): string =>
  tables
    .map((table) => {
      const rows = rowsSql(catalogue.columns.get(table) ?? [], ROWS[table]?.(catalogue) ?? [])
      return `${nameOf(table)} AS (${rows})`
    })
    .join(', ')

/** A query whose rows are these, in columns of these types. */
function rowsSql(columns: readonly EngineColumn[], rows: readonly Row[]): string {
  const given = columns.filter(({ name }) => rows.some((row) => row[name] !== undefined))
  const tupleOf = (row: Row): string => `tuple(${given.map((column) => valueSql(column, row)).join(', ')})`
  const shown = columns.map((column) => {
    const type = quoted(column.type)
    const at = given.indexOf(column)
    const value =
      at === -1 ? `defaultValueOfTypeName(${type})` : `CAST(tupleElement(catalogue_row, ${at + 1}), ${type})`
    return `${value} AS \`${column.name.replaceAll('`', '')}\``
  })
  const from =
    rows.length === 0 ? 'WHERE 0' : `FROM (SELECT arrayJoin([${rows.map(tupleOf).join(', ')}]) AS catalogue_row)`
  return `SELECT ${shown.join(', ')} ${from}`
}

function valueSql({ name, type }: EngineColumn, row: Row): string {
  const value = row[name]
  if (value !== undefined) return quoted(value)
  return type.startsWith('Nullable') ? 'NULL' : quoted(type === 'String' ? '' : '0')
}

const quoted = (text: string): string => `'${text.replace(/['\\]/g, '\\$&')}'`

/** As the engine says it of the types that have digits. */
function digitsOf(type: string): Row {
  const [, precision, scale] = /Decimal\((\d+), (\d+)\)/.exec(type) ?? []
  if (precision !== undefined && scale !== undefined) {
    return { numeric_precision: precision, numeric_precision_radix: '10', numeric_scale: scale }
  }
  const [, digits] = /DateTime64\((\d)/.exec(type) ?? []
  return digits === undefined ? {} : { datetime_precision: digits }
}

const createSql = (table: keyof typeof VIEW_COLUMNS, database: string): string =>
  `CREATE TABLE ${database}.${table} (${VIEW_COLUMNS[table].map(({ name, type }) => `\`${name}\` ${type}`).join(', ')}) ` +
  `ENGINE = ${ENGINE}`

const texts = (...names: string[]): readonly EngineColumn[] => names.map((name) => ({ name, type: 'String' }))

/** The row of SHOW CREATE TABLE. */
export const showCreateSql = (table: keyof typeof VIEW_COLUMNS, database: string): string =>
  rowsSql(texts('statement'), [{ statement: createSql(table, database) }])

/** The rows of DESCRIBE. */
export const describeSql = (table: keyof typeof VIEW_COLUMNS): string =>
  rowsSql(
    texts('name', 'type', 'default_type', 'default_expression', 'comment', 'codec_expression', 'ttl_expression'),
    VIEW_COLUMNS[table].map(({ name, type, description }) => ({ name, type, comment: description })),
  )
