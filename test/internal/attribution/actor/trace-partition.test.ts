import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { tracePartition } from '../../../../internal/attribution/actor/trace-partition.js'

test('a trace has one partition, whatever its name', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.integer({ min: 1, max: 64 }), (tenantId, traceId, partitions) => {
      const partition = tracePartition(tenantId, traceId, partitions)

      expect(partition).toBe(tracePartition(tenantId, traceId, partitions))
      expect(Number.isInteger(partition) && partition >= 0 && partition < partitions).toBe(true)
    }),
  )
})

/** The first is the one of every attributor: with another one, a trace would have two actors during an update. */
test('the partitions of known traces stay as they are', () => {
  const traces = ['4bf92f3577b34da6a3ce929d0e0e4736', 'order-1', 'order-2', 'é', '']

  expect(traces.map((traceId) => tracePartition('tnt_one', traceId, 64))).toEqual([5, 35, 6, 51, 4])
})

test.each([
  ['random', () => randomBytes(16).toString('hex')],
  ['numbered', (i: number) => `order-${i}`],
  ['differing in front', (i: number) => `${i}-order`],
])('traces spread evenly: %s', (_, nameOf) => {
  for (const partitions of [2, 4, 12, 64]) {
    const counts = new Array<number>(partitions).fill(0)
    for (let i = 0; i < 20_000; i++) {
      const partition = tracePartition('tnt_one', nameOf(i), partitions)
      counts[partition] = (counts[partition] ?? 0) + 1
    }

    expect(Math.max(...counts)).toBeLessThan((20_000 / partitions) * 1.5)
    expect(Math.min(...counts)).toBeGreaterThan((20_000 / partitions) * 0.5)
  }
})

test('traces of one name of two tenants do not share their partition in general', () => {
  const names = Array.from({ length: 1_000 }, (_, i) => `trace-${i}`)
  const same = names.filter((name) => tracePartition('tnt_one', name, 8) === tracePartition('tnt_two', name, 8))

  expect(same.length).toBeLessThan(250)
})
