import { describe, expect, test } from 'vitest'
import { matchOf, type View } from '../../../../internal/attribution/sightings/matches.js'
import { SAME_CALL_MS } from '../../../../internal/attribution/sightings/seen-by.js'
import { NOW_MS } from '../../../support/invocations.js'
import { finishedRow } from '../../../support/rows.js'

const CLIENT = 'com.anthropic.sdk.python'
const FRAMEWORK = 'openinference.instrumentation.langchain'

/** A span of one process, as the client's instrumentation shows it. */
const view = (stated: Partial<View> = {}): View => ({
  ...finishedRow(),
  intake: 'otlp',
  principal: 'key_app',
  instrumentation: CLIENT,
  provider: 'anthropic',
  requestedModel: 'claude-sonnet-4-5',
  servedModel: 'claude-sonnet-4-5',
  traceId: 't1',
  spanId: 's1',
  inputTokens: 3_100,
  outputTokens: 400,
  cachedInputTokens: undefined,
  eventTimeMs: NOW_MS,
  latencyMs: 900,
  ...stated,
})
/** The framework's span around it, in a trace of its own. */
const around = (stated: Partial<View> = {}): View =>
  view({ instrumentation: FRAMEWORK, traceId: 't2', spanId: 's2', eventTimeMs: NOW_MS - 5, latencyMs: 910, ...stated })

/** In both orders, which must agree. */
function matched(one: View, other: View) {
  const [match, reverse] = [matchOf(one, other), matchOf(other, one)]
  expect([reverse?.by, reverse?.isSure]).toEqual([match?.by, match?.isSure])
  if (match?.inner !== undefined) expect(reverse?.inner).not.toBe(match.inner)
  return match
}

describe('siblings with the same response id', () => {
  const [one, other] = [view({ responseId: 'msg_1' }), around({ responseId: 'msg_1' })]

  test('are one call, of two instrumentations of one credential', () => {
    expect(matched(one, other)).toMatchObject({ by: 'response_id', isSure: true })
  })

  test.each<[string, Partial<View>]>([
    ['of one instrumentation: a provider that repeats ids', { instrumentation: CLIENT }],
    ['later, of one process: a replay from a cache', { eventTimeMs: NOW_MS + 5_000 }],
    ['of another provider', { provider: 'openai', inputTokens: 7 }],
  ])('are two %s', (_, stated) => {
    expect(matched(one, { ...other, ...stated })).toBeUndefined()
  })
})

describe('a span directly around another one', () => {
  const [inner, outer] = [view({ parentSpanId: 's2', traceId: 't2' }), around({ traceId: 't2' })]

  test('shows the same call, whatever counts each states', () => {
    expect(matched(inner, outer)).toMatchObject({ by: 'parent_span', inner: 'one' })
    expect(matched(inner, { ...outer, inputTokens: 0, outputTokens: undefined })).toMatchObject({ by: 'parent_span' })
    expect(matched(inner, { ...outer, instrumentation: CLIENT, inputTokens: 800 })).toMatchObject({ by: 'parent_span' })
  })

  test.each<[string, Partial<View>, Partial<View>]>([
    ['in another trace', {}, { traceId: 't3', outputTokens: 1 }],
    [
      'of another model with other tokens: a tool that the call ran',
      { requestedModel: 'gpt-4o', servedModel: 'gpt-4o', inputTokens: 9 },
      {},
    ],
    ['as our own event states it: an agent', { intake: '', instrumentation: '' }, { intake: '', instrumentation: '' }],
    ['long over', { eventTimeMs: NOW_MS + 60_000 }, {}],
  ])('is another call %s', (_, ofInner, ofOuter) => {
    expect(matched({ ...inner, ...ofInner }, { ...outer, ...ofOuter })).toBeUndefined()
  })
})

describe('the same request id', () => {
  const ids = { responseId: '', traceId: '', spanId: '' }
  const callback = view({ ...ids, intake: 'litellm', principal: 'key_gw', instrumentation: '', requestId: 'call-1' })
  const span = view({ ...ids, instrumentation: 'litellm', requestId: 'call-1' })

  test('shows one attempt through two intakes', () => {
    expect(matched(callback, span)).toMatchObject({ by: 'request_id', isSure: true })
    expect(matched(callback, { ...span, provider: 'unknown' })).toMatchObject({ by: 'request_id' })
  })

  test('is what Bedrock also knows its answer by', () => {
    const log = view({ ...ids, intake: 'bedrock-log', principal: 'key_3', instrumentation: '', responseId: 'call-1' })

    expect(matched({ ...callback, responseId: 'chatcmpl-1' }, log)).toMatchObject({ by: 'request_id' })
  })

  test.each<[string, Partial<View>]>([
    ['another provider: a fallback', { provider: 'openai' }],
    ['another model', { requestedModel: 'claude-haiku-4-5', servedModel: 'claude-haiku-4-5' }],
    ['another answer', { responseId: 'msg_2' }],
    ['another number', { attempt: 2 }],
    ['the same observer', { intake: 'litellm', principal: 'key_gw', instrumentation: '' }],
  ])('is another attempt with %s', (_, stated) => {
    expect(matched({ ...callback, responseId: 'msg_1', attempt: 1 }, { ...span, ...stated })).toBeUndefined()
  })

  test('names one attempt also where a long id of the answer was hashed by one, or belongs to a gateway', () => {
    const other = { ...span, responseId: 'resp_1' }
    for (const responseId of ['sha256:00', 'chatcmpl-1']) {
      expect(matched({ ...callback, responseId }, other)).toMatchObject({ by: 'request_id' })
    }
  })
})

describe('no common id, and equal counts', () => {
  test('is one call of a framework and its client, each in a trace of its own', () => {
    expect(matched(view({ responseId: 'msg_1' }), around())).toEqual({ by: 'equal_counts', isSure: true })
  })

  test('is one call, however its model is spelled, and where only one knows a part', () => {
    const served = { provider: 'openai', requestedModel: 'gpt-4o', servedModel: 'gpt-4o-2024-08-06' }
    const requested = { provider: 'openai', requestedModel: 'gpt-4o', servedModel: 'gpt-4o' }
    expect(matched(view({ ...served, cachedInputTokens: 256 }), around(requested))).toMatchObject({ isSure: true })
  })

  test.each<[string, Partial<View>, Partial<View>]>([
    ['of a class or a yes, which parallel calls have as well', { outputTokens: 1 }, { outputTokens: 1 }],
    ['of embeddings, which have no output', { outputTokens: undefined }, { outputTokens: undefined }],
    ['where one that does not know its input began later', {}, { inputTokens: 0, eventTimeMs: NOW_MS + 200 }],
    ['where one does not know the input of a short stream', { outputTokens: 2 }, { inputTokens: 0, outputTokens: 2 }],
    ['where one that does not know its input ended before', {}, { inputTokens: undefined, latencyMs: 700 }],
    ['where one does not know how long it took', {}, { latencyMs: undefined }],
    ['in two traces, each with an id of its own form', { responseId: 'msg_1' }, { responseId: 'run-2' }],
  ])('may be one call, which nothing proves, %s', (_, ofOne, ofOther) => {
    expect(matched(view(ofOne), around(ofOther))).toEqual({ by: 'equal_counts', isSure: false })
  })

  test.each([0, undefined])('is one call, where a framework around a stream states as its input: %s', (inputTokens) => {
    const framework = around({ inputTokens })
    expect(matched(view({ responseId: 'msg_1' }), framework)).toEqual({ by: 'equal_counts', isSure: true })
    const inOneTrace = { ...framework, traceId: 't1' }
    expect(matched(view(), inOneTrace)).toEqual({ by: 'equal_counts', isSure: true })
  })

  test.each<[string, Partial<View>]>([
    ['was cut at a usual limit', { outputTokens: 1_024 }],
    ['begins long after the framework', { eventTimeMs: NOW_MS + 4_000, latencyMs: 2_000 }],
  ])('of a stream whose input the framework does not know is likely one, if it %s', (_, stated) => {
    const framework = around({ inputTokens: undefined, outputTokens: stated.outputTokens ?? 400, latencyMs: 6_010 })
    const call = view({ latencyMs: 6_000, ...stated })
    expect(matched(call, framework)?.isSure ?? false).toBe(false)
  })

  test('is one call within one trace, where a layer has ids of its own form', () => {
    const [one, other] = [view({ responseId: 'msg_1' }), around({ responseId: 'run-2', traceId: 't1' })]
    expect(matched(one, other)).toEqual({ by: 'equal_counts', isSure: true })
  })

  test('is sure of embeddings within one trace', () => {
    const stated = { outputTokens: undefined, traceId: 't1' }
    expect(matched(view(stated), around(stated))).toMatchObject({ isSure: true })
  })

  test.each<[string, Partial<View>]>([
    ['one instrumentation', { instrumentation: CLIENT }],
    ['a source that names none', { instrumentation: '' }],
    ['another intake', { intake: 'litellm' }],
    ['another credential', { principal: 'key_2' }],
    ['another service', { service: 'other' }],
    ['another model', { requestedModel: 'claude-haiku-4-5', servedModel: 'claude-haiku-4-5' }],
    ['a count that differs', { outputTokens: 401 }],
    ['a part that differs', { cachedInputTokens: 2_000 }],
    ['another answer', { responseId: 'msg_2' }],
    ['one after the other', { eventTimeMs: NOW_MS + 900 }],
    ['hardly at once', { eventTimeMs: NOW_MS + 700 }],
    ['far apart', { eventTimeMs: NOW_MS + SAME_CALL_MS + 1 }],
    ['no counts', { inputTokens: undefined, outputTokens: undefined }],
  ])('are two calls with %s', (_, stated) => {
    expect(matched(view({ responseId: 'msg_1', cachedInputTokens: 1_000 }), around(stated))).toBeUndefined()
  })
})
