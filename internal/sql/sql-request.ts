import type { IncomingMessage } from 'node:http'
import { promisify } from 'node:util'
import { gunzip, inflate } from 'node:zlib'
import { refusal } from './refusal.js'
import { isFormat } from './statement.js'

/** A request of ClickHouse's HTTP interface, as far as clients and drivers use it. */

export interface SqlCredentials {
  readonly user: string
  readonly password: string
}

export interface SqlRequest {
  readonly text: string
  readonly parameters: ReadonlyMap<string, string>
  readonly defaultFormat: string
  /** Of the output; all other settings that a client sends are ignored, since the limits are ours. */
  readonly settings: Readonly<Record<string, string>>
  /** The client's own name of the query, if it has a plain one. */
  readonly queryId: string | undefined
}

/** A text of the longest query, of characters of several bytes. */
const BODY_BYTES_MAX = 256 * 1024

const OUTPUT_SETTINGS: ReadonlySet<string> = new Set([
  'compress',
  'network_compression_method',
  // What a driver understands of the format Native: clickhouse-go reads none of an older form.
  'client_protocol_version',
  'session_timezone',
  'date_time_output_format',
  'output_format_json_quote_64bit_integers',
  'output_format_json_quote_denormals',
  'output_format_json_named_tuples_as_objects',
  'output_format_native_encode_types_in_binary_format',
])
const SETTING_VALUE = /^[A-Za-z0-9_+\-/]{1,40}$/

/** Names under which a client gives credentials in the address, where servers on the way log them. */
const CREDENTIALS_IN_ADDRESS = ['user', 'password', 'quota_key']

const QUERY_ID = /^[A-Za-z0-9_-]{1,64}$/

/** @throws SqlRefusal */
export function addressOf({ url = '' }: IncomingMessage): URL {
  const address = url.startsWith('/') ? `http://sql${url}` : ''
  if (!URL.canParse(address)) throw refusal('unreadable', 'The address cannot be read')
  return new URL(address)
}

/** Whether a driver reads answers in ClickHouse's own blocks. */
export const wantsBlocks = ({ url = '' }: IncomingMessage): boolean => /[?&]compress=1(?:&|$)/.test(url)

/**
 * Basic, or the headers of ClickHouse.
 *
 * @throws SqlRefusal where there are none, or in two ways
 */
export function credentialsOf({ headers }: IncomingMessage, address: URL): SqlCredentials {
  if (CREDENTIALS_IN_ADDRESS.some((name) => address.searchParams.has(name))) {
    throw refusal('credentials', 'Send the user and the password as Basic authorization, not in the address')
  }
  const { authorization } = headers
  const [user, password] = [headers['x-clickhouse-user'], headers['x-clickhouse-key']]
  if (authorization === undefined) {
    if (typeof user === 'string' && typeof password === 'string') return { user, password }
    throw refusal('missing', 'Send the user and the password as Basic authorization')
  }
  if (user !== undefined || password !== undefined) {
    throw refusal('credentials', 'Send the user and the password in one way only')
  }
  const encoded = /^basic ([A-Za-z0-9+/=]+)$/i.exec(authorization)?.[1]
  const pair = encoded === undefined ? '' : Buffer.from(encoded, 'base64').toString()
  const colon = pair.indexOf(':')
  if (colon === -1) throw refusal('credentials', 'Send the user and the password as Basic authorization')
  return { user: pair.slice(0, colon), password: pair.slice(colon + 1) }
}

/**
 * @param database under which the views are shown
 * @throws SqlRefusal
 */
export async function readSqlRequest(message: IncomingMessage, address: URL, database: string): Promise<SqlRequest> {
  const { method, headers } = message
  if (method !== 'GET' && method !== 'POST') throw refusal('unreadable', 'Send GET or POST')
  const coding = headers['content-encoding']
  if ((coding !== undefined && !UNPACK.has(coding)) || address.searchParams.get('decompress') === '1') {
    throw refusal('unreadable', 'Queries are read plain, gzip or deflate; turn off other compression of requests')
  }
  if (headers['content-type']?.startsWith('multipart/') === true) {
    throw refusal('unreadable', 'Multipart bodies are not read; send parameters in the address')
  }
  const { searchParams } = address
  const wantedDatabase = searchParams.get('database') ?? headers['x-clickhouse-database'] ?? ''
  if (!['', 'default', database].includes(String(wantedDatabase))) {
    throw refusal('database', `The only database is ${database}`)
  }
  const text = [searchParams.get('query') ?? '', await bodyOf(message, coding)].filter((part) => part !== '').join('\n')
  const defaultFormat = searchParams.get('default_format') ?? String(headers['x-clickhouse-format'] ?? 'TabSeparated')
  if (!isFormat(defaultFormat)) throw refusal('unreadable', 'This format is not allowed')
  const queryId = searchParams.get('query_id') ?? ''
  return {
    text,
    parameters: new Map(
      [...searchParams].flatMap(([name, value]) => (name.startsWith('param_') ? [[name.slice(6), value]] : [])),
    ),
    defaultFormat,
    settings: Object.fromEntries(
      [...searchParams].filter(([name, value]) => OUTPUT_SETTINGS.has(name) && SETTING_VALUE.test(value)),
    ),
    queryId: QUERY_ID.test(queryId) ? queryId : undefined,
  }
}

type Unpack = (packed: Buffer, options: { readonly maxOutputLength: number }) => Promise<Buffer>

/** Of `Content-Encoding`: the ADO.NET driver sends each query as gzip. */
const UNPACK: ReadonlyMap<string, Unpack> = new Map<string, Unpack>([
  ['gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
])

async function bodyOf(message: IncomingMessage, coding: string | undefined): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of message) {
    bytes += (part as Buffer).length
    if (bytes > BODY_BYTES_MAX) throw refusal('unreadable', 'The query is too long')
    parts.push(part as Buffer)
  }
  const body = Buffer.concat(parts)
  const unpack = coding === undefined ? undefined : UNPACK.get(coding)
  if (unpack === undefined || body.length === 0) return body.toString()
  try {
    return (await unpack(body, { maxOutputLength: BODY_BYTES_MAX })).toString()
  } catch {
    throw refusal('unreadable', `The query is no ${coding}, or is too long`)
  }
}
