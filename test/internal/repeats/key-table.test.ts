import fc from 'fast-check'
import { expect, test } from 'vitest'
import { KeyTable } from '../../../internal/repeats/key-table.js'
import { fingerprintOf, keyOf } from '../ingest/keys/keys.js'

const NOTHING = (): void => undefined

test('a key is found with what was stored beside it, up to the largest values', () => {
  const table = new KeyTable({ segments: 4, hasFingerprint: true })

  table.add(keyOf(1), fingerprintOf(10), 0xffff_ffff, 255, 0xff_ffff)
  table.add(keyOf(2), fingerprintOf(20), 0, 0, 0)

  expect(table.find(keyOf(1))).toBe(true)
  expect([table.admittedAtS, table.flags, table.generation]).toEqual([0xffff_ffff, 255, 0xff_ffff])
  expect(table.hasFingerprint(fingerprintOf(10))).toBe(true)
  expect(table.hasFingerprint(fingerprintOf(20))).toBe(false)
  expect(table.find(keyOf(2))).toBe(true)
  expect([table.admittedAtS, table.flags, table.generation]).toEqual([0, 0, 0])
  expect(table.find(keyOf(3))).toBe(false)
})

test('a key that is held stays as it is', () => {
  const table = new KeyTable({ segments: 2, hasFingerprint: true })
  table.add(keyOf(1), fingerprintOf(10), 5, 1, 0)

  const isAdded = table.add(keyOf(1), fingerprintOf(11), 6, 2, 1)

  expect(isAdded).toBe(false)
  expect([table.size, table.admittedAtS, table.flags, table.generation]).toEqual([1, 5, 1, 0])
})

test('keys are told apart by each of their four words', () => {
  const table = new KeyTable({ segments: 2, hasFingerprint: false })
  const key = Int32Array.of(7, 7, 7, 7)
  table.add(key, fingerprintOf(0), 0, 0, 0)

  for (let word = 0; word < 4; word++) {
    for (let bit = 0; bit < 32; bit++) {
      const other = key.slice()
      other[word] = 7 ^ (1 << bit)
      expect(table.find(other)).toBe(false)
    }
  }
  expect(table.find(key)).toBe(true)
})

for (const hasFingerprint of [true, false]) {
  test(`memory is at most 64 bytes a key at every size from 131,072 on, fingerprints: ${hasFingerprint}`, () => {
    const table = new KeyTable({ segments: 256, hasFingerprint })
    const key = new Int32Array(4)
    const fingerprint = fingerprintOf(1)
    let worst = 0

    for (let i = 0; i < 600_000; i++) {
      table.add(keyOf(i, key), fingerprint, i, 0, 0)
      if (i >= 131_072) worst = Math.max(worst, table.bytes / table.size)
    }

    expect(table.size).toBe(600_000)
    expect(worst).toBeLessThan(hasFingerprint ? 58 : 50)
  })
}

test('all keys are found again after segments have grown many times', () => {
  const table = new KeyTable({ segments: 16, hasFingerprint: true })

  for (let i = 0; i < 200_000; i++) table.add(keyOf(i), fingerprintOf(i), i, i & 255, i)

  let wrong = 0
  for (let i = 0; i < 200_000; i++) {
    const isRight = table.find(keyOf(i)) && table.hasFingerprint(fingerprintOf(i)) && table.generation === i
    if (!isRight || table.admittedAtS !== i || table.flags !== (i & 255)) wrong++
    if (table.find(keyOf(i + 1_000_000))) wrong++
  }
  expect(wrong).toBe(0)
})

test('removal takes the generations up to the one named, tells each, keeps the rest and gives memory back', () => {
  const table = new KeyTable({ segments: 8, hasFingerprint: true })
  for (let i = 0; i < 50_000; i++) table.add(keyOf(i), fingerprintOf(i), i, 0, Math.floor(i / 5_000))
  const bytesBefore = table.bytes
  const removed = new Map<number, number>()
  const words = new Set<string>()

  for (let segment = 0; segment < table.segmentCount; segment++) {
    table.removeUpTo(7, segment, (generation, from, at) => {
      removed.set(generation, (removed.get(generation) ?? 0) + 1)
      words.add(from.slice(at, at + 4).join())
    })
  }
  table.release(7)

  expect([...removed.keys()].sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
  expect([...removed.values()].every((count) => count === 5_000)).toBe(true)
  expect(table.size).toBe(10_000)
  expect(table.bytes).toBeLessThan(bytesBefore / 3)
  let wrong = 0
  for (let i = 0; i < 50_000; i++) {
    if (table.find(keyOf(i)) !== i >= 40_000) wrong++
    if (words.has(keyOf(i).join()) !== i < 40_000) wrong++
  }
  expect(wrong).toBe(0)
})

test('a removal that finds nothing changes nothing', () => {
  const table = new KeyTable({ segments: 2, hasFingerprint: true })
  for (let i = 0; i < 100; i++) table.add(keyOf(i), fingerprintOf(i), i, 0, 5)
  const { bytes } = table

  for (let segment = 0; segment < 2; segment++) table.removeUpTo(4, segment, NOTHING)

  expect([table.size, table.bytes]).toEqual([100, bytes])
})

test('the number of segments must be a power of two, at least 2', () => {
  for (const segments of [0, 1, 3, 2 ** 21]) {
    expect(() => new KeyTable({ segments, hasFingerprint: true })).toThrow(RangeError)
  }
})

test('record numbers begin again after 32 bits', () => {
  const table = new KeyTable({ segments: 4, hasFingerprint: true })
  // As it is after 4 billion keys less a hundred.
  Object.assign(table, { firstChunk: 2 ** 20 - 1, nextRecord: -100 })

  for (let i = 0; i < 30_000; i++) table.add(keyOf(i), fingerprintOf(i), i, 0, Math.floor(i / 10_000))
  for (let segment = 0; segment < table.segmentCount; segment++) table.removeUpTo(1, segment, NOTHING)
  table.release(1)
  for (let i = 30_000; i < 40_000; i++) table.add(keyOf(i), fingerprintOf(i), i, 0, 3)

  let wrong = 0
  for (let i = 0; i < 40_000; i++) {
    const isHeld = table.find(keyOf(i)) && table.admittedAtS === i && table.hasFingerprint(fingerprintOf(i))
    if (isHeld !== i >= 20_000) wrong++
  }
  expect([wrong, table.size]).toEqual([0, 20_000])
})

test('any mix of additions, renewals and removals holds what a plain map holds', () => {
  const action = fc.oneof(
    { weight: 8, arbitrary: fc.record({ kind: fc.constant('put' as const), key: fc.integer({ min: 0, max: 60 }) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('touch' as const), key: fc.integer({ min: 0, max: 60 }) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove' as const), ago: fc.integer({ min: 0, max: 3 }) }) },
  )

  fc.assert(
    fc.property(fc.array(action, { maxLength: 200 }), (actions) => {
      const table = new KeyTable({ segments: 2, hasFingerprint: true })
      const held = new Map<number, { at: number; generation: number }>()
      let generation = 0
      for (const [at, what] of actions.entries()) {
        if (what.kind === 'touch') table.touch(keyOf(what.key))
        else if (what.kind === 'put') {
          if (!table.add(keyOf(what.key), fingerprintOf(at), at, 7, generation))
            table.renew(fingerprintOf(at), at, 7, generation)
          held.set(what.key, { at, generation })
        } else {
          const upTo = generation - what.ago
          generation++
          for (let segment = 0; segment < 2; segment++) table.removeUpTo(upTo, segment, NOTHING)
          table.release(upTo)
          for (const [key, record] of held) if (record.generation <= upTo) held.delete(key)
        }
      }
      expect(table.size).toBe(held.size)
      for (let key = 0; key <= 60; key++) {
        const record = held.get(key)
        expect(table.find(keyOf(key))).toBe(record !== undefined)
        if (record === undefined) continue
        expect([table.admittedAtS, table.generation, table.flags]).toEqual([record.at, record.generation, 7])
        expect(table.hasFingerprint(fingerprintOf(record.at))).toBe(true)
      }
    }),
  )
})
