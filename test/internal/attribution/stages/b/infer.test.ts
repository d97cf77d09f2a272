import { describe, expect, test } from 'vitest'
import type { EventFacts } from '../../../../../internal/attribution/inference/learning/features.js'
import { type Clocks, infer } from '../../../../../internal/attribution/stages/b/infer.js'
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

/** Clocks by which every look at the model takes so long: of the wall, and of the processor. */
function takingAtEachLook(wallMs: number, processorMs: number): Clocks {
  /** Read before and after each look, so that every second reading is later. */
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
  test('answers each event, in order, however many there are', async () => {
    expect(await kindOf(0, takingAtEachLook(1, 1))).toBe('inferred 0 false')
    expect(await kindOf(10_001, takingAtEachLook(1, 1))).toBe('inferred 10001 false')
  })

  test('that is over the limit once has answered late; a second time on end it is too slow', async () => {
    expect(await kindOf(8, takingAtEachLook(60, 60))).toBe('inferred 8 true')
    expect(await kindOf(8, takingAtEachLook(60, 60), true)).toBe('too_slow')
    expect(await kindOf(80, takingAtEachLook(60, 60))).toBe('too_slow')
  })

  test('that waited for a processor which others had is not slow', async () => {
    expect(await kindOf(80, takingAtEachLook(60, 5), true)).toBe('inferred 80 false')
  })

  test('that is ten times over the limit is too slow, whoever had the processor', async () => {
    expect(await kindOf(80, takingAtEachLook(600, 5))).toBe('too_slow')
  })

  test('may take its time again for each thousand events', async () => {
    expect(await kindOf(20_000, takingAtEachLook(4, 4))).toBe('inferred 20000 false')
  })
})
