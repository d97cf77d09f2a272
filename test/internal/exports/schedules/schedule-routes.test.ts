import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { maintainedPeriods } from '../../../../internal/exports/schedules/periods.js'
import type { Schedule } from '../../../../internal/exports/schedules/schedule.js'
import { openScheduleRoutes } from '../../../../internal/exports/schedules/schedule-routes.js'
import { createCursorCodec } from '../../../../internal/http/resource/pages.js'
import { formatId, tenantIdsCache } from '../../../../internal/ids/ids.js'
import { EXPORT_SCHEDULES, IDEMPOTENCY } from '../../../../streams/buckets.js'
import { type Ask, askAs, refusalOf } from '../../../support/ask.js'
import { launchBroker } from '../../../support/broker.js'
import { type DnsServer, launchDnsServer } from '../../../support/dns-server.js'
import { masterKeysOf } from '../../../support/master-keys.js'
import { type MutationGateway, SECRET, startMutationGateway } from '../../../support/mutation-gateway.js'
import { RECEIVER_CERTIFICATE } from '../../../support/receiver.js'
import { ACCESS_KEY, BUCKET, launchBucket, type S3Bucket } from '../../../support/s3-bucket.js'

const PATH = '/api/v1/export-schedules'
const SECRET_TEXT = 'the/Secret+of=the+tenant'
const addresses: Readonly<Record<string, readonly string[]>> = {
  's3.example.com': ['127.0.0.1'],
  's3.inside.example.com': ['10.0.0.7'],
}
let dns: DnsServer
let bucket: S3Bucket
let gateway: MutationGateway
let ask: Ask
let isOver = false
let residencyRegion: string | null = null

beforeAll(async () => {
  dns = await launchDnsServer((name) => addresses[name])
  bucket = await launchBucket()
  const { url } = await launchBroker()
  gateway = await startMutationGateway(url, (mutate, broker) =>
    openScheduleRoutes({
      mutate,
      broker,
      masterKeys: masterKeysOf(7),
      idsOf: tenantIdsCache(SECRET),
      residencyRegionOf: () => residencyRegion,
      dimensionsOf: () => [{ key: 'project', personal: false }],
      instanceRegion: 'eu-central-1',
      blobs: { place: { name: 'the store of export files', region: 'eu-central-1' } },
      cursors: createCursorCodec(SECRET),
      clock: Date.now,
      targets: {
        webhookPorts: [bucket.port],
        webhookAllowedNetworks: ['127.0.0.0/8'],
        webhookResolvers: [dns.address],
      },
      extraCa: RECEIVER_CERTIFICATE.cert,
      baseUrl: 'https://api.example.com',
      onLost(cause) {
        if (!isOver) throw cause
      },
    }),
  )
  ask = askAs(gateway.url, { 'x-api-key': 'export:create' })
})
afterAll(async () => {
  isOver = true
  await gateway.stop()
  dns.close()
})
beforeEach(() => {
  residencyRegion = null
})

const destination = (stated: Record<string, unknown> = {}) => ({
  endpoint: `https://s3.example.com:${bucket.port}`,
  region: 'eu-central-1',
  bucket: BUCKET,
  prefix: 'chargeback/',
  path_style: true,
  access_key_id: ACCESS_KEY,
  secret_access_key: SECRET_TEXT,
  ...stated,
})
const wanted = (stated: Record<string, unknown> = {}) => ({
  name: 'Lake',
  cadence: 'monthly',
  format: 'focus',
  group_by: ['owner'],
  destination: destination(),
  ...stated,
})
const create = async (stated?: Record<string, unknown>) => (await ask('POST', PATH, wanted(stated))).json
const stored = async (id: string) =>
  (await (await gateway.broker.bucket(EXPORT_SCHEDULES)).get(id))?.json<Schedule>() as Schedule

describe('a schedule', () => {
  test('is created, found, listed, paused and deleted; each change is audited, and its secret is nowhere', async () => {
    const from = gateway.audited.length
    const made = await ask('POST', PATH, wanted())
    const { id } = made.json
    const found = await ask('GET', `${PATH}/${id}`)
    const list = await ask('GET', `${PATH}?limit=1`)
    const paused = await ask('PATCH', `${PATH}/${id}`, { status: 'paused' })
    const deleted = await ask('DELETE', `${PATH}/${id}`)
    const gone = await ask('GET', `${PATH}/${id}`)

    expect(made.status).toBe(201)
    expect(made.headers.get('location')).toBe(`${PATH}/${id}`)
    const { secret_access_key: _, ...shown } = destination({ prefix: 'chargeback' })
    expect(made.json).toMatchObject({
      id: expect.stringMatching(/^sch_[0-9a-z]{26}$/),
      name: 'Lake',
      status: 'active',
      cadence: 'monthly',
      group_by: ['owner', 'provider'],
      destination: shown,
      last_delivery: null,
      pending: [],
    })
    expect(found.json).toEqual(made.json)
    expect(list.json.data).toEqual([made.json])
    expect(paused.json).toEqual({ ...made.json, status: 'paused' })
    expect([deleted.status, gone.status]).toEqual([204, 404])
    const audited = gateway.audited.slice(from)
    expect(audited.map(({ action, target, outcome }) => [action, target, outcome])).toEqual([
      ['export_schedule.create', id, 'succeeded'],
      ['export_schedule.update', id, 'succeeded'],
      ['export_schedule.delete', id, 'succeeded'],
    ])
    const answers = [made, found, list, paused].map(({ json }) => JSON.stringify(json))
    expect([...answers, JSON.stringify(audited)].join('\n')).not.toContain(SECRET_TEXT)
  })

  test('is stored with its secret sealed, and the credential that created it', async () => {
    const { id } = await create()
    const kept = await stored(id)

    expect(kept.destination.secret).toMatch(/^sealed\./)
    expect(kept.created_by).toMatch(/./)
    for (const declared of [EXPORT_SCHEDULES, IDEMPOTENCY]) {
      const values = await gateway.broker.bucket(declared)
      for await (const key of await values.keys()) expect((await values.get(key))?.string()).not.toContain(SECRET_TEXT)
    }
  })

  test('gets another destination only as a whole, with its secret', async () => {
    const { id } = await create()
    const before = await stored(id)
    const { secret_access_key: _, ...without } = destination({ bucket: 'other-bucket' })

    const refused = await ask('PATCH', `${PATH}/${id}`, { destination: without })
    const changed = await ask('PATCH', `${PATH}/${id}`, { destination: destination({ bucket: 'other-bucket' }) })

    expect(refusalOf(refused)).toEqual([422, 'VALIDATION_FAILED'])
    expect(changed.json.destination.bucket).toBe('other-bucket')
    expect((await stored(id)).destination.secret).not.toBe(before.destination.secret)
  })

  test('is created once by a repeated request', async () => {
    const headers = { 'idempotency-key': randomUUID() }
    const first = await ask('POST', PATH, wanted(), headers)
    const again = await ask('POST', PATH, wanted(), headers)

    expect(again.json).toEqual(first.json)
    expect(again.headers.get('idempotency-replayed')).toBe('true')
  })
})

describe('refused', () => {
  test.each([
    ['/destination/endpoint', () => ({ destination: destination({ endpoint: 'http://s3.example.com' }) })],
    ['/destination/endpoint', () => ({ destination: destination({ endpoint: 'https://s3.example.com' }) })],
    ['/destination/endpoint', () => ({ destination: destination({ endpoint: `https://10.0.0.7:${bucket.port}` }) })],
    [
      '/destination/endpoint',
      () => ({ destination: destination({ endpoint: `https://s3.inside.example.com:${bucket.port}` }) }),
    ],
    ['/destination/endpoint', () => ({ destination: destination({ endpoint: `https://127.0.0.1:${bucket.port}/a` }) })],
    ['/destination/bucket', () => ({ destination: destination({ bucket: 'arn:aws:s3:::lake' }) })],
    ['/destination/prefix', () => ({ destination: destination({ prefix: 'a/../b' }) })],
    ['/group_by/0', () => ({ group_by: ['tags.unknown'] })],
    ['/cadence', () => ({ cadence: 'hourly' })],
    ['/period', () => ({ period: { from: '2026-10-01', to: '2026-10-31' } })],
  ])('%s', async (pointer, stated) => {
    const { status, json } = await ask('POST', PATH, wanted(stated()))

    expect(status).toBe(422)
    expect(json.errors.map((error: { readonly pointer: string }) => error.pointer)).toEqual([pointer])
    expect(JSON.stringify(json)).not.toContain(SECRET_TEXT)
  })

  test.each([
    ['eu-central-1', 'eu-west-2'],
    ['us-east-1', 'us-east-1'],
  ])('a tenant in %s: a bucket in %s', async (home, region) => {
    residencyRegion = home
    const made = await ask('POST', PATH, wanted({ destination: destination({ region }) }))
    residencyRegion = null
    const { id } = await create({ destination: destination({ region }) })
    residencyRegion = home

    expect(refusalOf(made)).toEqual([409, 'RESIDENCY_BLOCKED'])
    expect(refusalOf(await ask('PATCH', `${PATH}/${id}`, { destination: destination({ region }) }))).toEqual([
      409,
      'RESIDENCY_BLOCKED',
    ])
    expect(refusalOf(await ask('POST', `${PATH}/${id}/test`))).toEqual([409, 'RESIDENCY_BLOCKED'])
  })

  test.each(['GET', 'PATCH', 'DELETE'] as const)("%s of another tenant's schedule", async (method) => {
    const foreign = formatId('sch', Buffer.concat([tenantIdsCache(SECRET)('tnt_two').tag, Buffer.alloc(12, 9)]))
    const body = method === 'PATCH' ? { status: 'paused' } : undefined

    expect(refusalOf(await ask(method, `${PATH}/${foreign}`, body))).toEqual([403, 'TENANT_MISMATCH'])
    for (const path of ['run', 'test']) {
      expect(refusalOf(await ask('POST', `${PATH}/${foreign}/${path}`))).toEqual([403, 'TENANT_MISMATCH'])
    }
  })

  test('another scope', async () => {
    const other = askAs(gateway.url, { 'x-api-key': 'admin:config' })

    expect(refusalOf(await other('GET', PATH))).toEqual([403, 'INSUFFICIENT_SCOPE'])
    expect(refusalOf(await other('POST', PATH, wanted()))).toEqual([403, 'INSUFFICIENT_SCOPE'])
  })
})

describe('run', () => {
  test('requests the newest closed period, or one that is maintained', async () => {
    const { id } = await create()
    const kept = maintainedPeriods('monthly', Date.now()).map(({ name }) => name)

    const newest = await ask('POST', `${PATH}/${id}/run`)
    const first = (await stored(id)).run
    const oldest = await ask('POST', `${PATH}/${id}/run`, { period: kept[0] })
    const open = await ask('POST', `${PATH}/${id}/run`, { period: new Date().toISOString().slice(0, 7) })

    expect([newest.status, newest.json]).toEqual([202, { schedule_id: id, period: kept.at(-1) }])
    expect(oldest.json.period).toBe(kept[0])
    expect((await stored(id)).run?.id).not.toBe(first?.id)
    expect(refusalOf(open)).toEqual([422, 'VALIDATION_FAILED'])
  })

  test('conflicts with a pause', async () => {
    const { id } = await create()
    await ask('PATCH', `${PATH}/${id}`, { status: 'paused' })

    expect(refusalOf(await ask('POST', `${PATH}/${id}/run`))).toEqual([409, 'CONFLICT'])
  })
})

describe('test', () => {
  test('writes a probe and removes it', async () => {
    const { id } = await create()
    const from = bucket.requests.length

    const { status, json } = await ask('POST', `${PATH}/${id}/test`)

    expect(status).toBe(200)
    expect(json).toEqual({ status: 'succeeded', reason: null, response_status: null, probe_removed: true })
    const probe = `/${BUCKET}/chargeback/${id}/probe.txt`
    expect(bucket.requests.slice(from)).toEqual([`PUT ${probe}`, `DELETE ${probe}`])
    expect(await bucket.keys()).toEqual([])
  })

  test('returns why the bucket refuses', async () => {
    const { id } = await create({ destination: destination({ access_key_id: 'NOBODY' }) })
    const { id: other } = await create({ destination: destination({ bucket: 'no-such-bucket' }) })

    expect((await ask('POST', `${PATH}/${id}/test`)).json).toEqual({
      status: 'failed',
      reason: 'access_denied',
      response_status: 403,
      probe_removed: false,
    })
    expect((await ask('POST', `${PATH}/${other}/test`)).json).toMatchObject({ reason: 'no_such_bucket' })
  })
})

test('a schedule, its bucket and its runs are changed only after a recent sign-in', async () => {
  const { id } = await create()
  const stale = { 'x-api-key': `export:create@${Math.floor(Date.now() / 1_000) - 901}` }

  for (const answer of [
    await ask('POST', PATH, wanted(), stale),
    await ask('PATCH', `${PATH}/${id}`, { destination: destination({ prefix: 'elsewhere/' }) }, stale),
    await ask('PATCH', `${PATH}/${id}`, { status: 'paused' }, stale),
    await ask('DELETE', `${PATH}/${id}`, undefined, stale),
    await ask('POST', `${PATH}/${id}/run`, undefined, stale),
    await ask('POST', `${PATH}/${id}/test`, undefined, stale),
  ]) {
    expect(refusalOf(answer)).toEqual([401, 'STEP_UP_REQUIRED'])
  }
  expect(await stored(id)).toMatchObject({ status: 'active', run: null, destination: { prefix: 'chargeback' } })
  expect((await ask('GET', PATH, undefined, stale)).status).toBe(200)
  expect((await ask('DELETE', `${PATH}/${id}`)).status).toBe(204)
})

test('at most 20 schedules per tenant', async () => {
  for (;;) {
    const made = await ask('POST', PATH, wanted())
    if (made.status === 201) continue
    expect(refusalOf(made)).toEqual([409, 'CONFLICT'])
    break
  }
  expect((await ask('GET', `${PATH}?limit=100`)).json.data).toHaveLength(20)
})
