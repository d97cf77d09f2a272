import { createPublicKey, sign, verify } from 'node:crypto'
import type { KV } from '@nats-io/kv'
import { calculateJwkThumbprint } from 'jose'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  type KeyRing,
  PUBLISHED_BEFORE_MS,
  RETIRED_FOR_MS,
  SIGNS_FOR_MS,
} from '../../../../internal/access/oauth/key-ring.js'
import { maintainKeyRing, openKeyRing, rotateSigningKey } from '../../../../internal/access/oauth/key-rotation.js'
import { createTokenKeys } from '../../../../internal/access/oauth/token-keys.js'
import { TOKEN_KEYS } from '../../../../streams/buckets.js'
import { type Buckets, launchBuckets } from '../../../support/buckets.js'
import { NOW_MS } from '../../../support/invocations.js'
import { masterKeysOf } from '../../../support/master-keys.js'

const MASTER_KEYS = masterKeysOf(1)
let buckets: Buckets
let bucket: KV

beforeAll(async () => {
  buckets = await launchBuckets()
  bucket = await buckets.open(TOKEN_KEYS)
})
afterAll(() => buckets.close())
beforeEach(() => bucket.purge('production'))

const open = (nowMs = NOW_MS): Promise<KeyRing> => openKeyRing(bucket, MASTER_KEYS, 'production', nowMs)
const tend = (nowMs: number) => maintainKeyRing(bucket, MASTER_KEYS, 'production', nowMs)
const rotate = (nowMs: number, how?: 'emergency') => rotateSigningKey(bucket, MASTER_KEYS, 'production', nowMs, how)
const kidsOf = ({ keys }: KeyRing, state: string): string[] =>
  keys.filter((key) => key.state === state).map(({ kid }) => kid)

test('gateways that start at the same time use one key ring', async () => {
  const rings = await Promise.all(Array.from({ length: 4 }, () => open()))

  expect(new Set(rings.map((ring) => JSON.stringify(ring))).size).toBe(1)
})

test('a signing key has 2048 bits, its thumbprint as kid, and is stored sealed', async () => {
  for (const { kid, n, e, sealed_private_key: sealed } of (await open()).keys) {
    const jwk = { kty: 'RSA', n, e }

    expect(kid).toBe(await calculateJwkThumbprint(jwk))
    expect(createPublicKey({ key: jwk, format: 'jwk' }).asymmetricKeyDetails?.modulusLength).toBe(2048)
    expect(Buffer.from(sealed, 'base64url').includes('PRIVATE')).toBe(false)
  }
})

test('a key ring cannot sign without the master key', async () => {
  const ring = await open()

  expect(() => createTokenKeys(masterKeysOf(2), ring)).toThrow('does not open')
})

test('production and sandbox have separate key rings', async () => {
  const sandbox = await openKeyRing(bucket, MASTER_KEYS, 'sandbox', NOW_MS)
  const kids = [...(await open()).keys, ...sandbox.keys].map(({ kid }) => kid)

  expect(new Set(kids).size).toBe(4)
})

test('the signing key is published, and published keys contain nothing private', async () => {
  const ring = await open()
  const keys = createTokenKeys(MASTER_KEYS, ring)
  const { kid, privateKey } = keys.signer()
  const signature = sign('RSA-SHA256', Buffer.from('x'), privateKey)

  expect(verify('RSA-SHA256', Buffer.from('x'), keys.publicKey(kid) ?? '', signature)).toBe(true)
  expect(keys.document().body).not.toMatch(/"(d|p|q|dp|dq|qi|sealed_private_key)"/)
})

test('a manual rotation is refused while verifiers may not know the next key, and succeeds later', async () => {
  const before = await open()

  expect(await rotate(NOW_MS + PUBLISHED_BEFORE_MS - 1)).toEqual({
    kind: 'too_soon',
    againAtMs: NOW_MS + PUBLISHED_BEFORE_MS,
  })
  const rotation = await rotate(NOW_MS + PUBLISHED_BEFORE_MS)

  expect(rotation).toEqual({ kind: 'rotated', kid: kidsOf(before, 'next')[0] })
  expect(kidsOf(await open(), 'retired')).toEqual(kidsOf(before, 'current'))
})

test('an emergency rotation does not wait, and removes the old keys at once', async () => {
  const before = await open()
  const keys = createTokenKeys(MASTER_KEYS, before)

  await rotate(NOW_MS, 'emergency')
  const gone = keys.follow(await open())

  expect(gone).toEqual(kidsOf(before, 'current'))
  expect(keys.publicKey(gone[0] ?? '')).toBeUndefined()
  expect(keys.signer().kid).toBe(kidsOf(before, 'next')[0])
})

test('only one of several gateways performs a due rotation', async () => {
  const before = await open()

  const told = await Promise.all(Array.from({ length: 4 }, () => tend(NOW_MS + SIGNS_FOR_MS)))

  const after = await open()
  expect(kidsOf(after, 'current')).toEqual(kidsOf(before, 'next'))
  expect(after.keys).toHaveLength(3)
  const rotated = { before: kidsOf(before, 'current')[0], after: kidsOf(before, 'next')[0] }
  expect(told.filter((one) => one !== undefined)).toEqual([rotated])
})

test('maintenance writes nothing to a current ring, and removes an expired key', async () => {
  await open()
  await rotate(NOW_MS + PUBLISHED_BEFORE_MS)
  const revision = async (): Promise<number | undefined> => (await bucket.get('production'))?.revision
  const before = await revision()

  await tend(NOW_MS + PUBLISHED_BEFORE_MS + RETIRED_FOR_MS - 1)
  expect(await revision()).toBe(before)

  await tend(NOW_MS + PUBLISHED_BEFORE_MS + RETIRED_FOR_MS)
  expect(kidsOf(await open(), 'retired')).toEqual([])
  expect(await tend(NOW_MS + PUBLISHED_BEFORE_MS + RETIRED_FOR_MS)).toBeUndefined()
})
