import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  FIRST,
  isEventAnswer,
  isReleased,
  isStored,
  isTaken,
  partitionFor,
  releasedBy,
  STORED,
  takenBy,
  UNSURE,
} from '../../../../internal/ingest/keys/event-answers.js'
import { OwnedEvents } from '../../../../internal/ingest/keys/owned-events.js'
import { AdmissionIndex } from '../../../../internal/repeats/admission-index.js'
import { keyOf } from './keys.js'

const DAY_MS = 86_400_000

function owner({ isSure = (): boolean => true, partitionInFlight = (): number | undefined => undefined } = {}) {
  const index = new AdmissionIndex({
    windowMs: 7 * DAY_MS,
    periodMs: DAY_MS,
    exactKeysMax: 1_000,
    hasFingerprint: false,
    filterBitsPerKey: 16,
    filterBytesMax: () => Number.POSITIVE_INFINITY,
  })
  return new OwnedEvents({ index, isSure, partitionInFlight, partitions: 64, clock: () => Date.UTC(2026, 10, 14, 10) })
}

const steps = fc.array(
  fc.record({
    what: fc.constantFrom('claim' as const, 'release' as const, 'stored' as const),
    event: fc.nat(3),
    partition: fc.nat(63),
  }),
  { maxLength: 60 },
)

test('of an event, each claim hears of the first one, until that is released or stored', () => {
  fc.assert(
    fc.property(steps, (taken) => {
      const owned = owner()
      const known = new Map<number, number>()
      for (const { what, event, partition } of taken) {
        const before = known.get(event)
        const key = keyOf(event)
        if (what === 'claim') {
          expect(owned.claim(key, partition)).toBe(before ?? FIRST)
          if (before === undefined || isReleased(before)) {
            known.set(event, takenBy(before === undefined ? partition : partitionFor(before, partition)))
          }
        } else if (what === 'release') {
          owned.release(key, partition)
          if (before !== undefined && isTaken(before)) known.set(event, releasedBy(partitionFor(before, partition)))
        } else {
          owned.stored(key)
          known.set(event, STORED)
        }
      }
    }),
  )
})

test('an owner that does not know the whole history is not sure of an event that it does not know', () => {
  let isSure = false
  const owned = owner({ isSure: () => isSure })

  expect(owned.claim(keyOf(1), 5)).toBe(UNSURE)
  expect(owned.claim(keyOf(1), 6)).toBe(takenBy(5))
  isSure = true
  expect(owned.claim(keyOf(2), 5)).toBe(FIRST)
})

test('an event that the owner is writing without a claim is taken by the partition that it goes to', () => {
  const owned = owner({ partitionInFlight: () => 7 })

  expect([owned.claim(keyOf(1), 5), owned.claim(keyOf(1), 6)]).toEqual([takenBy(7), takenBy(7)])
})

test('every byte is one kind of answer at most, and names a partition that exists', () => {
  fc.assert(
    fc.property(fc.nat(255), fc.integer({ min: 1, max: 64 }), fc.nat(63), (byte, partitions, own) => {
      const kinds = [byte === FIRST, byte === UNSURE, isTaken(byte), isStored(byte), isReleased(byte)]
      expect(kinds.filter(Boolean).length).toBeLessThanOrEqual(1)
      if (!isEventAnswer(byte, partitions)) return
      expect(kinds.filter(Boolean)).toHaveLength(1)
      const goesTo = partitionFor(byte, own)
      expect(isTaken(byte) || isReleased(byte) ? goesTo < partitions : goesTo === own).toBe(true)
    }),
  )
  fc.assert(
    fc.property(fc.nat(63), (partition) => {
      expect(partitionFor(takenBy(partition), 99)).toBe(partition)
      expect(partitionFor(releasedBy(partition), 99)).toBe(partition)
      expect(isEventAnswer(takenBy(partition), partition + 1)).toBe(true)
      expect(isEventAnswer(takenBy(partition), partition)).toBe(false)
    }),
  )
})

test('an event for the lane of which only a filter knows is not surely new; in its own partition it is', () => {
  const index = new AdmissionIndex({
    windowMs: 7 * DAY_MS,
    periodMs: DAY_MS,
    exactKeysMax: 64,
    hasFingerprint: false,
    filterBitsPerKey: 16,
    filterBytesMax: () => Number.POSITIVE_INFINITY,
  })
  const nowMs = Date.UTC(2026, 10, 14, 10)
  const owned = new OwnedEvents({
    index,
    isSure: () => true,
    partitionInFlight: () => undefined,
    partitions: 2,
    clock: () => nowMs,
  })
  for (let event = 0; event < 4_000; event++) owned.stored(keyOf(event))
  const maybe = [...Array(4_000).keys()].filter(
    (event) => index.lookup(keyOf(event), new Int32Array(2), nowMs) === 'maybe',
  )
  expect(maybe.length).toBeGreaterThan(2)

  expect(owned.claim(keyOf(maybe[0] ?? -1), 2)).toBe(UNSURE)
  expect(owned.claim(keyOf(maybe[1] ?? -1), 1)).toBe(FIRST)
})
