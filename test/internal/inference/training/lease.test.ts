import { afterAll, beforeAll, expect, test } from 'vitest'
import { acquireLease } from '../../../../internal/inference/training/lease.js'
import { TRAINING_LEASES } from '../../../../streams/buckets.js'
import { type Buckets, launchBuckets } from '../../../support/buckets.js'

let buckets: Buckets
beforeAll(async () => {
  buckets = await launchBuckets()
})
afterAll(() => buckets.close())

test('only one trainer at a time holds the lease of a tenant, and another can acquire it after release', async () => {
  const bucket = await buckets.open(TRAINING_LEASES)

  const first = await acquireLease(bucket, 'tnt_one', 'trainer-1')
  expect(first?.isHeld()).toBe(true)
  expect(await acquireLease(bucket, 'tnt_one', 'trainer-2')).toBeUndefined()
  const other = await acquireLease(bucket, 'tnt_two', 'trainer-2')
  expect(other?.isHeld()).toBe(true)

  await first?.release()
  expect(first?.isHeld()).toBe(false)
  const second = await acquireLease(bucket, 'tnt_one', 'trainer-2')
  expect(second?.isHeld()).toBe(true)

  // A second release must not end the lease of the next holder.
  await first?.release()
  expect(await acquireLease(bucket, 'tnt_one', 'trainer-1')).toBeUndefined()
  await second?.release()
  await other?.release()
})

test('exactly one of many concurrent trainers acquires the lease of a tenant', async () => {
  const bucket = await buckets.open(TRAINING_LEASES)

  const leases = await Promise.all(
    Array.from({ length: 20 }, (_, i) => acquireLease(bucket, 'tnt_three', `trainer-${i}`)),
  )

  expect(leases.filter((lease) => lease !== undefined).length).toBe(1)
  await Promise.all(leases.map((lease) => lease?.release()))
})
