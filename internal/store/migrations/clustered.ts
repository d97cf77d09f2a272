/**
 * The schema's statements for a cluster: each table is replicated within a shard under the name `<table>_local`, and a
 * Distributed table in front of it has the name that every query and insert uses, so that the code is the same. Records
 * lie by tenant: all of a tenant's rows of all tables are on one shard, and subqueries stay there.
 *
 * Tested with two embedded engines as shards, which have neither `ON CLUSTER` nor replication, with ClickHouse's
 * parser, and a file with the expected statements; not tested on a real cluster.
 */
import { quoted } from '../on-shards.js'

/**
 * A repeated batch is compared with what was stored before: a week is longer than a role is down. ClickHouse's default
 * is an hour.
 */
const TOKENS_KEPT_S = 7 * 24 * 60 * 60

/** @param cluster as the servers' configuration names it, with the macros `{shard}` and `{replica}` on each */
export function clustered(statement: string, cluster: string): readonly string[] {
  const text = statement.trim()
  const on = `ON CLUSTER ${quoted(cluster)}`
  const table = /^CREATE TABLE IF NOT EXISTS (\w+)/.exec(text)?.[1]
  if (table !== undefined) return [replicated(text, table, on), distributed(text, table, cluster, on)]
  if (text.startsWith('CREATE MATERIALIZED VIEW')) {
    // A view runs on the shard that stores the rows.
    return [
      text
        .replace(
          /^CREATE MATERIALIZED VIEW IF NOT EXISTS (\w+) TO (\w+)/,
          `CREATE MATERIALIZED VIEW IF NOT EXISTS $1 ${on} TO $2_local`,
        )
        .replaceAll(/\bFROM (\w+)/g, 'FROM $1_local AS $1'),
    ]
  }
  if (text.startsWith('DROP TABLE IF EXISTS')) return [`${text} ${on}`]
  const view = /^ALTER TABLE (\w+) MODIFY QUERY /.exec(text)?.[1]
  if (view !== undefined) {
    return [text.replace(view, `${view} ${on}`).replaceAll(/\bFROM (\w+)/g, 'FROM $1_local AS $1')]
  }
  const altered = /^ALTER TABLE (\w+)/.exec(text)?.[1]
  if (altered !== undefined) {
    const local = text.replace(`ALTER TABLE ${altered}`, `ALTER TABLE ${altered}_local ${on}`)
    // The Distributed table has columns only, no indexes, codecs or settings.
    const isOfColumns = /\b(ADD|DROP|RENAME) COLUMN\b|\bMODIFY COLUMN (?!.* CODEC\()/.test(text)
    const ofColumns = text
      .replace(/ CODEC\(.*\)$/, '')
      .replace(`ALTER TABLE ${altered}`, `ALTER TABLE ${altered} ${on}`)
    return isOfColumns ? [local, ofColumns] : [local]
  }
  if (text.startsWith('INSERT INTO')) return [text]
  throw new Error(`not known how to cluster: ${text.slice(0, 60)}`)
}

function replicated(text: string, table: string, on: string): string {
  const path = `/clickhouse/tables/{shard}/{database}/${table}`
  return text
    .replace(`CREATE TABLE IF NOT EXISTS ${table}`, `CREATE TABLE IF NOT EXISTS ${table}_local ${on}`)
    .replace(/ENGINE = (\w*)MergeTree(?:\((\w+)\))?/, (_, kind: string, version?: string) => {
      return `ENGINE = Replicated${kind}MergeTree('${path}', '{replica}'${version === undefined ? '' : `, ${version}`})`
    })
    .replace(
      /non_(replicated_deduplication_window) = (\d+)/,
      `$1 = $2, replicated_deduplication_window_seconds = ${TOKENS_KEPT_S}`,
    )
}

function distributed(text: string, table: string, cluster: string, on: string): string {
  const engine = `Distributed(${quoted(cluster)}, currentDatabase(), ${table}_local, ${shardBy(text)})`
  return `CREATE TABLE IF NOT EXISTS ${table} ${on} AS ${table}_local ENGINE = ${engine}`
}

/** Tables without a tenant are sharded by their own key; small ones live on one shard. */
function shardBy(text: string): string {
  if (/^\s*tenant_id /m.test(text)) return 'cityHash64(tenant_id)'
  const own = /^\s*(key_hash|job_id) /m.exec(text)?.[1]
  return own === undefined ? '0' : `cityHash64(${own})`
}
