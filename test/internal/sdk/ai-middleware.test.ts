import { beforeEach, expect, test, vi } from 'vitest'
import type { Attribution } from '../../../internal/sdk/attribution.js'
import { collectedUntil } from '../../support/collected.js'
import { recordedCalls } from '../../support/recorded-calls.js'

let sent: Record<string, unknown>[]
let attribution: Attribution
beforeEach(() => {
  ;({ attribution, sent } = recordedCalls())
})

const model = { provider: 'openai.chat', modelId: 'gpt-4o' }
const usage = { prompt_tokens: 3, completion_tokens: 2 }
const RAW = { type: 'raw', rawValue: { id: 'chatcmpl-1', model: 'gpt-4o-2024-08-06', usage } }
const PARTS = [{ type: 'text-delta', delta: 'hi' }, RAW, { type: 'finish', usage: { inputTokens: 3, outputTokens: 2 } }]
const streamOf = (parts: readonly object[]) => async () => ({
  stream: ReadableStream.from(parts) as ReadableStream<object>,
})

function abortable() {
  const controller = new AbortController()
  return { signal: controller.signal, abort: () => controller.abort() }
}

async function streamed(params: object, parts: readonly object[], count = Number.POSITIVE_INFINITY) {
  const middleware = attribution.middleware()
  const asked = await middleware.transformParams({ type: 'stream', params })
  const { stream } = await middleware.wrapStream({ doStream: streamOf(parts), params: asked, model })
  const seen: object[] = []
  for await (const part of stream) {
    seen.push(part)
    if (seen.length === count) break
  }
  await attribution.flush()
  return { asked, seen }
}

test("a stream states the provider's own usage, in parts that its caller does not see", async () => {
  const { asked, seen } = await streamed({}, PARTS)

  expect(asked).toEqual({ includeRawChunks: true })
  expect(seen).toEqual([PARTS[0], PARTS[2]])
  expect(sent).toMatchObject([
    { provider: 'openai.chat', requested_model: 'gpt-4o', served_model: 'gpt-4o-2024-08-06', provider_usage: usage },
  ])
})

test('parts that its caller asks for stay', async () => {
  expect((await streamed({ includeRawChunks: true }, PARTS)).seen).toEqual(PARTS)
})

test('a stream that is left is recorded with what is known', async () => {
  await streamed({}, [{ type: 'response-metadata', id: 'chatcmpl-2', modelId: 'm' }, ...PARTS], 2)

  expect(sent).toMatchObject([{ outcome: 'cancelled', response_id: 'chatcmpl-2', served_model: 'm' }])
  expect(sent[0]).not.toHaveProperty('provider_usage')
})

test('a stream that is aborted is recorded at once: the AI SDK does not cancel it', async () => {
  const { signal, abort } = abortable()
  const [first] = PARTS as [object]
  const stream = new ReadableStream<object>({ start: (controller) => controller.enqueue(first) })
  const params = { abortSignal: signal }
  const result = await attribution.middleware().wrapStream({ doStream: async () => ({ stream }), params, model })
  const reader = result.stream.getReader()
  await reader.read()
  abort()
  await attribution.flush()
  expect(sent).toMatchObject([{ outcome: 'cancelled', requested_model: 'gpt-4o' }])

  await reader.cancel()
  await attribution.flush()
  expect(sent).toHaveLength(1)
})

test('a stream that breaks off throws the same, and says whether it was aborted', async () => {
  for (const cause of [new DOMException('late', 'TimeoutError'), new Error('cut')]) {
    const stream = new ReadableStream<object>({ pull: (controller) => controller.error(cause) })
    const result = await attribution.middleware().wrapStream({ doStream: async () => ({ stream }), params: {}, model })
    await expect(result.stream.getReader().read()).rejects.toBe(cause)
  }
  await attribution.flush()

  expect(sent).toMatchObject([{ outcome: 'cancelled' }, { outcome: 'error' }])
})

test('a signal outlives the calls that it could have aborted, and holds none of them', async () => {
  const { signal, abort } = abortable()
  const [added, removed] = [vi.spyOn(signal, 'addEventListener'), vi.spyOn(signal, 'removeEventListener')]
  await streamed({ abortSignal: signal }, PARTS)
  abort()
  await attribution.flush()

  expect(sent).toMatchObject([{ outcome: 'success' }])
  expect(added).toHaveBeenCalledTimes(1)
  expect(removed.mock.calls.map(([, listener]) => listener)).toEqual(added.mock.calls.map(([, listener]) => listener))
})

test('a stream that nobody reads is recorded as cancelled once it is collected', async () => {
  await attribution.middleware().wrapStream({ doStream: streamOf(PARTS), params: {}, model })
  await collectedUntil(() => attribution.counts.recorded > 0)
  await attribution.flush()

  expect(sent).toMatchObject([{ outcome: 'cancelled', requested_model: 'gpt-4o' }])
})

test('a stream that is being read is recorded at its end', async () => {
  const begun = async () => {
    const { stream } = await attribution.middleware().wrapStream({ doStream: streamOf(PARTS), params: {}, model })
    return stream.pipeThrough(new TransformStream()).getReader()
  }
  const reader = await begun()
  await reader.read()
  await collectedUntil(() => attribution.counts.recorded > 0, 5)
  while (!(await reader.read()).done);
  await attribution.flush()

  expect(sent).toMatchObject([{ outcome: 'success', provider_usage: usage }])
})

test('a stream that is open at the end of the process is recorded with what is known, and a failed call is not', async () => {
  const kill = vi.spyOn(process, 'kill')
  const killed = new Promise<void>((resolve) => {
    kill.mockImplementation(() => {
      resolve()
      return true
    })
  })
  const { wrapGenerate, wrapStream } = attribution.middleware()
  const { stream } = await wrapStream({ doStream: streamOf(PARTS), params: {}, model })
  await expect(wrapGenerate({ doGenerate: () => Promise.reject(new Error('no')), model })).rejects.toThrow('no')
  process.emit('SIGTERM', 'SIGTERM')
  await killed
  kill.mockRestore()
  for await (const _ of stream);
  await attribution.flush()

  expect(sent).toMatchObject([{ outcome: 'cancelled', requested_model: 'gpt-4o' }])
})

test('an answer whose provider passes on nothing of its own states what the AI SDK made of it', async () => {
  const usage = { inputTokens: 3, outputTokens: 2, totalTokens: 5 }
  const result = { usage, response: { id: 'x', modelId: 'm', headers: { 'x-request-id': 'r' } } }
  const { wrapGenerate, wrapEmbed } = attribution.middleware()
  expect(await wrapGenerate({ doGenerate: async () => result, model })).toBe(result)
  expect(
    await wrapEmbed({ doEmbed: async () => ({ response: { body: { usage: { prompt_tokens: 9 } } } }), model }),
  ).toBeDefined()
  await attribution.flush()

  expect(sent).toMatchObject([
    { provider_usage: usage, response_id: 'x', request_id: 'r' },
    { provider_usage: { prompt_tokens: 9 } },
  ])
})

test('a failure is thrown as it is, and only what was aborted is recorded', async () => {
  const { wrapGenerate } = attribution.middleware()
  for (const cause of [new Error('no'), new DOMException('stop', 'AbortError')]) {
    await expect(wrapGenerate({ doGenerate: () => Promise.reject(cause), model })).rejects.toBe(cause)
  }
  await attribution.flush()

  expect(sent).toMatchObject([{ outcome: 'cancelled', requested_model: 'gpt-4o' }])
})

test('a model whose provider has our fetch, too, is recorded once', async () => {
  const fetching = attribution.fetch({}, async () => Response.json({ usage }))
  const doGenerate = async () => {
    const response = await fetching('https://api.openai.com/v1/responses', { method: 'POST', body: '{"model":"m"}' })
    return { response: { body: await response.json() } }
  }
  await attribution.middleware().wrapGenerate({ doGenerate, model })
  await attribution.flush()

  expect(sent).toHaveLength(1)
})
