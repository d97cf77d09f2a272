/**
 * The one way to reach ClickHouse, be it the engine of `cmd/store`, a server or a cluster: only address and
 * credentials differ.
 */
import type { Readable } from 'node:stream'
import {
  type BaseQueryParams,
  type ClickHouseClient,
  ClickHouseLogLevel,
  createClient,
  type ExecParams,
  type QueryParams,
} from '@clickhouse/client'
import { asFailureOfStore, StoreAway } from './failures.js'
import { changeOnShards } from './on-shards.js'
import { StoreSilence } from './silence.js'

export interface StoreConnection {
  /** Scheme, host and port, for example `http://127.0.0.1:8123`. */
  readonly url: string
  readonly user: string
  readonly password: string
  /** Need not exist yet: ClickHouse looks it up with each query. */
  readonly database: string
  /** Of the tables, when the schema is that of a cluster (`migrations/clustered.ts`). */
  readonly cluster?: string
  /** Concurrent queries of this client; further ones wait in the client. */
  readonly connectionsMax?: number
  /** How long a query may be silent (no byte sent or received) before the client fails it, in milliseconds. */
  readonly silenceMsMax?: number
}

/**
 * Makes a client with the settings that every client of ours must send. Opens no connection yet: the first query
 * does, so this neither waits nor fails when ClickHouse is unavailable.
 *
 * `query` is read-only, and ClickHouse cancels it when its reader aborts or disconnects. Changes go through `insert`,
 * `command` and `exec`. All throw `ClickHouseError` (with `code`, a number as text, and `type`) when ClickHouse refuses
 * them, and `StoreAway` or the error of the socket when it is unavailable. The caller closes the client.
 */
export function connectStore(connection: StoreConnection): ClickHouseClient {
  const { cluster = '' } = connection
  const client = createClient({
    url: connection.url,
    ...credentialsOf(connection),
    database: connection.database,
    application: 'attribution',
    max_open_connections: connection.connectionsMax ?? 16,
    request_timeout: connection.silenceMsMax ?? 60_000,
    // Errors are thrown; the client would also write them to the console.
    log: { level: ClickHouseLogLevel.OFF },
    // A busy event loop may be late to drop an idle socket that ClickHouse is about to close: look before each use.
    keep_alive: { enabled: true, idle_socket_ttl: 2_500, eagerly_destroy_stale_sockets: true },
    // Loopback and the cluster's own network are faster than gzip.
    compression: { request: false, response: false },
    clickhouse_settings: {
      // Without these two, UInt64 and Decimal arrive as JSON numbers, and money is no longer exact.
      output_format_json_quote_64bit_integers: 1,
      output_format_json_quote_decimals: 1,
      // Else a SELECT keeps running after its reader disconnects. Applies to read-only queries: see below.
      cancel_http_readonly_queries_on_client_close: 1,
      // An insert is acknowledged once it is written, and its deduplication token counts.
      async_insert: 0,
      // Before 26.3.13, 26.4.4 and 26.5.2 it lost records (ClickHouse#104781), and each page, report and export names
      // an instant of its own.
      use_query_condition_cache: 0,
      ...(cluster !== '' && OF_CLUSTERS),
    },
  })
  // The client sends queries by POST, which ClickHouse treats as read-only only with this setting. 2 still permits
  // settings with the query.
  const query = client.query.bind(client) as (params: QueryParams) => unknown
  client.query = ((params: QueryParams) =>
    query({ ...params, clickhouse_settings: { readonly: '2', ...params.clickhouse_settings } })) as typeof client.query
  if (cluster !== '') {
    const command = client.command.bind(client)
    client.command = (params) => command({ ...params, query: changeOnShards(params.query, cluster) })
  }
  for (const name of ['query', 'insert', 'command', 'exec'] as const) withStoreErrors(client, name)
  return withoutSilence(client, connection)
}

/**
 * The embedded engine takes credentials in these headers only (`engine/config-files.ts` says why); every other ClickHouse
 * takes them there too.
 */
const credentialsOf = ({ user, password }: StoreConnection) => ({
  username: user,
  set_basic_auth_header: false,
  http_headers: { 'X-ClickHouse-User': user, 'X-ClickHouse-Key': password },
})

/** Reads fail within 2 s when the store stands still (`silence.ts`), and pings wait for no query. */
function withoutSilence(client: ClickHouseClient, connection: StoreConnection): ClickHouseClient {
  const pings = createClient({
    url: connection.url,
    ...credentialsOf(connection),
    max_open_connections: 1,
    log: { level: ClickHouseLogLevel.OFF },
  })
  const silence = new StoreSilence((abort_signal) => pings.ping({ select: false, abort_signal }))
  const watched =
    <Asked extends BaseQueryParams, Result>(
      ask: (params: Asked) => Promise<Result>,
      stop: (result: Result, cause: unknown) => void,
      ending: (result: Result, end: () => void) => unknown,
    ) =>
    async (params: Asked): Promise<unknown> => {
      const { signal, end } = silence.begin(params.abort_signal)
      try {
        const result = await ask({ ...params, abort_signal: signal })
        // The client heeds the signal until the answer begins.
        signal.addEventListener('abort', () => stop(result, signal.reason), { once: true })
        return ending(result, end)
      } catch (cause) {
        end()
        throw signal.reason instanceof StoreAway ? signal.reason : cause
      }
    }
  const query = client.query.bind(client) as (params: QueryParams) => Promise<Answer>
  const exec = client.exec.bind(client) as (params: ExecParams) => Promise<{ readonly stream: Readable }>
  const readBytes = watched(exec, ({ stream }, cause) => stream.destroy(asFailureOfStore(cause) as Error), endingBytes)
  const close = client.close.bind(client)
  return Object.assign(client, {
    query: watched(query, (result) => result.close?.(), endingWith),
    // With values it writes, which takes as long as it takes.
    exec: (params: ExecParams) => ('values' in params ? exec(params) : readBytes(params)),
    ping: pings.ping.bind(pings),
    close: async () => void (await Promise.all([close(), pings.close()])),
  })
}

/** What a query returns, as far as it is used here. */
interface Answer {
  readonly json?: Call
  readonly text?: Call
  readonly stream?: () => Readable
  readonly close?: () => void
}

/** Calls `end` once the answer has been read, in whatever form. */
function endingWith(result: Answer, end: () => void): unknown {
  const { json, text, stream } = result
  return Object.assign(result, {
    ...(json && { json: (...asked: readonly unknown[]) => json(...asked).finally(end) }),
    ...(text && { text: (...asked: readonly unknown[]) => text(...asked).finally(end) }),
    ...(stream && { stream: () => stream.call(result).once('close', end) }),
  })
}

function endingBytes<Result extends { readonly stream: Readable }>(result: Result, end: () => void): Result {
  // It may be stopped before somebody reads it.
  result.stream.on('error', () => undefined).once('close', end)
  return result
}

/** All rows of a tenant are on one shard: queries ask that one alone, and their subqueries stay there. */
const OF_CLUSTERS = {
  // An insert is acknowledged once the shards, and most replicas of each, have written it.
  distributed_foreground_insert: 1,
  insert_quorum: 'auto',
  distributed_product_mode: 'local',
  optimize_skip_unused_shards: 1,
} as const

/** Tells an unavailable ClickHouse from a defect (`failures.ts`), also in the middle of an answer. */
function withStoreErrors(client: ClickHouseClient, name: 'query' | 'insert' | 'command' | 'exec'): void {
  const ask = wrapped(client[name].bind(client) as Call)
  const asked: Call = async (...question) => {
    const result = (await ask(...question)) as { json?: Call; text?: Call }
    if (result.json) Object.assign(result, { json: wrapped(result.json.bind(result)) })
    if (result.text) Object.assign(result, { text: wrapped(result.text.bind(result)) })
    return result
  }
  Object.assign(client, { [name]: asked })
}

type Call = (...asked: readonly unknown[]) => Promise<unknown>

const wrapped =
  (ask: Call): Call =>
  async (...asked) => {
    try {
      return await ask(...asked)
    } catch (cause) {
      throw asFailureOfStore(cause)
    }
  }
