/**
 * Alerts that a real fault raises in a product of its own, as a real Prometheus beside it sees them. Of the rules only
 * the durations and two thresholds are shortened.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ClickHouseClient } from '@clickhouse/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { StoredJob } from '../../internal/exports/export-job.js'
import { environmentIn, freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { connectStore } from '../../internal/store/client.js'
import { JOBS } from '../../streams/buckets.js'
import { type Ask, askAs } from '../support/ask.js'
import { attributed } from '../support/attributed.js'
import { connectTo } from '../support/instance.js'
import { launchWatched, type WatchedService } from '../support/prometheus.js'
import {
  acknowledge,
  answerChallenge,
  launchReceiver,
  RECEIVER_CERTIFICATE,
  type Receiver,
} from '../support/receiver.js'
import { privateDataDir } from '../support/service.js'

const STREAM_BYTES_MAX = 8 * 1024 * 1024
/** An exporter gives a job up after ten attempts. */
const ATTEMPTS_BEFORE_LAST = 9
const RETRIES = Array.from({ length: 100 }, () => '500').join()

let watched: WatchedService
let ask: Ask
let store: ClickHouseClient
let receiver: Receiver

beforeAll(async () => {
  receiver = await launchReceiver({ port: await freePort() })
  const caFile = join(privateDataDir(), 'ca.pem')
  writeFileSync(caFile, RECEIVER_CERTIFICATE.cert)
  watched = await launchWatched({
    args: [
      ...['--invocations-bytes-max', String(STREAM_BYTES_MAX)],
      ...['--tuning', 'sentinel-every-ms=100', '--tuning', 'survey-every-ms=100'],
      ...['--webhook-allowed-networks', '127.0.0.0/8', '--webhook-ports', String(receiver.port)],
      ...['--webhook-ca-file', caFile, '--tuning', `webhook-retry-maxima-ms=${RETRIES}`],
    ],
    shorten: (rules) =>
      rules
        .replace(/\[\d+[mh]\]/g, '[15s]')
        // Of so small a stream, gateways fill a fifth at most: the rest is for the work in flight.
        .replace('attribution_stream_bytes_max > 0.75', 'attribution_stream_bytes_max > 0.15')
        .replace('attribution_store_table_parts > 300', 'attribution_store_table_parts > 50'),
    scrapeSeconds: 3,
  })
  const { baseUrl, credentials, dataDir } = watched.service
  ask = askAs(baseUrl, { 'x-api-key': credentials.api_key })
  // The attributor makes the tables, also after the start.
  await attributed(ask, {})
  const told = environmentIn(dataDir)
  store = connectStore({
    url: told['ATTRIBUTION_STORE_URL'] ?? '',
    user: told['ATTRIBUTION_STORE_USER'] ?? '',
    password: told['ATTRIBUTION_STORE_PASSWORD'] ?? '',
    database: told['ATTRIBUTION_STORE_DATABASE'] ?? '',
  })
})

afterAll(async () => {
  await store?.close()
  await watched?.stop()
  await receiver?.close()
})

/** An event of which a few hundred fill the stream: sixteen tags of the greatest length. */
const LARGE = { tags: Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`tag-${i}`, 'v'.repeat(256)])) }

test('none of the alerts fires before its fault', async () => {
  await expect
    .poll(async () => (await watched.asked('query?query=attribution_store_table_parts')).data.result.length)
    .toBeGreaterThan(0)
  expect(await watched.firing()).toEqual([])
})

test('a webhook receiver that answers 500 raises the alert of webhooks', async () => {
  receiver.answer = answerChallenge
  const url = `https://127.0.0.1:${receiver.port}/hook`
  const { json: hook } = await ask('POST', '/api/v1/webhooks', { url, events: ['budget.threshold.crossed'] })
  await expect.poll(async () => (await ask('GET', `/api/v1/webhooks/${hook.id}`)).json.status).toBe('verified')

  receiver.answer = (response) => void response.writeHead(500).end()
  const { json: budget } = await ask('POST', '/api/v1/budgets', { name: 'all', ceiling_usd: '1000' })
  await ask('POST', `/api/v1/budgets/${budget.id}/test`, {})

  await watched.untilFiring('AttributionWebhooksFail')
  receiver.answer = acknowledge
})

test('an export whose folder is gone raises the alert of exports, with its first failure', async () => {
  const folder = join(watched.service.dataDir, 'exports')
  rmSync(folder, { recursive: true, force: true })
  // Nobody can make a folder of that name, not even root.
  writeFileSync(folder, '')
  let failing = ''
  await watched.whileFrozen('exporter', async () => {
    failing = await orderAfterRetries()
  })

  await expect.poll(async () => (await ask('GET', failing)).json.failure?.reason).toBe('files_unavailable')
  await watched.untilFiring('AttributionExportsFail')
  rmSync(folder)
  mkdirSync(folder, { mode: 0o700 })
  const { json } = await order()
  await expect.poll(async () => (await ask('GET', json.status_url)).json.status).toBe('succeeded')
})

const order = () =>
  ask('POST', '/v1/exports/focus', { format: 'focus', period: { from: '2026-10-01', to: '2026-10-31' } })

/**
 * Orders an export whose next attempt is its last: between ten attempts there are four minutes. No exporter may work
 * meanwhile.
 *
 * @returns the path of its status
 */
async function orderAfterRetries(): Promise<string> {
  const { json } = await order()
  const broker = await connectTo(watched.service)
  try {
    const jobs = await broker.bucket(JOBS)
    const entry = await jobs.get(json.job_id)
    if (entry === null) throw new Error('the job does not exist')
    const job: StoredJob = { ...entry.json<StoredJob>(), attempts: ATTEMPTS_BEFORE_LAST }
    await jobs.update(job.id, JSON.stringify(job), entry.revision)
    return json.status_url
  } finally {
    await broker.close()
  }
}

test('a read model that does not merge raises the alert of many parts, which ends when it merges again', async () => {
  await store.command({ query: 'SYSTEM STOP MERGES' })
  await watched.untilFiring('AttributionManyParts', () => watched.send())

  await store.command({ query: 'SYSTEM START MERGES' })
  await expect.poll(watched.firing).not.toContain('AttributionManyParts')
})

test('attribution that stalls while events come raises the alert of a full stream until it goes on', async () => {
  await watched.whileFrozen('store', async () => {
    // Crowded, so that what is done leaves the stream at once: that is only when gateways refuse.
    await expect
      .poll(async () => new Set(await Promise.all(Array.from({ length: 50 }, () => watched.send(LARGE)))))
      .toContain(503)
    await watched.untilFiring('AttributionStreamFull')
  })

  await expect.poll(watched.firing).not.toContain('AttributionStreamFull')
})

test('a read model that ends again and again raises the alerts of batches and of checks', async () => {
  const alerts = ['AttributionBatchesFail', 'AttributionChecksFail']
  await expect
    .poll(
      async () => {
        endStore()
        await watched.send()
        const firing = await watched.firing()
        return alerts.filter((alert) => !firing.includes(alert))
      },
      { interval: 200 },
    )
    .toEqual([])
})

/** Ends the read model, unless it has ended and is not started again yet. */
function endStore(): void {
  try {
    process.kill(watched.service.pid('store'), 'SIGKILL')
  } catch (cause) {
    if (!/ESRCH|is not running/.test(String(cause))) throw cause
  }
}

test('no alert fires once the faults are over', async () => {
  await expect.poll(watched.firing).toEqual([])
})
