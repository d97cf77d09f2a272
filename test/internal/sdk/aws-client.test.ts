import { beforeEach, expect, test } from 'vitest'
import type { Attribution } from '../../../internal/sdk/attribution.js'
import { collectedUntil } from '../../support/collected.js'
import { recordedCalls } from '../../support/recorded-calls.js'

let sent: Record<string, unknown>[]
let attribution: Attribution
const recorded = async () => {
  await attribution.flush()
  return sent
}
beforeEach(() => {
  ;({ attribution, sent } = recordedCalls())
})

const bytesOf = (value: object) => new TextEncoder().encode(JSON.stringify(value))
async function* streamOf(parts: readonly object[]) {
  yield* parts
}
const CONVERSE = { inputTokens: 10, outputTokens: 4, totalTokens: 14, cacheReadInputTokens: 2 }
const METRICS = { inputTokenCount: 6, outputTokenCount: 8, invocationLatency: 5 }

type Next = (given: object) => Promise<object>

/** A client as AWS's SDK makes them: one middleware of a name, around what sends and reads the answer. */
function clientOf(answer: () => object, headers: Record<string, string> = {}) {
  const middlewares = new Map<string, (next: Next) => Next>()
  const read: Next = async () => ({
    response: { headers: { 'x-amzn-requestid': 'req-1', ...headers } },
    output: answer(),
  })
  return {
    middlewareStack: {
      add: (middleware: (next: Next) => Next, { name }: { name: string }) => void middlewares.set(name, middleware),
    },
    async send(
      path: string,
      sentHeaders: Record<string, string> = {},
    ): Promise<Record<'usage' | 'stream' | 'body', unknown>> {
      const hostname = 'bedrock-runtime.us-east-1.amazonaws.com'
      const request = { method: 'POST', protocol: 'https:', hostname, path, headers: sentHeaders }
      const sending = [...middlewares.values()].reduce((next, middleware) => middleware(next), read)
      const { output } = (await sending({ request })) as { output: Record<'usage' | 'stream' | 'body', unknown> }
      return output
    },
  }
}
const NOVA = '/model/us.amazon.nova-pro-v1%3A0/'
const BEDROCK = {
  provider: 'bedrock',
  region: 'us-east-1',
  requested_model: 'us.amazon.nova-pro-v1:0',
  request_id: 'req-1',
  outcome: 'success',
}

test('an answer of Converse is recorded with its usage, and the context of the last wrap', async () => {
  const client = attribution.wrap(
    clientOf(() => ({ usage: CONVERSE, output: { message: 'hi' } })),
    { service: 'one' },
  )
  attribution.wrap(client, { service: 'two' })

  expect(await client.send(`${NOVA}converse`)).toMatchObject({ usage: CONVERSE })

  expect(await recorded()).toMatchObject([{ ...BEDROCK, attributed_service: 'two', provider_usage: CONVERSE }])
  expect(JSON.stringify(sent)).not.toContain('hi')
})

test.each([
  [{ 'amz-sdk-request': 'attempt=1; max=3' }, undefined],
  [{ 'amz-sdk-request': 'attempt=2; max=3' }, 2],
  [{ 'amz-sdk-request': 'ttl=20261130T080000Z; attempt=3; max=3' }, 3],
  [{ 'x-stainless-retry-count': '0' }, undefined],
  [{ 'x-stainless-retry-count': '1' }, 2],
  [{}, undefined],
])('the attempt is the one that the request states: %o', async (headers, attempt) => {
  const client = attribution.wrap(clientOf(() => ({ usage: CONVERSE })))
  await client.send(`${NOVA}converse`, headers)

  expect((await recorded())[0]?.['attempt']).toBe(attempt)
})

test('an answer in the form of its model is recorded by the usage in it, else by that in the headers', async () => {
  const counts = { 'x-amzn-bedrock-input-token-count': '7', 'x-amzn-bedrock-output-token-count': '5' }
  const usage = { input_tokens: 3, output_tokens: 9 }
  for (const body of [{ id: 'msg_1', usage }, { results: [{ outputText: 'x' }] }]) {
    await attribution.wrap(clientOf(() => ({ body: bytesOf(body) }), counts)).send(`${NOVA}invoke`)
  }

  expect(await recorded()).toMatchObject([
    { ...BEDROCK, response_id: 'msg_1', provider_usage: usage },
    { ...BEDROCK, provider_usage: { inputTokens: 7, outputTokens: 5 } },
  ])
})

test.each([
  ['of Converse', 'stream', [{ messageStart: {} }, { metadata: { usage: CONVERSE } }], CONVERSE],
  [
    "of a model's own form",
    'body',
    [
      { chunk: { bytes: bytesOf({ text: 'x' }) } },
      { chunk: { bytes: bytesOf({ 'amazon-bedrock-invocationMetrics': METRICS }) } },
    ],
    METRICS,
  ],
  [
    'with both counts',
    'body',
    [
      { chunk: { bytes: bytesOf({ type: 'message_delta', usage: { output_tokens: 9 } }) } },
      { chunk: { bytes: bytesOf({ type: 'message_stop', 'amazon-bedrock-invocationMetrics': METRICS }) } },
    ],
    { output_tokens: 9 },
  ],
] as const)('a stream %s is recorded at its end, and passed on as it comes', async (_, name, parts, usage) => {
  const client = attribution.wrap(clientOf(() => ({ [name]: streamOf(parts) })))
  const stream = (await client.send(`${NOVA}converse-stream`))[name] as AsyncIterable<object>
  const seen: object[] = []
  for await (const part of stream) seen.push(part)

  expect(seen).toEqual(parts)
  expect(await recorded()).toMatchObject([{ ...BEDROCK, provider_usage: usage }])
})

test('a stream that is left is recorded as cancelled', async () => {
  const client = attribution.wrap(clientOf(() => ({ stream: streamOf([{ messageStart: {} }, {}]) })))
  const { stream } = await client.send(`${NOVA}converse-stream`)
  for await (const _ of stream as AsyncIterable<object>) break

  expect(await recorded()).toMatchObject([{ ...BEDROCK, outcome: 'cancelled' }])
})

test('a stream that nobody reads is recorded as cancelled once it is collected', async () => {
  const client = attribution.wrap(clientOf(() => ({ stream: streamOf([{ messageStart: {} }]) })))
  await client.send(`${NOVA}converse-stream`)
  await attribution.flush()
  await collectedUntil(() => attribution.counts.recorded > 0)

  expect(await recorded()).toMatchObject([{ ...BEDROCK, outcome: 'cancelled' }])
})

test('a stream that is being read is recorded at its end', async () => {
  const parts = [{ messageStart: {} }, { metadata: { usage: CONVERSE } }]
  const client = attribution.wrap(clientOf(() => ({ stream: { [Symbol.asyncIterator]: () => streamOf(parts) } })))
  const begun = async () => {
    const { stream } = await client.send(`${NOVA}converse-stream`)
    return (stream as AsyncIterable<object>)[Symbol.asyncIterator]()
  }
  const iterator = await begun()
  await collectedUntil(() => attribution.counts.recorded > 0, 5)
  while ((await iterator.next()).done !== true);

  expect(await recorded()).toMatchObject([{ ...BEDROCK, provider_usage: CONVERSE }])
})

test('what is refused, and what calls no model, has no record', async () => {
  const refusal = Object.assign(new Error('no'), { $metadata: { httpStatusCode: 400 } })
  const refusing = attribution.wrap(
    clientOf(() => {
      throw refusal
    }),
  )
  await expect(refusing.send(`${NOVA}converse`)).rejects.toBe(refusal)
  await attribution.wrap(clientOf(() => ({ usage: { topicPolicyUnits: 1 } }))).send('/guardrail/a/version/1/apply')

  expect(await recorded()).toEqual([])
})
