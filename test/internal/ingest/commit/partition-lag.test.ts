import { expect, test } from 'vitest'
import { PartitionLag } from '../../../../internal/ingest/commit/partition-lag.js'

test('the lag of a partition is the age of its first message that stage A has not processed', () => {
  const done = [0, 0]
  const lag = new PartitionLag(2, (partition) => done[partition] ?? 0)
  lag.stored(0, 5, 1_000)
  lag.stored(0, 7, 1_050) // too near to the first one to be remembered
  lag.stored(0, 9, 1_200)
  lag.stored(1, 6, 1_100)

  expect([lag.ageMs(0, 2_000), lag.ageMs(1, 2_000)]).toEqual([1_000, 900])
  done[0] = 5
  expect(lag.ageMs(0, 2_000)).toBe(800)
  done[0] = 9
  done[1] = 6
  expect([lag.ageMs(0, 2_000), lag.ageMs(1, 2_000)]).toEqual([0, 0])
})

test('a partition that nobody reads keeps its first message, and costs a bounded number of samples', () => {
  const lag = new PartitionLag(1, () => 0)
  for (let i = 1; i <= 10_000; i++) lag.stored(0, i, i * 100)

  expect(lag.ageMs(0, 1_000_000)).toBe(999_900)
})
