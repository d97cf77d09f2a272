import { createHash } from 'node:crypto'
import type { Dimension } from '../records/dimensions.js'
import type { SqlAnswer, SqlStore } from '../store/queries/sql/open-sql-store.js'
import { catalogueSql, describeSql } from '../store/queries/sql/sql-catalogue.js'
import { viewsSql } from '../store/queries/sql/sql-views.js'
import { refusal } from './refusal.js'
import { UnreadableQuery } from './sql-tokens.js'
import { isView, readStatement, type Statement, SYSTEM_TABLES, systemName, VIEWS } from './statement.js'
import { ForbiddenQuery, tablesRead } from './syntax-tree.js'

/** One query of an SQL user, as its request states it. */
export interface AskedQuery {
  readonly tenantId: string
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

const CATALOGUE: readonly string[] = SYSTEM_TABLES.map(systemName)

/** The form of a text in the audit log: the text itself may name people. */
export const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex')

/**
 * Judges a query, and puts the views in front of it.
 *
 * @throws SqlRefusal, and the errors of the store
 */
export async function judgeQuery(asked: AskedQuery, deps: RunQueryDeps, signal: AbortSignal): Promise<JudgedQuery> {
  try {
    const statement = readStatement(asked.text, deps.database)
    return statement.kind === 'select' ? await judgeSelect(statement, asked, deps, signal) : listing(statement, deps)
  } catch (cause) {
    if (cause instanceof UnreadableQuery) throw refusal('unreadable', cause.message)
    if (cause instanceof ForbiddenQuery) throw refusal('forbidden', cause.message)
    throw cause
  }
}

async function judgeSelect(
  { text, parameters: names, ownNames, format }: Extract<Statement, { readonly kind: 'select' }>,
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
  // Every name is that of a view or of a subquery of the query's own.
  const isKnown = (name: string): boolean => isView(name) || ownNames.has(name) || CATALOGUE.includes(name)
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
  const isCatalogued = CATALOGUE.some((name) => tables.includes(name))
  const known = isCatalogued ? `${views}, ${catalogueSql(database)}` : views
  // The text begins with WITH or SELECT (`readStatement`).
  const sql = text.slice(0, 4).toUpperCase() === 'WITH' ? `WITH ${known}, ${text.slice(4)}` : `WITH ${known} ${text}`
  return { sql, parameters, format, tables: tables.filter((name) => isView(name) || CATALOGUE.includes(name)) }
}

function listing(statement: Exclude<Statement, { readonly kind: 'select' }>, { database }: RunQueryDeps): JudgedQuery {
  const answer = (sql: string): JudgedQuery => ({ sql, parameters: {}, format: statement.format, tables: [] })
  switch (statement.kind) {
    case 'databases':
      return answer(`WITH ${catalogueSql(database)} SELECT name FROM system_databases`)
    case 'tables':
      return answer(`WITH ${catalogueSql(database)} SELECT name FROM system_tables ORDER BY name`)
    case 'exists':
      return answer(`SELECT toUInt8(${isView(statement.table) ? 1 : 0}) AS result`)
    case 'describe':
      if (!isView(statement.table)) throw refusal('table', 'There is no such table')
      return answer(describeSql(statement.table))
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
