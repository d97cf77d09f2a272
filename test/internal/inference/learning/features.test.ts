import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  type EventFacts,
  FEATURE_SLOTS,
  featuresOf,
  identitySlot,
  withNeighbours,
} from '../../../../internal/inference/learning/features.js'

const FACTS: EventFacts = {
  eventTimeMs: Date.UTC(2026, 0, 7, 13, 30),
  provider: 'openai',
  model: 'small',
  ingestionLayer: 'application',
  principal: 'key-1',
}

const featuresOfOne = (facts: EventFacts): Map<number, number> => {
  const { columns, values } = featuresOf([facts])
  return new Map(Array.from(columns, (column, k) => [column, values[k] ?? 0]))
}

test('the capture context of an event is not a feature', () => {
  expect(featuresOfOne({ ...FACTS, ingestionLayer: 'proxy', principal: 'key-2' })).toEqual(featuresOfOne(FACTS))
})

test('a missing fact adds no feature', () => {
  const stated = featuresOfOne({ ...FACTS, identityHash: 'ab', inputTokens: 100, region: 'eu', tags: { a: 'b' } })

  expect([...featuresOfOne(FACTS).keys()].every((slot) => stated.has(slot))).toBe(true)
  expect(featuresOfOne({ ...FACTS, region: '', identityHash: '' })).toEqual(featuresOfOne(FACTS))
})

test('an identity is one feature, in its slot', () => {
  const stated = featuresOfOne({ ...FACTS, identityHash: 'ab' })

  expect([...stated.keys()].filter((slot) => !featuresOfOne(FACTS).has(slot))).toEqual([identitySlot('ab')])
})

test('features are within the feature space, with values from 0 to 1', () => {
  fc.assert(
    fc.property(
      fc.record({
        inputTokens: fc.maxSafeNat(),
        outputTokens: fc.maxSafeNat(),
        cachedInputTokens: fc.maxSafeNat(),
        latencyMs: fc.maxSafeNat(),
        eventTimeMs: fc.integer({ min: 0, max: 4e12 }),
        tags: fc.dictionary(fc.string(), fc.string(), { maxKeys: 4 }),
      }),
      (some) => {
        const { columns, values } = featuresOf([{ ...FACTS, ...some }])

        for (const column of columns) expect(column).toBeLessThan(FEATURE_SLOTS)
        for (const value of values) expect(value > 0 && value <= 1).toBe(true)
      },
    ),
  )
})

const similarity = (one: Map<number, number>, other: Map<number, number>): number =>
  [...one].reduce((sum, [slot, value]) => sum + value * (other.get(slot) ?? 0), 0)

test('events of similar size have similar features, and events of different size do not', () => {
  const of = (inputTokens: number) => featuresOfOne({ ...FACTS, inputTokens, outputTokens: 50 })

  expect(similarity(of(1_000), of(1_020))).toBeGreaterThan(similarity(of(1_000), of(2_000)))
  expect(similarity(of(1_000), of(2_000))).toBeGreaterThan(similarity(of(1_000), of(30_000)))
})

test('the same hour in two weeks has the same features', () => {
  const later = { ...FACTS, eventTimeMs: FACTS.eventTimeMs + 7 * 86_400_000 }

  expect(featuresOfOne(later)).toEqual(featuresOfOne(FACTS))
  expect(featuresOfOne({ ...FACTS, eventTimeMs: FACTS.eventTimeMs + 3_600_000 })).not.toEqual(featuresOfOne(FACTS))
})

test('the neighbours of an event are exactly the other events of its trace', () => {
  const events = [
    { ...FACTS, traceId: 't1' },
    { ...FACTS, traceId: 't1', model: 'large' },
    { ...FACTS, traceId: 't2' },
    FACTS,
    FACTS,
  ]

  const [first, second, third, fourth] = withNeighbours(events)

  expect(first?.neighbours).toEqual([{ provider: 'openai', model: 'large', inputTokens: undefined }])
  expect(second?.neighbours).toEqual([{ provider: 'openai', model: 'small', inputTokens: undefined }])
  expect(third?.neighbours).toBeUndefined()
  expect(fourth?.neighbours).toBeUndefined()
})

test('an event without an identity has the one that the other events of its trace state', () => {
  const { identityHash: _, ...anonymous } = FACTS
  const stated = (identityHash: string) => ({ ...anonymous, traceId: 't1', identityHash })

  const [one] = withNeighbours([{ ...anonymous, traceId: 't1' }, stated('aa'), stated('aa')])
  const [two] = withNeighbours([{ ...anonymous, traceId: 't1' }, stated('aa'), stated('bb')])
  const [own] = withNeighbours([stated('cc'), stated('aa')])
  const [other] = withNeighbours([{ ...anonymous, traceId: 't2' }, stated('aa')])

  expect(one).toMatchObject({ identityHash: 'aa', isIdentityOfTrace: true })
  expect([two?.identityHash, own?.identityHash, other?.identityHash]).toEqual([undefined, 'cc', undefined])
  expect(own?.isIdentityOfTrace).toBeUndefined()
})
