import { beforeAll, describe, expect, test } from 'vitest'
import {
  newClasses,
  type ResolvedEvent,
  scoreServing,
  upperBound,
} from '../../../../internal/inference/learning/drift.js'
import { forgetting, type TrainingRecord } from '../../../../internal/inference/learning/examples.js'
import type { ClassLabel, Model } from '../../../../internal/inference/learning/model.js'
import { train } from '../../../../internal/inference/learning/train.js'
import { NO_DIRECTORY } from '../../../../internal/inference/learning/views.js'
import { CHAT, CODE, recordsOf, SEARCH, SHADOW, traffic } from './traffic.js'

let model: Model

beforeAll(() => {
  const result = train(recordsOf(traffic(3_000, 'drift')), { seed: 1 })
  if (result.kind !== 'trained') throw new Error('training found too few examples')
  model = result.model
})

/** Newly resolved events, whose services look as `as` says. */
const resolved = (count: number, as: (label: ClassLabel) => ClassLabel = (label) => label): ResolvedEvent[] =>
  traffic(2 * count, 'later')
    .filter(({ isLabelled }) => isLabelled)
    .map(({ facts, truth }) => ({ facts, label: as(truth) }))

const swapped = (label: ClassLabel): ClassLabel => (label === CHAT ? CODE : label === CODE ? CHAT : label)

describe('a serving version that is scored on newly resolved events', () => {
  test('shows no drift while services look as they did', () => {
    expect(scoreServing(model, resolved(800), NO_DIRECTORY, 1).drift).toBeUndefined()
  })

  test('shows a drift within 500 events of two services that swap their habits, and which ones have changed', () => {
    const { drift } = scoreServing(model, [...resolved(800), ...resolved(500, swapped)], NO_DIRECTORY, 1)

    expect(drift?.atMost).toBeLessThan(0.8)
    expect(drift?.scored).toBeLessThanOrEqual(500)
    expect(drift?.classes).toContainEqual(CHAT)
  })

  test('has a live precision with bounds, which comes down with what changed, and none of too few claims', () => {
    const precisionOf = (events: readonly ResolvedEvent[]) => scoreServing(model, events, NO_DIRECTORY, 1).precision
    const right = precisionOf(resolved(800))
    const half = precisionOf(resolved(800, (label) => (label === CHAT ? CODE : label)))

    expect(right?.scored).toBe(800)
    expect(right?.precision).toBeGreaterThan(0.9)
    expect(right?.atLeast).toBeGreaterThan(0.8)
    for (const one of [right, half]) {
      expect(one?.atLeast).toBeLessThan(one?.precision ?? 0)
      expect(one?.atMost).toBeGreaterThanOrEqual(one?.precision ?? 1)
    }
    expect(half?.precision).toBeLessThan(right?.precision ?? 0)
    expect(precisionOf(resolved(10))).toBeUndefined()
  })

  test('shows none while too few events say so', () => {
    expect(scoreServing(model, resolved(20, swapped), NO_DIRECTORY, 1).drift).toBeUndefined()
  })
})

test('a service with enough newly resolved events is new when it is no class of the version', () => {
  const events = [...resolved(100), ...resolved(100, () => SHADOW).slice(0, 20)]

  expect(newClasses(model, events, 20)).toEqual([SHADOW])
  expect(newClasses(model, events, 21)).toEqual([])
})

test('what is known of services that changed is forgotten, but for what is newer than the change', () => {
  const record = (eventTimeMs: number, label: ClassLabel): TrainingRecord => ({
    facts: { eventTimeMs, provider: 'openai', model: 'small', ingestionLayer: 'application', principal: 'key-1' },
    outcome: { kind: 'resolved', label },
  })
  const records = [record(1, CHAT), record(1, SEARCH), record(3, CHAT)]

  expect(forgetting(records, [{ classes: [CHAT], beforeMs: 2 }])).toEqual([records[1], records[2]])
  expect(forgetting(records, [])).toEqual(records)
})

test('the upper bound of a precision comes down to it with more claims', () => {
  expect(upperBound(0.7, 20)).toBeGreaterThan(0.8)
  expect(upperBound(0.7, 200)).toBeLessThan(0.8)
  expect(upperBound(1, 5)).toBe(1)
})
