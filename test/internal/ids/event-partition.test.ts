import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { partitionOf } from '../../../internal/ids/event-partition.js'
import { deriveTenantIds, invocationIdBytes, uuidBytes } from '../../../internal/ids/ids.js'

test('the partition of an event is that of its last byte, and follows from nothing else', () => {
  const id = Buffer.alloc(16, 0xff)
  for (let last = 0; last < 256; last++) {
    id[15] = last
    id[0] = last * 7
    expect([1, 2, 12, 64].map((partitions) => partitionOf(id, partitions))).toEqual([0, last % 2, last % 12, last % 64])
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
