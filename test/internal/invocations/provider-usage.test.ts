import { describe, expect, test } from 'vitest'
import { readUsualText } from '../../../internal/invocations/hot-reader.js'
import { validateInvocation } from '../../../internal/invocations/validate-invocation.js'

const NOW = Date.parse('2026-11-24T12:00:01Z')
const EVENT = {
  event_id: '372e31b3-af26-400a-98ce-da9d74093e8e',
  ingestion_layer: 'sdk',
  ingestion_timestamp: '2026-11-24T12:00:00Z',
  provider: 'anthropic',
  requested_model: 'claude-opus-4-8',
}
const validated = (event: object) => validateInvocation(event, NOW)

const COMPACTED = {
  input_tokens: 23000,
  output_tokens: 1000,
  cache_read_input_tokens: 0,
  cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
  server_tool_use: null,
  service_tier: 'standard',
  iterations: [
    {
      type: 'compaction',
      input_tokens: 180000,
      output_tokens: 3500,
      cache_creation: { ephemeral_1h_input_tokens: 50 },
    },
    { type: 'message', input_tokens: 23000, output_tokens: 1000 },
  ],
}

describe("a provider's own usage object", () => {
  test('becomes the counters of the event, and is not kept', () => {
    const read = validated({ ...EVENT, provider_usage: COMPACTED })
    expect(read).toMatchObject({
      ok: true,
      event: { ...EVENT, input_tokens: 203050, output_tokens: 4500, cache_write_1h_tokens: 50 },
      shape: { members: -1 },
    })
    expect(read.ok && 'provider_usage' in read.event).toBe(false)
  })

  test('fills in what the event does not state', () => {
    const usage = {
      prompt_tokens: 18014,
      prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 18011 },
      completion_tokens: 20,
      total_tokens: 18034,
    }
    const event = { ...EVENT, provider: 'openai', input_tokens: 7, output_tokens: null, provider_usage: usage }
    expect(validated(event)).toMatchObject({
      event: { input_tokens: 7, output_tokens: 20, cache_write_tokens: 18011 },
    })
  })

  test.each([
    ['OpenAI, transcription', { type: 'duration', seconds: 3 }, { seconds: '3' }],
    ['a duration as Python has it', { type: 'duration', seconds: 3.4700000286102295 }, { seconds: '3.47' }],
    ['less than a millionth', { seconds: 4e-7 }, undefined],
    ['Mistral, OCR', { pages_processed: 3, doc_size_bytes: null }, { pages: '3' }],
    ['the same in its answer', { usage_info: { pages_processed: 3 } }, { pages: '3' }],
    ['Cohere, rerank', { billed_units: { search_units: 1 } }, { search_units: '1' }],
    ['Cohere, rerank of its first version', { meta: { billed_units: { search_units: 2 } } }, { search_units: '2' }],
    ['speech', { input_characters: 1200 }, { characters: '1200' }],
    ['DashScope, images', { image_count: 2 }, { images: '2' }],
    ['nothing of it', { input_characters: 0, pages_processed: null }, undefined],
  ])('states what is billed besides tokens: %s', (_, usage, units) => {
    const read = validated({ ...EVENT, provider_usage: usage })
    expect(read.ok && read.event.billed_units).toEqual(units)
    const stated = validated({ ...EVENT, provider_usage: usage, billed_units: { pages: '7' } })
    expect(stated.ok && stated.event.billed_units).toEqual({ pages: '7' })
  })

  test('states units beside tokens', () => {
    const usage = { prompt_audio_seconds: 12, prompt_tokens: 300, completion_tokens: 9, total_tokens: 309 }
    expect(validated({ ...EVENT, provider: 'mistral', provider_usage: usage })).toMatchObject({
      event: { input_tokens: 300, output_tokens: 9, billed_units: { seconds: '12' } },
    })
  })

  test.each([
    ['dashscope', { input_tokens: 1000, output_tokens: 50, characters: 40 }],
    ['cohere', { input_tokens: 10, images: 1 }],
  ])('of %s says by units what its tokens were made of: they are not billed beside them', (provider, usage) => {
    expect(validated({ ...EVENT, provider, provider_usage: usage })).not.toHaveProperty('event.billed_units')
  })

  test.each([
    ['a text that could be content', { input_tokens: 1, note: 'x'.repeat(65) }],
    ['a content key', { input_tokens: 1, prompt: 'hi' }],
    ['a number below 0', { input_tokens: -1 }],
    ['too many members', Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`n${i}`, i]))],
    ['too deep', { a: { b: { c: { d: 1 } } } }],
    ['a text', 'input_tokens'],
  ])('with %s is refused', (_, usage) => {
    const read = validated({ ...EVENT, provider_usage: usage })
    expect(read.ok).toBe(false)
    expect(JSON.stringify(read)).not.toContain('xxx')
  })

  test('says nothing of what no number can count', () => {
    const usage = { input_tokens: Number.MAX_SAFE_INTEGER, cache_read_input_tokens: 9, output_tokens: 1 }
    const read = validated({ ...EVENT, provider_usage: usage })
    expect(read.ok && read.event.input_tokens).toBe(undefined)
  })

  test('leaves the fast reader of usual events', () => {
    const bytes = Buffer.from(JSON.stringify({ ...EVENT, provider_usage: COMPACTED }))
    expect(readUsualText(bytes, 0, bytes.length, NOW)).toBe(undefined)
  })
})
