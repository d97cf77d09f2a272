import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { deriveTenantIds, tenantIdsCache } from '../../../../internal/ids/ids.js'
import { partitionOf } from '../../../../internal/ingest/commit/commit-partition.js'
import { idOf } from '../../../support/invocations.js'

const key = new Uint8Array(32).fill(7)
const mine = deriveTenantIds(key, 'tnt_mine')
const theirs = deriveTenantIds(key, 'tnt_theirs')
const id = idOf(1)

const ids = fc.uint8Array({ minLength: 16, maxLength: 16 })
const traces = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 256, size: 'max' })
const partitionCounts = fc.integer({ min: 1, max: 64 })

/** Chi-square against equal counts as a standard normal deviate (Wilson and Hilferty): of chance, 4 is 1 in 30 000. */
function unevenness(counts: readonly number[]): number {
  const expected = counts.reduce((sum, count) => sum + count, 0) / counts.length
  const chiSquare = counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0)
  const freedom = counts.length - 1
  const variance = 2 / (9 * freedom)
  return (Math.cbrt(chiSquare / freedom) - (1 - variance)) / Math.sqrt(variance)
}

function tally(cells: number, of: (i: number) => number): number[] {
  const counts = new Array<number>(cells).fill(0)
  for (let i = 0; i < 20_000; i++) counts[of(i)] = (counts[of(i)] ?? 0) + 1
  return counts
}

const digest = (i: number): string => createHash('sha256').update(`${i}`).digest('hex')

/** Trace ids as producers make them. */
const KINDS: readonly (readonly [string, (i: number) => string])[] = [
  ['random hex', (i) => digest(i).slice(0, 32)],
  ['counted hex', (i) => i.toString(16).padStart(32, '0')],
  ['counted hex, high digits first', (i) => i.toString(16).padStart(8, '0').padEnd(32, '0')],
  ['short numbers', (i) => String(i)],
  ['named numbers', (i) => `workflow-run-${i}`],
  ['even numbers', (i) => `run-${i * 64}`],
  ['a shared random suffix', (i) => `${i}-4bf92f3577b34da6a3ce929d0e0e4736`],
  ['letters beyond ASCII', (i) => `вызов-${i}`],
]

describe('events of a trace', () => {
  test('go to one partition, regardless of their ids', () => {
    fc.assert(
      fc.property(traces, ids, ids, partitionCounts, (trace, one, other, partitions) => {
        const partition = partitionOf(mine, trace, one, partitions)

        expect(partitionOf(mine, trace, other, partitions)).toBe(partition)
        expect(Number.isInteger(partition) && partition >= 0 && partition < partitions).toBe(true)
      }),
    )
  })

  test('meet there from every gateway and after a restart, which know the same key', () => {
    fc.assert(
      fc.property(traces, fc.string(), partitionCounts, (trace, tenantId, partitions) => {
        const here = partitionOf(deriveTenantIds(key, tenantId), trace, id, partitions)

        expect(partitionOf(tenantIdsCache(Uint8Array.from(key))(tenantId), trace, id, partitions)).toBe(here)
      }),
    )
    // Another release must not scatter the traces that are under way.
    const partitions = ['a', 'trace-1', '4bf92f3577b34da6a3ce929d0e0e4736', 'вызов'].map((trace) =>
      partitionOf(mine, trace, id, 64),
    )
    expect(partitions).toEqual([27, 49, 8, 6])
  })

  describe.each(KINDS)('traces named by %s', (_, traceOf) => {
    test.each([2, 3, 4, 7, 16, 64])('spread evenly over %i partitions', (partitions) => {
      const counts = tally(partitions, (i) => partitionOf(mine, traceOf(i), id, partitions))

      expect(unevenness(counts)).toBeLessThan(4)
    })

    test.each([2, 8])('fall otherwise for another tenant, of %i partitions', (partitions) => {
      const counts = tally(
        partitions ** 2,
        (i) =>
          partitionOf(mine, traceOf(i), id, partitions) * partitions + partitionOf(theirs, traceOf(i), id, partitions),
      )

      expect(unevenness(counts)).toBeLessThan(4)
    })
  })
})

describe('an event without a trace', () => {
  test('goes where its id says, for every tenant, whether the trace is null or absent', () => {
    fc.assert(
      fc.property(ids, partitionCounts, (some, partitions) => {
        const expected = (some[15] ?? 0) % partitions

        for (const tenant of [mine, theirs]) {
          expect(partitionOf(tenant, undefined, some, partitions)).toBe(expected)
          expect(partitionOf(tenant, null, some, partitions)).toBe(expected)
        }
      }),
    )
  })
})
