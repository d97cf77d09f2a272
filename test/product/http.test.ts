import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { createApiKey } from '../../internal/auth/api-keys.js'
import { deriveTenantIds, formatId } from '../../internal/ids/ids.js'
import { newTenantOfProduct } from '../support/product.js'
import { rawExchange, rawRequest } from '../support/raw-http.js'
import type { Instance } from '../support/service.js'

const INVOCATIONS = '/api/v1/invocations'
const RECORDS = '/v1/attribution'
/** Planted where content must never come back from. */
const SECRET_TEXT = 'the-quick-brown-fox'

let service: Instance

beforeAll(async () => {
  service = await newTenantOfProduct()
})

const event = (fields: Record<string, unknown> = {}): Record<string, unknown> => ({
  event_id: randomUUID(),
  ingestion_layer: 'application',
  ingestion_timestamp: new Date().toISOString(),
  provider: 'openai',
  requested_model: 'gpt-4o-mini',
  input_tokens: 100,
  output_tokens: 10,
  attributed_service: 'search',
  ...fields,
})

interface Answer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: the contract is what is being checked
  readonly body: any
}

async function send(path: string, init: RequestInit & { headers?: Record<string, string> } = {}): Promise<Answer> {
  const headers = { 'x-api-key': service.credentials.api_key, ...init.headers }
  const answer = await fetch(service.baseUrl + path, { ...init, headers })
  return { status: answer.status, headers: answer.headers, body: await answer.json() }
}

const post = (body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
  send(INVOCATIONS, {
    method: 'POST',
    body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
    headers: { 'content-type': 'application/json', 'idempotency-key': randomUUID(), ...headers },
  })

function expectProblem({ status, headers, body }: Answer, code: string, expected: number, path = INVOCATIONS): void {
  expect({ status, code: body.error_code }).toEqual({ status: expected, code })
  expect(headers.get('content-type')).toBe('application/problem+json')
  expect(headers.get('cache-control')).toBe('no-store')
  expect(body).toMatchObject({ status: expected, instance: path, type: expect.stringMatching(new RegExp(`/${code}$`)) })
  expect(Object.keys(body)).toEqual(
    expect.arrayContaining([
      'type',
      'title',
      'status',
      'detail',
      'instance',
      'error_code',
      'trace_id',
      'tenant_id',
      'docs_url',
    ]),
  )
  expect(body.trace_id).toMatch(/^[0-9a-f]{32}$/)
  expect(JSON.stringify(body)).not.toContain(SECRET_TEXT)
}

describe('a body that is refused', () => {
  test.each([
    ['not JSON', `{"event_id": ${SECRET_TEXT}`],
    ['empty', ''],
    ['not UTF-8', Buffer.concat([Buffer.from('{"event_id":"'), Buffer.of(0xff, 0xfe), Buffer.from('"}')])],
  ])('%s: 400', async (_, body) => {
    expectProblem(await post(body), 'MALFORMED_REQUEST', 400)
  })

  test.each<[string, Record<string, unknown>, string]>([
    ['a number as estimated_cost_usd', { estimated_cost_usd: 0.01 }, '/estimated_cost_usd'],
    ['a confidence above the cap', { attribution_confidence: 0.951 }, '/attribution_confidence'],
    ['tokens as text', { input_tokens: '100' }, '/input_tokens'],
    ['negative tokens', { output_tokens: -1 }, '/output_tokens'],
    ['fractional tokens', { output_tokens: 1.5 }, '/output_tokens'],
    ['an event_id that is no UUID', { event_id: SECRET_TEXT }, '/event_id'],
    ['no provider', { provider: undefined }, '/provider'],
    ['a time without a zone', { ingestion_timestamp: '2026-11-21T12:00:00' }, '/ingestion_timestamp'],
    ['a time in another zone', { ingestion_timestamp: '2026-11-21T12:00:00+02:00' }, '/ingestion_timestamp'],
    [
      'a time two days ahead',
      { ingestion_timestamp: new Date(Date.now() + 172_800_000).toISOString() },
      '/ingestion_timestamp',
    ],
    ['a name of 257 bytes', { attributed_service: 'x'.repeat(257) }, '/attributed_service'],
    ['a line break in a name', { attributed_identity: `a\n${SECRET_TEXT}` }, '/attributed_identity'],
    ['prompt', { prompt: SECRET_TEXT }, '/prompt'],
    ['messages', { messages: [{ role: 'user', content: SECRET_TEXT }] }, '/messages'],
    ['content deep inside', { extra: { more: [{ completion: SECRET_TEXT }] } }, '/extra/more/0/completion'],
    ['content as a tag', { tags: { prompt: SECRET_TEXT } }, '/tags/prompt'],
  ])('%s: 422 with its pointer, and never its value', async (_, fields, pointer) => {
    const answer = await post(event(fields))

    expectProblem(answer, 'VALIDATION_FAILED', 422)
    expect(answer.body.errors.map((error: { pointer: string }) => error.pointer)).toContain(pointer)
    expect(answer.body.tenant_id).toBe(service.credentials.tenant_id)
  })

  test.each([['[]'], ['"text"'], ['null'], ['5']])('%s instead of an object: 422', async (body) => {
    expectProblem(await post(body), 'VALIDATION_FAILED', 422)
  })

  test('a body of 64 KiB is read; a body of one byte more gets 413', async () => {
    const body = JSON.stringify(event())
    const padded = (bytes: number) => body.slice(0, -1) + ' '.repeat(bytes - body.length) + body.slice(-1)

    expect((await post(padded(65_536).replace('"application"', '5'.padEnd(13)))).status).toBe(422)
    expectProblem(await post(padded(65_537)), 'PAYLOAD_TOO_LARGE', 413)
  })

  test('a body with another media type or an encoding gets 415', async () => {
    expectProblem(await post(event(), { 'content-type': 'text/plain' }), 'UNSUPPORTED_MEDIA_TYPE', 415)
    expectProblem(await post(event(), { 'content-encoding': 'br' }), 'UNSUPPORTED_MEDIA_TYPE', 415)
  })

  test.each([[''], ['1'], ['not-a-key'], ['"'], [`"${randomUUID()}`], ['8ZZZZZZZZZZZZZZZZZZZZZZZZZ']])(
    'a request with the Idempotency-Key %j gets 400',
    async (key) => {
      expectProblem(await post(event(), { 'idempotency-key': key }), 'IDEMPOTENCY_KEY_REQUIRED', 400)
    },
  )
})

describe('a caller without permission', () => {
  const theirs = deriveTenantIds(new Uint8Array(32), 'tnt_somebody')

  test('a request without a credential gets 401 with a challenge', async () => {
    const answer = await fetch(service.baseUrl + RECORDS)

    expect(answer.status).toBe(401)
    expect(answer.headers.get('www-authenticate')).toContain('Bearer')
    expect(await answer.json()).toMatchObject({ error_code: 'INVALID_CREDENTIALS', tenant_id: null })
  })

  test("a request with an unknown, mistyped or other mode's key, or with an invalid token, gets 401", async () => {
    const wanted = { name: 'invented', scopes: [], expiresAt: null }
    const invented = createApiKey('production', 'tnt_somebody', theirs, wanted, new Date()).secret
    const sandbox = createApiKey('sandbox', 'tnt_somebody', theirs, wanted, new Date()).secret
    for (const key of [invented, sandbox, `${service.credentials.api_key}0`, SECRET_TEXT]) {
      expectProblem(await send(RECORDS, { headers: { 'x-api-key': key } }), 'INVALID_CREDENTIALS', 401, RECORDS)
    }
    expectProblem(await send(RECORDS, { headers: { authorization: 'Bearer x' } }), 'INVALID_CREDENTIALS', 401, RECORDS)
  })

  test("another tenant's record is a 403, whether it exists or not; an unknown one of one's own a 404", async () => {
    const foreign = `${RECORDS}/${formatId('attr', new Uint8Array(16).fill(9))}`
    expectProblem(await send(foreign), 'TENANT_MISMATCH', 403, foreign)

    const { body: taken } = await post(event({ requested_model: 'own' }))
    const own = (taken.invocation_id as string).replace('inv_', 'attr_')
    // The same tenant tag, other bits.
    const unknown = `${RECORDS}/${own.slice(0, -2)}${own.at(-2) === '0' ? '1' : '0'}${own.at(-1)}`
    expectProblem(await send(unknown), 'NOT_FOUND', 404, unknown)
    for (const id of ['x', 'attr_', own.replace('attr_', 'inv_'), `${own}0`]) {
      expectProblem(await send(`${RECORDS}/${id}`), 'NOT_FOUND', 404, `${RECORDS}/${id}`)
    }
  })
})

describe('a request that cannot be answered', () => {
  test('an unknown path gets 404; another method gets 405 with Allow', async () => {
    expectProblem(await send('/v2/attribution'), 'NOT_FOUND', 404, '/v2/attribution')

    const answer = await send(RECORDS, { method: 'DELETE' })
    expectProblem(answer, 'METHOD_NOT_ALLOWED', 405, RECORDS)
    expect(answer.headers.get('allow')).toBe('GET, HEAD, OPTIONS')
  })

  test.each([
    'limit=0',
    'limit=201',
    'limit=-1',
    'limit=1.5',
    'limit=',
    'limit=1&limit=2',
    'page=2',
    'filter[x]=1',
    '__proto__=1',
  ])('?%s: 400', async (query) => {
    expectProblem(await send(`${RECORDS}?${query}`), 'INVALID_FILTER', 400, RECORDS)
  })

  test('a path with invalid percent-encoding gets 400', async () => {
    expectProblem(await send(`${RECORDS}?limit=%E0%A4%A`), 'MALFORMED_REQUEST', 400, RECORDS)
  })

  test('a forged cursor gets 400', async () => {
    for (const cursor of ['x', 'e30', '='.repeat(40), 'A'.repeat(200)]) {
      expectProblem(await send(`${RECORDS}?cursor=${cursor}`), 'INVALID_CURSOR', 400, RECORDS)
    }
  })
})

describe('requests that no client would send', () => {
  const key = () => `X-API-Key: ${service.credentials.api_key}`
  const body = JSON.stringify(event())
  const whole = () => [
    'Host: a',
    'Connection: close',
    key(),
    'Content-Type: application/json',
    `Idempotency-Key: ${randomUUID()}`,
    `Content-Length: ${body.length}`,
  ]
  const line = `POST ${INVOCATIONS}`

  test('a chunked event is admitted', async () => {
    const text = JSON.stringify(event({ requested_model: 'chunked' }))
    const chunks = `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`

    const answers = await rawExchange(
      service.port,
      rawRequest(line, [...whole().slice(0, -1), 'Transfer-Encoding: chunked'], chunks),
    )

    expect(answers.map(({ status }) => status)).toEqual([202])
    expect(answers[0]?.head).toMatch(/^connection: close$/im)
  })

  test('another Transfer-Encoding gets 501 on every path, and the connection is closed', async () => {
    for (const target of ['GET /nowhere', `GET ${RECORDS}`, 'GET /healthz']) {
      const answers = await rawExchange(
        service.port,
        rawRequest(target, ['Host: a', key(), 'Transfer-Encoding: gzip, chunked'], '0\r\n\r\n'),
      )
      expect(answers.map(({ status }) => status)).toEqual([501])
    }
  })

  test.each([
    ['X-API-Key', key],
    ['Idempotency-Key', () => `Idempotency-Key: ${randomUUID()}`],
    ['Content-Type', () => 'Content-Type: text/plain'],
  ])('a repeated %s: 400 and the connection closed', async (_, extra) => {
    const answers = await rawExchange(service.port, rawRequest(line, [...whole(), extra()], body))

    expect(answers.map(({ status }) => status)).toEqual([400])
    expect(JSON.parse(answers[0]?.body ?? '')).toMatchObject({ error_code: 'MALFORMED_REQUEST' })
  })

  test.each([
    ['Host', 'Host: b'],
    ['Content-Length', `Content-Length: ${body.length + 1}`],
  ])('a repeated %s: 400 and the connection closed, by the service or by the parser', async (_, extra) => {
    const answers = await rawExchange(service.port, rawRequest(line, [...whole(), extra], body))

    expect(answers.map(({ status }) => status)).toEqual([400])
  })

  test('a request that repeats Authorization gets 400', async () => {
    const headers = ['Host: a', 'Connection: close', 'Authorization: Bearer a', 'Authorization: Bearer b']
    const answers = await rawExchange(service.port, rawRequest(`GET ${RECORDS}`, headers))

    expect(answers.map(({ status }) => status)).toEqual([400])
  })

  test('a request without Host, with length and encoding, or a truncated body is refused', async () => {
    const attempts = [
      rawRequest(line, whole().slice(1), body),
      rawRequest(line, [...whole(), 'Transfer-Encoding: chunked'], body),
      rawRequest(line, [...whole().slice(0, -1), 'Content-Length: 9999'], body),
    ]
    const answers = await Promise.all(attempts.map((bytes) => rawExchange(service.port, bytes, true)))

    expect(answers.flat().filter(({ status }) => status < 400)).toEqual([])
  })
})

describe('after all refused requests', () => {
  test('after all refused requests the service is ready and holds only the accepted events', async () => {
    expect((await send('/readyz')).body).toMatchObject({ status: 'ready' })

    let page = await send(RECORDS)
    while (page.body.data.length === 0) {
      await sleep(20)
      page = await send(RECORDS)
    }
    // What was refused would be attributed by then.
    const last = await post(event({ requested_model: 'last' }))
    const id = (last.body.invocation_id as string).replace('inv_', 'attr_')
    while ((await send(`${RECORDS}/${id}`)).status !== 200) await sleep(20)
    const models = async (): Promise<string[]> =>
      (await send(RECORDS)).body.data.map(({ requested_model }: { requested_model: string }) => requested_model).sort()

    await expect.poll(models).toEqual(['chunked', 'last', 'own'])
  })

  test('an accepted event is answered with its ids, and its record has an explanation', async () => {
    const sent = event({ attributed_identity: 'ada', latency_ms: 900, estimated_cost_usd: '0.0003', unknown_field: 1 })
    const { status, body: taken } = await post(sent)
    const id = (taken.invocation_id as string).replace('inv_', 'attr_')
    let record = await send(`${RECORDS}/${id}`)
    while (record.status !== 200) {
      await sleep(20)
      record = await send(`${RECORDS}/${id}`)
    }

    expect(status).toBe(202)
    expect(taken).toEqual({
      invocation_id: expect.stringMatching(/^inv_[0-9a-z]{26}$/),
      event_id: sent['event_id'],
      status: 'queued',
      duplicate: false,
    })
    expect(record.body).toMatchObject({
      id,
      invocation_id: taken.invocation_id,
      service: 'search',
      owner: 'ada',
      cost_usd: '0.0003',
      cost_basis: 'client_estimate',
      energy_basis: 'modelled',
      pathway_category: 'application_direct',
      output_state: 'deterministically_resolved',
      interpretation: {
        stage_origin: 'stage_a',
        confidence: 0.95,
        confidence_band: 'chargeback_ready',
        evidence_basis: 'identity_and_service_resolved',
        model_version: 'rules-7',
        degradation_state: 'none',
        freshness: 'fresh',
        export_eligibility: 'eligible',
      },
    })
    expect(record.body.explanation.cost).toMatchObject({
      total_usd: '0.0003',
      price_usd: '0.000021',
      estimate_difference_usd: '0.000279',
    })
    expect(record.body.explanation.footprint.energy_wh.value).toBe(record.body.energy_wh)
  })
})
