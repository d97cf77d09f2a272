import { expect, test } from 'vitest'
import { payloadOfSpendLog } from '../../../../internal/ingest/adapters/litellm-spend-logs.js'
import { eventOf } from './litellm-events.js'
import { CANARY, litellmPayload } from './litellm-payload.js'

/** The row that LiteLLM writes for the same call; of a CSV all are texts. */
const rowOf = (requestId: string) => ({
  request_id: requestId,
  call_type: 'acompletion',
  api_key: '88dc28d0',
  spend: '3.35e-05',
  total_tokens: '130',
  prompt_tokens: '100',
  completion_tokens: '30',
  startTime: '2026-11-21 09:50:00.25',
  endTime: '2026-11-21 09:50:02.5',
  model: 'gpt-4o-mini',
  model_group: 'fast',
  custom_llm_provider: 'openai',
  user: 'u-1',
  team_id: 'team-7',
  cache_hit: 'False',
  request_tags: '["feature:autocomplete", "beta", "User-Agent: curl/8"]',
  end_user: '',
  session_id: '3a0c7d0e-5f0e-4b75-a8f4-7c1f3c0e9d11',
  messages: CANARY,
  response: CANARY,
  metadata: JSON.stringify({
    ...(litellmPayload({}, { requester_metadata: undefined })['metadata'] as object),
    cost_breakdown: { margin_total_amount: 3.5e-6 },
  }),
})

test('a row is the same event as the callback, with the same id', () => {
  const callId = 'f6ad2c9e-0b3e-4d66-9a54-0a7f7e6d1c22'

  const payload = payloadOfSpendLog(rowOf(callId))

  expect(JSON.stringify({ ...payload, metadata: undefined })).not.toContain(CANARY)
  // The table has neither the deployment's name, the id of the response and the outcome, nor what the caller sent
  // besides tags.
  const {
    served_model: _,
    response_id: __,
    outcome: ___,
    ...sent
  } = eventOf(litellmPayload({ litellm_call_id: callId }, { requester_metadata: null }))
  expect(eventOf(payload)).toEqual({ ...sent, served_model: 'gpt-4o-mini' })
})

test('a row of 1.108.7 has the id of the response, and the call beside its other facts', () => {
  const sent = litellmPayload()
  const { metadata, ...row } = rowOf(sent['id'] as string)
  const stated = { ...(JSON.parse(metadata) as object), litellm_call_id: sent['litellm_call_id'] }

  expect(eventOf(payloadOfSpendLog({ ...row, metadata: JSON.stringify(stated) }))['event_id']).toBe(
    eventOf(sent)['event_id'],
  )
  expect(eventOf(payloadOfSpendLog({ ...row, metadata, litellm_call_id: `${sent['litellm_call_id']}` }))).toMatchObject(
    {
      event_id: eventOf(sent)['event_id'],
      operation_id: sent['litellm_call_id'],
    },
  )
})

test('of older versions, whose id is that of the response, too', () => {
  const sent = eventOf(litellmPayload({ litellm_call_id: undefined, id: 'chatcmpl-B1x' }))
  expect(eventOf(payloadOfSpendLog(rowOf('chatcmpl-B1x')))['event_id']).toBe(sent['event_id'])
})

test('a row whose JSON columns are broken is still a call', () => {
  expect(eventOf(payloadOfSpendLog({ ...rowOf('x'), metadata: '{', request_tags: '[' }))).toMatchObject({
    input_tokens: 100,
    attributed_identity: 'u-1',
    tags: { team: 'team-7' },
  })
})
