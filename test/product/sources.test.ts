import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { litellmPayload } from '../internal/ingest/adapters/litellm-payload.js'
import { type Ask, askAs } from '../support/ask.js'
import { attributed } from '../support/attributed.js'
import { recordings } from '../support/clients/recording.js'
import { requestsOf } from '../support/clients/replay.js'
import { CLI_MAIN } from '../support/instance.js'
import { wireEvent } from '../support/invocations.js'
import { intakeOfProduct, newTenantOfProduct } from '../support/product.js'
import type { Instance } from '../support/service.js'

/** All that one tenant receives, by whatever way: each thing becomes a record, or is counted with why it did not. */

interface Source {
  readonly credential: string | null
  readonly intake: string
  readonly sender: string | null
  readonly received: number
  readonly calls: number
  readonly merged: number
  readonly passed_over: { readonly count: number }
  readonly rejected: { readonly count: number }
}

let service: Instance
let ask: Ask
/** Things that were sent. */
let sent = 0

beforeAll(async () => {
  service = await newTenantOfProduct()
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
})

async function post(path: string, body: string): Promise<number> {
  const headers = { 'x-api-key': service.credentials.api_key, 'content-type': 'application/json' }
  return (await fetch(`${intakeOfProduct()}${path}`, { method: 'POST', headers, body })).status
}

const sources = async (): Promise<readonly Source[]> => (await ask('GET', '/api/v1/sources?limit=200')).json.data
const sumOf = (rows: readonly Source[], count: (row: Source) => number): number =>
  rows.reduce((sum, row) => sum + count(row), 0)
const explainedOf = (row: Source): number => row.calls + row.merged + row.passed_over.count + row.rejected.count

/** Spans, log records or payloads of a body in JSON. */
function thingsIn(body: unknown): number {
  if (Array.isArray(body)) return body.length
  let count = 0
  JSON.stringify(body, (key, value: unknown) => {
    if ((key === 'spans' || key === 'logRecords') && Array.isArray(value)) count += value.length
    return value
  })
  return count
}

const CLIENTS = [
  'OpenLLMetry JS',
  'Anthropic SDK, native spans',
  'Claude Code',
  'Codex CLI',
  'Phoenix, one request per span',
]

test('what was received is recorded, merged, passed over or rejected, whoever sent it and how', {
  timeout: 60_000,
}, async () => {
  const ofClients = [...recordings().values()].filter(({ client }) => CLIENTS.includes(client))
  expect(ofClients).toHaveLength(CLIENTS.length)
  for (const { path, body } of ofClients.flatMap(requestsOf)) {
    sent += thingsIn(body)
    expect(await post(path, JSON.stringify(body))).toBe(200)
  }
  const payload = { ...litellmPayload({ litellm_call_id: 'once' }), startTime: Date.now() / 1000 - 1 }
  const payloads = [payload, payload, { ...payload, litellm_call_id: 'other', call_type: 'aget_responses' }, ['x']]
  sent += payloads.length
  expect(await post('/intake/litellm', JSON.stringify(payloads))).toBe(200)
  const now = new Date().toISOString()
  const event = wireEvent({ event_id: randomUUID(), ingestion_timestamp: now })
  expect((await ask('POST', '/api/v1/invocations', event)).status).toBe(202)
  expect((await ask('POST', '/api/v1/invocations', { ...event, provider: 7 })).status).toBe(422)
  const bulk = [event, wireEvent({ event_id: randomUUID(), ingestion_timestamp: now }), { event_id: 'x' }]
  expect((await ask('POST', '/api/v1/invocations', bulk)).status).toBe(202)
  sent += 2 + bulk.length
  expect(await post('/v1/traces', '{"resourceSpans":[')).toBe(400)

  await expect.poll(async () => sumOf(await sources(), explainedOf), { timeout: 40_000, interval: 500 }).toBe(sent)
  const rows = await sources()
  expect(sumOf(rows, ({ received }) => received)).toBe(sent)
  for (const row of rows) expect(explainedOf(row), row.sender ?? row.intake).toBe(row.received)
  expect(rows.find(({ intake }) => intake === 'api')).toMatchObject({
    credential_name: expect.stringMatching(/./),
    received: 5,
    calls: 2,
    merged: 1,
    rejected: { count: 2 },
  })
  expect(rows.find(({ intake }) => intake === 'litellm')).toMatchObject({
    received: 4,
    calls: 1,
    merged: 1,
    passed_over: { reasons: [{ reason: 'repeated_call_type', count: 1 }] },
    rejected: { reasons: [{ reason: 'malformed', count: 1 }] },
  })
  const refused = rows.flatMap(
    (row) => (row as unknown as { refused_requests: { reasons: { reason: string }[] } }).refused_requests.reasons,
  )
  expect(refused.map(({ reason }) => reason)).toEqual(['malformed_request'])
})

test('names what to change at a sender that cannot state what is needed', async () => {
  const rows = await sources()
  const adviceOf = (sender: string) =>
    (rows.find((row) => row.sender === sender) as unknown as { advice: { code: string }[] }).advice.map(
      ({ code }) => code,
    )

  expect(adviceOf('@traceloop/instrumentation-openai')).toContain('no_cache_counts')
  expect(adviceOf('com.anthropic.claude_code.events')).toContain('seat_or_api')
})

test('opens the call that was received last, whatever is attributed again', async () => {
  const lastOfApi = async () =>
    ((await sources()) as readonly (Source & { last_record: { id: string } | null })[]).find(
      ({ intake }) => intake === 'api',
    )?.last_record?.id
  const first = await attributed(ask, { attributed_service: 'search' })
  expect(await lastOfApi()).toBe(first.id)
  const second = await attributed(ask, { attributed_service: 'search' })
  expect(await lastOfApi()).toBe(second.id)

  const given = { service: 'checkout', owner: 'team-shop', reason: 'It is theirs.' }
  expect((await ask('POST', `/v1/attribution/${first.id}/override`, given)).status).toBeLessThan(300)
  await expect.poll(async () => (await ask('GET', `/v1/attribution/${first.id}`)).json.service).toBe('checkout')

  expect(await lastOfApi()).toBe(second.id)
})

test('is the tenant’s own', async () => {
  const other = await newTenantOfProduct()

  const { status, json } = await askAs(other.baseUrl, { 'x-api-key': other.credentials.api_key })(
    'GET',
    '/api/v1/sources',
  )
  expect([status, json.data]).toEqual([200, []])
})

test('attribution tail shows why something became no record', async () => {
  const args = [CLI_MAIN, 'tail', '--url', service.baseUrl, '--json']
  const env = { ...process.env, ATTRIBUTION_API_KEY: service.credentials.api_key }
  const tail = spawn(process.execPath, args, { env })
  let shown = ''
  tail.stdout.on('data', (some: Buffer) => {
    shown += some.toString()
  })
  try {
    await expect
      .poll(async () => {
        await post('/intake/litellm', '["x"]')
        return shown
      }, SOON)
      .toContain('"became":"no_record","what":"rejected","reason":"malformed"')
  } finally {
    tail.kill('SIGINT')
  }
  await expect.poll(() => tail.exitCode ?? tail.signalCode).not.toBeNull()
})

const SOON = { timeout: 60_000, interval: 500 }
