import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { eventOf, eventOfRow, mapped } from './litellm-events.js'
import { litellmPayload } from './litellm-payload.js'

/** Which payloads of LiteLLM are one purchase, and which are two. */

const idOf = (fields: Record<string, unknown>, metadata = {}) => eventOf(litellmPayload(fields, metadata))['event_id']
const CALL = litellmPayload()['litellm_call_id'] as string
const START = litellmPayload()['startTime'] as number

describe('attempts under one call', () => {
  test('a fallback is another event, and a repeat the same', () => {
    const broken = litellmPayload({ status: 'failure', id: 'chatcmpl-a', response_cost: 0.0095 })
    const fallback = litellmPayload({
      id: 'msg_b',
      custom_llm_provider: 'anthropic',
      model: 'anthropic/claude-sonnet-4-5',
      startTime: START + 3,
      response_cost: 0.0165,
    })
    const [first, second] = [eventOf(broken), eventOf(fallback)]

    expect(second['event_id']).not.toBe(first['event_id'])
    expect(first).toMatchObject({ outcome: 'error', usage_basis: 'partial', operation_id: CALL, request_id: CALL })
    expect(second).toMatchObject({ outcome: 'success', operation_id: CALL, request_id: CALL })
    expect(eventOf(broken)).toEqual(first)
    expect(eventOf(fallback)).toEqual(second)
  })

  test('each draw of attempts and repeats has as many events as attempts', () => {
    const attempt = fc.record({
      call: fc.constantFrom('one', 'one', 'chosen-by-the-caller'),
      startMs: fc.integer({ min: 0, max: 3 }),
      provider: fc.constantFrom('openai', 'anthropic'),
      isFailed: fc.boolean(),
      repeats: fc.integer({ min: 1, max: 3 }),
    })
    fc.assert(
      fc.property(fc.array(attempt, { maxLength: 8 }), fc.func(fc.nat()), (attempts, order) => {
        const payloads = attempts.flatMap(({ call, startMs, provider, isFailed, repeats }) =>
          Array.from({ length: repeats }, () => ({
            litellm_call_id: call,
            id: isFailed ? call : `msg_${startMs}`,
            status: isFailed ? 'failure' : 'success',
            startTime: START + startMs / 1_000,
            custom_llm_provider: provider,
          })),
        )
        const sent = payloads.map((each, place) => ({ each, key: order(place) })).sort((a, b) => a.key - b.key)
        const ids = new Set(sent.map(({ each }) => idOf(each)))

        const distinct = new Set(attempts.map(({ call, startMs, provider }) => `${call} ${startMs} ${provider}`))
        expect(ids.size).toBe(distinct.size)
      }),
    )
  })

  test('the router counts them', () => {
    const headers = { 'x-litellm-attempted-retries': 2, 'x-litellm-attempted-fallbacks': 1 }
    expect(eventOf(litellmPayload({ hidden_params: { additional_headers: headers } }))).toMatchObject({ attempt: 4 })
    expect(eventOf(litellmPayload())).not.toHaveProperty('attempt')
  })

  test('an interaction that ends in the background is not the duplicate of its beginning', () => {
    const begun = {
      call_type: 'acreate_interaction',
      prompt_tokens: 0,
      completion_tokens: 0,
      total_tokens: 0,
      response_cost: 0,
    }
    expect(idOf({ call_type: 'acreate_interaction' })).not.toBe(idOf(begun, { usage_object: {} }))
  })
})

describe('of versions that state no call', () => {
  test('the id of a response counts with its second, since providers repeat it', () => {
    const one = idOf({ litellm_call_id: undefined })
    expect(idOf({ litellm_call_id: undefined, startTime: 1_795_254_600.9 })).toBe(one)
    expect(idOf({ litellm_call_id: undefined, startTime: 1_795_254_601.1 })).not.toBe(one)
  })

  test('a UUID is the id of the call', () => {
    expect(idOf({ litellm_call_id: undefined, id: CALL })).toBe(idOf({}))
  })

  test('the text None, of which Python made an id, is none', () => {
    expect(idOf({ id: 'None' })).toBe(idOf({}))
    expect(mapped(litellmPayload({ litellm_call_id: undefined, id: 'None' })).kind).toBe('rejected')
  })
})

describe('a batch', () => {
  /** As LiteLLM 1.108.7 logs each look at a finished batch. */
  const poll = (call: string, fields = {}) =>
    litellmPayload(
      {
        id: 'batch_fake405',
        litellm_call_id: call,
        call_type: 'aretrieve_batch',
        model: undefined,
        model_group: undefined,
        model_parameters: { model: null },
        prompt_tokens: 3000,
        completion_tokens: 300,
        response_cost: 0.00031499999999999996,
        cost_breakdown: { input_cost: 0.000225, output_cost: 8.999999999999999e-5 },
        hidden_params: { batch_models: ['gpt-4o-mini', 'gpt-4o-mini'], batch_successful_requests: 2 },
        model_map_information: { model_map_key: 'gpt-4o-mini' },
        ...fields,
      },
      { usage_object: { prompt_tokens: 3000, completion_tokens: 300, total_tokens: 3300 } },
    )

  test('is one event, however often it is polled, and by whom', () => {
    const event = eventOf(poll('06d0f440-aa16-4698-9331-3bc6bd5ebd5f'))

    expect(event).toMatchObject({
      requested_model: 'gpt-4o-mini',
      served_model: 'gpt-4o-mini',
      input_tokens: 3000,
      output_tokens: 300,
      service_tier: 'batch',
      estimated_cost_usd: '0.000315',
      response_id: 'batch_fake405',
    })
    const later = poll('98ac794c-837a-4c1e-8ecb-05779e521425', { startTime: START + 86_400 })
    const packed = Buffer.from('litellm_proxy;model_id:1247d52e;llm_batch_id:batch_fake405').toString('base64')
    for (const same of [
      later,
      poll('batch_fake405_batch_cost', { id: 'batch_fake405_batch_cost' }),
      poll('0', { id: packed }),
      poll('0', { id: packed.replace(/=+$/, '') }),
    ]) {
      expect(eventOf(same)['event_id']).toBe(event['event_id'])
    }
    expect(eventOf(poll('0', { id: 'batch_other' }))['event_id']).not.toBe(event['event_id'])
  })

  test('that is not finished is none', () => {
    const empty = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, response_cost: 0, hidden_params: {} }
    const unfinished = { ...poll('0', empty), metadata: { usage_object: {} } }
    expect(mapped(unfinished)).toEqual({ kind: 'skipped', reason: 'unfinished_batch' })
    expect(mapped({ ...unfinished, call_type: 'acreate_batch' }).kind).toBe('skipped')
  })

  test('has the same id in the table of spend', () => {
    const row = {
      request_id: 'batch_fake405_batch_cost',
      call_type: 'aretrieve_batch',
      status: 'success',
      spend: '0.00031499999999999996',
      prompt_tokens: '3000',
      completion_tokens: '300',
      total_tokens: '3300',
      startTime: '2026-11-28 21:40:00.123',
      custom_llm_provider: 'openai',
      model: '',
      metadata: JSON.stringify({
        batch_models: ['gpt-4o-mini'],
        model_map_information: { model_map_key: 'gpt-4o-mini' },
        litellm_call_id: '98ac794c-837a-4c1e-8ecb-05779e521425',
      }),
    }
    expect(eventOfRow(row)).toMatchObject({
      event_id: eventOf(poll('0'))['event_id'],
      requested_model: 'gpt-4o-mini',
      estimated_cost_usd: '0.000315',
      service_tier: 'batch',
    })
  })
})

describe('an answer that was made in the background', () => {
  const EMPTY = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, response_cost: 0 }
  const begun = litellmPayload(
    { ...EMPTY, id: 'resp_68af', call_type: 'aresponses', model_parameters: { background: true } },
    { usage_object: {} },
  )
  const read = (fields = {}) => litellmPayload({ id: 'resp_68af', call_type: 'aget_responses', ...fields })
  const packed = (id: string) =>
    `resp_${Buffer.from(`litellm:custom_llm_provider:openai;model_id:59432;response_id:${id}`).toString('base64')}`

  test('is billed where it is read, once', () => {
    expect(mapped(begun)).toEqual({ kind: 'skipped', reason: 'background_response' })
    expect(eventOf(read())).toMatchObject({ input_tokens: 100, response_id: 'resp_68af' })
    for (const again of [
      { litellm_call_id: 'another', startTime: START + 60 },
      { id: packed('resp_68af') },
      { id: 'resp_68af_background_cost' },
    ]) {
      expect(idOf({ ...read(), ...again })).toBe(eventOf(read())['event_id'])
    }
  })

  test('has the id of the call, where that stated usage', () => {
    expect(eventOf(read())['event_id']).toBe(idOf({ id: packed('resp_68af'), call_type: 'aresponses' }))
    expect(idOf({ id: 'chatcmpl-1', call_type: 'aresponses' })).toBe(idOf({}))
  })

  test('cannot be told from others by an id that the proxy encrypted', () => {
    expect(mapped(read({ id: `resp_${'Ab3-'.repeat(90)}` }))).toEqual({ kind: 'skipped', reason: 'repeated_call_type' })
    expect(mapped({ ...begun, call_type: 'aget_responses' }).kind).toBe('skipped')
  })
})

describe('ids that others know', () => {
  const headers = { 'llm_provider-x-amzn-requestid': '6d90c825-f440-4e68-91b2-000000000033' }
  const bedrock = (fields = {}) =>
    eventOf(
      litellmPayload({ custom_llm_provider: 'bedrock', hidden_params: { additional_headers: headers }, ...fields }),
    )

  test('Bedrock logs a request under the id of its header, the caller has that of the response', () => {
    expect(bedrock({ id: 'chatcmpl-44df' })).toMatchObject({
      response_id: 'chatcmpl-44df',
      request_id: '6d90c825-f440-4e68-91b2-000000000033',
      operation_id: CALL,
    })
  })

  test('a response without an id is found by both', () => {
    expect(bedrock({ id: CALL })).toMatchObject({
      response_id: '6d90c825-f440-4e68-91b2-000000000033',
      request_id: CALL,
    })
  })

  test('an answer from the cache has the id that its caller sees', () => {
    const replayed = litellmPayload({ id: 'chatcmpl-fake100_cache_hit1795901094.5542786', cache_hit: true })
    expect(eventOf(replayed)).toMatchObject({ response_id: 'chatcmpl-fake100', served_from_cache: true })
  })
})
