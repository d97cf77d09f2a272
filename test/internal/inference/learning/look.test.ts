import { expect, test } from 'vitest'
import type { EventFacts } from '../../../../internal/inference/learning/features.js'
import { comparableLook } from '../../../../internal/inference/learning/look.js'
import { predict } from '../../../../internal/inference/learning/predict.js'
import { train } from '../../../../internal/inference/learning/train.js'
import { recordsOf, SHADOW, traffic } from './traffic.js'

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

// Its model is one that no label came with, so that models are not in the look.
test.each([
  ['of a size and in a region of its own', [1, 1], 'us-east-1'],
  ['like another service but for its model', [400 / 300, 200 / 900], 'eu-west-1'],
] as const)(
  'a new service, %s, that a third of the unlabelled calls are of, is surely no other',
  (_, times, region) => {
    const events = traffic(4_500, 'new service', { withShadow: true }).map(({ facts, ...event }) => {
      const isNew = event.truth === SHADOW
      const inputTokens = Math.round((facts.inputTokens ?? 0) * (isNew ? times[0] : 1))
      const outputTokens = Math.round((facts.outputTokens ?? 0) * (isNew ? times[1] : 1))
      const own = isNew ? { model: 'new', region } : { region: 'eu-west-1' }
      return { ...event, facts: { ...facts, ...own, inputTokens, outputTokens, latencyMs: 20 * outputTokens } }
    })
    const result = train(recordsOf(events.slice(0, 3_000)), { seed: 1 })
    if (result.kind !== 'trained') throw new Error('training found too few examples')
    const later = events.slice(3_000).filter(({ isLabelled }) => !isLabelled)

    const judged = predict(
      result.model,
      later.map(({ facts }) => facts),
    ).map(({ confidence, label }, i) => ({ confidence, isRight: label.service === later[i]?.truth.service }))

    const share = (is: (one: (typeof judged)[number]) => boolean) => judged.filter(is).length / judged.length
    // Two thirds are of known services.
    expect(share(({ confidence, isRight }) => confidence >= 5_000 && isRight)).toBeGreaterThan(0.5)
    expect(share(({ confidence, isRight }) => confidence >= 8_000 && !isRight)).toBeLessThan(0.05)
  },
)
