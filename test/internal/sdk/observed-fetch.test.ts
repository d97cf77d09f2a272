import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { inspect } from 'node:util'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { Attribution } from '../../../internal/sdk/attribution.js'
import { collectedUntil } from '../../support/collected.js'
import { recordedCalls } from '../../support/recorded-calls.js'

const CHATS = 'https://api.openai.com/v1/chat/completions'
const BODY = JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'hi' }] })
const STREAMED = JSON.stringify({ model: 'gpt-4o', stream: true, messages: [] })
const usage = { prompt_tokens: 3, completion_tokens: 2 }
const CHAT = { id: 'chatcmpl-1', model: 'gpt-4o-2024-08-06', choices: [{ index: 0 }], usage }
const encoder = new TextEncoder()

let sent: Record<string, unknown>[]
let attribution: Attribution
const recorded = async () => {
  await attribution.flush()
  return sent
}
beforeEach(() => {
  ;({ attribution, sent } = recordedCalls())
})

/** Calls an API that answers so. */
const call = (
  answer: Response | Error | ((init?: RequestInit) => Promise<Response>),
  init: RequestInit = {},
  url = CHATS,
) => {
  const original = async (_: unknown, given?: RequestInit) => {
    if (answer instanceof Error) throw answer
    return typeof answer === 'function' ? answer(given) : answer
  }
  return attribution.fetch({}, original as typeof fetch)(url, { method: 'POST', body: BODY, ...init })
}

const EVENTS = { headers: { 'content-type': 'text/event-stream' } }
const eventOf = (data: object) => encoder.encode(`data: ${JSON.stringify(data)}\n\n`)
/** A stream that counts how often it was asked for more. */
function source(chunks: readonly Uint8Array[], end: (controller: ReadableStreamDefaultController) => void) {
  const seen = { pulls: 0, cancelled: undefined as unknown }
  const left = [...chunks]
  const stream = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        seen.pulls++
        const next = left.shift()
        if (next === undefined) end(controller)
        else controller.enqueue(next)
      },
      cancel(reason) {
        seen.cancelled = reason
      },
    },
    { highWaterMark: 0 },
  )
  return { seen, response: new Response(stream, EVENTS) }
}
const PARTS = [
  eventOf({ id: 'chatcmpl-1', model: 'gpt-4o', choices: [{ index: 0 }] }),
  eventOf({ choices: [{}], usage }),
]
const close = (controller: ReadableStreamDefaultController) => controller.close()

describe('the record of a call', () => {
  test('is made when its caller has the answer, of the counts as they came', async () => {
    const made = vi.spyOn(crypto, 'randomUUID')
    const answer = (await (await call(Response.json(CHAT))).json()) as typeof CHAT
    answer.usage.prompt_tokens = 99
    expect(made).not.toHaveBeenCalled()

    await setImmediate()

    expect(made).toHaveBeenCalledTimes(1)
    made.mockRestore()
    expect(await recorded()).toMatchObject([{ provider_usage: usage }])
  })

  test('waits for no turn where there is none, and for few others', async () => {
    const turn = vi.spyOn(globalThis, 'setImmediate')
    const made = vi.spyOn(crypto, 'randomUUID')
    for (let i = 0; i < 250; i++) await (await call(Response.json(CHAT))).json()
    expect([turn.mock.calls.length, made.mock.calls.length]).toEqual([3, 200])
    vi.restoreAllMocks()
    onTestFinished(() => void vi.unstubAllGlobals())
    vi.stubGlobal('setImmediate', undefined)
    await (await call(Response.json(CHAT))).json()

    expect(attribution.counts).toMatchObject({ recorded: 251, waiting: 251 })
  })
})

describe('a response', () => {
  test('stays the same object with the same values, whichever way it is read', async () => {
    for (const read of ['json', 'text', 'arrayBuffer', 'blob'] as const) {
      const original = Response.json(CHAT)
      const response = await call(original)
      expect(response).toBe(original)
      expect(await response[read]()).toEqual(await Response.json(CHAT)[read]())
      expect(response.bodyUsed).toBe(true)
    }
    const whole = await call(Response.json(CHAT))
    expect(whole.body).toBe(whole.body)
    expect(await new Response(whole.body).json()).toEqual(CHAT)
    expect(await recorded()).toHaveLength(5)
    expect(new Set(sent.map((each) => JSON.stringify(each['provider_usage'])))).toEqual(
      new Set([JSON.stringify(usage)]),
    )
  })

  test('has no members of its own, which would keep it in memory, and lets its caller set some', async () => {
    const [first, second] = [await call(Response.json(CHAT)), await call(Response.json(CHAT))]
    expect(Object.getPrototypeOf(first)).toBe(Object.getPrototypeOf(second))
    expect([first instanceof Response, Object.keys(first), inspect(first)]).toEqual([true, [], expect.any(String)])
    const read = first.json.bind(first)
    Object.assign(first, { json: async () => ({ own: await read() }) })

    expect([await first.json(), await second.json()]).toEqual([{ own: CHAT }, CHAT])
    expect(await recorded()).toHaveLength(2)
  })

  test('is recorded once with all its copies', async () => {
    const response = await call(Response.json(CHAT))
    const copy = response.clone()
    expect([await copy.json(), await response.text()]).toEqual([CHAT, JSON.stringify(CHAT)])
    expect(await recorded()).toHaveLength(1)
  })

  test('is read only when its reader asks, and no faster', async () => {
    const { seen, response } = source(PARTS, close)
    const reader = (await call(response)).body?.getReader()
    expect(seen.pulls).toBe(0)
    expect((await reader?.read())?.value).toBe(PARTS[0])
    expect(seen.pulls).toBe(1)
    await reader?.read()
    expect(seen.pulls).toBe(2)
    expect(attribution.counts.recorded).toBe(0)
    expect((await reader?.read())?.done).toBe(true)
    expect(attribution.counts.recorded).toBe(1)
  })

  test('that its reader leaves is recorded at once, and its source is cancelled for the same reason', async () => {
    const { seen, response } = source(PARTS, close)
    const reader = (await call(response)).body?.getReader()
    await reader?.read()
    await reader?.cancel('enough')

    expect(seen.cancelled).toBe('enough')
    expect(attribution.counts.recorded).toBe(1)
    expect(await recorded()).toMatchObject([
      { served_model: 'gpt-4o', response_id: 'chatcmpl-1', outcome: 'cancelled' },
    ])
  })

  test('that is only read by its body is no unread one', async () => {
    const begun = async () => (await call(source(PARTS, close).response)).body?.getReader()
    const reader = await begun()
    await reader?.read()
    await attribution.flush()
    await collectedUntil(() => attribution.counts.recorded > 0, 5)
    while ((await reader?.read())?.done !== true);

    expect(await recorded()).toMatchObject([{ provider_usage: usage, outcome: 'success' }])
  })

  test('whose body is read, or was, says so, and fails as without the library', async () => {
    const asked = { id: 'c', choices: [], usage }
    for (const body of [BODY, STREAMED]) {
      const begun = () => call(source([...PARTS, eventOf(asked)], close).response, { body })
      const read = await begun()
      await read.text()
      expect([read.bodyUsed, read.body?.locked]).toEqual([true, true])
      expect(() => read.body?.getReader()).toThrow(TypeError)
      expect(() => new Response(read.body)).toThrow(TypeError)
      const looped = await begun()
      for await (const _ of looped.body ?? []);
      const left = await begun()
      const reader = left.body?.getReader()
      await reader?.read()
      for (const response of [read, looped, left]) await expect(response.text()).rejects.toThrow(TypeError)
      while (!(await reader?.read())?.done);
      reader?.releaseLock()
      await expect(left.text()).rejects.toThrow(TypeError)
    }

    expect(await recorded()).toMatchObject(Array(6).fill({ outcome: 'success', provider_usage: usage }))
  })

  test('keeps the type of its content, whether or not it was asked for its usage', async () => {
    const types = []
    for (const body of [BODY, STREAMED])
      types.push((await (await call(source(PARTS, close).response, { body })).blob()).type)

    expect(types).toEqual(['text/event-stream', 'text/event-stream'])
  })

  test('that nobody reads is recorded as cancelled once it is collected', async () => {
    await call(source(PARTS, close).response)
    await attribution.flush()
    await collectedUntil(() => attribution.counts.recorded > 0)

    expect(await recorded()).toMatchObject([{ requested_model: 'gpt-4o', outcome: 'cancelled' }])
  })

  test('that nobody reads, nor its copy, is recorded as cancelled once both are collected', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const begun = async () => void (await call(source(PARTS, close).response)).clone()
    await begun()
    // Nothing else is to be sent.
    await vi.advanceTimersByTimeAsync(1_000)
    await collectedUntil(() => attribution.counts.recorded > 0)

    expect(await recorded()).toMatchObject([{ requested_model: 'gpt-4o', outcome: 'cancelled' }])
  })

  test('that breaks off throws the same, and is recorded with what is known', async () => {
    const cause = new Error('cut')
    const { response } = source(PARTS, (controller) => controller.error(cause))
    await expect((await call(response)).text()).rejects.toBe(cause)
    expect(await recorded()).toMatchObject([{ requested_model: 'gpt-4o', outcome: 'error' }])
  })

  test('whose request is aborted is recorded at once, also when nobody reads it', async () => {
    const controller = new AbortController()
    const { response } = source(PARTS, close)
    await call(response, { signal: controller.signal })
    controller.abort()
    expect(await recorded()).toMatchObject([{ requested_model: 'gpt-4o', outcome: 'cancelled' }])
  })

  test('of a stream without any usage is recorded, and of a whole answer without any is not', async () => {
    await (await call(source([eventOf({ id: 'c', choices: [{}] })], close).response)).text()
    await (await call(Response.json({ id: 'modr-1', model: 'omni-moderation-latest', results: [] }))).json()
    await (await call(new Response('sound', { headers: { 'content-type': 'audio/mpeg' } }))).arrayBuffer()
    expect(await recorded()).toMatchObject([{ outcome: 'success', response_id: 'c' }])
  })

  test('that is fetched again is recorded where it was created without usage, as one event', async () => {
    const get = { method: 'GET', body: null }
    const url = 'https://api.openai.com/v1/responses/resp_1'
    const response = { id: 'resp_1', object: 'response', background: false, usage }
    const batch = { id: 'batch_1', object: 'batch', status: 'completed', model: 'gpt-4o', usage }
    await (await call(Response.json({ ...batch, status: 'in_progress' }), get, url)).json()
    for (const answer of [response, { ...response, background: true }, { ...response, background: true }, batch]) {
      await (await call(Response.json(answer), get, url)).json()
    }
    const [one, again, third] = await recorded()

    expect(sent).toHaveLength(3)
    expect(one?.['event_id']).toBe(again?.['event_id'])
    expect(third).toMatchObject({ response_id: 'batch_1', service_tier: 'batch' })
  })

  test('that is changed later is no new call, whatever usage its answer states', async () => {
    const url = `${CHATS}/chatcmpl-1`
    await (await call(Response.json(CHAT), { body: '{"metadata":{"model":"x","input":"y"}}' }, url)).json()
    expect(await recorded()).toEqual([])
    const create = { body: '{"prompt":{"id":"pmpt_1"}}' }
    await (await call(Response.json(CHAT), create, 'https://api.openai.com/v1/responses')).json()
    expect(await recorded()).toHaveLength(1)
  })

  test('with the results of a batch is a call for each line', async () => {
    const line = (id: string) => ({
      custom_id: id,
      result: { type: 'succeeded', message: { id, model: 'claude', usage } },
    })
    const lines = `${JSON.stringify(line('msg_1'))}\n${JSON.stringify({ result: { type: 'expired' } })}\n${JSON.stringify(line('msg_2'))}\n`
    const file = new Response(lines, { headers: { 'content-type': 'application/x-jsonl' } })
    const url = 'https://api.anthropic.com/v1/messages/batches/b/results'
    expect(await (await call(file, { method: 'GET', body: null }, url)).text()).toBe(lines)
    expect(await recorded()).toMatchObject([{ response_id: 'msg_1', provider: 'anthropic' }, { response_id: 'msg_2' }])
  })
})

test('a stream in the background that is left counts when its answer is fetched', async () => {
  const response = { id: 'resp_1', object: 'response', background: true, model: 'gpt-5' }
  const begun = eventOf({ type: 'response.created', response: { ...response, status: 'queued', usage: null } })
  const reader = (await call(source([begun, begun], close).response)).body?.getReader()
  await reader?.read()
  await reader?.cancel()
  expect(attribution.counts.recorded).toBe(0)

  const done = { ...response, status: 'completed', usage }
  await (
    await call(Response.json(done), { method: 'GET', body: null }, 'https://api.openai.com/v1/responses/resp_1')
  ).json()
  expect(await recorded()).toMatchObject([{ response_id: 'resp_1', provider_usage: usage }])
})

test('a cut stream whose request is no text is known by its answer', async () => {
  const request = new Request(CHATS, { method: 'POST', body: STREAMED })
  const fetching = attribution.fetch({}, async () => source(PARTS, close).response)
  const reader = (await fetching(request)).body?.getReader()
  await reader?.read()
  await reader?.cancel()
  expect(await recorded()).toMatchObject([{ requested_model: 'gpt-4o', outcome: 'cancelled' }])
})

test("a stream of Amazon's own form is a call without counts", async () => {
  const file = new Response('binary', { headers: { 'content-type': 'application/vnd.amazon.eventstream' } })
  expect(await (await call(file)).text()).toBe('binary')
  expect(await recorded()).toMatchObject([{ requested_model: 'gpt-4o', outcome: 'success' }])
})

describe('a response of node-fetch, whose body is a stream of Node', () => {
  /** As the package has it: its reads take the stream itself. */
  const nodeResponse = (parts: readonly Uint8Array[], status = 200) => {
    const body = Readable.from(parts.map((part) => Buffer.from(part)))
    const text = () => new Response(body as never).text()
    class NodeResponse {
      readonly status = status
      readonly ok = status === 200
      readonly headers = new Headers({ 'content-type': 'text/event-stream' })
      text = text
      clone = () => nodeResponse(parts, status)
      get body() {
        return body
      }
    }
    return new NodeResponse() as unknown as Response
  }
  const [first, second] = PARTS as [Uint8Array, Uint8Array]
  const asked = [first, eventOf({ choices: [], usage }), encoder.encode('data: [DONE]\n\n')]
  const unasked = `${Buffer.from(first)}data: [DONE]\n\n`

  test('passes on what its caller asked for, as it asked for it', async () => {
    const halves = asked.flatMap((part) => [part.slice(0, 9), part.slice(9)])
    let text = ''
    for await (const chunk of (await call(async () => nodeResponse(halves), { body: STREAMED })).body ?? []) {
      expect(Buffer.isBuffer(chunk)).toBe(true)
      text += chunk
    }
    expect(text).toBe(unasked)
    expect(await (await call(async () => nodeResponse(asked), { body: STREAMED })).text()).toBe(unasked)
    for await (const chunk of (await call(nodeResponse([second]))).body ?? [])
      expect(chunk).toEqual(Buffer.from(second))

    expect(await recorded()).toMatchObject([1, 2, 3].map(() => ({ provider_usage: usage, outcome: 'success' })))
  })

  test('is asked again without the question that its provider refuses', async () => {
    const answers = [nodeResponse([encoder.encode('stream_options')], 400), nodeResponse([first])]
    const url = 'https://refusing.test/v1/chat/completions'
    const response = await call(async () => answers.shift() as Response, { body: STREAMED }, url)
    expect(await response.text()).toBe(`${Buffer.from(first)}`)
  })
})

test('a response that cannot be observed is answered as it is', async () => {
  const frozen = Object.freeze({ ok: true, headers: new Headers(), json: async () => CHAT })
  const response = await call(frozen as unknown as Response)
  expect(response).toBe(frozen)
  expect(await response.json()).toBe(CHAT)
})

describe('a request', () => {
  test('that fails throws the same; what the provider refused, or never got, costs nothing', async () => {
    const refused = new TypeError('fetch failed', { cause: Object.assign(new Error(), { code: 'ECONNREFUSED' }) })
    await expect(call(refused)).rejects.toBe(refused)
    await call(new Response('{"error":{}}', { status: 429 }))
    expect(await recorded()).toEqual([])

    const reset = new TypeError('fetch failed', { cause: Object.assign(new Error(), { code: 'ECONNRESET' }) })
    await expect(call(reset)).rejects.toBe(reset)
    const late = new DOMException('late', 'TimeoutError')
    await expect(call(late)).rejects.toBe(late)
    expect(await recorded()).toMatchObject([{ outcome: 'error' }, { outcome: 'cancelled' }])
  })

  test('is sent again as it was where a provider refuses to be asked for usage, which is then not asked', async () => {
    const bodies: unknown[] = []
    const strict = async (init?: RequestInit): Promise<Response> => {
      bodies.push(init?.body)
      if (String(init?.body).includes('stream_options')) {
        return Response.json({ detail: 'extra fields not permitted: stream_options' }, { status: 422 })
      }
      return source([eventOf({ choices: [] })], close).response
    }
    for (let i = 0; i < 2; i++)
      await (await call(strict, { body: STREAMED }, 'https://strict.test/v1/chat/completions')).text()

    expect(bodies.map((body) => body === STREAMED)).toEqual([false, true, true])
    expect(await recorded()).toHaveLength(2)
  })

  test('is not changed where the setting says so', async () => {
    const quiet = new Attribution({ baseUrl: 'http://service.test', apiKey: 'k', asksForUsage: false })
    const bodies: unknown[] = []
    const fetching = quiet.fetch({}, async (_, init) => {
      bodies.push(init?.body)
      return Response.json(CHAT)
    })
    await fetching(CHATS, { method: 'POST', body: STREAMED })
    expect(bodies).toEqual([STREAMED])
  })

  test('to Cohere has a stream whose last event states the usage', async () => {
    const usage = { billed_units: { input_tokens: 3, output_tokens: 6 }, tokens: { input_tokens: 69 } }
    const events = [
      { id: 'c1', type: 'message-start', delta: { message: { role: 'assistant' } } },
      { type: 'content-delta', index: 0, delta: { message: { content: { text: 'hello' } } } },
      { type: 'message-end', delta: { finish_reason: 'COMPLETE', usage } },
    ].map(eventOf)
    const body = JSON.stringify({ model: 'command-a-03-2025', stream: true, messages: [] })
    const reader = (
      await call(source(events, close).response, { body }, 'https://api.cohere.com/v2/chat')
    ).body?.getReader()
    for (const event of events) expect((await reader?.read())?.value).toBe(event)
    await reader?.cancel()

    expect(await recorded()).toMatchObject([
      {
        provider: 'cohere',
        requested_model: 'command-a-03-2025',
        response_id: 'c1',
        provider_usage: usage,
        outcome: 'success',
      },
    ])
  })

  test("is recorded once by Google's client, whose method or fetch is ours", async () => {
    const more: unknown[] = []
    const inner = attribution.fetch({}, async () => Response.json(CHAT))
    const clientWith = (fetching: unknown) => {
      const apiCall = (url: string, init: RequestInit, ...rest: unknown[]) => {
        more.push(...rest)
        return fetching === inner ? inner(url, init) : Promise.resolve(Response.json(CHAT))
      }
      return attribution.wrap({ apiClient: { apiCall, getFetch: () => fetching } })
    }
    for (const client of [clientWith(inner), attribution.wrap(clientWith(undefined))]) {
      await (await client.apiClient.apiCall(CHATS, { method: 'POST', body: BODY }, { attempts: 2 }, 9)).json()
    }

    expect(more).toEqual([{ attempts: 2 }, 9, { attempts: 2 }, 9])
    expect(await recorded()).toHaveLength(2)
  })

  test('has the context of the last wrap, and what that leaves out from the one before', async () => {
    const client = { fetch: (async () => Response.json(CHAT)) as typeof fetch }
    attribution.wrap(client, { service: 'search', identity: 'ann' })
    const copy = attribution.wrap({ ...client }, { service: 'chat' })
    for (const { fetch } of [copy, attribution.wrap(client)])
      await (await fetch(CHATS, { method: 'POST', body: BODY })).json()

    expect(await recorded()).toMatchObject([
      { attributed_service: 'chat', attributed_identity: 'ann' },
      { attributed_service: 'search', attributed_identity: 'ann' },
    ])
  })

  test('is made by the client itself, as without the library', async () => {
    const client = {
      origin: 'https://api.openai.com',
      async fetch(this: { origin: string }) {
        return Response.json({ ...CHAT, origin: this.origin })
      },
    }
    const { fetch } = attribution.wrap(client) as unknown as { fetch: typeof globalThis.fetch }
    const response = await fetch.call(client as never, CHATS, { method: 'POST', body: BODY })
    expect(await response.json()).toMatchObject({ origin: 'https://api.openai.com' })
  })

  test('whose body or address is of an odd form is passed on as it is', async () => {
    const seen: unknown[] = []
    const fetching = attribution.fetch({}, async (input, init) => {
      seen.push(input, init)
      return new Response(null, { status: 204 })
    })
    const form = { method: 'POST', body: new FormData() }
    for (const [input, init] of [
      ['/relative', undefined],
      [CHATS, form],
    ] as const)
      await fetching(input, init)
    expect(seen).toEqual(['/relative', undefined, CHATS, form])
  })
})

describe('who sold a call', () => {
  const seller = async (url: string, model: string, headers: Record<string, string> = {}) => {
    const body = JSON.stringify({ model, messages: [] })
    await (await call(Response.json({ id: 'x', usage }, { headers }), { body }, url)).json()
    return (await recorded()).at(-1)?.['provider']
  }

  test('is known by the host, by the headers of a gateway, or by the model', async () => {
    expect(await seller('https://corp.openai.azure.com/openai/deployments/d/chat/completions', 'd')).toBe('azure')
    expect(await seller('http://127.0.0.1:8787/v1/chat/completions', 'm', { 'x-portkey-provider': 'anthropic' })).toBe(
      'anthropic',
    )
    const base = { 'x-litellm-model-api-base': 'https://api.mistral.ai/v1' }
    expect(await seller('http://litellm:4000/v1/chat/completions', 'fast', base)).toBe('mistral')
    const local = { 'x-litellm-model-api-base': 'http://ollama:11434' }
    expect(await seller('http://litellm:4000/v1/chat/completions', 'my-llama', local)).toBe('unknown')
    expect(await seller('http://proxy/v1/chat/completions', 'claude-haiku-4-5')).toBe('anthropic')
    expect(await seller('http://proxy/v1/chat/completions', 'azure/gpt-5')).toBe('azure')
    expect(await seller('http://proxy/v1/chat/completions', 'team-a/gpt-5')).toBe('openai')
    expect(await seller('http://proxy/v1/chat/completions', 'meta-llama/llama-3')).toBe('unknown')
    expect(await seller('http://vllm:8000/v1/chat/completions', 'my-llama')).toBe('unknown')
  })

  test('is known beside what a gateway says of cost, call and cache', async () => {
    const answer = (headers: Record<string, string>, more = {}) =>
      call(Response.json({ ...CHAT, ...more }, { headers }))
    await (await answer({ 'x-litellm-call-id': 'call-1', 'x-litellm-response-cost': '0.00021779999999999998' })).json()
    await (await answer({ 'x-litellm-cache-key': 'k', 'x-litellm-response-cost': '0.0' })).json()
    await (await answer({ 'apim-request-id': 'apim-1' })).json()
    const routed = { ...usage, cost: 1.5e-7, is_byok: false }
    await (
      await call(Response.json({ ...CHAT, usage: routed }), {}, 'https://openrouter.ai/api/v1/chat/completions')
    ).json()

    expect(await recorded()).toMatchObject([
      { request_id: 'call-1', estimated_cost_usd: '0.0002178' },
      { served_from_cache: true },
      { request_id: 'apim-1' },
      { provider: 'openrouter', estimated_cost_usd: '0.00000015' },
    ])
    expect(sent[1]).not.toHaveProperty('estimated_cost_usd')
  })
})
