/**
 * The two files the engine reads: its configuration and its users.
 *
 * Two users. The engine's own session runs as `default`, which must have no password and cannot be told from any
 * other local account by its address: so it gets nothing but what the two statements of `engine.ts` need. The service
 * user has a password and every right over data, but none over users, files, addresses of the network, or the
 * server's life: a query that went wrong can then neither read this machine's files nor call other hosts.
 */
import { createHash } from 'node:crypto'

export interface EngineConfig {
  /** Tells this engine from another one that answers on the same port. */
  readonly displayName: string
  readonly usersFile: string
  /** What queries, merges and caches may take together, in bytes. */
  readonly memoryBytesMax: number
}

export interface ServiceUser {
  /** Letters, digits and underscores, not beginning with a digit, not `default`: see `isServiceUserName`. */
  readonly name: string
  readonly password: string
}

/** The name becomes the name of an XML element. */
export const isServiceUserName = (name: string): boolean => /^[A-Za-z_]\w*$/.test(name) && name !== 'default'

/** More than the clients of one machine open together; what comes on top is refused with code 202. */
const QUERIES_MAX = 200

const MARK_CACHE_BYTES_MAX = 512 * 1024 ** 2

/** Memory for what anyone on this machine may run without a password, in bytes. */
const LOCKED_BYTES_MAX = 64 * 1024 ** 2

const SERVICE_RIGHTS = [
  'SHOW, SELECT, INSERT, ALTER, DROP, TRUNCATE, UNDROP TABLE, OPTIMIZE, dictGet, INTROSPECTION, KILL QUERY',
  'CREATE DATABASE, CREATE TABLE, CREATE VIEW, CREATE DICTIONARY, CREATE TEMPORARY TABLE, CREATE FUNCTION, DROP FUNCTION',
  'SYSTEM MERGES, SYSTEM TTL MERGES, SYSTEM VIEWS, SYSTEM DROP CACHE, SYSTEM FLUSH',
]

export function engineConfigXml(config: EngineConfig): string {
  const markCacheBytes = Math.min(MARK_CACHE_BYTES_MAX, Math.floor(config.memoryBytesMax / 8))
  // No <log>: errors go to stderr, which whoever started us keeps. The two loggers that are off would only repeat,
  // with a stack, what the client is told about its own query. No system log tables: none is configured here.
  return `<clickhouse>
  <display_name>${escapeXml(config.displayName)}</display_name>
  <users_config>${escapeXml(config.usersFile)}</users_config>
  <max_server_memory_usage>${config.memoryBytesMax}</max_server_memory_usage>
  <mark_cache_size>${markCacheBytes}</mark_cache_size>
  <max_concurrent_queries>${QUERIES_MAX}</max_concurrent_queries>
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

export function usersXml(user: ServiceUser): string {
  const passwordHash = createHash('sha256').update(user.password).digest('hex')
  const rights = SERVICE_RIGHTS.map((right) => `<query>GRANT ${right} ON *.*</query>`)
  return `<clickhouse>
  <profiles>
    <default>
      <async_insert>0</async_insert>
      <cancel_http_readonly_queries_on_client_close>1</cancel_http_readonly_queries_on_client_close>
      <output_format_json_quote_64bit_integers>1</output_format_json_quote_64bit_integers>
      <output_format_json_quote_decimals>1</output_format_json_quote_decimals>
    </default>
    <locked>
      <max_memory_usage>${LOCKED_BYTES_MAX}</max_memory_usage>
      <max_threads>1</max_threads>
    </locked>
  </profiles>
  <quotas><default/></quotas>
  <users>
    <default>
      <password></password>
      <networks><ip>127.0.0.1</ip></networks>
      <profile>locked</profile>
      <quota>default</quota>
      <grants><query>GRANT SYSTEM LISTEN ON *.*</query><query>GRANT SELECT ON system.numbers</query></grants>
    </default>
    <${user.name}>
      <password_sha256_hex>${passwordHash}</password_sha256_hex>
      <networks><ip>127.0.0.1</ip></networks>
      <profile>default</profile>
      <quota>default</quota>
      <grants>${rights.join('')}<query>GRANT TABLE ENGINE ON *</query></grants>
    </${user.name}>
  </users>
</clickhouse>
`
}

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
