/**
 * The two files the engine reads: its configuration and its users.
 *
 * Two users. The engine's own session runs as `default`, which must have no password and cannot be distinguished from
 * any other local account by its address. Its few rights are not enough of a lock: they would let any local account
 * close the port, and the function `file()` reads any file of this process without asking for a right. So the HTTP
 * server itself lets `default` in nowhere: only requests that name the service user in the header `X-ClickHouse-User`
 * reach a query, and ClickHouse refuses one that names a user in a second way too. (Not so `Authorization`: a `user` in
 * the address overrides that one.) The service user has a password and every right over data, but none over users, and
 * none over tables that read files, other hosts or the server's life; and an append-only table it can neither change
 * nor remove, alone or with its database.
 */
import { createHash } from 'node:crypto'
import { EMBEDDED_MACRO } from '../failed-writes.js'

export interface EngineConfig {
  /** Served at `INSTANCE_PATH`: distinguishes this engine from another process on the same port. */
  readonly instance: string
  readonly usersFile: string
  readonly userName: string
  /** Memory limit of queries, merges and caches together, in bytes. */
  readonly memoryBytesMax: number
  readonly durability: 'power' | 'process'
}

export interface ServiceUser {
  /** Letters, digits and underscores, not beginning with a digit, not `default`: see `isServiceUserName`. */
  readonly name: string
  readonly password: string
}

/** Serves the engine's identity, without credentials. */
export const INSTANCE_PATH = '/instance'

/** The name becomes the name of an XML element. */
export const isServiceUserName = (name: string): boolean => /^[A-Za-z_]\w*$/.test(name) && name !== 'default'

const UNAUTHORIZED = 'The store wants its service user in X-ClickHouse-User and the password in X-ClickHouse-Key.\n'

/** More than the clients of one machine open together; further ones are refused with code 202. */
const QUERIES_MAX = 200

/** That of readers of records, behind inserts: merges on all processors would leave a page a quarter of one. */
const MERGES_NICE = 5

/** How often the engine compares its memory count with what it holds; the default of 50 ms doubles the idle cost. */
const MEMORY_LOOK_EVERY_MS = 500

/**
 * Each table looks for something to merge, after an insert at once, and else after pauses that grow from 10 s to ten
 * minutes by this factor. The default of 1.1 takes two hours for that.
 */
const MERGE_PAUSE_FACTOR = 2

/**
 * The engine compiles an expression when it is asked for the third time: some 30 ms, for which a page or a report of
 * that moment waits, for a gain of a tenth over millions of records. One that is asked so often is worth it.
 */
const COMPILED_FROM = 50

const MARK_CACHE_BYTES_MAX = 512 * 1024 ** 2

/**
 * Inserts and merges are refused when they would leave less: the engine does not notice a write that fails for want of
 * room.
 */
const KEPT_FREE_BYTES = 64 * 1024 ** 2

/** Not merges: the engine keeps the sources of one for eight minutes, by when the kernel has written it. */
const SYNCED_INSERTS =
  '<merge_tree><fsync_after_insert>1</fsync_after_insert><fsync_part_directory>1</fsync_part_directory></merge_tree>'

const SERVICE_RIGHTS = [
  'SHOW, SELECT, INSERT, ALTER, DROP, TRUNCATE, UNDROP TABLE, OPTIMIZE, INTROSPECTION, KILL QUERY',
  'CREATE DATABASE, CREATE TABLE, CREATE VIEW, CREATE TEMPORARY TABLE',
  'SYSTEM MERGES, SYSTEM TTL MERGES, SYSTEM VIEWS, SYSTEM DROP CACHE, SYSTEM FLUSH',
]

/** Of the engine's own session (`engine.ts`), which no request reaches. */
const OWN_RIGHTS = [
  'SYSTEM LISTEN ON *.*',
  'SHOW ON *.*',
  'SELECT ON system.numbers',
  'SELECT ON system.detached_parts',
]

/**
 * The engines of our tables, of temporary ones and of shards. Others could read files of the machine, or other hosts.
 */
export const TABLE_ENGINES: readonly string[] = [
  'MergeTree',
  'ReplacingMergeTree',
  'AggregatingMergeTree',
  'Memory',
  'Distributed',
]

export function engineConfigXml(config: EngineConfig): string {
  const markCacheBytes = Math.min(MARK_CACHE_BYTES_MAX, Math.floor(config.memoryBytesMax / 8))
  // No <log>: errors go to stderr, which our parent process keeps. The two loggers that are off would only repeat,
  // with a stack, the client's answer about its own query. No system log tables: none is configured here.
  return `<clickhouse>
  <users_config>${escapeXml(config.usersFile)}</users_config>
  <max_server_memory_usage>${config.memoryBytesMax}</max_server_memory_usage>
  <mark_cache_size>${markCacheBytes}</mark_cache_size>
  <max_concurrent_queries>${QUERIES_MAX}</max_concurrent_queries>
  <macros><${EMBEDDED_MACRO}>1</${EMBEDDED_MACRO}></macros>
  <storage_configuration><disks><default>
    <keep_free_space_bytes>${KEPT_FREE_BYTES}</keep_free_space_bytes>
  </default></disks></storage_configuration>
  <memory_worker_period_ms>${MEMORY_LOOK_EVERY_MS}</memory_worker_period_ms>
  <background_processing_pool_task_sleep_seconds_when_no_work_multiplier>${MERGE_PAUSE_FACTOR}</background_processing_pool_task_sleep_seconds_when_no_work_multiplier>
  <os_threads_nice_value_merge_mutate>${MERGES_NICE}</os_threads_nice_value_merge_mutate>
  ${config.durability === 'power' ? SYNCED_INSERTS : ''}
  <http_handlers>
    ${staticRule('<url>/ping</url>', 200, 'Ok.\n')}
    ${staticRule(`<url>${INSTANCE_PATH}</url>`, 200, config.instance)}
    <rule>
      <headers><X-ClickHouse-User>${config.userName}</X-ClickHouse-User></headers>
      <handler><type>dynamic_query_handler</type><query_param_name>query</query_param_name></handler>
    </rule>
    ${staticRule('', 401, UNAUTHORIZED)}
  </http_handlers>
  <logger>
    <level>error</level>
    <console>1</console>
    <console_log_level>error</console_log_level>
    <levels>
      <logger><name>executeQuery</name><level>none</level></logger>
      <logger><name>DynamicQueryHandler</name><level>none</level></logger>
    </levels>
  </logger>
</clickhouse>
`
}

const staticRule = (condition: string, status: number, answer: string): string =>
  `<rule>${condition}<handler><type>static</type><status>${status}</status>` +
  `<content_type>text/plain; charset=UTF-8</content_type>` +
  `<response_content>${escapeXml(answer)}</response_content></handler></rule>`

/** A table to which rows are only added. */
export interface AppendOnlyTable {
  readonly database: string
  readonly table: string
}

export function usersXml(user: ServiceUser, appendOnly: AppendOnlyTable): string {
  const passwordHash = createHash('sha256').update(user.password).digest('hex')
  const database = quoted(appendOnly.database)
  const rights = [
    ...SERVICE_RIGHTS.map((right) => `GRANT ${right} ON *.*`),
    ...TABLE_ENGINES.map((engine) => `GRANT TABLE ENGINE ON ${engine}`),
    `REVOKE ALTER, DROP TABLE, TRUNCATE ON ${database}.${quoted(appendOnly.table)}`,
    `REVOKE DROP DATABASE ON ${database}.*`,
    // For a backup: it makes hard links of the parts.
    `GRANT ALTER FREEZE PARTITION ON ${database}.${quoted(appendOnly.table)}`,
  ].map((query) => `<query>${escapeXml(query)}</query>`)
  return `<clickhouse>
  <profiles>
    <default>
      <async_insert>0</async_insert>
      <min_count_to_compile_expression>${COMPILED_FROM}</min_count_to_compile_expression>
      <min_count_to_compile_aggregate_expression>${COMPILED_FROM}</min_count_to_compile_aggregate_expression>
      <min_count_to_compile_sort_description>${COMPILED_FROM}</min_count_to_compile_sort_description>
      <cancel_http_readonly_queries_on_client_close>1</cancel_http_readonly_queries_on_client_close>
      <output_format_json_quote_64bit_integers>1</output_format_json_quote_64bit_integers>
      <output_format_json_quote_decimals>1</output_format_json_quote_decimals>
    </default>
  </profiles>
  <quotas><default/></quotas>
  <users>
    <default>
      <password></password>
      <networks><ip>127.0.0.1</ip></networks>
      <profile>default</profile>
      <quota>default</quota>
      <grants>${OWN_RIGHTS.map((right) => `<query>GRANT ${right}</query>`).join('')}</grants>
    </default>
    <${user.name}>
      <password_sha256_hex>${passwordHash}</password_sha256_hex>
      <networks><ip>127.0.0.1</ip></networks>
      <profile>default</profile>
      <quota>default</quota>
      <grants>${rights.join('')}</grants>
    </${user.name}>
  </users>
</clickhouse>
`
}

const quoted = (identifier: string): string => `\`${identifier.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
