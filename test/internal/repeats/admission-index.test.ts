import fc from 'fast-check'
import { expect, test } from 'vitest'
import { AdmissionIndex, type AdmissionIndexOptions } from '../../../internal/repeats/admission-index.js'
import { drawn } from '../../support/run/rings.js'
import { fingerprintOf, keyOf } from '../ingest/keys/keys.js'

const SECOND_MS = 1_000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** On an hour's edge. */
const NOW_MS = Date.UTC(2026, 10, 14, 10)

const index = (options: Partial<AdmissionIndexOptions> = {}): AdmissionIndex =>
  new AdmissionIndex({
    windowMs: DAY_MS,
    periodMs: HOUR_MS,
    exactKeysMax: 100_000,
    hasFingerprint: true,
    filterBitsPerKey: 24,
    filterBytesMax: () => Number.POSITIVE_INFINITY,
    ...options,
  })

const BODY = fingerprintOf(1)
const OTHER_BODY = fingerprintOf(2)

/** Admits keys numbered from ... to - 1 and lets what fills the table move to filters. */
function fill(into: AdmissionIndex, from: number, to: number, nowMs: number): void {
  for (let i = from; i < to; i++) into.admit(keyOf(i), BODY, 0, nowMs)
}

/** All that are found about keys numbered from ... to - 1: an `expect` for each would take most of the time. */
function verdicts(admitted: AdmissionIndex, from: number, to: number, nowMs: number): readonly string[] {
  const found = new Set<string>()
  for (let i = from; i < to; i++) found.add(admitted.lookup(keyOf(i), BODY, nowMs))
  return [...found]
}

const settled = (of: AdmissionIndex, nowMs: number): void => {
  while (of.step(nowMs));
}

test('a key is new, then the same or a conflict by its body, with the flags it came with', () => {
  const admitted = index()
  expect(admitted.lookup(keyOf(1), BODY, NOW_MS)).toBe('new')

  expect(admitted.admit(keyOf(1), BODY, 200, NOW_MS)).toBe(true)
  admitted.admit(keyOf(2), BODY, 7, NOW_MS)

  expect(admitted.lookup(keyOf(1), BODY, NOW_MS)).toBe('same')
  expect(admitted.flags).toBe(200)
  expect(admitted.lookup(keyOf(2), OTHER_BODY, NOW_MS)).toBe('conflict')
  expect(admitted.flags).toBe(7)
  expect(admitted.lookup(keyOf(3), BODY, NOW_MS)).toBe('new')
})

test('a look-up leaves no trace: what was refused stays new', () => {
  const admitted = index()

  for (let i = 0; i < 1_000; i++) admitted.lookup(keyOf(1), BODY, NOW_MS)

  expect(admitted.lookup(keyOf(1), BODY, NOW_MS)).toBe('new')
  expect(admitted.exactKeys).toBe(0)
})

test('an admission that is repeated changes nothing', () => {
  const admitted = index()
  admitted.admit(keyOf(1), BODY, 1, NOW_MS)

  expect(admitted.admit(keyOf(1), OTHER_BODY, 2, NOW_MS + HOUR_MS)).toBe(false)

  expect(admitted.lookup(keyOf(1), BODY, NOW_MS + DAY_MS)).toBe('same')
  expect(admitted.flags).toBe(1)
  expect(admitted.lookup(keyOf(1), BODY, NOW_MS + DAY_MS + 1)).toBe('new')
})

test('an index without fingerprints knows no conflict', () => {
  const admitted = index({ hasFingerprint: false, windowMs: 7 * DAY_MS, periodMs: 6 * HOUR_MS })
  admitted.admit(keyOf(1), BODY, 3, NOW_MS)

  expect(admitted.lookup(keyOf(1), OTHER_BODY, NOW_MS + 7 * DAY_MS)).toBe('same')
  expect(admitted.lookup(keyOf(1), OTHER_BODY, NOW_MS + 7 * DAY_MS + 1)).toBe('new')
})

for (const offsetMs of [0, 1, 999, HOUR_MS - 1, -1, -SECOND_MS, HOUR_MS / 2]) {
  test(`exact: a key of ${offsetMs} ms after the hour is known for its window and less than a second more`, () => {
    const admitted = index()
    const atMs = NOW_MS + offsetMs
    admitted.admit(keyOf(1), BODY, 0, atMs)

    // Later admissions bring steps that remove whatever has expired; a neighbour holds the generation back.
    admitted.admit(keyOf(2), BODY, 0, atMs + 1)
    for (let ms = HOUR_MS; ms <= DAY_MS; ms += HOUR_MS) {
      admitted.admit(keyOf(1_000 + ms), BODY, 0, atMs + ms)
      settled(admitted, atMs + ms)
    }

    expect(admitted.lookup(keyOf(1), BODY, atMs + DAY_MS)).toBe('same')
    expect(admitted.lookup(keyOf(1), OTHER_BODY, atMs + DAY_MS)).toBe('conflict')
    const lastMs = Math.ceil(atMs / SECOND_MS) * SECOND_MS + DAY_MS
    expect(admitted.lookup(keyOf(1), BODY, lastMs)).toBe('same')
    settled(admitted, lastMs)
    expect(admitted.lookup(keyOf(1), BODY, lastMs)).toBe('same')
    expect(admitted.lookup(keyOf(1), BODY, lastMs + 1)).toBe('new')
    settled(admitted, lastMs + 1)
    expect(admitted.lookup(keyOf(1), BODY, lastMs + 1)).toBe('new')
  })
}

test('an expired key is admitted again, with its new body, for another window', () => {
  const admitted = index()
  admitted.admit(keyOf(1), BODY, 1, NOW_MS)
  const laterMs = NOW_MS + DAY_MS + 1

  expect(admitted.admit(keyOf(1), OTHER_BODY, 2, laterMs)).toBe(true)

  settled(admitted, laterMs)
  expect(admitted.exactKeys).toBe(1)
  expect(admitted.lookup(keyOf(1), OTHER_BODY, laterMs + DAY_MS)).toBe('same')
  expect(admitted.flags).toBe(2)
})

test('below its limit the table knows the whole window exactly, without a filter', () => {
  const admitted = index({ exactKeysMax: 40_000 })
  for (let hour = 0; hour < 100; hour++) fill(admitted, hour * 1_000, hour * 1_000 + 1_000, NOW_MS + hour * HOUR_MS)

  const nowMs = NOW_MS + 99 * HOUR_MS
  expect(admitted.filterCount).toBe(0)
  expect(admitted.exactKeys).toBeLessThan(30_000)
  expect(verdicts(admitted, 75_000, 100_000, nowMs)).toEqual(['same'])
  expect(verdicts(admitted, 0, 75_000, nowMs)).toEqual(['new'])
})

test('the exact table never exceeds its limit; what leaves it is known to filters, however fast keys come', () => {
  for (const exactKeysMax of [64, 1_000, 20_000]) {
    const admitted = index({ exactKeysMax })
    let most = 0
    for (let i = 0; i < exactKeysMax * 5; i++) {
      admitted.admit(keyOf(i), BODY, 0, NOW_MS + i)
      most = Math.max(most, admitted.exactKeys)
    }

    expect(most).toBeLessThanOrEqual(exactKeysMax)
    expect(most).toBeGreaterThan(exactKeysMax / 2)
    const nowMs = NOW_MS + exactKeysMax * 5
    let maybe = 0
    for (let i = 0; i < exactKeysMax * 5; i++) {
      const verdict = admitted.lookup(keyOf(i), BODY, nowMs)
      if (verdict === 'maybe') maybe++
      else expect(verdict).toBe('same')
    }
    expect(maybe).toBeGreaterThan(exactKeysMax * 3)
    let mistaken = 0
    for (let i = 0; i < 20_000; i++) if (admitted.lookup(keyOf(1e7 + i), BODY, nowMs) !== 'new') mistaken++
    expect(mistaken).toBeLessThan(200)
  }
})

test('many quiet hours give way to a burst at once', () => {
  const admitted = index({ exactKeysMax: 4_000 })
  for (let hour = 0; hour < 23; hour++) fill(admitted, hour * 3, hour * 3 + 3, NOW_MS + hour * HOUR_MS)
  const nowMs = NOW_MS + 23 * HOUR_MS

  for (let i = 0; i < 20_000; i++) {
    admitted.admit(keyOf(100_000 + i), BODY, 0, nowMs)
    if (admitted.exactKeys > 4_000) throw new Error('beyond the limit')
  }

  for (let i = 0; i < 69; i++) expect(admitted.lookup(keyOf(i), BODY, nowMs)).toBe('maybe')
})

test('a filter answers for its youngest key to the end of its window, then goes, and gives its memory back', () => {
  const admitted = index({ exactKeysMax: 1_000 })
  fill(admitted, 0, 400, NOW_MS)
  const lastMs = NOW_MS + HOUR_MS - SECOND_MS
  fill(admitted, 400, 401, lastMs)
  fill(admitted, 1_000, 1_800, NOW_MS + HOUR_MS)
  settled(admitted, NOW_MS + HOUR_MS)
  expect(admitted.lookup(keyOf(400), BODY, lastMs)).toBe('maybe')
  const { filterBytes } = admitted

  const end = lastMs + DAY_MS
  settled(admitted, end)
  expect(admitted.lookup(keyOf(400), BODY, end)).toBe('maybe')
  expect(admitted.lookup(keyOf(400), BODY, end + 1)).toBe('new')
  settled(admitted, end + 1)
  expect(admitted.lookup(keyOf(400), BODY, end)).toBe('new')
  expect(admitted.filterBytes).toBeLessThan(filterBytes)
})

test('a busy period has few filters, and a later one a single filter of the right size', () => {
  const admitted = index({ exactKeysMax: 4_000, filterBitsPerKey: 16 })
  for (let hour = 0; hour < 24; hour++) {
    for (let i = 0; i < 20_000; i++) {
      admitted.admit(keyOf(hour * 20_000 + i), BODY, 0, NOW_MS + hour * HOUR_MS + i * 150)
    }
  }

  expect(admitted.filterCount).toBeLessThanOrEqual(24 * 2 + 4)
  expect((admitted.filterBytes * 8) / (24 * 20_000)).toBeLessThan(16 * 1.3)
})

test('a clock that goes back loses nothing', () => {
  const admitted = index()
  admitted.admit(keyOf(1), BODY, 0, NOW_MS)
  admitted.admit(keyOf(2), BODY, 0, NOW_MS - 3 * HOUR_MS)
  admitted.admit(keyOf(3), BODY, 0, NOW_MS)
  admitted.admit(keyOf(4), BODY, 0, NOW_MS - 3 * HOUR_MS)

  for (const i of [1, 2, 3, 4]) expect(admitted.lookup(keyOf(i), BODY, NOW_MS - HOUR_MS)).toBe('same')

  // The key of the past expires first, and takes nobody with it.
  const expiredMs = NOW_MS - 3 * HOUR_MS + DAY_MS + 1
  settled(admitted, expiredMs)
  expect([1, 2, 3, 4].map((i) => admitted.lookup(keyOf(i), BODY, expiredMs))).toEqual(['same', 'new', 'same', 'new'])
})

test('when nothing is admitted any more, steps empty the index', () => {
  const admitted = index({ exactKeysMax: 1_000 })
  fill(admitted, 0, 5_000, NOW_MS)

  const laterMs = NOW_MS + DAY_MS + SECOND_MS
  settled(admitted, laterMs)
  expect([admitted.exactKeys, admitted.filterCount]).toEqual([0, 0])

  admitted.admit(keyOf(1), BODY, 0, laterMs)
  expect(admitted.lookup(keyOf(1), BODY, laterMs)).toBe('same')
})

test('a key admitted while the last generation is being emptied is not emptied with it', () => {
  const admitted = index({ exactKeysMax: 100_000 })
  fill(admitted, 0, 1_000, NOW_MS)
  const laterMs = NOW_MS + DAY_MS + SECOND_MS
  expect(admitted.step(laterMs)).toBe(true)

  for (let i = 5_000; i < 5_100; i++) admitted.admit(keyOf(i), BODY, 0, NOW_MS + SECOND_MS)
  settled(admitted, laterMs)

  for (let i = 5_000; i < 5_100; i++) expect(admitted.lookup(keyOf(i), BODY, NOW_MS + SECOND_MS)).toBe('same')
})

/** What the index must know, the plain way. */
interface Known {
  readonly body: number
  readonly flags: number
  readonly atMs: number
}

for (const [name, options] of [
  ['24 hours, hourly', { windowMs: DAY_MS, periodMs: HOUR_MS, hasFingerprint: true }],
  ['168 hours, by 6 hours, without bodies', { windowMs: 7 * DAY_MS, periodMs: 6 * HOUR_MS, hasFingerprint: false }],
] as const) {
  test(`against a plain map: no false verdict in any sequence of admissions and times (${name})`, () => {
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.record({ kind: fc.constant('one' as const), key: fc.nat(40), body: fc.nat(2) }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('many' as const), count: fc.nat(150) }) },
      { weight: 3, arbitrary: fc.record({ kind: fc.constant('look' as const), key: fc.nat(40), body: fc.nat(2) }) },
      {
        weight: 3,
        arbitrary: fc.record({
          kind: fc.constant('later' as const),
          ms: fc.oneof(
            fc.nat(3_000),
            fc.nat(2 * HOUR_MS),
            fc.nat(2 * DAY_MS),
            // To the edges: whole hours, whole windows, and the millisecond beside them.
            fc.constantFrom(HOUR_MS, HOUR_MS - 1, options.windowMs, options.windowMs - 1, options.windowMs + 1),
          ),
        }),
      },
      { weight: 1, arbitrary: fc.constant({ kind: 'step' as const }) },
    )
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 80 }),
        fc.constantFrom(64, 200, 100_000),
        fc.constantFrom(0, 256, Number.POSITIVE_INFINITY),
        fc.nat(HOUR_MS),
        (steps, exactKeysMax, filterBytesMax, startMs) => {
          const admitted = new AdmissionIndex({
            ...options,
            exactKeysMax,
            filterBitsPerKey: 16,
            filterBytesMax: () => filterBytesMax,
          })
          const model = new Map<number, Known>()
          let nowMs = NOW_MS + startMs
          let fresh = 1_000

          const isKnown = (key: number): Known | undefined => {
            const known = model.get(key)
            return known && nowMs <= Math.ceil(known.atMs / SECOND_MS) * SECOND_MS + options.windowMs
              ? known
              : undefined
          }
          const check = (key: number, body: number): string => {
            const verdict = admitted.lookup(keyOf(key), fingerprintOf(body), nowMs)
            const known = isKnown(key)
            const right =
              known === undefined ? 'new' : !options.hasFingerprint || known.body === body ? 'same' : 'conflict'
            const isAllowed = verdict === right || (verdict === 'maybe' && admitted.filterCount > 0)
            if (!isAllowed) throw new Error(`key ${key}: ${verdict}, not ${right}`)
            if ((verdict === 'same' || verdict === 'conflict') && admitted.flags !== known?.flags) {
              throw new Error(`key ${key}: wrong flags`)
            }
            return right
          }
          const admit = (key: number, body: number): void => {
            // As the gateway does: what is known, by the index or by the read model, is not admitted again.
            if (check(key, body) !== 'new') return
            const known = { body, flags: key % 256, atMs: nowMs }
            admitted.admit(keyOf(key), fingerprintOf(body), known.flags, nowMs)
            model.set(key, known)
            if (admitted.lookup(keyOf(key), fingerprintOf(body), nowMs) !== 'same') throw new Error('not admitted')
          }

          for (const event of steps) {
            if (event.kind === 'one') admit(event.key, event.body)
            else if (event.kind === 'look') check(event.key, event.body)
            else if (event.kind === 'many') for (let i = 0; i < event.count; i++) admit(fresh++, 0)
            else if (event.kind === 'later') nowMs += event.ms
            else admitted.step(nowMs)
            if (admitted.exactKeys > exactKeysMax) throw new Error('beyond the limit')
          }
          for (const key of model.keys()) check(key, 0)
        },
      ),
      { numRuns: drawn(400) },
    )
  })
}

test('filters beyond their memory are folded: keys stay known, more of the others are looked up', () => {
  const KEYS = 200_000
  const filterBytesMax = 350_000
  const bounded = index({
    exactKeysMax: 4_000,
    filterBitsPerKey: 20,
    periodMs: 4 * HOUR_MS,
    filterBytesMax: () => filterBytesMax,
  })
  const free = index({ exactKeysMax: 4_000, filterBitsPerKey: 20, periodMs: 4 * HOUR_MS })
  const maybeOf = (of: AdmissionIndex, from: number, nowMs: number): number => {
    let maybe = 0
    for (let i = from; i < from + 20_000; i++) if (of.lookup(keyOf(i), BODY, nowMs) === 'maybe') maybe++
    return maybe
  }
  let most = 0
  for (let i = 0; i < KEYS; i++) {
    const nowMs = NOW_MS + i * 400
    bounded.admit(keyOf(i), BODY, 0, nowMs)
    free.admit(keyOf(i), BODY, 0, nowMs)
    most = Math.max(most, bounded.filterBytes)
  }

  const nowMs = NOW_MS + KEYS * 400
  settled(bounded, nowMs)
  expect(free.filterBytes).toBeGreaterThan(1.3 * filterBytesMax)
  expect(bounded.filterBytes).toBeLessThanOrEqual(filterBytesMax)
  // A new filter, and the half of one that is being folded.
  expect(most).toBeLessThan(1.6 * filterBytesMax)
  expect(maybeOf(bounded, 0, nowMs)).toBe(20_000)
  expect(maybeOf(bounded, 50_000, nowMs)).toBe(20_000)
  expect(maybeOf(free, 1e7, nowMs)).toBeLessThan(200)
  expect(maybeOf(bounded, 1e7, nowMs)).toBeLessThan(5_000)
})

test('without room for filters their bytes stay few, and every key is known or looked up', () => {
  const admitted = index({ exactKeysMax: 1_000, filterBytesMax: () => 0 })
  fill(admitted, 0, 50_000, NOW_MS)
  settled(admitted, NOW_MS)

  expect(admitted.filterBytes).toBeLessThan(64 * (admitted.filterCount + 1))
  expect(verdicts(admitted, 0, 50_000, NOW_MS)).not.toContain('new')
})
