import { expect, test } from 'vitest'
import type { EventFacts } from '../../../../internal/inference/learning/features.js'
import { comparableLook } from '../../../../internal/inference/learning/look.js'

const event: EventFacts = {
  eventTimeMs: 0,
  provider: 'openai',
  model: 'small',
  ingestionLayer: 'application',
  principal: 'key-1',
  inputTokens: 100,
  identityHash: 'a person',
  tags: { team: 'search' },
  k8sNamespace: 'apps',
}
const ofTen = (count: number, more: Partial<EventFacts>) =>
  Array.from({ length: 10 }, (_, i) => (i < count ? { ...event, ...more } : event))

test('the look has what events with and without labels both have, and never names that senders choose', () => {
  expect([...comparableLook([event], [event])].sort()).toEqual([
    ...['hour', 'input_tokens', 'model', 'model_and_hour', 'model_and_tokens', 'provider'],
  ])
})

test('a field that one side has less often is not in the look, nor one with values that labels never came with', () => {
  const latency = { latencyMs: 500 }

  expect(comparableLook(ofTen(10, latency), ofTen(8, latency)).has('latency')).toBe(true)
  expect(comparableLook(ofTen(10, latency), ofTen(7, latency)).has('latency')).toBe(false)
  expect(comparableLook(ofTen(7, latency), ofTen(10, latency)).has('latency')).toBe(false)
  const renamed = comparableLook(ofTen(0, {}), ofTen(3, { model: 'small-2026' }))
  expect(
    ['model', 'model_and_tokens', 'model_and_hour', 'input_tokens'].map((group) => renamed.has(group as 'model')),
  ).toEqual([false, false, false, true])
})
