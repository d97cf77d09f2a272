import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SeenEvents } from '../../../../internal/attribution/actor/seen-events.js'
import type { Position } from '../../../../internal/invocations/group.js'
import { idOf } from '../../../support/invocations.js'

const at = (sequence: number, index = 0): Position => ({ sequence, index })

interface Arrival {
  readonly event: number
  readonly position: Position
}

/** A part of a log: batches of arrivals, each at its own, later position; few events, so that many repeat. */
const logs = fc
  .array(fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 8 })
  .map((messages) =>
    messages.map((events, m) => events.map((event, index): Arrival => ({ event, position: at(m + 1, index) }))),
  )

const verdictsOn = (seen: SeenEvents, arrivals: readonly Arrival[]): boolean[] =>
  arrivals.map(({ event, position }) => seen.isDuplicate(idOf(event), position))

describe('a duplicate', () => {
  test('is an event that was seen at an earlier position: another message, or before it in the same', () => {
    const seen = new SeenEvents()

    expect(seen.isDuplicate(idOf(1), at(5, 3))).toBe(false)
    expect(seen.isDuplicate(idOf(1), at(5, 4))).toBe(true)
    expect(seen.isDuplicate(idOf(1), at(6, 0))).toBe(true)
    expect(seen.isDuplicate(idOf(2), at(6, 0))).toBe(false)
  })

  test('is not the event itself, formed again at its own position', () => {
    const seen = new SeenEvents()
    seen.isDuplicate(idOf(1), at(5, 3))

    expect(seen.isDuplicate(idOf(1), at(5, 3))).toBe(false)
  })

  test('is not an event whose known place lies later', () => {
    const seen = new SeenEvents()
    seen.remember(idOf(1), at(5, 3))

    expect(seen.isDuplicate(idOf(1), at(5, 2))).toBe(false)
    expect(seen.isDuplicate(idOf(1), at(4, 9))).toBe(false)
  })

  test('is every arrival of an event but its first, for any log', () => {
    fc.assert(
      fc.property(logs, (log) => {
        const arrivals = log.flat()
        const first = arrivals.map(({ event }, i) => arrivals.findIndex((other) => other.event === event) === i)

        expect(verdictsOn(new SeenEvents(), arrivals)).toEqual(first.map((isFirst) => !isFirst))
      }),
    )
  })

  test('stays one when the same batch is formed again, as often as it is', () => {
    fc.assert(
      fc.property(logs, fc.integer({ min: 1, max: 3 }), (log, times) => {
        const seen = new SeenEvents()
        for (const batch of log) {
          const verdicts = verdictsOn(seen, batch)
          for (let i = 0; i < times; i++) expect(verdictsOn(seen, batch)).toEqual(verdicts)
        }
      }),
    )
  })

  test('stays one in a process that learned of the first arrivals in any order', () => {
    fc.assert(
      fc.property(
        logs.chain((log) =>
          fc.tuple(fc.constant(log), fc.shuffledSubarray(log.flat(), { minLength: log.flat().length })),
        ),
        ([log, shuffled]) => {
          const lived = new SeenEvents()
          for (const batch of log) verdictsOn(lived, batch)
          const rebuilt = new SeenEvents()
          for (const { event, position } of shuffled) rebuilt.remember(idOf(event), position)

          expect(verdictsOn(rebuilt, log.flat())).toEqual(verdictsOn(lived, log.flat()))
        },
      ),
    )
  })
})

describe('what is remembered', () => {
  test('is the earliest position of an id', () => {
    const seen = new SeenEvents()
    for (const position of [at(5, 3), at(7, 0), at(5, 2), at(5, 9)]) seen.remember(idOf(1), position)

    expect(seen.isDuplicate(idOf(1), at(5, 2))).toBe(false)
    expect(seen.isDuplicate(idOf(1), at(5, 3))).toBe(true)
  })

  test('tells ids apart by their last 12 bytes alone, which are the keyed hash', () => {
    const seen = new SeenEvents()
    const withByte = (byte: number): Uint8Array => {
      const id = Buffer.from(idOf(1))
      id[byte] = 0xff
      return id
    }
    seen.isDuplicate(idOf(1), at(1))

    for (let byte = 0; byte < 16; byte++) expect(seen.isDuplicate(withByte(byte), at(2 + byte))).toBe(byte < 4)
  })

  test('is found whatever memory an id is a view of', () => {
    const seen = new SeenEvents()
    const memory = Buffer.concat([Buffer.alloc(3), idOf(1)])
    seen.isDuplicate(new Uint8Array(memory.buffer, memory.byteOffset + 3, 16), at(1))

    expect(seen.isDuplicate(idOf(1), at(2))).toBe(true)
  })

  test('keeps positions up to 2^53 - 1 and indexes up to 2^32 - 1 exactly', () => {
    const last = at(Number.MAX_SAFE_INTEGER, 2 ** 32 - 1)
    const seen = new SeenEvents()
    seen.remember(idOf(1), last)

    expect(seen.isDuplicate(idOf(1), last)).toBe(false)
    seen.remember(idOf(2), at(Number.MAX_SAFE_INTEGER - 1, 2 ** 32 - 1))
    expect(seen.isDuplicate(idOf(2), at(Number.MAX_SAFE_INTEGER, 0))).toBe(true)
  })

  test('is all there after the table has grown several times, with ids that fall on one slot', () => {
    const seen = new SeenEvents()
    const crowded = (number: number): Uint8Array => {
      const id = Buffer.from(idOf(number))
      id.writeUInt32BE(number % 64, 4) // the slot's address
      return id
    }

    for (let i = 0; i < 20_000; i++) {
      expect(seen.isDuplicate(idOf(1_000_000 + i), at(1, i))).toBe(false)
      if (i < 2_000) expect(seen.isDuplicate(crowded(i), at(2, i))).toBe(false)
    }

    for (let i = 0; i < 20_000; i++) expect(seen.isDuplicate(idOf(1_000_000 + i), at(3))).toBe(true)
    for (let i = 0; i < 2_000; i++) expect(seen.isDuplicate(crowded(i), at(3))).toBe(true)
  })
})

describe('two generations', () => {
  /** Which of the events are known after all of them came, one a position. */
  function knownOf(entriesMax: number, events: readonly number[]): number[] {
    return [...new Set(events)].filter((asked) => {
      // Asking for an event makes it known, so that each is asked for in its own copy.
      const seen = new SeenEvents(entriesMax)
      for (const [i, event] of events.entries()) seen.isDuplicate(idOf(event), at(i + 1))
      return seen.isDuplicate(idOf(asked), at(events.length + 1))
    })
  }

  test('hold at least the last `entriesMax` events and at most twice as many', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 0, max: 24 }), (entriesMax, count) => {
        const events = Array.from({ length: count }, (_, i) => i + 1)

        const known = knownOf(entriesMax, events)

        expect(known).toEqual(expect.arrayContaining(events.slice(-entriesMax)))
        expect(known.length).toBeLessThanOrEqual(entriesMax * 2)
      }),
      { numRuns: 30 },
    )
  })

  test('forget the older one when both are full', () => {
    expect(knownOf(2, [1, 2, 3, 4])).toEqual([1, 2, 3, 4])
    expect(knownOf(2, [1, 2, 3, 4, 5])).toEqual([3, 4, 5])
  })

  test('do not count a duplicate', () => {
    expect(knownOf(2, [1, 1, 1, 1, 1, 2, 2, 3])).toEqual([1, 2, 3])
  })
})
