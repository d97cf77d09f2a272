import { createHash } from 'node:crypto'
import type { Dimension } from '../records/dimensions.js'
import type { SqlAnswer, SqlStore } from '../store/queries/sql/open-sql-store.js'
import { type Catalogue, catalogueSql, describeSql, showCreateSql } from '../store/queries/sql/sql-catalogue.js'
import { viewsSql } from '../store/queries/sql/sql-views.js'
import { AGGREGATE_FUNCTIONS, PLAIN_FUNCTIONS, PLAIN_TYPES } from './functions.js'
import { refusal } from './refusal.js'
import { UnreadableQuery } from './sql-tokens.js'
import { isView, readStatement, type Statement, SYSTEM_TABLES, systemName, VIEWS } from './statement.js'
import { ForbiddenQuery, tablesRead } from './syntax-tree.js'

/** One query of an SQL user, as its request states it. */
export interface AskedQuery {
  readonly tenantId: string
  /** Name of the SQL user. */
  readonly user: string
  readonly text: string
  /** Values of `{name:Type}`, as they came. */
  readonly parameters: ReadonlyMap<string, string>
  /** Used where the text names no format. */
  readonly defaultFormat: string
  /** Settings of the output. */
  readonly settings: Readonly<Record<string, string>>
}

export interface RunQueryDeps {
  readonly store: SqlStore
  /** Of the tables; the views are shown under its name. */
  readonly database: string
  readonly watermark: { latest(): Promise<number> }
  readonly dimensionsOf: (tenantId: string) => readonly Dimension[]
}

export interface QueryResult extends SqlAnswer {
  readonly format: string
}

/** A query that may run. */
export interface JudgedQuery {
  readonly sql: string
  readonly parameters: Readonly<Record<string, string>>
  readonly format: string | undefined
  /** What it reads, for the audit log. */
  readonly tables: readonly string[]
}

const FUNCTIONS = [
  ...PLAIN_FUNCTIONS.map((name) => ({ name, isAggregate: false })),
  ...AGGREGATE_FUNCTIONS.map((name) => ({ name, isAggregate: true })),
]

async function catalogueOf({ store, database }: RunQueryDeps, signal: AbortSignal): Promise<Catalogue> {
  return { database, columns: await store.engineColumns(signal), functions: FUNCTIONS, types: PLAIN_TYPES }
}

/** The form of a text in the audit log: the text itself may name people. */
export const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex')

/**
 * Judges a query, and puts the views in front of it.
 *
 * @throws SqlRefusal, and the errors of the store
 */
export async function judgeQuery(asked: AskedQuery, deps: RunQueryDeps, signal: AbortSignal): Promise<JudgedQuery> {
  try {
    const statement = readStatement(asked.text, { database: deps.database, user: asked.user })
    if (statement.kind === 'select') return await judgeSelect(statement, asked, deps, signal)
    return listing(statement, await catalogueOf(deps, signal))
  } catch (cause) {
    if (cause instanceof UnreadableQuery) throw refusal('unreadable', cause.message)
    if (cause instanceof ForbiddenQuery) throw refusal('forbidden', cause.message)
    throw cause
  }
}

async function judgeSelect(
  { text, isDescribed, parameters: names, ownNames, format }: Extract<Statement, { readonly kind: 'select' }>,
  asked: AskedQuery,
  deps: RunQueryDeps,
  signal: AbortSignal,
): Promise<JudgedQuery> {
  const { store, database } = deps
  const given = names.flatMap((name) => {
    const value = asked.parameters.get(name)
    return value === undefined ? [] : [[name, value] as const]
  })
  const parameters = Object.fromEntries(given)
  const tables = [...tablesRead(await store.syntaxTree(text, parameters, signal))]
  const catalogue = await catalogueOf(deps, signal)
  const known = SYSTEM_TABLES.filter((table) => catalogue.columns.has(table))
  const catalogued = known.filter((table) => tables.includes(systemName(table)))
  // Every name is that of a view or of a subquery of the query's own.
  const isKnown = (name: string): boolean =>
    isView(name) || ownNames.has(name) || known.some((table) => systemName(table) === name)
  if (!tables.every(isKnown)) throw new ForbiddenQuery('Only the documented tables can be read')
  // One that reads a subquery outside of where it is known would read a table of that name: none may have it.
  const [existing] = await store.tablesNamed([...new Set([...tables, ...VIEWS])], signal)
  if (existing !== undefined) throw new ForbiddenQuery('Only the documented tables can be read')
  const views = viewsSql({
    tenantId: asked.tenantId,
    snapshotMs: await deps.watermark.latest(),
    dimensions: deps.dimensionsOf(asked.tenantId),
    database,
  })
  const before = catalogued.length === 0 ? views : `${views}, ${catalogueSql(catalogued, systemName, catalogue)}`
  // The text begins with WITH or SELECT (`readStatement`).
  const sql = text.slice(0, 4).toUpperCase() === 'WITH' ? `WITH ${before}, ${text.slice(4)}` : `WITH ${before} ${text}`
  return {
    sql: isDescribed ? `DESCRIBE (${sql})` : sql,
    parameters,
    format,
    tables: [...tables.filter(isView), ...catalogued.map(systemName)],
  }
}

function listing(statement: Exclude<Statement, { readonly kind: 'select' }>, catalogue: Catalogue): JudgedQuery {
  const { database } = catalogue
  const answer = (sql: string): JudgedQuery => ({ sql, parameters: {}, format: statement.format, tables: [] })
  const isThere = (is: boolean): JudgedQuery => answer(`SELECT toUInt8(${is ? 1 : 0}) AS result`)
  switch (statement.kind) {
    case 'databases':
    case 'tables': {
      const { kind, condition } = statement
      const where = condition === '' ? '' : `WHERE name ${condition}`
      const table = catalogueSql([kind], systemName, catalogue)
      return answer(`WITH ${table} SELECT name FROM ${systemName(kind)} ${where} ORDER BY name`)
    }
    case 'existsDatabase':
      return isThere(statement.name === database)
    case 'exists':
      return isThere(isView(statement.table))
    case 'create':
    case 'describe':
      if (!isView(statement.table)) throw refusal('table', 'There is no such table')
      return answer(
        statement.kind === 'create' ? showCreateSql(statement.table, database) : describeSql(statement.table),
      )
  }
}

/** Runs a judged query. */
export async function runQuery(
  { sql, parameters, format: named }: JudgedQuery,
  { defaultFormat, settings }: AskedQuery,
  { store }: RunQueryDeps,
  signal: AbortSignal,
): Promise<QueryResult> {
  const format = named ?? defaultFormat
  return { ...(await store.run({ query: sql, parameters, format, settings }, signal)), format }
}
