import { createHash, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { DuckDBInstance } from '@duckdb/node-api'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Broker } from '../../internal/broker/connect.js'
import type { Manifest } from '../../internal/exports/export-contract.js'
import { JOBS } from '../../streams/buckets.js'
import { EVENTS, eventsSubject } from '../../streams/events.js'
import { type Ask, askAs, refusalOf } from '../support/ask.js'
import { listedAll } from '../support/attributed.js'
import { exact, focusFaults, parseCsv, sumOf } from '../support/focus-rules.js'
import { addApiKey, addTenant, connectTo, untilKnown } from '../support/instance.js'
import { newTenantOfProduct } from '../support/product.js'
import type { Instance } from '../support/service.js'
import { sendAll, TRACE, twoModelEvent } from '../support/trace.js'

/** Chargeback files of the real trace, ordered, downloaded and read as a FinOps tool would. */

interface ApiRecord {
  readonly cost_usd: string
  readonly event_time: string
  readonly owner: string
  readonly service: string
  readonly interpretation: { readonly confidence: number; readonly export_eligibility: string }
}

let service: Instance
let broker: Broker
let ask: Ask
let records: readonly ApiRecord[]
const folder = mkdtempSync(join(tmpdir(), 'attribution-downloads-'))

const OCTOBER = { from: '2026-10-01', to: '2026-10-31' }
const OCTOBER_MS = { from: Date.UTC(2026, 9, 1), length: 31 * 24 * 60 * 60 * 1000 }

beforeAll(async () => {
  service = await newTenantOfProduct()
  broker = await connectTo(service)
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  const events = TRACE.map((row, i) => ({
    event_id: randomUUID(),
    ingestion_timestamp: new Date(OCTOBER_MS.from + Math.floor((i * OCTOBER_MS.length) / TRACE.length)).toISOString(),
    ...twoModelEvent(row),
  }))
  records = (await sendAll(service, events)) as unknown as readonly ApiRecord[]
})

afterAll(async () => {
  await broker.close()
  rmSync(folder, { recursive: true })
})

const order = async (body: Record<string, unknown> = {}): Promise<string> => {
  const { status, headers, json } = await ask('POST', '/v1/exports/focus', {
    format: 'focus',
    period: OCTOBER,
    ...body,
  })
  expect([status, json.status, json.status_url]).toEqual([202, 'queued', `/api/v1/jobs/${json.job_id}`])
  expect(headers.get('location')).toBe(json.status_url)
  return json.status_url
}

// biome-ignore lint/suspicious/noExplicitAny: the contract is what is being checked
async function finished(statusUrl: string): Promise<any> {
  for (;;) {
    const { status, json } = await ask('GET', statusUrl)
    expect(status).toBe(200)
    if (json.status !== 'queued' && json.status !== 'running') return json
    expect(json.result_url).toBeUndefined()
    await sleep(50)
  }
}

async function download(url: string, headers: Record<string, string> = {}) {
  const answer = await fetch(url, { headers })
  return { status: answer.status, headers: answer.headers, bytes: Buffer.from(await answer.arrayBuffer()) }
}

async function exported(body: Record<string, unknown> = {}) {
  const job = await finished(await order(body))
  expect(job).toMatchObject({ status: 'succeeded', failure: null, progress: { percent: 100 } })
  const { bytes } = await download(job.result_url)
  const manifest = JSON.parse(String((await download(job.manifest_url)).bytes)) as Manifest
  expect(createHash('sha256').update(bytes).digest('hex')).toBe(manifest.file.sha256)
  return { job, bytes, manifest }
}

const costOf = (some: readonly ApiRecord[]): bigint => some.reduce((total, { cost_usd }) => total + exact(cost_usd), 0n)
const isExported = ({ interpretation }: ApiRecord): boolean =>
  interpretation.export_eligibility === 'eligible' && interpretation.confidence >= 0.8

describe('a file of the trace', () => {
  test.each([
    [{}, '1.4'],
    [{ group_by: ['owner'] }, '1.4'],
    [{ group_by: ['day', 'service'] }, '1.4'],
    [{ group_by: ['meter', 'service'] }, '1.4'],
    [{ group_by: ['owner', 'service', 'served_model', 'day', 'meter'] }, '1.4'],
    [{ focus_version: '1.2' }, '1.2'],
  ] as const)('ordered as %j keeps every rule of FOCUS, and comes to the sum of the records', async (body, version) => {
    const { bytes, manifest } = await exported(body)
    const { header, rows } = parseCsv(String(gunzipSync(bytes)))

    const eligible = records.filter(isExported)
    expect(eligible.length).toBeGreaterThan(20_000)
    expect(focusFaults(header, rows, version)).toEqual([])
    for (const column of ['BilledCost', 'EffectiveCost', 'ListCost', 'ContractedCost']) {
      expect(sumOf(rows, column)).toBe(costOf(eligible))
    }
    expect(sumOf(rows, 'x_InvocationCount')).toBe(exact(String(eligible.length)))

    const leftOut = records.filter((record) => !isExported(record))
    expect(manifest.exported.count + manifest.left_out.reduce((total, { count }) => total + count, 0)).toBe(
      TRACE.length,
    )
    expect(manifest.left_out.reduce((total, { cost_usd }) => total + exact(cost_usd), 0n)).toBe(costOf(leftOut))
    expect(exact(manifest.everything.cost_usd)).toBe(costOf(records))
    for (const { reason, count } of manifest.left_out) {
      expect(count).toBe(leftOut.filter(({ interpretation }) => interpretation.export_eligibility === reason).length)
    }
  })

  test('an export of some days contains only the records of these days', async () => {
    const { manifest } = await exported({ period: { from: '2026-10-10', to: '2026-10-12' } })

    const within = records.filter(({ event_time }) => event_time >= '2026-10-10' && event_time < '2026-10-13')
    expect(manifest.everything.count).toBe(within.length)
    expect(exact(manifest.exported.cost_usd)).toBe(costOf(within.filter(isExported)))
  })

  test('an export opens in DuckDB, as CSV and Parquet, with its column types', async () => {
    const group_by = ['owner', 'service', 'served_model', 'day', 'meter']
    const csv = await exported({ group_by })
    const parquet = await exported({ group_by, file_format: 'parquet' })
    const [csvFile, parquetFile] = [join(folder, 'file.csv.gz'), join(folder, 'file.parquet')]
    writeFileSync(csvFile, csv.bytes)
    writeFileSync(parquetFile, parquet.bytes)
    const connection = await (await DuckDBInstance.create()).connect()
    const query = async (sql: string): Promise<unknown[][]> =>
      (await connection.runAndReadAll(sql)).getRowsJson() as unknown[][]
    const typesOf = async (from: string) =>
      Object.fromEntries((await query(`DESCRIBE SELECT * FROM ${from}`)).map(([name, type]) => [name, type]))

    const fromCsv = await typesOf(`read_csv('${csvFile}')`)
    const fromParquet = await typesOf(`'${parquetFile}'`)

    const named = (types: Record<string, unknown>, type: string) =>
      Object.keys(types).filter((name) => types[name] === type)
    const amounts = [
      'BilledCost',
      'ContractedCost',
      'ContractedUnitPrice',
      'EffectiveCost',
      'ListCost',
      'ListUnitPrice',
      'PricingQuantity',
      'x_CarbonDioxideEquivalentGrams',
      'x_EnergyWattHours',
    ]
    const counts = ['x_InputTokenCount', 'x_InvocationCount', 'x_OutputTokenCount']
    const times = ['BillingPeriodEnd', 'BillingPeriodStart', 'ChargePeriodEnd', 'ChargePeriodStart']
    const flags = ['x_CarbonIsLowerBound', 'x_CohortSuppressed', 'x_EnergyHasClassEstimates', 'x_EnergyIsLowerBound']
    expect(named(fromParquet, 'DECIMAL(38,18)')).toEqual(amounts)
    expect(named(fromParquet, 'DECIMAL(38,0)')).toEqual(counts)
    expect(named(fromParquet, 'DECIMAL(38,6)')).toEqual(['ConsumedQuantity'])
    expect(named(fromParquet, 'TIMESTAMP WITH TIME ZONE')).toEqual(times)
    expect(named(fromParquet, 'BOOLEAN')).toEqual(flags)
    // Whatever the amounts of this file: another file's columns have the same types.
    expect(named(fromCsv, 'DOUBLE').toSorted()).toEqual([...amounts, 'ConsumedQuantity', 'x_MinimumConfidence'].sort())
    expect(named(fromCsv, 'BIGINT')).toEqual(counts)
    expect(await query(`SELECT decode(key), decode(value) FROM parquet_kv_metadata('${parquetFile}')`)).toEqual([
      ['FocusVersion', '1.4'],
    ])
    expect(named(fromCsv, 'TIMESTAMP WITH TIME ZONE')).toEqual(times)
    expect(named(fromCsv, 'BOOLEAN')).toEqual(flags)

    const sums =
      'count(*), sum(BilledCost::DECIMAL(38, 18))::VARCHAR, sum(x_InvocationCount)::VARCHAR, ' +
      'count(SubAccountId), count(ChargeClass)'
    const asText = `read_csv('${csvFile}', types = {'BilledCost': 'DECIMAL(38,18)'})`
    const [[rows, cost, ...rest] = []] = await query(`SELECT ${sums} FROM '${parquetFile}'`)
    expect(await query(`SELECT ${sums} FROM ${asText}`)).toEqual([[rows, cost, ...rest]])
    expect(Number(rows)).toBe(csv.manifest.file.rows)
    expect(exact(String(cost))).toBe(costOf(records.filter(isExported)))
    expect(
      await query(`SELECT DISTINCT Tags ->> 'service' FROM '${parquetFile}' WHERE Tags IS NOT NULL ORDER BY 1`),
    ).toEqual(Array.from({ length: 7 }, (_, i) => [`service-${i}`]))
    connection.closeSync()
  })
})

describe('a job', () => {
  test('export jobs are listed newest first, without download addresses', async () => {
    const url = await order()
    await finished(url)
    const { json } = await ask('GET', '/api/v1/jobs?limit=2')

    expect(json.data[0]).toMatchObject({
      status_url: url,
      status: 'succeeded',
      group_by: ['owner', 'service', 'provider', 'served_model'],
    })
    expect(json.data[0].result_url).toBeUndefined()
    expect(json.data[0].created_at >= json.data[1].created_at).toBe(true)
    const next = await ask('GET', `/api/v1/jobs?limit=2&cursor=${json.page.next_cursor}`)
    expect(next.json.data.map(({ job_id }: { job_id: string }) => job_id)).not.toContain(json.data[1].job_id)
  })

  test('a finished export job emits an event', async () => {
    const job = await finished(await order())
    const subject = eventsSubject(service.credentials.tenant_id, 'export.completed')

    // Its status shows the end a moment before its event is published.
    await expect
      .poll(async () => (await broker.manager.streams.getMessage(EVENTS.name, { last_by_subj: subject }))?.json())
      .toMatchObject({ type: 'export.completed', data: { job_id: job.job_id, status: 'succeeded' } })
  })

  test('an export that is ordered twice with one key is one job', async () => {
    const headers = { 'idempotency-key': randomUUID() }
    const body = { format: 'focus', period: OCTOBER }

    const [one, other] = [
      await ask('POST', '/v1/exports/focus', body, headers),
      await ask('POST', '/v1/exports/focus', body, headers),
    ]

    expect(other.json).toEqual(one.json)
    expect(other.headers.get('idempotency-replayed')).toBe('true')
  })

  test('a job of another tenant is refused like a forged id; an unknown one of the own tenant is a 404', async () => {
    const other = await addTenant(broker, service)
    await untilKnown(service.baseUrl, other.apiKey)
    const url = await order()
    const askOther = askAs(service.baseUrl, { 'x-api-key': other.apiKey })

    expect(refusalOf(await askOther('GET', url))).toEqual([403, 'TENANT_MISMATCH'])
    const unknown = `${url.slice(0, -4)}0000`
    expect(refusalOf(await ask('GET', unknown))).toEqual([404, 'NOT_FOUND'])
    expect(refusalOf(await askOther('GET', unknown))).toEqual([403, 'TENANT_MISMATCH'])
    expect(refusalOf(await ask('GET', '/api/v1/jobs/job_x'))).toEqual([404, 'NOT_FOUND'])
    expect((await askOther('GET', '/api/v1/jobs')).json.data).toEqual([])
  })

  test('an export job needs the scope for exports', async () => {
    const apiKey = await addApiKey(broker, service, service.credentials.tenant_id, ['read:reporting', 'admin:config'])
    await untilKnown(service.baseUrl, apiKey)
    const askWithout = askAs(service.baseUrl, { 'x-api-key': apiKey })

    expect(refusalOf(await askWithout('POST', '/v1/exports/focus', { format: 'focus', period: OCTOBER }))).toEqual([
      403,
      'INSUFFICIENT_SCOPE',
    ])
    expect(refusalOf(await askWithout('GET', '/api/v1/jobs'))).toEqual([403, 'INSUFFICIENT_SCOPE'])
  })

  test('an export of a tenant with another residency region is blocked', async () => {
    const other = await addTenant(broker, service, { residency_region: 'ap-south-1' })
    await untilKnown(service.baseUrl, other.apiKey)

    const answer = await askAs(service.baseUrl, { 'x-api-key': other.apiKey })('POST', '/v1/exports/focus', {
      format: 'focus',
      period: OCTOBER,
    })

    expect(refusalOf(answer)).toEqual([409, 'RESIDENCY_BLOCKED'])
  })

  test.each([
    { format: 'csv' },
    { group_by: [] },
    { group_by: ['nobody'] },
    { period: { from: '2026-10-31', to: '2026-10-01' } },
    { period: { from: '2026-10-32', to: '2026-11-01' } },
    { period: { from: '2199-01-01', to: '2199-01-02' } },
  ])('ordered as %j is refused', async (body) => {
    const answer = await ask('POST', '/v1/exports/focus', { format: 'focus', period: OCTOBER, ...body })

    expect(refusalOf(answer)).toEqual([422, 'VALIDATION_FAILED'])
  })

  test('an export job whose files were removed reports it', async () => {
    const url = await order()
    await finished(url)
    const id = url.split('/').at(-1) ?? ''
    const jobs = await broker.bucket(JOBS)
    // Its record says that it is cleared only after that.
    await expect.poll(async () => (await jobs.get(id))?.json<{ is_cleared: boolean }>().is_cleared).toBe(true)
    const entry = await jobs.get(id)
    const { result_url } = (await ask('GET', url)).json
    const job = entry?.json<{ result: object }>()
    await jobs.put(id, JSON.stringify({ ...job, result: { ...job?.result, expires_at: '2026-11-01T00:00:00Z' } }))

    await expect.poll(async () => (await ask('GET', url)).json.status).toBe('expired')
    expect((await ask('GET', url)).json.result_url).toBeUndefined()
    expect((await download(result_url)).status).toBe(404)
  })
})

describe('a download', () => {
  let url: string
  let whole: Buffer
  beforeAll(async () => {
    const { job, bytes } = await exported({ group_by: ['owner', 'service', 'day', 'meter'] })
    url = job.result_url
    whole = bytes
  })

  test('a download needs no credential, serves one file only, and names its type', async () => {
    const { status, headers } = await download(url)

    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('application/gzip')
    expect(headers.get('content-disposition')).toMatch(
      /^attachment; filename="focus-2026-10-01-2026-10-31-job_\w+\.csv\.gz"$/,
    )
    expect(headers.get('accept-ranges')).toBe('bytes')
    expect(Number(headers.get('content-length'))).toBe(whole.length)
  })

  test('an interrupted download resumes with a range request', async () => {
    const etag = (await download(url)).headers.get('etag') ?? ''
    const first = await download(url, { range: 'bytes=0-999' })
    const rest = await download(url, { range: 'bytes=1000-', 'if-range': etag })
    const last = await download(url, { range: 'bytes=-10' })
    const other = await download(url, { range: 'bytes=1000-', 'if-range': '"another"' })

    expect([first.status, rest.status, last.status, other.status]).toEqual([206, 206, 206, 200])
    expect(first.headers.get('content-range')).toBe(`bytes 0-999/${whole.length}`)
    expect(Buffer.concat([first.bytes, rest.bytes]).equals(whole)).toBe(true)
    expect(last.bytes.equals(whole.subarray(-10))).toBe(true)
  })

  test('a range beyond the end of a download gets 416 with the length', async () => {
    const answer = await download(url, { range: `bytes=${whole.length}-` })

    expect(answer.status).toBe(416)
    expect(answer.headers.get('content-range')).toBe(`bytes */${whole.length}`)
    expect(JSON.parse(String(answer.bytes)).error_code).toBe('RANGE_NOT_SATISFIABLE')
  })

  test('a download answers 304 to a known ETag, and HEAD has the headers of GET', async () => {
    const etag = (await download(url)).headers.get('etag') ?? ''
    const again = await download(url, { 'if-none-match': etag })
    const head = await fetch(url, { method: 'HEAD' })

    expect([again.status, again.bytes.length]).toEqual([304, 0])
    expect([head.status, head.headers.get('content-length'), head.headers.get('etag')]).toEqual([
      200,
      String(whole.length),
      etag,
    ])
  })

  test('a download with an altered address is refused', async () => {
    const last = url.at(-1) === 'A' ? 'B' : 'A'
    for (const altered of [
      `${url.slice(0, -1)}${last}`,
      `${url}A`,
      url.replace('dl_', 'dl_A'),
      `${service.baseUrl}/v1/exports/files/dl_x`,
    ]) {
      const answer = await download(altered)
      expect([answer.status, JSON.parse(String(answer.bytes)).error_code]).toEqual([403, 'DOWNLOAD_URL_INVALID'])
    }
  })

  test('a stalled download is not read ahead, and an abandoned one is released', async () => {
    const leaving = new AbortController()
    const answer = await fetch(url, { signal: leaving.signal })
    leaving.abort()
    await expect(answer.arrayBuffer()).rejects.toThrow()

    expect((await download(url)).bytes.equals(whole)).toBe(true)
  })
})

describe('a file and the report of what is eligible, grouped alike', () => {
  const AUGUST = { from: '2026-08-01', to: '2026-08-31' }
  const calls = (provider: string, name: string, people: number, cost: string, project: string) =>
    Array.from({ length: Math.max(people, 1) }, (_, i) => ({
      ingestion_timestamp: '2026-08-10T10:00:00Z',
      provider,
      attributed_service: name,
      ...(people > 0 && { attributed_identity: `${name}-${i}@example.com` }),
      estimated_cost_usd: cost,
      tags: { project },
    }))

  test('name the same groups with the same cost, tags among them', async () => {
    await ask('PATCH', '/api/v1/settings', { dimensions: [{ key: 'project' }] })
    for (const name of ['chat', 'search', 'tiny', 'review', 'few', 'batch']) {
      await ask('POST', '/api/v1/directory/services', { name, owner: `team-${name}` })
    }
    await listedAll(ask, [
      ...calls('openai', 'chat', 7, '0.3', 'helpdesk'),
      ...calls('openai', 'chat', 6, '0.2', 'sales'),
      ...calls('openai', 'search', 6, '0.1', 'shop'),
      ...calls('openai', 'tiny', 2, '0.7', 'shop'),
      ...calls('anthropic', 'review', 8, '0.000000000000000001', 'contracts'),
      ...calls('anthropic', 'few', 3, '0.5', 'contracts'),
      ...calls('anthropic', 'few', 4, '0.4', 'shop'),
      ...calls('anthropic', 'batch', 0, '2', 'shop'),
    ])

    const { bytes, manifest } = await exported({ period: AUGUST, group_by: ['service', 'owner', 'tags.project'] })
    const report = await ask(
      'GET',
      '/v1/reports/usage?from=2026-08-01&to=2026-09-01&filter[export_eligibility][eq]=eligible' +
        '&group_by=provider,service,owner,tags.project&limit=100',
    )

    const { header, rows } = parseCsv(String(gunzipSync(bytes)))
    expect(focusFaults(header, rows, '1.4')).toEqual([])
    const inFile = rows.map((row) => {
      const { service: name = null, owner = null, project = null } = JSON.parse(row['Tags'] || '{}')
      return [row['HostProviderName'], name, owner, project, row['x_CohortSuppressed'] === 'true', row['BilledCost']]
    })
    const inReport = report.json.data.map((row: Record<string, unknown>) => [
      row['provider'],
      row['service'],
      row['owner'],
      row['tags.project'],
      row['folded'],
      row['cost_usd'],
    ])
    expect(inFile.toSorted()).toEqual(inReport.toSorted())
    expect(inFile.length).toBeGreaterThan(4)
    expect(inFile.filter(([, , , , isFolded]) => isFolded).length).toBeGreaterThan(0)
    expect(manifest.totals.billed_cost).toBe(report.json.report.total_cost_usd)
  })

  test('of a tag that is not declared are refused, with the declared ones', async () => {
    const answer = await ask('POST', '/v1/exports/focus', {
      format: 'focus',
      period: AUGUST,
      group_by: ['tags.release'],
      filters: [{ field: 'tags.release', operator: 'eq', values: ['7'] }],
    })

    expect(refusalOf(answer)).toEqual([422, 'VALIDATION_FAILED'])
    expect(answer.json.errors.map(({ pointer }: { pointer: string }) => pointer).sort()).toEqual([
      '/filters/0/field',
      '/group_by/0',
    ])
  })
})
