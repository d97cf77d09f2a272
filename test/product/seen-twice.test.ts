import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import { isSigned } from '../../internal/sdk/webhooks.js'
import { litellmPayload } from '../internal/ingest/adapters/litellm-payload.js'
import { type Ask, askAs, refusalOf } from '../support/ask.js'
import { attributedAll, type ShownRecord, untilAttributed } from '../support/attributed.js'
import { wireEvent } from '../support/invocations.js'
import { type TestSpan, tracesJson } from '../support/otlp.js'
import { intakeOfProduct, launchReceiverOfProduct, newTenantOfProduct } from '../support/product.js'
import { acknowledge, answerChallenge, type Received } from '../support/receiver.js'
import type { Instance } from '../support/service.js'
import { storeOf } from '../support/service-store.js'
import { readBooks } from '../support/usage.js'

/** One call that comes through several sources, from the intakes to totals and cards. */

let service: Instance
let ask: Ask
/** The key of a LiteLLM whose word on its callers counts. */
let gatewayKey: string

beforeAll(async () => {
  service = await newTenantOfProduct()
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  const made = await ask('POST', '/api/v1/api-keys', {
    name: 'LiteLLM',
    scopes: ['read:attribution'],
    is_gateway: true,
  })
  gatewayKey = made.json.secret
  while ((await sendLitellm([])).status === 401) await sleep(20)
})

const post = async (path: string, key: string, body: unknown) => {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const answer = await fetch(`${intakeOfProduct()}${path}`, { method: 'POST', body: JSON.stringify(body), headers })
  return { status: answer.status, json: await answer.json() }
}
const sendLitellm = (payloads: readonly object[]) => post('/intake/litellm', gatewayKey, payloads)
const sendSpans = (spans: readonly TestSpan[]) =>
  post('/v1/traces', service.credentials.api_key, tracesJson(spans, { resource: { 'service.name': 'shop' } }))

const HOUR_AGO_MS = Date.now() - 3_600_000
let calls = 0
/** A call as its two observers see it; each call has a minute of its own. */
function newCall(responseId = `chatcmpl-${randomUUID()}`) {
  const startMs = HOUR_AGO_MS - ++calls * 60_000
  return {
    responseId,
    startMs,
    span: {
      traceId: randomBytes(16).toString('hex'),
      spanId: randomBytes(8).toString('hex'),
      startMs,
      endMs: startMs + 900,
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'openai',
        'gen_ai.request.model': 'gpt-4o-mini',
        'gen_ai.response.id': responseId,
        'gen_ai.usage.input_tokens': 100,
      },
    } satisfies TestSpan,
    payload: (fields: object = {}) =>
      litellmPayload(
        {
          id: responseId,
          litellm_call_id: randomUUID(),
          startTime: (startMs + 40) / 1_000,
          endTime: (startMs + 880) / 1_000,
          end_user: null,
          ...fields,
        },
        // It knows the key alone.
        { user_api_key_alias: null, user_api_key_user_email: null, user_api_key_user_id: null },
      ),
  }
}

/** The records of a call that reads show, however many. */
async function recordsOf({ startMs }: { readonly startMs: number }): Promise<ShownRecord[]> {
  const [from, to] = [startMs - 500, startMs + 30_000].map((ms) => new Date(ms).toISOString())
  return (await ask('GET', `/v1/attribution?filter[event_time][gte]=${from}&filter[event_time][lt]=${to}`)).json.data
}

async function untilRecords(call: { readonly startMs: number }, count: number): Promise<ShownRecord[]> {
  for (;;) {
    const records = await recordsOf(call)
    if (records.length === count) return records
    await sleep(50)
  }
}

const cardOf = async (id: string): Promise<ShownRecord> => (await ask('GET', `/v1/attribution/${id}`)).json

/** The card of the first record of a call that counts another event. */
async function untilMerged(call: { readonly startMs: number }): Promise<ShownRecord> {
  for (;;) {
    for (const { id } of await recordsOf(call)) {
      const card = await cardOf(id)
      if (card.explanation?.seen_by.length > 0) return card
    }
    await sleep(50)
  }
}

/** Sends a call through both sources, LiteLLM first, until it is one record. */
async function mergedCall() {
  const call = newCall()
  await sendLitellm([call.payload()])
  const [gateway] = await untilRecords(call, 1)
  await sendSpans([call.span])
  return { call, card: await untilMerged(call), gateway }
}

test('the same call through OTLP and LiteLLM is one record, with both as evidence and its cost once', async () => {
  const { call, card, gateway } = await mergedCall()

  // The span names the service, LiteLLM states the cost and the output.
  expect(card).toMatchObject({
    service: 'shop',
    input_tokens: 100,
    output_tokens: 30,
    usage_basis: 'reported',
    outcome: 'success',
  })
  expect([card.cost_usd, card.cost_basis]).toEqual([gateway.cost_usd, 'client_estimate'])
  expect(card.explanation.source).toMatchObject({ intake: 'otlp', response_id: call.responseId })
  expect(card.explanation.seen_by).toMatchObject([
    { invocation_id: gateway.invocation_id, intake: 'litellm', matched_by: 'response_id', usage_counts: true },
  ])
  expect(card.explanation.summary).toMatch(/also seen by litellm \(key_.*\); it is counted once/)
  expect(card.explanation.history).toMatchObject([{ ended_by: { change: 'merge', actor: 'same_call' } }])
  expect(await untilRecords(call, 1)).toMatchObject([{ id: card.id }])

  // The status of the other event names the record that counts it, and so does what was its own.
  const status = await ask('GET', `/api/v1/invocations/${gateway.invocation_id}`)
  expect(status.json).toMatchObject({ status: 'attributed', attribution_id: card.id })
  const gone = await ask('GET', `/v1/attribution/${gateway.id}`)
  expect([gone.status, gone.json.detail]).toEqual([404, expect.stringContaining(card.id)])
})

test('a webhook receiver gets attribution.merged, signed, with both records by name', async () => {
  const receiver = await launchReceiverOfProduct()
  receiver.answer = (response, received) =>
    received.json.type === 'webhook.verification' ? answerChallenge(response, received) : acknowledge(response)
  const url = `https://127.0.0.1:${receiver.port}/merged`
  const { id: endpointId, signing_secret: secret } = (
    await ask('POST', '/api/v1/webhooks', { url, events: ['attribution.merged'] })
  ).json
  await receiver.until(1, ({ json }) => json.type === 'webhook.verification')
  const isMerged = ({ json }: Received) => json.type === 'attribution.merged'
  // A merge that comes before the attributor knows of the endpoint is not announced.
  while (!receiver.received.some(isMerged)) await mergedCall()

  const [delivery] = receiver.received.filter(isMerged)
  expect(delivery?.json).toMatchObject({
    id: expect.stringMatching(/^evt_/),
    tenant_id: service.credentials.tenant_id,
    sequence: expect.any(Number),
    data: { matched_by: 'response_id' },
  })
  const { data } = delivery?.json ?? {}
  await expect
    .poll(() => cardOf(data.id), { timeout: 60_000 })
    .toMatchObject({
      invocation_id: data.invocation_id,
      explanation: { seen_by: [{ invocation_id: data.merged_invocation_id }] },
    })
  expect((await cardOf(data.merged_id)).detail).toContain(data.id)
  const signed = (text = '') => isSigned(text, delivery?.headers['service-signature'], [secret])
  expect([signed(delivery?.text), signed(`${delivery?.text} `)]).toEqual([true, false])

  expect((await ask('DELETE', `/api/v1/webhooks/${endpointId}`)).status).toBe(204)
  await receiver.close()
})

test('what is merged can be taken apart, once, and stays so', async () => {
  const { call, card, gateway } = await mergedCall()

  expect((await ask('DELETE', `/v1/attribution/${card.id}/merge`)).status).toBe(204)
  expect(refusalOf(await ask('DELETE', `/v1/attribution/${card.id}/merge`))).toEqual([409, 'CONFLICT'])

  const ids = (await untilRecords(call, 2)).map(({ id }) => id)
  expect(ids.sort()).toEqual([card.id, gateway.id].sort())
  expect(await cardOf(card.id)).toMatchObject({ service: 'shop', output_tokens: null, explanation: { seen_by: [] } })
  expect(await cardOf(gateway.id)).toMatchObject({ cost_usd: gateway.cost_usd, service: gateway.service })
  // A further source joins one of them, and does not bring them together again.
  const stated = { requested_model: 'gpt-4o-mini', response_id: call.responseId, input_tokens: 100 }
  const event = wireEvent({
    event_id: randomUUID(),
    ingestion_timestamp: new Date(call.startMs).toISOString(),
    ...stated,
  })
  expect((await ask('POST', '/api/v1/invocations', event)).status).toBe(202)
  await untilMerged(call)
  expect(await recordsOf(call)).toHaveLength(2)
})

const CLIENT = 'com.anthropic.sdk.python'
const FRAMEWORK = 'openinference.instrumentation.langchain'
/** Spans of one instrumentation of the application, in an export of their own. */
const exportSpans = (spans: readonly TestSpan[], scope: string, key = service.credentials.api_key) =>
  post('/v1/traces', key, tracesJson(spans, { resource: { 'service.name': 'shop' }, scope }))

/** The spans that a framework and its client make of a call; the framework knows the user's tag. */
function spansOfProcess(call: ReturnType<typeof newCall>) {
  const { 'gen_ai.response.id': _, ...attributes } = call.span.attributes
  const counts = { ...attributes, 'gen_ai.usage.output_tokens': 40 }
  const outer = {
    ...call.span,
    spanId: randomBytes(8).toString('hex'),
    startMs: call.startMs - 4,
    endMs: call.startMs + 906,
    attributes: { ...counts, 'deployment.environment.name': 'prod' },
  } satisfies TestSpan
  const own = {
    ...counts,
    'gen_ai.response.id': call.responseId,
    'gen_ai.usage.cache_read.input_tokens': 20,
  }
  const inner = { ...call.span, parentSpanId: outer.spanId, attributes: own } satisfies TestSpan
  return { inner, outer }
}

test.each([
  ['inner first', false],
  ['outer first', true],
])('parent and child in two exports are one record, %s, and a retry adds none', async (_, isOuterFirst) => {
  const call = newCall()
  const { inner, outer } = spansOfProcess(call)
  const exports = [
    [[inner], CLIENT],
    [[outer], FRAMEWORK],
  ] as const
  for (const [spans, scope] of isOuterFirst ? [...exports].reverse() : exports) await exportSpans(spans, scope)

  const card = await untilMerged(call)
  expect(card).toMatchObject({
    input_tokens: 100,
    output_tokens: 40,
    event_tags: { environment: 'prod' },
    explanation: { seen_by: [{ matched_by: 'parent_span' }], perhaps_twice: [] },
  })
  expect(card.explanation.cost.lines).toContainEqual(expect.objectContaining({ part: 'cache_read', tokens: 20 }))
  // A retry may bring them in one export, or by another order.
  await exportSpans([outer, inner], FRAMEWORK)
  await mergedCall()
  expect(await recordsOf(call)).toHaveLength(1)
})

test('roots of one process without a common id are one call by their counts, or say that they may be', async () => {
  const [sure, doubtful] = [newCall(), newCall()]
  for (const [call, output] of [
    [sure, 40],
    [doubtful, 1],
  ] as const) {
    const { inner, outer } = spansOfProcess(call)
    const { parentSpanId: _, ...root } = inner
    const stated = { 'gen_ai.usage.output_tokens': output }
    await exportSpans([{ ...root, attributes: { ...root.attributes, ...stated } }], CLIENT)
    const attributes = { ...outer.attributes, ...stated }
    await exportSpans([{ ...outer, traceId: randomBytes(16).toString('hex'), attributes }], FRAMEWORK)
  }

  expect(await untilMerged(sure)).toMatchObject({ explanation: { seen_by: [{ matched_by: 'equal_counts' }] } })
  await expect
    .poll(async () => {
      const cards = await Promise.all((await recordsOf(doubtful)).map(({ id }) => cardOf(id)))
      return cards.map(({ id, explanation }) => [id, ...explanation.perhaps_twice].sort())
    })
    .toEqual(Array.from({ length: 2 }, () => [expect.stringMatching(/^attr_/), expect.stringMatching(/^attr_/)]))
  expect(await recordsOf(doubtful)).toHaveLength(2)
})

test('parallel calls that are alike stay two, and so does a replay from a cache', async () => {
  const [one, other] = [newCall(), newCall()]
  const replayed = (one.startMs + 5_000) / 1_000
  await sendSpans([one.span, { ...other.span, startMs: one.startMs, endMs: one.startMs + 900 }])
  await sendLitellm([one.payload(), one.payload({ cache_hit: true, startTime: replayed, endTime: replayed + 0.01 })])

  const merged = await untilMerged(one)
  // Changes take effect in order: what was to be merged of the others is.
  await mergedCall()
  expect(merged).toMatchObject({ explanation: { seen_by: [{ intake: 'litellm' }] } })
  expect((await recordsOf(one)).map(({ cost_basis }) => cost_basis).sort()).toEqual([
    'client_estimate',
    'local_cache',
    'unpriced',
  ])
})

/** Changes settings, and returns when the attributor goes by them. */
async function setting(settings: {
  readonly merge_seen_calls: boolean
  readonly owner_fallback: string
}): Promise<void> {
  expect((await ask('PATCH', '/api/v1/settings', settings)).json).toMatchObject(settings)
  const stated = { attributed_identity: 'ann', attributed_service: 'probe' }
  await untilAttributed(
    ask,
    stated,
    ({ owner }) => (owner === 'unassigned') === (settings.owner_fallback === 'unassigned'),
  )
}

test('an interrupted call is found by its outcome, and is not free', async () => {
  const stated = {
    outcome: 'cancelled',
    attributed_service: 'interrupted',
    ingestion_timestamp: new Date().toISOString(),
  }
  const [counted, unknown] = await attributedAll(ask, [{ ...stated, input_tokens: 500, output_tokens: 20 }, stated])

  expect(counted).toMatchObject({ outcome: 'cancelled', usage_basis: 'partial', cost_basis: 'price_book' })
  expect(unknown).toMatchObject({ outcome: 'cancelled', usage_basis: 'unknown', cost_basis: 'unpriced' })
  const found = await ask(
    'GET',
    '/v1/attribution?filter[outcome][eq]=cancelled&filter[usage_basis][in]=partial,unknown',
  )
  expect(found.json.data.map(({ id }: ShownRecord) => id).sort()).toEqual([counted.id, unknown.id].sort())
})

test('a tenant can switch it off', async () => {
  const call = newCall()
  await setting({ merge_seen_calls: false, owner_fallback: 'unassigned' })
  await sendLitellm([call.payload()])
  await sendSpans([call.span])
  await untilRecords(call, 2)

  await setting({ merge_seen_calls: true, owner_fallback: 'identity' })
  await mergedCall()
  expect(await recordsOf(call)).toHaveLength(2)
})

test('reports and rollups count every call once', async () => {
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)
  const usage = await ask('GET', `/v1/reports/usage?from=2026-11-01&to=${tomorrow}`)
  const { data: records } = (await ask('GET', '/v1/attribution?limit=100')).json
  expect(usage.json.data).toMatchObject([{ calls: records.length }])

  const store = storeOf(service)
  const books = await readBooks(store)
  await store.close()
  const ofTenant = (groups: readonly (readonly unknown[])[]) =>
    groups.filter(([tenant]) => tenant === service.credentials.tenant_id)
  expect(ofTenant(books.rollups)).toEqual(ofTenant(books.records))
})
