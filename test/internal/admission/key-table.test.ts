import { expect, test } from 'vitest'
import { KeyTable } from '../../../internal/admission/key-table.js'
import { fingerprintOf, keyOf } from './keys.js'

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
  test(`memory is at most 64 bytes a key at every size from 16,384 on, fingerprints: ${hasFingerprint}`, () => {
    const table = new KeyTable({ segments: 1_024, hasFingerprint })
    const key = new Int32Array(4)
    const fingerprint = fingerprintOf(1)
    let worst = 0

    for (let i = 0; i < 600_000; i++) {
      table.add(keyOf(i, key), fingerprint, i, 0, 0)
      if (i >= 16_384) worst = Math.max(worst, table.bytes / table.size)
    }

    expect(table.size).toBe(600_000)
    expect(worst).toBeLessThan(hasFingerprint ? 52 : 40)
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
  for (let i = 0; i < 50_000; i++) table.add(keyOf(i), fingerprintOf(i), i, 0, i % 10)
  const bytesBefore = table.bytes
  const removed = new Map<number, number>()
  const words = new Set<string>()

  for (let segment = 0; segment < table.segmentCount; segment++) {
    table.removeUpTo(7, segment, (generation, from, at) => {
      removed.set(generation, (removed.get(generation) ?? 0) + 1)
      words.add(from.slice(at, at + 4).join())
    })
  }

  expect([...removed.keys()].sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
  expect([...removed.values()].every((count) => count === 5_000)).toBe(true)
  expect(table.size).toBe(10_000)
  expect(table.bytes).toBeLessThan(bytesBefore / 3)
  let wrong = 0
  for (let i = 0; i < 50_000; i++) {
    if (table.find(keyOf(i)) !== i % 10 > 7) wrong++
    if (words.has(keyOf(i).join()) !== i % 10 <= 7) wrong++
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

test('the number of segments is a power of two from 2 on', () => {
  for (const segments of [0, 1, 3, 2 ** 21]) {
    expect(() => new KeyTable({ segments, hasFingerprint: true })).toThrow(RangeError)
  }
})
