import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import { type Ask, askAs, refusalOf } from '../support/ask.js'
import { wireEvent } from '../support/invocations.js'
import { newTenantOfProduct } from '../support/product.js'
import type { Instance } from '../support/service.js'

/** Records of two sources that look alike and have no id in common: suggested, never merged. */

let service: Instance
/** As the first source of calls, which may read them. */
let ask: Ask
/** As the second one. */
let askOther: Ask
/** With another scope. */
let askUnscoped: Ask

const newKey = async (name: string, scopes: readonly string[]): Promise<Ask> => {
  const { json } = await ask('POST', '/api/v1/api-keys', { name, scopes })
  const asking = askAs(service.baseUrl, { 'x-api-key': json.secret })
  while ((await asking('GET', '/api/v1/rate-limit')).status === 401) await sleep(20)
  return asking
}

beforeAll(async () => {
  service = await newTenantOfProduct()
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  askOther = await newKey('another source', ['read:attribution'])
  askUnscoped = await newKey('exports', ['export:create'])
})

const HOUR_AGO_MS = Date.now() - 3_600_000
let minutes = 0
/** A minute in which no other test has calls. */
const newMinuteMs = (): number => HOUR_AGO_MS - ++minutes * 60_000

/** Sends an event. @returns the id that its record will have */
async function send(source: Ask, timeMs: number, stated: object = {}): Promise<string> {
  const event = wireEvent({
    event_id: randomUUID(),
    ingestion_timestamp: new Date(timeMs).toISOString(),
    input_tokens: 1_234,
    output_tokens: 56,
    ...stated,
  })
  const taken = await source('POST', '/api/v1/invocations', event)
  expect(taken.status).toBe(202)
  return taken.json.invocation_id.replace('inv_', 'attr_')
}

const cardOf = (id: string) => ask('GET', `/v1/attribution/${id}`)

async function untilShown(id: string): Promise<string> {
  await expect.poll(async () => (await cardOf(id)).status, { timeout: 60_000 }).toBe(200)
  return id
}

const recorded = async (...event: Parameters<typeof send>): Promise<string> => untilShown(await send(...event))

const similarTo = (id: string, asking = ask) => asking('GET', `/v1/attribution/${id}/similar`)
const idsOf = async (id: string): Promise<string[]> =>
  (await similarTo(id)).json.candidates.map((candidate: { id: string }) => candidate.id)

test('alike calls of two sources suggest each other, with what they have in common, and stay two records', async () => {
  const atMs = newMinuteMs()
  const one = await recorded(ask, atMs)
  const other = await recorded(askOther, atMs + 1_500)

  const { status, json } = await similarTo(one)

  const card = (await cardOf(other)).json
  expect(status).toBe(200)
  expect(json).toEqual({
    id: one,
    candidates: [
      {
        id: other,
        invocation_id: card.invocation_id,
        event_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        source: { intake: 'api', principal: card.explanation.source.principal, ingestion_layer: 'gateway' },
        requested_model: 'gpt-4o',
        served_model: card.served_model,
        input_tokens: 1_234,
        output_tokens: 56,
        cost_usd: card.cost_usd,
        cost_basis: card.cost_basis,
        event_time: new Date(atMs + 1_500).toISOString(),
        time_difference_ms: 1_500,
      },
    ],
    note: expect.stringContaining('Nothing was merged'),
  })
  expect((await similarTo(other)).json.candidates).toMatchObject([{ id: one, time_difference_ms: -1_500 }])
  expect(card.explanation.seen_by).toEqual([])
})

test('only the same model and tokens within ten seconds count, the nearest first, and ten at most', async () => {
  const atMs = newMinuteMs()
  const one = await recorded(ask, atMs)
  const at = (ms: number, stated: object = {}) => recorded(askOther, atMs + ms, stated)
  const [late, early] = [await at(10_000), await at(-9_000)]
  const others = [{ input_tokens: 1_235 }, { output_tokens: undefined }, { requested_model: 'gpt-4o-mini' }]
  await Promise.all([at(10_001), ...others.map((stated) => at(0, stated))])

  expect(await idsOf(one)).toEqual([early, late])

  const nearer = await Promise.all(Array.from({ length: 10 }, (_, i) => at(i + 1)))
  expect(await idsOf(one)).toEqual(nearer)
})

test('parallel calls of the same source, and calls without token counts, suggest nothing', async () => {
  const atMs = newMinuteMs()
  const [one, two] = [await recorded(ask, atMs), await recorded(ask, atMs)]
  expect([await idsOf(one), await idsOf(two)]).toEqual([[], []])

  const unknown = { input_tokens: undefined, output_tokens: undefined }
  const uncounted = await recorded(ask, atMs, unknown)
  await recorded(askOther, atMs, unknown)
  expect(await idsOf(uncounted)).toEqual([])
})

test('a merged pair suggests nothing, neither as one record nor once a person has taken it apart', async () => {
  const atMs = newMinuteMs()
  const call = { response_id: `chatcmpl-${randomUUID()}` }
  const ids = [await send(ask, atMs, call), await send(askOther, atMs, call)]
  let merged = ''
  await expect
    .poll(
      async () => {
        for (const id of ids) if ((await cardOf(id)).json.explanation?.seen_by.length > 0) merged = id
        return merged
      },
      { timeout: 60_000 },
    )
    .not.toBe('')
  // A parallel call of a source that has shown this one already.
  const parallel = await recorded(askOther, atMs)
  expect([await idsOf(merged), await idsOf(parallel)]).toEqual([[], []])

  expect((await ask('DELETE', `/v1/attribution/${merged}/merge`)).status).toBeOneOf([202, 204])
  await Promise.all(ids.map(untilShown))
  const [ofFirst, ofSecond] = [await idsOf(ids[0] as string), await idsOf(ids[1] as string)]
  expect([ofFirst, ofSecond]).toEqual([[parallel], []])
})

test('another tenant, and a caller without the scope of records, see nothing', async () => {
  const atMs = newMinuteMs()
  const one = await recorded(ask, atMs)
  await recorded(askOther, atMs)
  const stranger = await newTenantOfProduct()

  const strange = await similarTo(one, askAs(stranger.baseUrl, { 'x-api-key': stranger.credentials.api_key }))

  expect(refusalOf(strange)).toEqual([403, 'TENANT_MISMATCH'])
  expect(refusalOf(await similarTo(one, askUnscoped))).toEqual([403, 'INSUFFICIENT_SCOPE'])
  expect(refusalOf(await similarTo('attr_none'))).toEqual([404, 'NOT_FOUND'])
})
