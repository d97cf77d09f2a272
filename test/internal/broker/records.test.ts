import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Mirror, mirrorBucket } from '../../../internal/broker/mirror.js'
import { bucketRecords, type Records } from '../../../internal/broker/records.js'
import { API_KEYS } from '../../../streams/buckets.js'
import { type Buckets, launchBuckets } from '../../support/buckets.js'

interface Counter {
  readonly count: number
}

let buckets: Buckets
let mirror: Mirror<Counter>
let records: Records<Counter>
beforeAll(async () => {
  buckets = await launchBuckets()
  const bucket = await buckets.open(API_KEYS)
  mirror = await mirrorBucket<Counter>(bucket, () => undefined)
  records = bucketRecords<Counter>(bucket, mirror.reached)
})
afterAll(async () => {
  mirror.stop()
  await buckets.close()
})

test('a created, changed or deleted record is visible in this process when the call resolves', async () => {
  expect(await records.createOnce('one', { count: 1 })).toEqual({ count: 1 })
  expect(mirror.get('one')).toEqual({ count: 1 })
  expect(await records.change('one', ({ count }) => ({ count: count + 1 }))).toEqual({ count: 2 })
  expect(mirror.get('one')).toEqual({ count: 2 })
  expect(await records.read('one')).toEqual({ count: 2 })

  await records.delete('one')

  expect(mirror.get('one')).toBeUndefined()
  expect(await records.read('one')).toBeUndefined()
  expect(await records.change('one', () => ({ count: 9 }))).toBeUndefined()
})

test('a record is created only once by concurrent writers, and again after it was deleted', async () => {
  const made = await Promise.all(Array.from({ length: 20 }, (_, count) => records.createOnce('twice', { count })))

  expect(new Set(made.map(({ count }) => count)).size).toBe(1)
  await records.delete('twice')
  expect(await records.createOnce('twice', { count: 99 })).toEqual({ count: 99 })
})

test('concurrent changes of a record are all applied', async () => {
  await records.createOnce('many', { count: 0 })
  const elsewhere = bucketRecords<Counter>(await (await buckets.connect()).bucket(API_KEYS), async () => undefined)

  await Promise.all(
    Array.from({ length: 40 }, (_, i) =>
      (i % 2 === 0 ? records : elsewhere).change('many', ({ count }) => ({ count: count + 1 })),
    ),
  )

  expect(await records.read('many')).toEqual({ count: 40 })
})

test('a record is deleted only once, and only if it is the intended one', async () => {
  await records.createOnce('gone', { count: 1 })

  expect(await records.delete('gone', ({ count }) => count === 2)).toBe(false)
  expect(await records.read('gone')).toEqual({ count: 1 })
  const deleted = await Promise.all(Array.from({ length: 10 }, () => records.delete('gone')))

  expect(deleted.filter(Boolean)).toHaveLength(1)
  expect(mirror.get('gone')).toBeUndefined()
})

test('a change that returns undefined writes nothing', async () => {
  await records.createOnce('still', { count: 1 })
  const bucket = await buckets.open(API_KEYS)
  const before = (await bucket.get('still'))?.revision

  expect(await records.change('still', () => undefined)).toEqual({ count: 1 })
  expect((await bucket.get('still'))?.revision).toBe(before)
})
