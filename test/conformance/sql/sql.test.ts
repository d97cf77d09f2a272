/** Drivers of the SQL port, as the BI tools that build on them use them. */
import { join } from 'node:path'
import { beforeAll, expect, vi } from 'vitest'
import { pinnedVersion } from '../../support/conformance/pins.js'
import { conformance, driven } from '../../support/conformance/program.js'
import { tenantWithRecords } from '../../support/conformance/tenant.js'
import { sqlOfProduct } from '../../support/product.js'

/** Host, port, database, user, password. */
let login: readonly string[]

beforeAll(async () => {
  const { ask } = await tenantWithRecords()
  const { status, json: user } = await ask('POST', '/api/v1/sql-users', { name: 'conformance' })
  expect(status).toBe(201)
  const { hostname, port } = new URL(sqlOfProduct())
  login = [hostname, port, 'attribution', user.id, user.password]
  // A gateway knows a new user once its watch has it.
  const authorization = `Basic ${Buffer.from(`${user.id}:${user.password}`).toString('base64')}`
  const ping = () => fetch(`${sqlOfProduct()}/?query=SELECT%201`, { headers: { authorization } })
  await vi.waitFor(async () => expect((await ping()).status).toBe(200), 20_000)
})

const python = (folder: string) => join(folder, 'venv', 'bin', 'python')

conformance(
  {
    name: 'clickhouse-go over HTTP',
    version: pinnedVersion('sql/go', 'github.com/ClickHouse/clickhouse-go/v2'),
    tries: 'What Grafana does: connect, list, panels, parameters, errors; plain, LZ4 and gzip',
    installs: 'sql/go',
  },
  (folder) => driven([join(folder, 'program'), ...login], { cwd: folder, minutesMax: 2 }),
)

conformance(
  {
    name: 'clickhouse-jdbc',
    version: pinnedVersion('sql/jdbc', 'clickhouse-jdbc'),
    tries: 'What Metabase and DBeaver do: `DatabaseMetaData`, questions with parameters, errors',
    installs: 'sql/jdbc',
  },
  (folder) => driven(['java', '-cp', join(folder, 'lib', '*'), 'Drive.java', ...login], { cwd: folder, minutesMax: 2 }),
)

conformance(
  {
    name: 'clickhouse-connect',
    version: pinnedVersion('sql/python', 'clickhouse-connect'),
    tries: 'Parameters, a stream, errors',
    installs: 'sql/python',
  },
  (folder) => driven([python(folder), 'drive.py', 'clickhouse-connect', ...login], { cwd: folder, minutesMax: 2 }),
)

conformance(
  {
    name: 'SQLAlchemy by clickhouse-connect',
    version: pinnedVersion('sql/python', 'clickhouse-connect'),
    tries: 'What Superset does: reflection, questions with parameters, errors',
    installs: 'sql/python',
  },
  (folder) =>
    driven([python(folder), 'drive.py', 'clickhouse-connect-sqlalchemy', ...login], { cwd: folder, minutesMax: 2 }),
)

conformance(
  {
    name: 'SQLAlchemy by clickhouse-sqlalchemy',
    version: pinnedVersion('sql/python', 'clickhouse-sqlalchemy'),
    tries: 'Reflection, questions with parameters, errors',
    installs: 'sql/python',
  },
  (folder) => driven([python(folder), 'drive.py', 'clickhouse-sqlalchemy', ...login], { cwd: folder, minutesMax: 2 }),
)

conformance(
  {
    name: 'dbt-clickhouse',
    version: pinnedVersion('sql/dbt', 'dbt-clickhouse'),
    tries: '`debug`, `show` of a model, `test`, `docs generate`; a stored model is refused',
    installs: 'sql/dbt',
  },
  (folder) => driven([python(folder), 'drive.py', ...login], { cwd: folder, minutesMax: 8 }),
)
