import { randomBytes } from 'node:crypto'
import { type Dimension, foldKey, NOT_DECLARED, pairStart } from '../../../records/dimensions.js'
import { type RecordField, WIRE_GROUPS, wireFields } from '../../../records/record-fields.js'
import { ATTRIBUTIONS } from '../../tables/attributions.js'
import { CODECS } from '../../tables/field-codec.js'
import { USAGE_DIMENSIONS, usageMeasures } from '../../tables/usage.js'
import { providerSql } from '../records/provider-sql.js'

/**
 * The views that SQL users read, bound to a tenant and an instant. They are written into each query as its first
 * subqueries (`WITH records AS (…), usage AS (…)`), so that a text of the user can leave out no condition.
 *
 * A name that a query gives to something may replace what a subquery calls by that name (seen: `WITH 'A' AS x` and a
 * column x). So every column here is qualified by a name of its own that nobody can guess, tables have their database,
 * and no value is a parameter.
 */

/** Whose records, as of when. */
export interface ViewScope {
  readonly tenantId: string
  readonly snapshotMs: number
  /** The tag keys that the tenant has declared. */
  readonly dimensions: readonly Pick<Dimension, 'key'>[]
  /** Of the tables. */
  readonly database: string
}

export interface ViewColumn {
  readonly name: string
  readonly type: string
  readonly description: string
}

interface Column extends ViewColumn {
  /** @param of qualifies a column of the stored record */
  readonly sql: (of: (column: string) => string, scope: ViewScope) => string
}

const wireNameOf = ({ name, wireName }: RecordField): string => wireName ?? name

const idColumn = (name: string, prefix: string, description: string): Column => ({
  name,
  type: 'String',
  description,
  sql: (of) => `concat('${prefix}_', ${crockford(`base32Encode(${of('id')})`)})`,
})

/** `ids/base32.ts`: the same bits in another alphabet, without padding. */
const crockford = (encoded: string): string =>
  `translate(substring(${encoded}, 1, 26), 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567', '0123456789abcdefghjkmnpqrstvwxyz')`

const TAGS_TYPE = 'Map(String, Nullable(String))'

function columnOf(field: RecordField): Column {
  const name = wireNameOf(field)
  const description = field.description ?? ''
  if (field.name === 'provider') {
    return { name, type: 'String', description: 'One name per provider.', sql: (of) => providerSql(of('provider')) }
  }
  if (field.kind === 'pairs') return { name, type: TAGS_TYPE, description, sql: tagsSql }
  if (field.isOptional) {
    const type = field.kind === 'label' ? 'LowCardinality(Nullable(String))' : 'Nullable(String)'
    return { name, type, description, sql: (of) => `nullIf(${of(field.name)}, '')` }
  }
  return { name, type: CODECS[field.kind].type, description, sql: (of) => of(field.name) }
}

function tagsSql(of: (column: string) => string, { dimensions }: ViewScope): string {
  const pair = of('pair').replace('.', '_')
  const entries = dimensions.flatMap(({ key }) => {
    const start = Buffer.from(pairStart(foldKey(key)))
    const found = `arrayFirst(${pair} -> startsWith(${pair}, ${textSql(start)}), ${of('dimensions')})`
    const value = `nullIf(substring(toString(${found}), ${start.length + 1}), '')`
    return [textSql(Buffer.from(key)), `if(empty(${found}), '${NOT_DECLARED}', ${value})`]
  })
  return `CAST(map(${entries.join(', ')}), '${TAGS_TYPE}')`
}

/** A text as hex digits, so that it is never read as SQL. */
const textSql = (text: Buffer): string => `unhex('${text.toString('hex')}')`

/** As the API shows a record, with the members of `interpretation` beside the others. */
const RECORDS: readonly Column[] = [
  idColumn('id', 'attr', 'Id of the record.'),
  idColumn('invocation_id', 'inv', 'Id of the call.'),
  {
    name: 'stated_provider',
    type: CODECS.label.type,
    description: 'The provider as the event spells it.',
    sql: (of) => of('provider'),
  },
  ...WIRE_GROUPS.flatMap((group) => wireFields(group).map(columnOf)),
]

const BUCKET: Column = {
  name: 'bucket',
  type: "DateTime('UTC')",
  description: 'Beginning of the quarter of an hour.',
  sql: (of) => `toDateTime(toStartOfFifteenMinutes(${of('event_time')}), 'UTC')`,
}

/** Without the owner, who may be a person, and without the number of people: reports give these from five people on. */
const GROUPS: readonly Column[] = [
  BUCKET,
  ...USAGE_DIMENSIONS.filter((name) => name !== 'owner').map(
    (name): Column =>
      name === 'provider'
        ? { name, type: 'String', description: 'One name per provider.', sql: (of) => providerSql(of(name)) }
        : { name, type: CODECS.label.type, description: '', sql: (of) => of(name) },
  ),
]

const SUMS: readonly Column[] = usageMeasures().map(({ name, type, addedBy }) => ({
  name,
  type,
  description: '',
  sql: (of) => `sum(${addedBy(of)})`,
}))

export const VIEW_COLUMNS = { records: RECORDS, usage: [...GROUPS, ...SUMS] } as const satisfies Readonly<
  Record<string, readonly ViewColumn[]>
>

/** The views as the first members of a WITH. */
export function viewsSql(scope: ViewScope): string {
  const records = selectSql(scope, RECORDS)
  const usage = selectSql(scope, [...GROUPS, ...SUMS])
  return `records AS (${records}), usage AS (${usage} GROUP BY ${GROUPS.map((_, i) => i + 1).join(', ')})`
}

function selectSql(scope: ViewScope, columns: readonly Column[]): string {
  const { tenantId, snapshotMs, database } = scope
  const [records, closed] = [unguessable(), unguessable()]
  const of = (column: string): string => `${records}.${column}`
  const tenant = textSql(Buffer.from(tenantId))
  const snapshot = `fromUnixTimestamp64Milli(toInt64(${Math.trunc(snapshotMs)}))`
  const from = (table: string, alias: string): string => `\`${database.replaceAll('`', '')}\`.${table} AS ${alias}`
  // `AS_OF_SNAPSHOT` with qualified columns. PREWHERE, since conditions of the query join those of WHERE in any order:
  // one that fails for a value (`intDiv(1, 0)`) would reveal values of other tenants in the same granule.
  return `SELECT ${columns.map((column) => `${column.sql(of, scope)} AS ${column.name}`).join(', ')}
    FROM ${from(ATTRIBUTIONS.name, records)}
    PREWHERE ${of('tenant_id')} = ${tenant}
    WHERE ${of('valid_from')} <= ${snapshot}
      AND (identity(${of('id')}), identity(${of('valid_from')})) NOT IN (
        SELECT ${closed}.id, ${closed}.valid_from FROM ${from('closed', closed)}
        WHERE ${closed}.tenant_id = ${tenant} AND ${closed}.closed_at <= ${snapshot})`
}

const unguessable = (): string => `t_${randomBytes(12).toString('hex')}`
