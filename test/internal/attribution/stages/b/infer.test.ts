import { describe, expect, test } from 'vitest'
import { type Clocks, infer } from '../../../../../internal/attribution/stages/b/infer.js'
import type { EventFacts } from '../../../../../internal/inference/learning/features.js'
import { priorModel } from '../../../../support/models.js'

const MODEL = priorModel()
const eventsOf = (count: number): EventFacts[] =>
  Array.from({ length: count }, (_, i) => ({
    eventTimeMs: i,
    provider: 'openai',
    model: 'gpt-4o',
    ingestionLayer: 'gateway',
    principal: 'key_one',
  }))

/** Clocks by which each slice takes this much wall-clock time and CPU time. */
function clocksPerSlice(wallMs: number, processorMs: number): Clocks {
  /** The clocks are read before and after each slice, so only every second reading advances. */
  const rising = (byMs: number) => {
    let readings = 0
    return () => Math.floor(readings++ / 2 + 0.5) * byMs
  }
  return { wall: rising(wallMs), processor: rising(processorMs) }
}

const kindOf = async (events: number, clocks: Clocks, wasLate = false) => {
  const inferred = await infer(MODEL, eventsOf(events), wasLate, clocks)
  return inferred.kind === 'inferred' ? `inferred ${inferred.predictions.length} ${inferred.isLate}` : inferred.kind
}

describe('a model', () => {
  test('a model answers every event in order, however many there are', async () => {
    expect(await kindOf(0, clocksPerSlice(1, 1))).toBe('inferred 0 false')
    expect(await kindOf(10_001, clocksPerSlice(1, 1))).toBe('inferred 10001 false')
  })

  test('a model that exceeds its limit once is late; twice in a row, it is too slow', async () => {
    expect(await kindOf(8, clocksPerSlice(60, 60))).toBe('inferred 8 true')
    expect(await kindOf(8, clocksPerSlice(60, 60), true)).toBe('too_slow')
    expect(await kindOf(80, clocksPerSlice(60, 60))).toBe('too_slow')
  })

  test('a model that waited for the CPU is not too slow', async () => {
    expect(await kindOf(80, clocksPerSlice(60, 5), true)).toBe('inferred 80 false')
  })

  test('a model at ten times its limit is too slow, even with little CPU time', async () => {
    expect(await kindOf(80, clocksPerSlice(600, 5))).toBe('too_slow')
  })

  test('the time limit of a model starts again every thousand events', async () => {
    expect(await kindOf(20_000, clocksPerSlice(4, 4))).toBe('inferred 20000 false')
  })
})
