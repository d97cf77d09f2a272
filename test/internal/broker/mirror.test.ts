import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Mirror, mirrorBucket } from '../../../internal/broker/mirror.js'
import { API_KEYS, REVOKED_TOKENS } from '../../../streams/buckets.js'
import { type Buckets, launchBuckets } from '../../support/buckets.js'

let buckets: Buckets
const mirrors: Mirror<unknown>[] = []

beforeAll(async () => {
  buckets = await launchBuckets()
})
afterAll(async () => {
  for (const mirror of mirrors) mirror.stop()
  await buckets.close()
})

const lost = (cause: unknown): never => {
  throw cause
}

test('a copy has what was written at a revision once it has reached it, also of another process', async () => {
  const mirror = await mirrorBucket<number>(await buckets.open(API_KEYS), lost)
  mirrors.push(mirror)
  const elsewhere = await (await buckets.connect()).bucket(API_KEYS)

  for (let value = 0; value < 20; value++) {
    await mirror.reached(await elsewhere.put('key_one', JSON.stringify(value)))
    expect(mirror.get('key_one')).toBe(value)
  }
})

test('a copy lets go of what has expired in its bucket', async () => {
  const bucket = await buckets.open(REVOKED_TOKENS)
  let expired: (key: string) => void = () => undefined
  const expiry = new Promise<string>((resolve) => {
    expired = resolve
  })
  const mirror = await mirrorBucket<object>(bucket, lost, (key, value) => {
    if (value === undefined) expired(key)
  })
  mirrors.push(mirror)

  await mirror.reached(await bucket.create('jti', '{}', '1s'))
  expect(mirror.get('jti')).toEqual({})

  expect(await expiry).toBe('jti')
  expect(mirror.get('jti')).toBeUndefined()
})
