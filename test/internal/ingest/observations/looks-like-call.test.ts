import { expect, test } from 'vitest'
import { looksLikeCall } from '../../../../internal/ingest/observations/looks-like-call.js'

test.each([
  { data: { model: 'gpt-4o', prompt_tokens: 12 } },
  { data: {}, model: 'gpt-4o', response_cost: 0.1 },
  { data: { usage: { input_tokens: 1, cost: 2 } } },
  { data: { 'gen_ai.request.model': 'm', 'gen_ai.usage.output_tokens': 3 } },
  { data: { requested_model: 'm', estimated_cost_usd: '0.1' } },
])('%j looks like a call', (event) => {
  expect(looksLikeCall(event)).toBe(true)
})

test.each([
  { data: { version: '1.4.2', queue_depth: 0 } },
  { data: { model: 'gpt-4o' } },
  { data: { tokens_per_second: 4, costly: true } },
  { data: { model: null, total_tokens: 3 } },
  { data: { a: { b: { c: { d: { e: { model: 'm', cost: 1 } } } } } } },
])('%j does not', (event) => {
  expect(looksLikeCall(event)).toBe(false)
})
