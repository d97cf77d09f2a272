import OpenAI, { type APIPromise, type AzureOpenAI } from 'openai'
import type { Stream } from 'openai/core/streaming'
import type { ChatCompletionStream } from 'openai/lib/ChatCompletionStream'
import { expectTypeOf, test } from 'vitest'
import { Attribution } from '../../../internal/sdk/attribution.js'

/** The compiler checks these: they call nothing. */

const attribution = new Attribution({ baseUrl: 'http://service.test', apiKey: 'k' })
const client = attribution.wrap(new OpenAI({ apiKey: 'k' }), { service: 'search' })
const chat = { model: 'gpt-4o', messages: [] }
const { completions } = client.chat

test('a wrapped client of OpenAI has the type of its class', () => {
  expectTypeOf(client).toEqualTypeOf<OpenAI>()
  expectTypeOf(() => attribution.wrap(client.withOptions({ timeout: 1 }))).returns.toEqualTypeOf<OpenAI>()
  expectTypeOf(() => attribution.wrap({} as AzureOpenAI)).returns.toEqualTypeOf<AzureOpenAI>()
  expectTypeOf(() => attribution.wrapOpenAi(client)).returns.toEqualTypeOf<OpenAI>()
  expectTypeOf(() => attribution.fetch()).returns.toEqualTypeOf<typeof fetch>()
})

test('its methods take and give what they do unwrapped', () => {
  type Chat = OpenAI.ChatCompletion
  type Part = OpenAI.ChatCompletionChunk
  expectTypeOf(() => completions.create(chat)).returns.toEqualTypeOf<APIPromise<Chat>>()
  expectTypeOf(() => completions.create({ ...chat, stream: true })).returns.toEqualTypeOf<APIPromise<Stream<Part>>>()
  expectTypeOf(() => completions.create(chat).asResponse()).returns.resolves.toEqualTypeOf<Response>()
  expectTypeOf(() => completions.create(chat).withResponse())
    .returns.resolves.toHaveProperty('data')
    .toEqualTypeOf<Chat>()
  expectTypeOf(() => completions.parse(chat)).returns.resolves.toExtend<Chat>()
  expectTypeOf(() => completions.stream(chat)).returns.toEqualTypeOf<ChatCompletionStream<null>>()
  expectTypeOf(() =>
    client.responses.create({ model: 'gpt-5', input: 'x' }),
  ).returns.resolves.toExtend<OpenAI.Responses.Response>()
  expectTypeOf(() => client.embeddings.create({ model: 'e', input: 'x' })).returns.toEqualTypeOf<
    APIPromise<OpenAI.CreateEmbeddingResponse>
  >()
  // @ts-expect-error as unwrapped: a chat needs messages
  expectTypeOf(() => completions.create({ model: 'gpt-4o' })).returns.not.toBeAny()
})
