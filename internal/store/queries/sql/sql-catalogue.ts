import { VIEW_COLUMNS, type ViewColumn } from './sql-views.js'

/** What drivers ask about the views: only what is documented, and the same for every tenant. */

type Row = Readonly<Record<string, string>>

const textSql = (text: string): string => `unhex('${Buffer.from(text).toString('hex')}')`

const VIEWS = Object.entries<readonly ViewColumn[]>(VIEW_COLUMNS)

/** A query whose rows are these, whatever the types are called. */
function rowsSql(types: Readonly<Record<string, 'String' | 'UInt64' | 'UInt8'>>, rows: readonly Row[]): string {
  const members = Object.entries(types)
  const tupleOf = (row: Row): string => {
    const values = members.map(([name, type]) => `to${type}(${textSql(row[name] ?? (type === 'String' ? '' : '0'))})`)
    return `(${values.join(', ')})`
  }
  const values = rows.map(tupleOf)
  const none = tupleOf({})
  const list = values.length === 0 ? `arraySlice([${none}], 1, 0)` : `[${values.join(', ')}]`
  const columns = members.map(([name], i) => `tupleElement(catalogue_row, ${i + 1}) AS ${name}`)
  return `SELECT ${columns.join(', ')} FROM (SELECT arrayJoin(${list}) AS catalogue_row)`
}

/** `system_databases`, `system_tables`, … as members of a WITH. @param database under which the views are shown */
export function catalogueSql(database: string): string {
  const databases = rowsSql({ name: 'String', engine: 'String', comment: 'String', uuid: 'String' }, [
    { name: database, engine: 'Atomic' },
  ])
  const tables = rowsSql(
    {
      database: 'String',
      name: 'String',
      table: 'String',
      engine: 'String',
      comment: 'String',
      is_temporary: 'UInt8',
      primary_key: 'String',
      sorting_key: 'String',
      create_table_query: 'String',
      uuid: 'String',
    },
    VIEWS.map(([name]) => ({ database, name, table: name, engine: 'View' })),
  )
  const columns = rowsSql(
    {
      database: 'String',
      table: 'String',
      name: 'String',
      type: 'String',
      position: 'UInt64',
      default_kind: 'String',
      default_expression: 'String',
      comment: 'String',
      is_in_primary_key: 'UInt8',
      is_in_sorting_key: 'UInt8',
      is_in_partition_key: 'UInt8',
    },
    VIEWS.flatMap(([table, of]) =>
      of.map(({ name, type, description }, i) => ({
        database,
        table,
        name,
        type,
        position: String(i + 1),
        comment: description,
      })),
    ),
  )
  const settings = rowsSql(
    { name: 'String', value: 'String', changed: 'UInt8', description: 'String', readonly: 'UInt8', type: 'String' },
    [],
  )
  return [
    `system_databases AS (${databases})`,
    `system_tables AS (${tables})`,
    `system_columns AS (${columns})`,
    `system_settings AS (${settings})`,
  ].join(', ')
}

/** The rows of DESCRIBE. */
export const describeSql = (table: keyof typeof VIEW_COLUMNS): string =>
  rowsSql(
    {
      name: 'String',
      type: 'String',
      default_type: 'String',
      default_expression: 'String',
      comment: 'String',
      codec_expression: 'String',
      ttl_expression: 'String',
    },
    VIEW_COLUMNS[table].map(({ name, type, description }) => ({ name, type, comment: description })),
  )
