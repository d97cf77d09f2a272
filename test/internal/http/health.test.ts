import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type DependencyWatch, healthRoutes, readinessOf, watchDependency } from '../../../internal/http/health.js'
import { type RunningServer, serve } from '../../../internal/http/server.js'
import { createLog } from '../../../internal/telemetry/log.js'
import { publicServer } from '../../support/public-server.js'
import { open, takeAll, temporaryFolder } from '../../support/spool.js'
import { recordOf } from '../../support/spool-records.js'

const MINUTE_MS = 60_000
const ROOM = 128 * 1024

let now = 0
let broker: DependencyWatch
let store: DependencyWatch
let credentials: DependencyWatch
let spool: Awaited<ReturnType<typeof open>>['spool']
let hasLogRoom = true
let server: RunningServer
const leaving = new AbortController()

beforeAll(async () => {
  const watched = (watch: () => DependencyWatch): DependencyWatch => ({
    report: (status) => watch().report(status),
    current: () => watch().current(),
    awayMs: () => watch().awayMs(),
  })
  const { deps } = publicServer('/', () => undefined)
  const readiness = readinessOf(
    {
      broker: watched(() => broker),
      store: watched(() => store),
      credentials: watched(() => credentials),
      logCapacity: { has: () => hasLogRoom },
      spool: {
        get isEmpty() {
          return spool.isEmpty
        },
        hasCapacityFor: (bytes) => spool.hasCapacityFor(bytes),
      },
    },
    leaving.signal,
  )
  server = await serve({ host: '127.0.0.1', port: 0, errorDocsUrl: 'http://docs/errors' }, healthRoutes(readiness), {
    ...deps,
    leaving: leaving.signal,
    log: createLog('test', 'silent'),
  })
})
afterAll(() => server.drain())
beforeEach(async () => {
  broker = watchDependency('broker', () => now)
  store = watchDependency('store', () => now)
  credentials = watchDependency('credentials', () => now)
  for (const watch of [broker, store, credentials]) watch.report('up')
  hasLogRoom = true
  spool = (await open(await temporaryFolder(), { bytesMax: ROOM })).spool
})

const asked = async (query = '') => {
  const answer = await fetch(`http://127.0.0.1:${server.port}/readyz${query}`)
  const json = (await answer.json()) as { status: unknown; error_code?: string; readiness?: string }
  return [answer.status, json.error_code ?? json.status]
}
const general = () => asked()
const ingestion = () => asked('?surface=ingestion')
const UNREADY = [503, 'SERVICE_UNAVAILABLE']
/** Fills the spool so that an event of the maximum size no longer fits. */
const fill = () => spool.append([recordOf(1, ROOM - 1_024)])

test('readiness is ready on both surfaces while all dependencies respond', async () => {
  expect([await general(), await ingestion()]).toEqual([
    [200, 'ready'],
    [200, 'ready'],
  ])
})

test('ingestion is ready without the read model', async () => {
  store.report('down')

  expect([await general(), await ingestion()]).toEqual([UNREADY, [200, 'degraded']])
})

test('only ingestion is ready with stale credentials, and only while they are trusted', async () => {
  credentials.report('down')
  now += 15 * MINUTE_MS
  expect([await general(), await ingestion()]).toEqual([UNREADY, [200, 'degraded']])

  now += 1
  expect(await ingestion()).toEqual(UNREADY)
})

test('ingestion is ready without the broker while credentials are trusted', async () => {
  broker.report('down')
  credentials.report('down')
  now += 15 * MINUTE_MS
  expect([await general(), await ingestion()]).toEqual([UNREADY, [200, 'degraded']])

  now += 1
  expect(await ingestion()).toEqual(UNREADY)
})

test('ingestion is ready without the broker while the spool has capacity', async () => {
  broker.report('down')
  await fill()

  expect(await ingestion()).toEqual(UNREADY)
})

test('ingestion is not ready with a full spool, even after the broker is back', async () => {
  await fill()
  expect(await ingestion()).toEqual(UNREADY)

  await spool.drain(takeAll)
  expect(await ingestion()).toEqual([200, 'ready'])
})

test('a full stream makes ingestion unready and the service degraded', async () => {
  hasLogRoom = false

  expect([await general(), await ingestion()]).toEqual([[200, 'degraded'], UNREADY])
})

test('ingestion that goes to the spool is ready with a full stream', async () => {
  hasLogRoom = false
  broker.report('down')

  expect(await ingestion()).toEqual([200, 'degraded'])
})

test.each([
  ['?surface=reports', 'INVALID_FILTER'],
  ['?surface=', 'INVALID_FILTER'],
  ['?surface=ingestion&surface=ingestion', 'INVALID_FILTER'],
  ['?surfaces=ingestion', 'INVALID_FILTER'],
  ['?surface=%FF', 'MALFORMED_REQUEST'],
])('the readiness probe replies 400 to %s', async (query, code) => {
  expect(await asked(query)).toEqual([400, code])
})

test('a service that is about to stop is draining, and each of its answers ends the connection', async () => {
  const ask = (path: string) => fetch(`http://127.0.0.1:${server.port}${path}`)
  const before = await ask('/healthz')
  leaving.abort()

  for (const query of ['', '?surface=ingestion']) {
    const answer = await ask(`/readyz${query}`)
    expect([answer.status, answer.headers.get('connection')]).toEqual([503, 'close'])
    expect(await answer.json()).toMatchObject({ error_code: 'SERVICE_UNAVAILABLE', readiness: 'draining' })
  }
  expect(before.headers.get('connection')).not.toBe('close')
  expect((await ask('/healthz')).status).toBe(200)
})
