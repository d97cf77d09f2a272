import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DeliveryWindow } from '../../../../internal/webhooks/courier/window.js'

/** Sequences of a log, in their order, with gaps where other logs of the stream are. */
const log = fc
  .array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 200 })
  .map((gaps) => gaps.map((_, i) => gaps.slice(0, i + 1).reduce((sum, gap) => sum + gap, 0)))

test('all before the first that is not settled is done, and nothing else', () => {
  const window = new DeliveryWindow({ done: 0 })
  for (const sequence of [2, 5, 9]) expect(window.read(sequence)).toBe(true)

  window.settle(5)
  expect(window.progress()).toEqual({ done: 0, settled: Buffer.of(0b10).toString('base64') })
  window.settle(2)
  expect(window.progress()).toEqual({ done: 5 })
  expect([window.size, window.next]).toEqual([1, 10])
})

test('whoever goes on from a window’s progress is given what was not settled, each once, however often that happens', () => {
  fc.assert(
    fc.property(
      log,
      fc.array(fc.record({ read: fc.nat(300), settle: fc.array(fc.nat(200)) }), { minLength: 1, maxLength: 6 }),
      (sequences, lives) => {
        const settled = new Set<number>()
        let progress: ConstructorParameters<typeof DeliveryWindow>[0] = { done: 0 }
        for (const { read, settle } of lives) {
          const window = new DeliveryWindow(progress)
          const given: number[] = []
          for (const sequence of sequences.filter((one) => one >= window.next).slice(0, read)) {
            if (window.read(sequence)) given.push(sequence)
          }
          expect(given.filter((sequence) => settled.has(sequence))).toEqual([])
          for (const at of settle) {
            const sequence = given[at]
            if (sequence === undefined || settled.has(sequence)) continue
            settled.add(sequence)
            window.settle(sequence)
          }
          progress = window.progress()
        }
        const last = new DeliveryWindow(progress)
        const left = sequences.filter((one) => one >= last.next && last.read(one))
        expect(left).toEqual(sequences.filter((sequence) => !settled.has(sequence)))
      },
    ),
  )
})
