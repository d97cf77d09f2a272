/** The SQL port in the test's own process, over a store: with users, without a gateway. */
import { budgetsCache, rateLimitsOf } from '../../internal/auth/rate-limits.js'
import { formatSqlPassword, type StoredSqlUser, storedSqlUser } from '../../internal/auth/sql-users.js'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { type OpenSqlDeps, openSql } from '../../internal/sql/sql-answers.js'
import { createLog } from '../../internal/telemetry/log.js'
import { BESIDE_API } from './beside-api.js'
import type { RunningStore } from './store.js'

export interface Login {
  readonly user: string
  readonly password: string
}

export interface Answer {
  readonly status: number
  readonly code: number | null
  readonly text: string
  readonly headers: Headers
  readonly bytes: Buffer
}

export interface SqlPort {
  readonly url: string
  addUser(tenantId: string, changes?: Partial<StoredSqlUser>): Login
  /** Sends a query as a driver does. */
  send(query: string, login: Login, search?: string): Promise<Answer>
  close(): Promise<void>
}

type Deps = Pick<OpenSqlDeps, 'watermark'> & Partial<OpenSqlDeps>

const QUIET = createLog('gateway', 'error', { format: 'json', destination: { write: () => undefined } })

export const basic = ({ user, password }: Login): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`

export async function openSqlPort({ connection }: RunningStore, deps: Deps): Promise<SqlPort> {
  const users = new Map<string, StoredSqlUser>()
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const sql = await openSql(
    { ...BESIDE_API, port },
    {
      storeConnection: connection,
      mode: 'production',
      findUser: (id) => users.get(id),
      credentialsAwayMs: () => 0,
      clientAddressOf: (peer) => peer,
      budgetsOf: budgetsCache(rateLimitsOf({ ingest: 1, read: 1, report: 1_000, control: 1, token: 1 })),
      residencyRegionOf: () => null,
      instanceRegion: 'eu-central-1',
      dimensionsOf: () => [],
      auditSink: { record: async () => undefined },
      clock: () => Date.UTC(2026, 10, 1),
      log: QUIET,
      ...deps,
    },
  )
  return {
    url,
    addUser(tenantId, changes = {}) {
      const id = `sql_${String(users.size).padStart(26, '0')}`
      const password = formatSqlPassword('production', Buffer.alloc(32, users.size))
      const wanted = { name: 'dashboards', expiresAt: '2027-01-01T00:00:00.000Z' }
      users.set(id, { ...storedSqlUser(id, tenantId, password, wanted, '2026-01-01T00:00:00.000Z'), ...changes })
      return { user: id, password }
    },
    async send(query, login, search = '') {
      const headers = { authorization: basic(login) }
      const answer = await fetch(`${url}/?${search}`, { method: 'POST', headers, body: query })
      const code = answer.headers.get('x-clickhouse-exception-code')
      const bytes = Buffer.from(await answer.arrayBuffer())
      const text = bytes.toString()
      return { status: answer.status, code: code === null ? null : Number(code), text, headers: answer.headers, bytes }
    },
    async close() {
      await sql.drain()
      await sql.close()
    },
  }
}
