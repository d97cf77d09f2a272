import Anthropic from '@anthropic-ai/sdk'
import type { Stream } from '@anthropic-ai/sdk/core/streaming'
import { expectTypeOf, test } from 'vitest'
import { Attribution } from '../../../internal/sdk/attribution.js'

/** The compiler checks these: they call nothing. */

const attribution = new Attribution({ baseUrl: 'http://service.test', apiKey: 'k' })
const client = attribution.wrap(new Anthropic({ apiKey: 'k' }), { service: 'search' })
const asked = { model: 'claude-sonnet-4-6', max_tokens: 1, messages: [] }

test('a wrapped client of Anthropic has the type of its class', () => {
  expectTypeOf(client).toEqualTypeOf<Anthropic>()
  expectTypeOf(() => attribution.wrap(client.withOptions({ timeout: 1 }))).returns.toEqualTypeOf<Anthropic>()
  expectTypeOf(() => attribution.wrapAnthropic(client)).returns.toEqualTypeOf<Anthropic>()
})

test('its methods take and give what they do unwrapped', () => {
  type Message = Anthropic.Message
  type Event = Anthropic.RawMessageStreamEvent
  expectTypeOf(() => client.messages.create(asked)).returns.resolves.toExtend<Message>()
  expectTypeOf(() => client.messages.create({ ...asked, stream: true })).returns.resolves.toExtend<Stream<Event>>()
  expectTypeOf(() => client.messages.create(asked).asResponse()).returns.resolves.toEqualTypeOf<Response>()
  expectTypeOf(() => client.messages.stream(asked).finalMessage()).returns.resolves.toExtend<Message>()
  expectTypeOf(() =>
    client.messages.batches.create({ requests: [] }),
  ).returns.resolves.toExtend<Anthropic.Messages.MessageBatch>()
  // @ts-expect-error as unwrapped: a message needs a limit
  expectTypeOf(() => client.messages.create({ model: 'm', messages: [] })).returns.not.toBeAny()
})
