import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { partitionOf } from '../../../internal/ids/event-partition.js'
import { deriveTenantIds, invocationIdBytes, uuidBytes } from '../../../internal/ids/ids.js'

test('partitions have equal shares of all ids, by their last two bytes alone, however many there are', () => {
  const id = Buffer.alloc(16, 0xff)
  for (const partitions of [1, 2, 12, 48, 60, 64]) {
    const counts = new Array<number>(partitions).fill(0)
    for (let last = 0; last < 65_536; last++) {
      id[0] = last
      id.writeUInt16BE(last, 14)
      const partition = partitionOf(id, partitions)
      if (partition !== last % partitions) throw new Error(`${last} is in partition ${partition} of ${partitions}`)
      counts[partition] = (counts[partition] ?? 0) + 1
    }

    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1)
  }
})

test('events of a tenant spread evenly over the partitions', () => {
  const tenant = deriveTenantIds(new Uint8Array(32).fill(7), 'tnt_one')
  const counts = [0, 0, 0, 0]
  for (let i = 0; i < 4_000; i++) {
    const partition = partitionOf(invocationIdBytes(tenant, uuidBytes(randomUUID())), 4)
    counts[partition] = (counts[partition] ?? 0) + 1
  }

  expect(Math.min(...counts)).toBeGreaterThan(800)
  expect(Math.max(...counts)).toBeLessThan(1_200)
})
