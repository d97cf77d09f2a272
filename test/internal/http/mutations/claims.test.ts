import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Broker, connectBroker, ensureStreams } from '../../../../internal/broker/connect.js'
import { type Claims, createClaims } from '../../../../internal/http/mutations/claims.js'
import { IDEMPOTENCY } from '../../../../streams/buckets.js'
import { launchBroker } from '../../../support/broker.js'

let broker: Broker
/** Two processes; for the second, leases expire after a very short time. */
let patient: Claims
let hasty: Claims

beforeAll(async () => {
  const { url } = await launchBroker()
  broker = await connectBroker({ url, user: '', password: '', name: 'claims' })
  await ensureStreams(broker, { replicas: 1, invocationsBytesMax: 2 ** 20, observationsBytesMax: 2 ** 20 })
  const bucket = await broker.bucket(IDEMPOTENCY)
  patient = createClaims(bucket, { leaseMs: 600_000 })
  hasty = createClaims(bucket, { leaseMs: 50 })
})
afterAll(() => broker.close())

async function claimed(claims: Claims, key: string, fingerprint = 'f') {
  const claim = await claims.claim(key, fingerprint, 'key_one', 2_000)
  if (claim.kind !== 'claimed') throw new Error(`the key is ${claim.kind}`)
  return claim
}

test('an owner that lost its claim cannot decide, and its successor has the same seed', async () => {
  const slow = await claimed(patient, 'overtaken')
  const next = await claimed(hasty, 'overtaken')

  expect({ slow: slow.isRepeat, next: next.isRepeat }).toEqual({ slow: false, next: true })
  expect(next.seed).toEqual(slow.seed)
  expect(await slow.decide('of the slow one')).toBe(false)
  expect(await next.decide('of the next')).toBe(true)
  expect(await slow.decide('of the slow one, later')).toBe(false)
  expect(await patient.find('overtaken', 'f', 0)).toEqual({ kind: 'decided', sealed: 'of the next' })
})

test('a withdrawn key can be claimed with any body, and gets a new seed', async () => {
  const first = await claimed(patient, 'withdrawn')
  await first.withdraw()

  expect(await patient.find('withdrawn', 'f', 0)).toBeUndefined()
  const second = await claimed(patient, 'withdrawn', 'another body')
  expect(second.isRepeat).toBe(false)
  expect(second.seed).not.toEqual(first.seed)
})

test('a key that was left can be claimed at once, but only with the same body', async () => {
  const first = await claimed(patient, 'left')
  await first.leave()

  expect(await patient.claim('left', 'another body', 'key_one', 0)).toEqual({ kind: 'conflict' })
  const second = await claimed(patient, 'left')
  expect({ isRepeat: second.isRepeat, seed: second.seed }).toEqual({ isRepeat: true, seed: first.seed })
})

test('an owner can decide after its claim was renewed', async () => {
  const owner = await claimed(createClaims(await broker.bucket(IDEMPOTENCY), { leaseMs: 30 }), 'renewed')
  const bucket = await broker.bucket(IDEMPOTENCY)
  const first = (await bucket.get('renewed'))?.revision ?? 0
  while (((await bucket.get('renewed'))?.revision ?? 0) < first + 3);

  expect(await owner.decide('done')).toBe(true)
})

test('only one of many concurrent requests claims a key', async () => {
  const standings = await Promise.all(Array.from({ length: 50 }, () => patient.claim('wanted', 'f', 'key_one', 0)))

  const kinds = standings.map(({ kind }) => kind).sort()
  expect(kinds).toEqual([...Array.from({ length: 49 }, () => 'busy'), 'claimed'])
})
