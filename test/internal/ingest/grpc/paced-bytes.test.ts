import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PacedBytes } from '../../../../internal/ingest/grpc/paced-bytes.js'

const KIB = 1024

test('pieces pass in their order, and never many in one turn', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 64 * KIB }), { maxLength: 200 }), async (sizes) => {
      const pace = new PacedBytes()
      const passed: number[] = []
      let inTurn = 0
      let most = 0
      sizes.forEach((size, at) => {
        pace.pass(size, () => {
          passed.push(at)
          inTurn += size
          most = Math.max(most, inTurn)
        })
      })
      inTurn = 0
      while (passed.length < sizes.length) {
        await nextTurn()
        inTurn = 0
      }

      expect(passed).toEqual(sizes.map((_, at) => at))
      expect(most).toBeLessThanOrEqual(320 * KIB)
    }),
    { numRuns: 50 },
  )
})

test('a piece that brings the next one, as a stream does, takes its place behind the others', async () => {
  const pace = new PacedBytes()
  const passed: string[] = []
  pace.pass(256 * KIB, () => passed.push('first'))
  pace.pass(1, () => {
    passed.push('second')
    pace.pass(1, () => passed.push('of the second'))
  })
  pace.pass(256 * KIB, () => passed.push('third'))

  expect(passed).toEqual(['first'])
  while (passed.length < 4) await nextTurn()
  expect(passed[1]).toBe('second')
  expect([...passed].sort()).toEqual(['first', 'of the second', 'second', 'third'])
})
