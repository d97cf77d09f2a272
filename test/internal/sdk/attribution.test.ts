import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { validateInvocation } from '../../../internal/invocations/validate-invocation.js'
import { Attribution, type WrapOptions } from '../../../internal/sdk/attribution.js'
import { type Provider, SECRET_TEXT, startProvider } from './provider.js'

let provider: Provider
beforeAll(async () => {
  provider = await startProvider()
})

/** Events that were sent. */
let sent: Record<string, unknown>[]
let bodies: string
let attribution: Attribution
beforeEach(() => {
  sent = []
  bodies = ''
  attribution = new Attribution({
    baseUrl: 'http://127.0.0.1:1',
    apiKey: 'ak_test',
    context: { attributed_service: 'search', tags: { team: 'core' } },
    fetch: async (_, init) => {
      bodies += String(init?.body)
      sent.push(
        ...String(init?.body)
          .split('\n')
          .map((line) => JSON.parse(line)),
      )
      return new Response('{"accepted":1,"rejected":0}', { status: 202 })
    },
  })
})

/** Events that were sent, as the service reads them. */
const events = () =>
  sent.map((event) => {
    const validation = validateInvocation(event, Date.now() + 1_000)
    if (!validation.ok) throw new Error(JSON.stringify(validation.errors))
    return validation.event
  })

const openai = () =>
  attribution.wrap(new OpenAI({ baseURL: provider.url, apiKey: 'k', maxRetries: 0 }), {
    attributed_identity: 'ann',
  })
const anthropic = () => attribution.wrap(new Anthropic({ baseURL: provider.url, apiKey: 'k', maxRetries: 0 }))
const chat = { model: 'gpt-4o-mini', messages: [{ role: 'user' as const, content: 'a-secret-prompt' }] }
const CHAT_FACTS = {
  provider: 'openai',
  requested_model: 'gpt-4o-mini',
  served_model: 'gpt-4o-mini-2024-07-18',
  input_tokens: 1_200,
  output_tokens: 300,
  cached_input_tokens: 1_000,
  reasoning_tokens: 128,
  service_tier: 'standard',
  response_id: 'chatcmpl-1',
  outcome: 'success',
  attributed_service: 'search',
  attributed_identity: 'ann',
  ingestion_layer: 'application',
  tags: { team: 'core' },
}

describe('a client of OpenAI', () => {
  test('has each chat recorded, and answers as before', async () => {
    const answer = await openai().chat.completions.create(chat)
    await attribution.flush()

    expect(answer.choices[0]?.message.content).toBe(SECRET_TEXT)
    expect(events()).toEqual([expect.objectContaining(CHAT_FACTS)])
    expect(sent[0]?.['latency_ms']).toBeGreaterThanOrEqual(0)
    expect(bodies).not.toContain('secret')
    expect(bodies).not.toContain(SECRET_TEXT)
  })

  test('keeps the methods of the promises that it answers with', async () => {
    const { data, response } = await openai().chat.completions.create(chat).withResponse()
    await attribution.flush()

    expect(response.status).toBe(200)
    expect(data.model).toBe('gpt-4o-mini-2024-07-18')
    expect(sent).toHaveLength(1)
  })

  test('states the usage of a streamed chat, without a chunk that the caller does not expect', async () => {
    const parts = []
    for await (const part of await openai().chat.completions.create({ ...chat, stream: true })) parts.push(part)
    await attribution.flush()

    expect(parts.map(({ choices }) => choices[0]?.delta.content)).toEqual([SECRET_TEXT, ' and more'])
    expect(events()).toEqual([expect.objectContaining(CHAT_FACTS)])
  })

  test('leaves the usage chunk to a caller who asks for it', async () => {
    const parts = []
    const asked = { ...chat, stream: true as const, stream_options: { include_usage: true } }
    for await (const part of await openai().chat.completions.create(asked)) parts.push(part)
    await attribution.flush()

    expect(parts).toHaveLength(3)
    expect(events()).toEqual([expect.objectContaining(CHAT_FACTS)])
  })

  test('has a stream recorded at once that its reader left, without counts that nobody knows', async () => {
    const asked = { ...chat, model: 'endless', stream: true as const }
    for await (const _ of await openai().chat.completions.create(asked)) break
    expect(attribution.counts.recorded).toBe(1)
    await attribution.flush()

    expect(sent).toHaveLength(1)
    expect(sent[0]).toMatchObject({ requested_model: 'endless', served_model: 'gpt-4o-mini-2024-07-18' })
    expect(sent[0]).toMatchObject({ outcome: 'cancelled' })
    expect(sent[0]).not.toHaveProperty('provider_usage')
  })

  test('has both halves of a stream that was split, recorded once', async () => {
    const stream = await openai().chat.completions.create({ ...chat, stream: true })
    const read = async (half: AsyncIterable<unknown>) => {
      let parts = 0
      for await (const _ of half) parts++
      return parts
    }
    expect(await Promise.all(stream.tee().map(read))).toEqual([2, 2])
    await attribution.flush()

    expect(events()).toEqual([expect.objectContaining(CHAT_FACTS)])
  })

  test('has responses, streamed ones and embeddings recorded', async () => {
    const client = openai()
    await client.responses.create({ model: 'gpt-4o', input: 'x' })
    for await (const _ of await client.responses.create({ model: 'gpt-4o', input: 'x', stream: true }));
    await client.embeddings.create({ model: 'text-embedding-3-small', input: 'x' })
    await attribution.flush()

    const response = {
      requested_model: 'gpt-4o',
      served_model: 'gpt-4o-2024-08-06',
      input_tokens: 700,
      output_tokens: 80,
    }
    expect(events()).toEqual([
      expect.objectContaining({ ...response, cached_input_tokens: 64, reasoning_tokens: 16 }),
      expect.objectContaining({ ...response, cached_input_tokens: 64, reasoning_tokens: 16 }),
      expect.objectContaining({ requested_model: 'text-embedding-3-small', input_tokens: 9 }),
    ])
  })

  test('fails as before, and a call that failed is not recorded', async () => {
    await expect(openai().chat.completions.create({ ...chat, model: 'broken' })).rejects.toThrow('400')
    await attribution.flush()

    expect(sent).toEqual([])
  })

  test('is recorded once when it is wrapped twice', async () => {
    await attribution.wrap(openai()).chat.completions.create(chat)
    await attribution.flush()

    expect(sent).toHaveLength(1)
  })
})

describe('a client of Anthropic', () => {
  const asked = {
    model: 'claude-haiku-4-5',
    max_tokens: 100,
    messages: [{ role: 'user' as const, content: 'secret' }],
  }
  /** Input counts what was read from and written to the cache. */
  const FACTS = {
    provider: 'anthropic',
    requested_model: 'claude-haiku-4-5',
    served_model: 'claude-haiku-4-5-20251001',
    input_tokens: 2_600,
    output_tokens: 250,
    cached_input_tokens: 2_000,
    cache_write_tokens: 500,
    cache_write_5m_tokens: 400,
    cache_write_1h_tokens: 100,
    web_search_calls: 2,
    service_tier: 'standard',
    response_id: 'msg_1',
    outcome: 'success',
  }

  test('has messages and streamed messages recorded', async () => {
    const client = anthropic()
    await client.messages.create(asked)
    for await (const _ of await client.messages.create({ ...asked, stream: true }));
    await client.messages.stream(asked).finalMessage()
    await attribution.flush()

    expect(events()).toEqual([FACTS, FACTS, FACTS].map((facts) => expect.objectContaining(facts)))
    expect(bodies).not.toContain('secret')
  })
})

/** Calls an API whose answer is this. */
async function answered(answer: object, url = 'https://api.openai.com/v1/responses', options: WrapOptions = {}) {
  const fetching = attribution.fetch(options, async () => Response.json(answer))
  const init = { method: 'POST', body: JSON.stringify({ model: 'm', input: 'a-secret-prompt' }) }
  return (await fetching(url, init)).json()
}

describe('the usage of an answer', () => {
  const MESSAGES = 'https://api.anthropic.com/v1/messages'

  test('is sent as numbers, and read by the service', async () => {
    const written = {
      input_tokens: 18_014,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 18_011, note: 'a-secret' },
      output_tokens: 20,
      total_tokens: 18_034,
    }
    const compacted = {
      input_tokens: 23_000,
      output_tokens: 1_000,
      service_tier: 'standard',
      speed: 'fast',
      iterations: [
        { type: 'compaction', input_tokens: 180_000, output_tokens: 3_500 },
        { type: 'message', input_tokens: 23_000, output_tokens: 1_000, cache_creation: { text: 'a-secret' } },
      ],
    }
    await answered({ usage: written })
    await answered({ usage: compacted }, MESSAGES)
    await attribution.flush()

    expect(bodies).not.toContain('secret')
    expect(events()).toMatchObject([
      { input_tokens: 18_014, cache_write_tokens: 18_011, output_tokens: 20 },
      { input_tokens: 203_000, output_tokens: 4_500, speed: 'fast', service_tier: 'standard' },
    ])
  })

  test('names the place that the provider charges for: its own statement, else the regional host', async () => {
    const usage = { input_tokens: 1, output_tokens: 1 }
    for (const inference_geo of ['us', 'global', 'not_available', null]) {
      await answered({ usage: { ...usage, inference_geo } }, MESSAGES)
    }
    for (const host of ['jp.api.openai.com', 'api.openai.com', 'jp.api.openai.com.example']) {
      await answered({ usage }, `https://${host}/v1/responses`)
    }
    await answered({ usage }, 'https://eu.api.openai.com/v1/responses', { region: 'de' })
    await attribution.flush()

    const nowhere = undefined
    expect(events().map(({ region }) => region)).toEqual([
      ...['us', nowhere, nowhere, nowhere],
      ...['jp', nowhere, nowhere, 'de'],
    ])
  })

  test('keeps to the bounds of the service, whatever a client answers', async () => {
    const pass = { input_tokens: 1, output_tokens: 1, deep: { deeper: { deepest: 1 } }, list: [{ a: 1 }] }
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`count_${index}`, index]))
    const odd = { text: 'a-secret', below: -1, huge: 1e300, list: [1, 'a-secret', null], prompt: 3, 'a b': 1 }
    await answered({ usage: { iterations: Array(400).fill(pass), ...odd } }, MESSAGES)
    await answered({ id: 'x'.repeat(300), service_tier: 'unheard-of', usage: { ...odd, ...many } })
    await attribution.flush()

    expect(bodies).not.toContain('secret')
    expect(events()).toHaveLength(2)
  })
})

test('an object that is no such client stays as it is', () => {
  const frozen = Object.freeze({ fetch: () => 7 })
  expect(attribution.wrap(frozen).fetch()).toBe(7)
  expect(attribution.wrap({})).toEqual({})
})
