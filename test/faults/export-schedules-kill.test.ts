import { randomUUID } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { DeliveryManifest } from '../../internal/exports/schedules/delivery-manifest.js'
import { maintainedPeriods } from '../../internal/exports/schedules/periods.js'
import { type Ask, askAs } from '../support/ask.js'
import { wireEvent } from '../support/gateway.js'
import { RECEIVER_CERTIFICATE } from '../support/receiver.js'
import { ACCESS_KEY, BUCKET, digestOf, launchBucket, type S3Bucket, SECRET_KEY } from '../support/s3-bucket.js'
import { killRole, launchService, type RunningService } from '../support/service.js'
import { sendAll } from '../support/trace.js'

/**
 * An exporter that is killed between the files of a delivery and its manifest: the next one completes the same
 * delivery.
 */

const PATH = '/api/v1/export-schedules'
let bucket: S3Bucket
let service: RunningService
let ask: Ask
const month = maintainedPeriods('monthly', Date.now()).at(-1)

beforeAll(async () => {
  bucket = await launchBucket()
  const caFile = join(mkdtempSync(join(tmpdir(), 'attribution-ca-')), 'ca.pem')
  writeFileSync(caFile, RECEIVER_CERTIFICATE.cert)
  service = await launchService({
    roles: ['exporter'],
    args: [
      ...['--webhook-allowed-networks', '127.0.0.0/8', '--webhook-ports', String(bucket.port)],
      ...['--webhook-ca-file', caFile, '--rate-control', '1000', '--rate-read', '10000'],
    ],
  })
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  const calls = Array.from({ length: 200 }, (_, i) => ({
    ingestion_timestamp: new Date((month?.fromMs ?? 0) + i * 3_600_000).toISOString(),
    attributed_service: `service-${i % 3}`,
    attributed_identity: `person-${i % 41}`,
  }))
  await sendAll(service, calls.map(wireEvent))
})
afterAll(() => service.stop())

test('a period whose exporter is killed before the manifest is delivered once, complete', async () => {
  const { status, json } = await ask(
    'POST',
    PATH,
    {
      name: 'Lake',
      cadence: 'monthly',
      format: 'focus',
      group_by: ['service'],
      destination: {
        endpoint: `https://127.0.0.1:${bucket.port}`,
        region: 'eu-central-1',
        bucket: BUCKET,
        access_key_id: ACCESS_KEY,
        secret_access_key: SECRET_KEY,
      },
    },
    { 'idempotency-key': randomUUID() },
  )
  expect([status, json.pending]).toEqual([201, []])
  const id: string = json.id
  const held = new Promise<void>((resolve) => {
    bucket.intercept = ({ url = '' }) => {
      if (!url.includes('/manifest.json')) return false
      bucket.intercept = () => false
      resolve()
      // The exporter never hears whether the manifest was written.
      return true
    }
  })
  expect((await ask('POST', `${PATH}/${id}/run`)).status).toBe(202)

  await held
  const before = await bucket.keys()
  await killRole(service, 'exporter')
  await expect.poll(async () => (await ask('GET', `${PATH}/${id}`)).json.last_delivery).not.toBeNull()

  const keys = await bucket.keys()
  const prefix = `${id}/${month?.name}/r0001/`
  expect(before).toHaveLength(2)
  expect(keys).toEqual([...before, `${prefix}manifest.json`].sort())
  const manifest = JSON.parse(String(await bucket.read(`${prefix}manifest.json`))) as DeliveryManifest
  expect(manifest).toMatchObject({ sequence: 1, revision: 1, previous: null, exported: { count: 200 } })
  for (const { key, sha256 } of manifest.files) expect(digestOf(await bucket.read(key))).toBe(sha256)
  // Each object was put once, but for the manifest, which the killed one may or may not have written.
  const writes = bucket.requests.filter((request) => request.startsWith('PUT '))
  expect(writes.filter((write) => !write.endsWith('/manifest.json'))).toHaveLength(2)
  expect((await ask('GET', `${PATH}/${id}`)).json).toMatchObject({
    last_delivery: { period: month?.name, revision: 1, manifest_key: `${prefix}manifest.json` },
    pending: [],
  })
  expect(JSON.stringify((await ask('GET', '/api/v1/audit-log')).json)).toContain('export_schedule.run')
})
