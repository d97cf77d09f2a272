import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PacedBytes } from '../../../../internal/ingest/intake/paced-bytes.js'
import { drawn } from '../../../support/run/rings.js'

const KIB = 1024

test('pieces of a connection pass in their order, and never many in one turn', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 64 * KIB }), { maxLength: 200 }), async (sizes) => {
      const pace = new PacedBytes().of('', 1)
      const passed: number[] = []
      let inTurn = 0
      let most = 0
      sizes.forEach((size, at) => {
        pace(size, () => {
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
      expect(most).toBeLessThanOrEqual(192 * KIB)
    }),
    { numRuns: drawn(50) },
  )
})

test('few requests pass in one turn, however small they are', async () => {
  const pace = new PacedBytes().of('', 1)
  let passed = 0
  for (let request = 0; request < 40; request++) pace(0, () => passed++)

  for (let before = 0; before < 40; ) {
    expect(passed - before).toBeLessThanOrEqual(4)
    before = passed
    await nextTurn()
  }
})

test('a piece that brings the next one, as a stream does, takes its place behind the others', async () => {
  const pace = new PacedBytes().of('', 1)
  const passed: string[] = []
  pace(256 * KIB, () => passed.push('first'))
  pace(1, () => {
    passed.push('second')
    pace(1, () => passed.push('of the second'))
  })
  pace(256 * KIB, () => passed.push('third'))

  expect(passed).toEqual(['first'])
  while (passed.length < 4) await nextTurn()
  expect(passed[1]).toBe('second')
  expect([...passed].sort()).toEqual(['first', 'of the second', 'second', 'third'])
})

test('networks take turns, and their connections, whatever one of them has sent', async () => {
  const pace = new PacedBytes()
  const passed: string[] = []
  const send = (network: string, connection: number, count: number): void => {
    for (let i = 0; i < count; i++) pace.of(network, connection)(64 * KIB, () => passed.push(`${network}${connection}`))
  }
  for (let connection = 0; connection < 50; connection++) send('many', connection, 32)
  passed.length = 0
  send('few', 1, 3)
  send('many', 50, 2)

  while (!passed.includes('many50')) await nextTurn()
  expect(passed.filter((name) => name === 'few1')).toHaveLength(3)
  expect(passed.length).toBeLessThanOrEqual(60)
})
