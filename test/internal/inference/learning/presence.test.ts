import { expect, test } from 'vitest'
import type { EventFacts } from '../../../../internal/inference/learning/features.js'
import { grow, presenceOf } from '../../../../internal/inference/learning/presence.js'

const at = (eventTimeMs: number): EventFacts => ({
  eventTimeMs,
  provider: 'openai',
  model: 'small',
  ingestionLayer: 'application',
  principal: 'key-1',
})

test('a class that is new has the share of the time since its first label', () => {
  const times = Float64Array.from({ length: 100 }, (_, i) => i)
  // One label of the old class a minute; nine of the new class in each of the last ten minutes.
  const old = [...times].map(at)
  const young = [...times].filter((time) => time >= 90).flatMap((time) => Array<EventFacts>(9).fill(at(time)))
  const facts = [...old, ...young]
  const label = Uint16Array.from(facts, (_, i) => Number(i >= old.length))

  const presence = presenceOf(
    { facts, label, weight: new Float64Array(facts.length).fill(1) },
    Float64Array.from([100 / 190, 90 / 190]),
    times,
  )

  expect([...presence.bornMs]).toEqual([0, 90])
  expect([...presence.growth]).toEqual([1, 10])
  expect(presence.shares[0]).toBeCloseTo(0.1, 10)
  expect(presence.shares[1]).toBeCloseTo(0.9, 10)
})

test('a class whose labels are all later than the calls that the model serves does not take everything', () => {
  const presence = presenceOf(
    { facts: [at(0), at(1_000)], label: Uint16Array.of(0, 1), weight: Float64Array.of(1, 1) },
    Float64Array.of(0.99, 0.01),
    Float64Array.from({ length: 1_000 }, (_, i) => i),
  )

  expect(presence.growth[1]).toBe(50)
  expect(presence.shares[1]).toBeCloseTo(0.5 / 1.49, 10)
})

test('what classes grow by they take from each other', () => {
  const sums = Float64Array.of(6, 2, 3)

  grow(sums, Float64Array.of(1, 9))

  expect([...sums]).toEqual([2, 6, 3])
})
