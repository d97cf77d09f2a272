import { randomUUID } from 'node:crypto'
import { type KV, KvWatchInclude } from '@nats-io/kv'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Broker } from '../../internal/broker/connect.js'
import type { StoredJob } from '../../internal/exports/export-job.js'
import { JOBS } from '../../streams/buckets.js'
import { type Ask, askAs } from '../support/ask.js'
import { wireEvent } from '../support/gateway.js'
import { connectTo } from '../support/instance.js'
import { killRole, launchService, type RunningService } from '../support/service.js'
import { sendAll } from '../support/trace.js'

/** An exporter that is killed in the midst of a job: another one goes on, and the file is the same, byte for byte. */

let service: RunningService
let broker: Broker
let jobs: KV
let ask: Ask

beforeAll(async () => {
  service = await launchService({ roles: ['exporter'], args: ['--rate-control', '1000', '--rate-read', '10000'] })
  broker = await connectTo(service)
  jobs = await broker.bucket(JOBS)
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  const calls = Array.from({ length: 5_000 }, (_, i) => ({
    ingestion_timestamp: new Date(Date.UTC(2026, i % 10, 1 + (i % 28), i % 24)).toISOString(),
    input_tokens: 100 + i,
    output_tokens: 10 + i,
    attributed_service: `service-${i % 3}`,
    attributed_identity: `person-${i % 41}`,
  }))
  await sendAll(service, calls.map(wireEvent))
})
afterAll(async () => {
  await broker.close()
  await service.stop()
})

const order = async (): Promise<string> => {
  const body = {
    format: 'focus',
    period: { from: '2026-01-01', to: '2026-10-31' },
    group_by: ['service', 'day', 'meter'],
  }
  const { status, json } = await ask('POST', '/v1/exports/focus', body, { 'idempotency-key': randomUUID() })
  expect(status).toBe(202)
  return json.job_id
}

/** Orders a job, and hears of each of its steps. */
async function watched(): Promise<{ until(isSo: (job: StoredJob) => boolean): Promise<StoredJob> }> {
  const steps = await jobs.watch({ include: KvWatchInclude.UpdatesOnly })
  const iterator = steps[Symbol.asyncIterator]()
  const id = await order()
  return {
    async until(isSo) {
      for (;;) {
        const { value: entry, done } = await iterator.next()
        if (done === true) throw new Error('the watch ended')
        if (entry.key !== id || entry.operation !== 'PUT') continue
        const job = entry.json<StoredJob>()
        if (isSo(job)) return job
      }
    },
  }
}

test('an export job whose exporter is killed at any stage produces the same file as an undisturbed job', async () => {
  const undisturbed = await (await watched()).until(({ status }) => status === 'succeeded')
  expect(undisturbed.attempts).toBe(1)
  expect(undisturbed.result?.rows).toBeGreaterThan(500)

  // While groups are formed, and while parts are written: 10 slices, and 20 parts.
  for (const percent of [5, 50, 80]) {
    const { until } = await watched()
    const caught = await until((job) => job.percent >= percent)
    expect(caught.status).toBe('running')
    await killRole(service, 'exporter')

    const resumed = await until(({ status }) => status !== 'queued' && status !== 'running')

    expect(resumed).toMatchObject({ status: 'succeeded', attempts: 2 })
    expect(resumed.result?.file.sha256).toBe(undisturbed.result?.file.sha256)
  }
})
