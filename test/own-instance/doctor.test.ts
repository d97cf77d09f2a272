/** `attribution doctor` on a healthy instance, and on one that is broken in one way after another. */
import { execFile } from 'node:child_process'
import { chmodSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Broker, connectBroker } from '../../internal/broker/connect.js'
import type { Finding } from '../../internal/local/doctor/finding.js'
import { environmentIn } from '../../internal/local/supervisor/supervised-instance.js'
import { newMasterKey } from '../../internal/secrets/master-keys.js'
import { connectStore } from '../../internal/store/client.js'
import { MIGRATIONS } from '../../internal/store/migrations/migrate.js'
import { OBSERVATIONS } from '../../streams/observations.js'
import { ask } from '../support/ask.js'
import { freeze, thaw } from '../support/freeze.js'
import { launchService, type RunningService } from '../support/service.js'

const CLI = fileURLToPath(new URL('../../dist/cmd/attribution/main.js', import.meta.url))
/** They depend on the machine of the test and its clock. */
const OF_THE_MACHINE = ['disk', 'open files', 'store disk default', 'price book', 'energy table']

let service: RunningService
let broker: Broker
let environment: Readonly<Record<string, string>>

beforeAll(async () => {
  service = await launchService()
  environment = environmentIn(service.dataDir)
  broker = await connectBroker({
    url: environment['ATTRIBUTION_NATS_URL'] ?? '',
    user: environment['ATTRIBUTION_NATS_USER'] ?? '',
    password: environment['ATTRIBUTION_NATS_PASSWORD'] ?? '',
    name: 'test',
  })
})

afterAll(async () => {
  await broker.close()
  await service.stop()
  rmSync(service.dataDir, { recursive: true, force: true })
})

interface Report {
  readonly code: number
  readonly findings: readonly Finding[]
}

async function examine(env: Readonly<Record<string, string>> = {}): Promise<Report> {
  const args = [CLI, 'doctor', '--data-dir', service.dataDir, '--json']
  const options = { env: { ...process.env, ...env } }
  const { code, stdout } = await promisify(execFile)(process.execPath, args, options).then(
    (done) => ({ code: 0, stdout: done.stdout }),
    (failed: { readonly code: number; readonly stdout: string }) => failed,
  )
  return {
    code,
    findings: stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Finding),
  }
}

/** The findings that are no `ok`, besides those about the machine of the test. */
const faultsIn = ({ findings }: Report): string[] =>
  findings.flatMap(({ check, status }) =>
    status === 'ok' || OF_THE_MACHINE.includes(check) ? [] : [`${status}: ${check}`],
  )

const detailOf = ({ findings }: Report, check: string): string | undefined =>
  findings.find((finding) => finding.check === check)?.detail

test('a healthy instance has no finding, and every part is looked at', async () => {
  // The trainer and the exporter may start after the API is ready.
  await expect.poll(async () => faultsIn(await examine()), { interval: 1_000 }).toEqual([])

  const { code, findings } = await examine()
  expect(findings.map(({ check }) => check)).toEqual(
    expect.arrayContaining(
      [
        'disk permissions broker layout streams lag quarantine gateway attributor courier sentinel trainer ' +
          'exporter stages versions store',
        'schema parts copies mutations API',
      ]
        .join(' ')
        .split(' '),
    ),
  )
  expect(findings.map(({ check }) => check)).toEqual(
    expect.arrayContaining([
      'HTTP parser',
      'master key',
      'age of the master key',
      'API keys',
      'clock of the broker',
      'clock of the store',
      'price book',
      'energy table',
    ]),
  )
  expect(code).toBeLessThan(2)
})

test('secrets that others may read are a failure', async () => {
  const file = join(service.dataDir, 'credentials.json')
  chmodSync(file, 0o644)
  const report = await examine()
  chmodSync(file, 0o600)

  expect(report.code).toBe(2)
  expect(faultsIn(report)).toEqual(['failure: permissions'])
  expect(detailOf(report, 'permissions')).toContain('credentials.json')
})

test('a stream that differs from the layout is a warning that names the command', async () => {
  const { config } = await broker.manager.streams.info(OBSERVATIONS.name)
  await broker.manager.streams.update(OBSERVATIONS.name, { max_bytes: config.max_bytes / 2 })
  const report = await examine()
  await broker.manager.streams.update(OBSERVATIONS.name, { max_bytes: config.max_bytes })

  expect(faultsIn(report)).toEqual(['warning: layout'])
  expect(detailOf(report, 'layout')).toContain('attribution streams apply')
})

test('a key that expires soon is a warning', async () => {
  const made = await ask(
    service.baseUrl,
    'POST',
    '/api/v1/api-keys',
    { 'x-api-key': service.credentials.api_key },
    {
      name: 'short',
      scopes: ['read:attribution'],
      expires_at: new Date(Date.now() + 3 * 24 * 60 * 60 * 1_000).toISOString(),
    },
  )
  const report = await examine()

  expect(made.status).toBe(201)
  expect(faultsIn(report)).toEqual(['warning: API keys'])
})

test('a master key that opens nothing is a failure', async () => {
  const report = await examine({ ATTRIBUTION_MASTER_KEY: newMasterKey().text })

  expect(faultsIn(report)).toContain('failure: master key')
})

test('a read model of a newer build is a failure', async () => {
  const store = connectStore({
    url: environment['ATTRIBUTION_STORE_URL'] ?? '',
    user: environment['ATTRIBUTION_STORE_USER'] ?? '',
    password: environment['ATTRIBUTION_STORE_PASSWORD'] ?? '',
    database: environment['ATTRIBUTION_STORE_DATABASE'] ?? '',
  })
  const newest = (MIGRATIONS.at(-1)?.version ?? 0) + 1
  await store.insert({
    table: 'schema_migrations',
    values: [{ version: newest, name: 'later' }],
    format: 'JSONEachRow',
  })
  const report = await examine()
  await store.command({ query: `DELETE FROM schema_migrations WHERE version = ${newest}` })
  await store.close()

  expect(faultsIn(report)).toContain('failure: schema')
  expect(detailOf(report, 'schema')).toContain('newer build')
})

test('an attributor that hangs is a failure, and the others are still looked at', async () => {
  const pid = service.pid('attributor')
  await freeze(pid)
  try {
    await expect.poll(async () => faultsIn(await examine()), { interval: 1_000 }).toContain('failure: attributor')
  } finally {
    thaw(pid)
  }
})

test('a store and a broker that do not answer are a failure each, within seconds', async () => {
  await freeze(service.pid('store'))
  await freeze(service.pid('nats'))
  try {
    const report = await examine()
    expect(faultsIn(report)).toEqual(expect.arrayContaining(['failure: broker', 'failure: store']))
    expect(detailOf(report, 'broker')).toContain('does not answer')
  } finally {
    thaw(service.pid('nats'))
    thaw(service.pid('store'))
  }
})
