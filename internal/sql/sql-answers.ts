import type { IncomingMessage, ServerResponse } from 'node:http'
import { addressBudgets, type ClientAddressOf } from '../auth/addresses.js'
import type { Mode } from '../auth/api-keys.js'
import type { AuditEntry, AuditSink } from '../auth/audit-entry.js'
import type { Budgets } from '../auth/rate-limits.js'
import { type StoredSqlUser, sqlUserOf, sqlUserStatus } from '../auth/sql-users.js'
import { AccessLog, SLOW_MS } from '../http/access-log.js'
import { addressOfMessage } from '../http/message-address.js'
import { listenBesideApi, type OwnListenerSettings, type RunningListener } from '../http/own-listener.js'
import { countsOfListener } from '../http/request-metrics.js'
import { traceIdOf } from '../http/trace-id.js'
import { type ResidencyRegion, refusalOfCrossing, thisInstance } from '../residency/residency.js'
import type { StoreConnection } from '../store/client.js'
import { storeProblem } from '../store/failures.js'
import { EngineRefusal, openSqlStore, QUERIES_MAX, type SqlLimits } from '../store/queries/sql/open-sql-store.js'
import type { Logger } from '../telemetry/log.js'
import { compressedBlock } from './compressed-block.js'
import { QuerySlots } from './query-slots.js'
import { refusal, SqlRefusal } from './refusal.js'
import { digestOf, type JudgedQuery, judgeQuery, type QueryResult, type RunQueryDeps, runQuery } from './run-query.js'
import { addressOf, credentialsOf, readSqlRequest, type SqlRequest, wantsBlocks } from './sql-request.js'

/**
 * Answers ClickHouse's HTTP interface: credential, limit, residency, judgement, the query, an entry of the audit log.
 */

interface SqlDeps extends RunQueryDeps {
  readonly mode: Mode
  readonly findUser: (id: string) => StoredSqlUser | undefined
  /** For how long the copies of credentials have been stale; 0 while they are current. */
  readonly credentialsAwayMs: () => number
  readonly clientAddressOf: ClientAddressOf
  readonly budgetsOf: (tenantId: string, principal: string) => Budgets
  readonly residencyRegionOf: (tenantId: string) => ResidencyRegion
  readonly instanceRegion: string | null
  readonly auditSink: AuditSink
  readonly clock: () => number
  readonly log: Logger
}

const COMMON = { 'Cache-Control': 'no-store', 'X-ClickHouse-Server-Display-Name': 'attribution' } as const

function sqlAnswers(deps: SqlDeps) {
  const shared: Shared = { failuresOf: addressBudgets(), slots: new QuerySlots(QUERIES_MAX) }
  const accessLog = new AccessLog(deps.log)
  const counts = countsOfListener('sql')
  return async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    const beganAt = performance.now()
    const traceId = traceIdOf(String(message.headers['traceparent'] ?? ''))
    let refused: SqlRefusal | undefined
    response.once('close', () => {
      const [status, ms] = [response.writableFinished ? response.statusCode : CLIENT_LEFT, performance.now() - beganAt]
      counts.answered(status, ms)
      if (status < 400 && ms < SLOW_MS) return
      const route = `${message.method} / of the SQL port`
      accessLog.note({
        ...{ route, status, trace_id: traceId, duration_ms: Math.round(ms) },
        error_code: refused?.kind.problem,
      })
    })
    try {
      const address = addressOf(message)
      if (address.pathname === '/ping') return reply(response, 200, {}, 'Ok.\n')
      if (address.pathname !== '/' && address.pathname !== '/query') return reply(response, 404, {}, 'Not found.\n')
      await answer(message, response, address, traceId, deps, shared)
    } catch (cause) {
      refused = refusalOf(cause, deps.log)
      refuse(response, refused, wantsBlocks(message))
    }
  }
}

/** As status of an answer that the client did not wait for. */
const CLIENT_LEFT = 0

interface Shared {
  readonly failuresOf: ReturnType<typeof addressBudgets>
  readonly slots: QuerySlots
}

async function answer(
  message: IncomingMessage,
  response: ServerResponse,
  address: URL,
  traceId: string,
  deps: SqlDeps,
  { failuresOf, slots }: Shared,
): Promise<void> {
  const sourceAddress = addressOfMessage(message, deps.clientAddressOf)
  const user = admit(message, address, deps, (nowMs) => failuresOf(sourceAddress, nowMs).take(1, nowMs))
  const disconnected = new AbortController()
  response.once('close', () => disconnected.abort())
  const attempt = new Attempt(user, traceId, sourceAddress, deps)
  try {
    attempt.check()
    const request = await readSqlRequest(message, address, deps.database)
    attempt.text = request.text
    const asker = { tenantId: user.tenant_id, user: user.id }
    const done = await slots.tryRun(asker, () => attempt.run(request, disconnected.signal), disconnected.signal)
    if (done === undefined) throw refusal('busy', 'Too many concurrent queries of this user or tenant', 1)
    await attempt.record({ rows: done.value.rows, bytes: done.value.body.length })
    replyWith(response, done.value, request)
  } catch (cause) {
    // A client that has disconnected gets no answer; what it asked is recorded all the same.
    const refused = refusalOf(cause, deps.log)
    await attempt.record(refused)
    throw refused
  }
}

/** @param onFailure counts a failed attempt of the address; milliseconds to wait when there were too many */
function admit(
  message: IncomingMessage,
  address: URL,
  { mode, findUser, credentialsAwayMs, clock }: SqlDeps,
  onFailure: (nowMs: number) => number,
): StoredSqlUser {
  if (credentialsAwayMs() > 0) throw refusal('unavailable', 'Credentials cannot be verified right now', 1)
  const { user: name, password } = credentialsOf(message, address)
  const nowMs = clock()
  const user = sqlUserOf(mode, findUser, name, password)
  const status = user === undefined ? undefined : sqlUserStatus(user, nowMs)
  if (user !== undefined && status === 'active') return user
  if (onFailure(nowMs) > 0) throw refusal('limited', 'Too many failed attempts; try again later', 1)
  if (status === 'expired') throw refusal('expired', 'The SQL user has expired')
  throw refusal('credentials', 'The user or the password is not valid')
}

/** One query of a user, from its admission to its entry in the audit log. */
class Attempt {
  text = ''
  private judged: JudgedQuery | undefined
  private readonly user: StoredSqlUser
  private readonly traceId: string
  private readonly sourceAddress: string
  private readonly deps: SqlDeps
  private readonly beganAt = performance.now()

  constructor(user: StoredSqlUser, traceId: string, sourceAddress: string, deps: SqlDeps) {
    this.user = user
    this.traceId = traceId
    this.sourceAddress = sourceAddress
    this.deps = deps
  }

  /** @throws SqlRefusal for the rate limit and the residency rule */
  check(): void {
    const { tenant_id: tenantId, id } = this.user
    const { budgetsOf, residencyRegionOf, instanceRegion, clock } = this.deps
    const waitMs = budgetsOf(tenantId, id).report.take(1, clock())
    if (waitMs > 0) throw refusal('limited', 'Rate limit exceeded; retry later', Math.ceil(waitMs / 1_000))
    const blocked = refusalOfCrossing(residencyRegionOf(tenantId), [thisInstance(instanceRegion)])
    if (blocked !== undefined) throw refusal('residency', blocked.detail)
  }

  async run(request: SqlRequest, signal: AbortSignal): Promise<QueryResult> {
    const asked = { ...request, tenantId: this.user.tenant_id, user: this.user.id }
    this.judged = await judgeQuery(asked, this.deps, signal)
    return runQuery(this.judged, asked, this.deps, signal)
  }

  /** @throws Error when the entry cannot be stored: then there is no answer either */
  record(result: { readonly rows: number; readonly bytes: number } | SqlRefusal): Promise<void> {
    const { tenant_id: tenantId, id } = this.user
    const isRefused = result instanceof SqlRefusal
    const entry: AuditEntry = {
      tenantId,
      actor: id,
      action: 'sql.query',
      target: id,
      outcome: isRefused ? (result.kind.status < 500 ? 'refused' : 'failed') : 'succeeded',
      errorCode: isRefused ? result.kind.problem : null,
      traceId: this.traceId,
      at: this.deps.clock(),
      sourceAddress: this.sourceAddress,
      changes: {
        after: {
          // Not the text, which may name people.
          query_sha256: digestOf(this.text),
          tables: [...(this.judged?.tables ?? [])],
          duration_ms: Math.round(performance.now() - this.beganAt),
          ...(isRefused ? { engine_code: result.kind.code } : { rows: result.rows, bytes: result.bytes }),
        },
      },
    }
    return this.deps.auditSink.record(entry)
  }
}

/** Errors of a query's limits, or of the query itself, with the engine's status for them. */
const STATUS_OF: ReadonlyMap<number, number> = new Map([
  [159, 408],
  [60, 404],
  [47, 404],
  [46, 404],
])

function refusalOf(cause: unknown, log: Logger): SqlRefusal {
  if (cause instanceof SqlRefusal) return cause
  if (cause instanceof EngineRefusal) return refusalOfEngine(cause)
  if (storeProblem(cause) !== undefined) return refusal('unavailable', 'The read model is unavailable', 1)
  log.error({ err: cause }, 'SQL query failed unexpectedly')
  return refusal('failed', 'The query failed')
}

function refusalOfEngine({ code, type, message }: EngineRefusal): SqlRefusal {
  if (code === 202) return refusal('busy', 'The read model is busy', 1)
  const status = STATUS_OF.get(code) ?? 400
  return new SqlRefusal({ status, code, type, problem: 'MALFORMED_REQUEST' }, plainMessage(message))
}

const MESSAGE_CHARACTERS_MAX = 400

/** The engine's sentence, without the query that it quotes: the views are ours. */
const plainMessage = (message: string): string =>
  (message.split(/ in scope |\. In scope |: While |: while |: In scope /i)[0] ?? '')
    .replace(/t_[0-9a-f]{24}/g, '…')
    .slice(0, MESSAGE_CHARACTERS_MAX)

function replyWith(response: ServerResponse, result: QueryResult, { queryId }: SqlRequest): void {
  const { body, contentType, format, rows } = result
  const headers = {
    'Content-Type': contentType,
    'X-ClickHouse-Format': format,
    'X-ClickHouse-Timezone': 'UTC',
    'X-ClickHouse-Summary': JSON.stringify({ result_rows: String(rows), result_bytes: String(body.length) }),
    ...(queryId !== undefined && { 'X-ClickHouse-Query-Id': queryId }),
  }
  reply(response, 200, headers, body)
}

/** @param isInBlocks the driver decompresses whatever is not of status 200, too */
function refuse(
  response: ServerResponse,
  { kind: { status, code, type }, message, retryAfterS }: SqlRefusal,
  isInBlocks: boolean,
): void {
  const headers = {
    'X-ClickHouse-Exception-Code': String(code),
    ...(status === 401 && { 'WWW-Authenticate': 'Basic realm="attribution"' }),
    ...(retryAfterS !== undefined && { 'Retry-After': String(Math.max(1, retryAfterS)) }),
  }
  const text = `Code: ${code}. DB::Exception: ${message}. (${type})\n`
  reply(response, status, headers, isInBlocks ? compressedBlock(text) : text)
}

function reply(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string | Buffer,
): void {
  if (response.headersSent || response.destroyed) return
  const all = { ...COMMON, 'Content-Type': 'text/plain; charset=UTF-8', ...headers }
  response.writeHead(status, { ...all, 'Content-Length': Buffer.byteLength(body) }).end(body)
}

/** A query in the address, and values of its parameters. */
const HEAD_BYTES_MAX = 96 * 1024

export interface OpenSqlDeps extends Omit<SqlDeps, 'store' | 'database'> {
  readonly storeConnection: StoreConnection
  /** For tests. */
  readonly limits?: SqlLimits
}

export interface RunningSql extends RunningListener {
  /** Once it has drained. */
  close(): Promise<void>
}

/** Listens for SQL on a port of its own, where there is one: drivers send to the root of an address. */
export async function openSql(
  settings: Omit<OwnListenerSettings, 'name' | 'headBytesMax'>,
  { storeConnection, limits, ...deps }: OpenSqlDeps,
): Promise<RunningSql> {
  const store = openSqlStore(storeConnection, limits)
  const answer = sqlAnswers({ ...deps, store, database: storeConnection.database })
  const listener = await listenBesideApi(
    { ...settings, name: 'sql', headBytesMax: HEAD_BYTES_MAX },
    (message, response) => void answer(message, response),
    deps.log,
  )
  return { ...listener, close: store.close }
}
