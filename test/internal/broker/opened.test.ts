import { expect, test, vi } from 'vitest'
import { mirrorBucket } from '../../../internal/broker/mirror.js'
import { memoryBucket } from '../../support/memory-bucket.js'

test('a start does not wait for a watch whose consumer ended with its server: it begins another', async () => {
  const bucket = memoryBucket()
  await bucket.put('tnt.services.a', { size: 1 })
  bucket.areWatchesDead = true
  const passed = vi.spyOn(performance, 'now').mockReturnValue(0)

  const opening = mirrorBucket(bucket.kv, () => undefined)
  await vi.waitUntil(() => bucket.watches === 1)
  bucket.areWatchesDead = false
  passed.mockReturnValue(6_000)

  expect([...(await opening).entries()]).toEqual([['tnt.services.a', { size: 1 }]])
  expect(bucket.watches).toBe(2)
})
