import { expect, test, vi } from 'vitest'
import { InFlight, type Outcome, WAITS } from '../../../../internal/ingest/keys/in-flight.js'
import type { Confirmation } from '../../../../internal/ingest/keys/key-confirmation.js'
import { localKeys } from '../../../../internal/ingest/keys/local-keys.js'
import { LEASE_MS, PeerClaims } from '../../../../internal/ingest/peers/peer-claims.js'
import type { ClaimAnswer, PeerId } from '../../../../internal/ingest/peers/peer-messages.js'
import { AdmissionIndex } from '../../../../internal/repeats/admission-index.js'
import { createLog } from '../../../../internal/telemetry/log.js'
import { fingerprintOf, keyOf } from '../keys/keys.js'

const ANNA: PeerId = { word0: 1, word1: 1 }
const BEN: PeerId = { word0: 2, word1: 2 }
const WINDOW_MS = 3_600_000

/** An owner, the peers that ask it, and its own requests. */
function owner(options: { isLoaded?: boolean; confirm?: () => Promise<Confirmation>; keysMax?: number } = {}) {
  const { isLoaded = true, confirm = () => Promise.resolve('unknown' as const), keysMax = 16 } = options
  const time = { ms: 1_000_000 }
  const index = new AdmissionIndex({
    windowMs: WINDOW_MS,
    periodMs: WINDOW_MS,
    exactKeysMax: 1_000,
    hasFingerprint: true,
    filterBitsPerKey: 16,
    filterBytesMax: () => Number.POSITIVE_INFINITY,
  })
  const inFlight = new InFlight<string>({ keysMax, waitingMax: 16, clock: () => 0 })
  const clock = () => time.ms
  const local = localKeys({ index, inFlight, isLoaded: () => isLoaded, confirm, elsewhere: 'elsewhere', clock })
  const claims = new PeerClaims(local, clock, createLog('test', 'silent'))
  const outcomes: Outcome<string>[] = []
  return {
    time,
    index,
    inFlight,
    claims,
    outcomes,
    ask: (sender: PeerId, id: number, key: number, body: number): ClaimAnswer | undefined =>
      claims.answer(sender, [{ id, key: keyOf(key), fingerprint: fingerprintOf(body) }])[0],
    settle: (sender: PeerId, id: number, key: number, body: number, isAdmitted: boolean, flags = 0): void =>
      claims.settle(sender, [{ id, key: keyOf(key), fingerprint: fingerprintOf(body), isAdmitted, flags }]),
    beginOwn: (key: number, body: number) =>
      inFlight.begin(keyOf(key), fingerprintOf(body), {
        onOutcome: (outcome) => outcomes.push(outcome),
        overdue: () => undefined,
      }),
  }
}

test('a free key is granted to the first claim, and its outcome is reported to the others', () => {
  const { ask, settle, claims } = owner()

  expect([ask(ANNA, 1, 1, 1), ask(BEN, 1, 1, 2), ask(BEN, 2, 1, 1)]).toEqual([
    { kind: 'proceed' },
    { kind: 'wait' },
    { kind: 'wait' },
  ])
  settle(ANNA, 1, 1, 1, true, 7)

  expect([ask(BEN, 1, 1, 2), ask(BEN, 2, 1, 1)]).toEqual([{ kind: 'conflict' }, { kind: 'same', flags: 7 }])
  expect(claims.held).toBe(0)
})

test('a claim repeated because its answer was lost gets the same answer', () => {
  const { ask } = owner()

  expect([ask(ANNA, 1, 1, 1), ask(ANNA, 1, 1, 1)]).toEqual([{ kind: 'proceed' }, { kind: 'proceed' }])
})

test('the claims of two gateways under one id are two', () => {
  const { ask } = owner()

  expect([ask(ANNA, 1, 1, 1), ask(BEN, 1, 1, 1)]).toEqual([{ kind: 'proceed' }, { kind: 'wait' }])
})

test('a key that was not admitted goes to the next in turn, be it a peer or a request of the owner', () => {
  const { ask, settle, beginOwn, outcomes } = owner()
  ask(ANNA, 1, 1, 1)
  expect(beginOwn(1, 2)).toBe(WAITS)
  ask(BEN, 1, 1, 3)

  settle(ANNA, 1, 1, 1, false)

  expect(outcomes.map(({ kind }) => kind)).toEqual(['proceed'])
  expect(ask(BEN, 1, 1, 3)).toEqual({ kind: 'wait' })
})

test('requests of the owner that waited for a peer look the key up again, or conflict if their body differs', () => {
  const { ask, settle, beginOwn, outcomes, index, time } = owner()
  ask(ANNA, 1, 1, 1)
  beginOwn(1, 1)
  beginOwn(1, 2)

  settle(ANNA, 1, 1, 1, true, 3)

  expect(outcomes).toEqual([{ kind: 'replay', answer: 'elsewhere' }, { kind: 'conflict' }])
  expect([index.lookup(keyOf(1), fingerprintOf(1), time.ms), index.flags]).toEqual(['same', 3])
})

test('a claim waits for a request of the owner and then gets its outcome', () => {
  const { ask, beginOwn, index, inFlight, time } = owner()
  const own = beginOwn(1, 1)
  expect([ask(ANNA, 1, 1, 1), ask(ANNA, 2, 1, 2)]).toEqual([{ kind: 'wait' }, { kind: 'wait' }])

  index.admit(keyOf(1), fingerprintOf(1), 0, time.ms)
  inFlight.settle(own, true, '202')

  expect([ask(ANNA, 1, 1, 1), ask(ANNA, 2, 1, 2)]).toEqual([{ kind: 'same', flags: 0 }, { kind: 'conflict' }])
})

test('a key that was never settled is free after its lease, and not before', () => {
  const { ask, beginOwn, outcomes, claims, time } = owner()
  ask(ANNA, 1, 1, 1)
  beginOwn(1, 2)

  time.ms += LEASE_MS - 1
  claims.sweep()
  expect(outcomes).toEqual([])
  time.ms += 1
  claims.sweep()

  expect(outcomes.map(({ kind }) => kind)).toEqual(['proceed'])
  expect(claims.held).toBe(0)
})

test('a settlement after the lease still makes the key known, and settling twice does no harm', () => {
  const { ask, settle, claims, time } = owner()
  ask(ANNA, 1, 1, 1)
  time.ms += LEASE_MS
  claims.sweep()

  settle(ANNA, 1, 1, 1, true, 5)
  settle(ANNA, 1, 1, 1, true, 5)

  expect([ask(BEN, 1, 1, 1), ask(BEN, 2, 1, 2)]).toEqual([{ kind: 'same', flags: 5 }, { kind: 'conflict' }])
})

test('a claim that is no longer repeated loses its turn to the next ones', () => {
  const { ask, settle, claims, inFlight, time } = owner()
  ask(ANNA, 1, 1, 1)
  ask(BEN, 1, 1, 2)
  time.ms += 501
  ask(ANNA, 2, 1, 3)

  settle(ANNA, 1, 1, 1, false)

  expect(ask(ANNA, 2, 1, 3)).toEqual({ kind: 'proceed' })
  expect([claims.held, inFlight.keys, inFlight.waiting]).toEqual([1, 1, 0])
})

test.each<[Confirmation, ClaimAnswer]>([
  ['same', { kind: 'same', flags: 0 }],
  ['conflict', { kind: 'conflict' }],
  ['unknown', { kind: 'proceed' }],
])('while the index is loaded a new key waits until the read model says %s', async (confirmation, answer) => {
  const confirm = vi.fn(() => Promise.resolve(confirmation))
  const { ask } = owner({ isLoaded: false, confirm })

  expect([ask(ANNA, 1, 1, 1), ask(ANNA, 1, 1, 1)]).toEqual([{ kind: 'wait' }, { kind: 'wait' }])
  await new Promise((resolve) => setImmediate(resolve))

  expect(ask(ANNA, 1, 1, 1)).toEqual(answer)
  expect(confirm).toHaveBeenCalledOnce()
})

test('two claims that were confirmed as unknown do not both proceed', async () => {
  const { ask } = owner({ isLoaded: false })
  ask(ANNA, 1, 1, 1)
  ask(BEN, 1, 1, 2)

  await new Promise((resolve) => setImmediate(resolve))

  expect([ask(ANNA, 1, 1, 1), ask(BEN, 1, 1, 2)]).toEqual([{ kind: 'proceed' }, { kind: 'wait' }])
})

test('a failed confirmation is requested again', async () => {
  const confirm = vi.fn<() => Promise<Confirmation>>()
  confirm.mockRejectedValueOnce(new Error('away'))
  confirm.mockResolvedValue('unknown')
  const { ask } = owner({ isLoaded: false, confirm })

  ask(ANNA, 1, 1, 1)
  await new Promise((resolve) => setImmediate(resolve))
  ask(ANNA, 1, 1, 1)
  await new Promise((resolve) => setImmediate(resolve))

  expect(ask(ANNA, 1, 1, 1)).toEqual({ kind: 'proceed' })
})

test('a claim waits and is not held when no more keys fit in flight', () => {
  const { ask, claims, settle } = owner({ keysMax: 1 })
  ask(ANNA, 1, 1, 1)

  expect(ask(ANNA, 2, 2, 1)).toEqual({ kind: 'wait' })
  expect(claims.held).toBe(1)
  settle(ANNA, 1, 1, 1, true)

  expect(ask(ANNA, 2, 2, 1)).toEqual({ kind: 'proceed' })
})
