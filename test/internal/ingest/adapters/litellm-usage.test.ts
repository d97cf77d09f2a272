import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { eventOf, eventOfRow } from './litellm-events.js'
import { litellmPayload } from './litellm-payload.js'

/** The counts of LiteLLM's payloads, by version and provider. */

const of = (fields: Record<string, unknown>, usage_object: object | null) =>
  eventOf(litellmPayload({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, ...fields }, { usage_object }))

describe('Bedrock from April to October 2025: the prompt has what was read from the cache, and not what was written', () => {
  const bedrock = (read: number, written: number, fresh: number, output: number) => ({
    custom_llm_provider: 'bedrock',
    model: 'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
    prompt_tokens: fresh + read,
    completion_tokens: output,
    total_tokens: fresh + read + written + output,
    usage: {
      prompt_tokens: fresh + read,
      completion_tokens: output,
      total_tokens: fresh + read + written + output,
      prompt_tokens_details: { cached_tokens: read },
      cache_read_input_tokens: read,
      cache_creation_input_tokens: written,
    },
  })

  test('the total tells', () => {
    const { usage, ...fields } = bedrock(5000, 800, 200, 100)
    const counts = { input_tokens: 6000, cached_input_tokens: 5000, cache_write_tokens: 800, output_tokens: 100 }
    expect(of(fields, usage)).toMatchObject(counts)
    const row = { ...fields, total_tokens: '6100', prompt_tokens: '5200', completion_tokens: '100', request_id: 'x' }
    expect(eventOfRow({ ...row, metadata: JSON.stringify({ usage_object: usage }) })).toMatchObject(counts)
  })

  test('of whatever counts', () => {
    const count = fc.integer({ min: 1, max: 100_000 })
    fc.assert(
      fc.property(count, count, count, count, (read, written, fresh, output) => {
        const { usage, ...fields } = bedrock(read, written, fresh, output)
        const { total_tokens: _, ...beside } = fields
        for (const payload of [fields, beside]) {
          expect(of(payload, usage)).toMatchObject({ input_tokens: fresh + read + written, output_tokens: output })
        }
      }),
    )
  })

  test('of later versions the prompt has both', () => {
    const { usage, ...fields } = bedrock(5000, 800, 200, 100)
    const later = { ...usage, prompt_tokens: 6000 }
    expect(of({ ...fields, prompt_tokens: 6000 }, later)).toMatchObject({ input_tokens: 6000 })
  })
})

test("OpenAI's cache writes are a part of the input, under either name", () => {
  const details = [
    { cache_write_tokens: 18011 },
    { cache_creation_tokens: 18011 },
    { cached_tokens: 0, cache_write_tokens: 18011 },
  ]
  for (const prompt_tokens_details of details) {
    const event = of({ prompt_tokens: 18014, completion_tokens: 20, total_tokens: 18034 }, { prompt_tokens_details })
    expect(event).toMatchObject({ input_tokens: 18014, cache_write_tokens: 18011, output_tokens: 20 })
    expect(event).not.toHaveProperty('cached_input_tokens')
  }
})

test('audio that was read from the cache is counted apart from text', () => {
  const usage = {
    prompt_tokens_details: {
      cached_tokens: 500,
      text_tokens: 300,
      audio_tokens: 700,
      cached_tokens_details: { text_tokens: 100, audio_tokens: 400, image_tokens: 0 },
    },
    completion_tokens_details: { audio_tokens: 100, text_tokens: 0 },
  }
  expect(of({ prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 }, usage)).toMatchObject({
    input_tokens: 1000,
    cached_input_tokens: 500,
    audio_input_tokens: 700,
    cached_audio_input_tokens: 400,
    audio_output_tokens: 100,
  })
})

test('what Google Search put into a prompt is not billed, what other tools did is in it', () => {
  const usage = { prompt_tokens_details: { tool_use_tokens: 700 } }
  expect(of({ prompt_tokens: 50, completion_tokens: 20, total_tokens: 770 }, usage)).toMatchObject({ input_tokens: 50 })
  const fetched = of({ prompt_tokens: 750, completion_tokens: 20, total_tokens: 770 }, usage)
  expect(fetched).toMatchObject({ input_tokens: 750, output_tokens: 20 })
  expect(fetched).not.toHaveProperty('alternative_input_tokens')
})

test('0 and 0 say nothing, 0 beside a count does', () => {
  const nothing = of({ call_type: 'atext_to_speech' }, { prompt_tokens: 0, completion_tokens: 0 })
  expect(nothing).not.toHaveProperty('input_tokens')
  expect(nothing).not.toHaveProperty('output_tokens')
  expect(of({ prompt_tokens: 1067, total_tokens: 1067 }, null)).toMatchObject({ input_tokens: 1067, output_tokens: 0 })
})

test('a call without tokens is billed by what it has', () => {
  expect(of({}, { type: 'duration', seconds: 12.5 })).toMatchObject({ billed_units: { seconds: '12.5' } })
  expect(of({}, { output_image_count: 2, prompt_tokens: 0 })).toMatchObject({ billed_units: { images: '2' } })
  expect(of({}, { pages_processed: 3 })).toMatchObject({ billed_units: { pages: '3' } })
  const priced = of({ prompt_tokens: 50, completion_tokens: 1056, total_tokens: 1106 }, { output_image_count: 1 })
  expect(priced).not.toHaveProperty('billed_units')
})

test('reranks and OCR state what they are billed by in their answers', () => {
  const reranked = {
    response: { id: 'r-1', meta: { api_version: { version: '2' }, billed_units: { search_units: 2 } } },
  }
  expect(of(reranked, {})).toMatchObject({ billed_units: { search_units: '2' } })
  const recognized = { response: { usage_info: { pages_processed: 29, doc_size_bytes: null } } }
  expect(of(recognized, {})).toMatchObject({ billed_units: { pages: '29' } })
  expect(of({ ...recognized, prompt_tokens: 5, total_tokens: 5 }, {})).not.toHaveProperty('billed_units')
})

describe('the provider and the region', () => {
  const names = (fields: Record<string, unknown>, usage: object = {}) => {
    const { provider, region, assumptions } = of({ prompt_tokens: 5, total_tokens: 5, ...fields }, usage)
    return [provider, region, assumptions]
  }

  test.each([
    ['azure', {}, ['azure.ai.openai', undefined, undefined]],
    [
      'bedrock',
      { api_base: 'https://bedrock-runtime.eu-central-1.amazonaws.com/model/x' },
      ['aws.bedrock', 'eu-central-1', undefined],
    ],
    [
      'vertex_ai',
      { cost_breakdown: { vertex_location: 'europe-west4' } },
      ['gcp.vertex_ai', 'europe-west4', undefined],
    ],
    ['vertex_ai', { cost_breakdown: { vertex_location: 'global' } }, ['gcp.vertex_ai', undefined, undefined]],
    // LiteLLM's `openai` is any server that speaks its API.
    ['openai', { api_base: 'https://api.deepseek.com/v1' }, ['deepseek', undefined, 'provider_from_host']],
    ['hosted_vllm', { api_base: 'http://10.0.0.7:8000/v1' }, ['hosted_vllm', undefined, undefined]],
    [null, { model: 'azure/dep-mini', api_base: null }, ['azure.ai.openai', undefined, 'provider_from_model']],
  ])('%s, %j', (custom_llm_provider, fields, expected) => {
    expect(names({ custom_llm_provider, ...fields })).toEqual(expected)
  })

  test('Anthropic states the geography of a call', () => {
    expect(names({ custom_llm_provider: 'anthropic', model: 'claude-sonnet-4-5' }, { inference_geo: 'us' })[1]).toBe(
      'us',
    )
    expect(names({ custom_llm_provider: 'anthropic' }, { inference_geo: 'not_available' })[1]).toBeUndefined()
  })
})
