import type { Readable } from 'node:stream'
import { ClickHouseError, type ClickHouseSettings } from '@clickhouse/client'
import { connectStore, type StoreConnection } from '../../client.js'
import type { EngineColumn, EngineColumns } from './sql-catalogue.js'

/** Runs what SQL users ask, over connections of its own. */
export interface SqlStore {
  /**
   * The engine's own tree of a query, which it only parses.
   *
   * @param parameters values of `{name:Type}` by name, as they came; the tree has them in place
   * @throws EngineRefusal
   */
  syntaxTree(query: string, parameters: Values, signal: AbortSignal): Promise<string>
  /** Which of these names are tables of the store. */
  tablesNamed(names: readonly string[], signal: AbortSignal): Promise<readonly string[]>
  /** The columns of the engine's own tables. */
  engineColumns(signal: AbortSignal): Promise<EngineColumns>
  /** @throws EngineRefusal */
  run(question: SqlQuestion, signal: AbortSignal): Promise<SqlAnswer>
  close(): Promise<void>
}

type Values = Readonly<Record<string, string>>

export interface SqlQuestion {
  readonly query: string
  readonly parameters: Values
  readonly format: string
  /** Of the output, by name: checked by the caller. */
  readonly settings: Values
}

export interface SqlAnswer {
  readonly body: Buffer
  readonly contentType: string
  readonly rows: number
}

/** The engine refused or ended a query. */
export class EngineRefusal extends Error {
  readonly code: number
  /** Such as `UNKNOWN_IDENTIFIER`. */
  readonly type: string

  constructor(code: number, type: string, message: string, cause: unknown) {
    super(message, { cause })
    this.code = code
    this.type = type
  }
}

/** Limits on one query. */
export interface SqlLimits {
  readonly executionSMax: number
  /** On average over ten million records, a thousand bytes of memory each are far more than any function holds. */
  readonly memoryBytesMax: number
}

const SQL_LIMITS: SqlLimits = { executionSMax: 30, memoryBytesMax: 1_000_000_000 }
const RESULT_ROWS_MAX = 1_000_000
const RESULT_BYTES_MAX = 64 * 1024 ** 2
const ROWS_READ_MAX = 2_000_000_000
/** At a time, of all users together: none waits for a connection. */
export const QUERIES_MAX = 8
/** The views and the longest query. */
const QUERY_BYTES_MAX = 1024 ** 2
const PARSE_S_MAX = 5

const limitsOf = ({ executionSMax, memoryBytesMax }: SqlLimits) =>
  ({
    max_execution_time: executionSMax,
    max_memory_usage: String(memoryBytesMax),
    // `usage` over ten million records can have millions of groups: what does not fit goes to disk.
    max_bytes_before_external_group_by: String(memoryBytesMax / 4),
    max_bytes_before_external_sort: String(memoryBytesMax / 4),
  }) satisfies ClickHouseSettings

const LIMITS = {
  timeout_overflow_mode: 'throw',
  max_rows_to_read: String(ROWS_READ_MAX),
  read_overflow_mode: 'throw',
  max_result_rows: String(RESULT_ROWS_MAX),
  max_result_bytes: String(RESULT_BYTES_MAX),
  result_overflow_mode: 'throw',
  max_threads: 2,
  // Readers must not delay inserts.
  os_threads_nice_value_query: 5,
} as const satisfies ClickHouseSettings

const ALWAYS = {
  readonly: '2',
  max_query_size: String(QUERY_BYTES_MAX),
  // The views are subqueries by name, as this analyzer understands them.
  enable_analyzer: 1,
  // Names that stand for others are written out.
  max_expanded_ast_elements: '200000',
} as const satisfies ClickHouseSettings

const RUNNING = {
  ...ALWAYS,
  ...LIMITS,
  // The condition on the tenant alone is looked at first (`views.ts`).
  optimize_move_to_prewhere: 0,
  query_plan_optimize_prewhere: 0,
  // Views can be joined as tables can.
  joined_subquery_requires_alias: 0,
  // Rows read include some of other tenants in the same granules.
  output_format_write_statistics: 0,
  // The status of an answer says whether it is complete.
  wait_end_of_query: 1,
} as const satisfies ClickHouseSettings

/** @param limits for tests */
export function openSqlStore(connection: StoreConnection, limits: SqlLimits = SQL_LIMITS): SqlStore {
  const store = connectStore({ ...connection, connectionsMax: QUERIES_MAX })
  // What is parsed does not wait for what runs.
  const parser = connectStore({ ...connection, connectionsMax: QUERIES_MAX })
  const ask = async (
    by: typeof store,
    query: string,
    settings: Values,
    abort_signal: AbortSignal,
  ): Promise<SqlAnswer> => {
    try {
      const result = await by.exec({ query, clickhouse_settings: settings as ClickHouseSettings, abort_signal })
      const { response_headers: headers, summary } = result
      return {
        body: await wholeOf(result.stream as Readable),
        contentType: String(headers['content-type'] ?? 'text/plain; charset=UTF-8'),
        rows: Number(summary?.result_rows ?? 0),
      }
    } catch (cause) {
      if (!(cause instanceof ClickHouseError)) throw cause
      throw new EngineRefusal(Number(cause.code), cause.type ?? 'UNKNOWN', cause.message, cause)
    }
  }
  let engineColumns: EngineColumns | undefined
  return {
    async syntaxTree(query, parameters, signal) {
      const settings = { ...ALWAYS, max_execution_time: PARSE_S_MAX, default_format: 'JSONCompactEachRow' }
      const { body } = await ask(parser, `EXPLAIN AST ${query}`, asSettings(settings, parameters), signal)
      const lines = body
        .toString()
        .split('\n')
        .filter((line) => line !== '')
      return lines.map((line) => (JSON.parse(line) as [string])[0]).join('\n')
    },
    async tablesNamed(names, signal) {
      const result = await parser.query({
        query: 'SELECT name FROM system.tables WHERE database = currentDatabase() AND name IN ({names:Array(String)})',
        query_params: { names },
        format: 'JSONCompactEachRow',
        clickhouse_settings: { max_execution_time: PARSE_S_MAX },
        abort_signal: signal,
      })
      return (await result.json<[string]>()).map(([name]) => name)
    },
    async engineColumns(signal) {
      engineColumns ??= await readEngineColumns(parser, signal)
      return engineColumns
    },
    run: ({ query, parameters, format, settings }, signal) =>
      ask(
        store,
        query,
        asSettings({ ...settings, ...RUNNING, ...limitsOf(limits), default_format: format }, parameters),
        signal,
      ),
    async close() {
      await store.close()
      await parser.close()
    },
  }
}

async function readEngineColumns(store: ReturnType<typeof connectStore>, signal: AbortSignal): Promise<EngineColumns> {
  const result = await store.query({
    query: "SELECT table, name, type FROM system.columns WHERE database = 'system' ORDER BY table, position",
    format: 'JSONEachRow',
    clickhouse_settings: { max_execution_time: PARSE_S_MAX },
    abort_signal: signal,
  })
  const columns = new Map<string, EngineColumn[]>()
  for (const { table, name, type } of await result.json<EngineColumn & { readonly table: string }>()) {
    const of = columns.get(table) ?? []
    columns.set(table, [...of, { name, type }])
  }
  return columns
}

const asSettings = (settings: Readonly<Record<string, string | number>>, parameters: Values): Values =>
  Object.fromEntries([
    ...Object.entries(settings).map(([name, value]) => [name, String(value)]),
    // As they came, which is as the engine reads them: the client's own `query_params` would escape them again.
    ...Object.entries(parameters).map(([name, value]) => [`param_${name}`, value]),
  ])

async function wholeOf(stream: Readable): Promise<Buffer> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of stream) {
    parts.push(part as Buffer)
    bytes += (part as Buffer).length
    // The limit of the engine is on its own form of the result: as text it may be longer.
    if (bytes > 2 * RESULT_BYTES_MAX) {
      stream.destroy()
      throw new EngineRefusal(396, 'TOO_MANY_ROWS_OR_BYTES', 'The result is too large', undefined)
    }
  }
  return Buffer.concat(parts)
}
