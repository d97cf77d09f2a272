import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  type ClaimAnswer,
  decodeAnswers,
  decodeMessage,
  encodeAnswers,
  encodeClaims,
  encodeEvents,
  encodeSettlements,
} from '../../../../internal/ingest/peers/peer-messages.js'

const word = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })
const words = (count: number) =>
  fc.array(word, { minLength: count, maxLength: count }).map((values) => Int32Array.from(values))
const sender = fc.record({ word0: word, word1: word })
const claim = { id: fc.integer({ min: 0, max: 2 ** 32 - 1 }), key: words(4), fingerprint: words(2) }
const claims = fc.array(fc.record(claim), { maxLength: 20 })
const settlements = fc.array(
  fc.record({ ...claim, isAdmitted: fc.boolean(), flags: fc.integer({ min: 0, max: 255 }) }),
  { maxLength: 20 },
)
const answers = fc.array(
  fc.oneof(
    fc.constantFrom<ClaimAnswer>({ kind: 'proceed' }, { kind: 'conflict' }, { kind: 'wait' }),
    fc.integer({ min: 0, max: 255 }).map((flags): ClaimAnswer => ({ kind: 'same', flags })),
  ),
  { maxLength: 20 },
)

const events = fc.array(
  fc.record({
    key: words(4),
    partition: fc.nat(63),
    what: fc.constantFrom('claim' as const, 'release' as const, 'stored' as const),
  }),
  { maxLength: 20 },
)

/** Where a message stands in what was received: at any offset. */
const received = (bytes: Uint8Array): Uint8Array => Buffer.concat([Buffer.alloc(3), bytes]).subarray(3)

test('claims and settlements are read as they were written', () => {
  fc.assert(
    fc.property(sender, claims, settlements, (from, someClaims, someSettlements) => {
      expect(decodeMessage(received(encodeClaims(from, someClaims)))).toEqual({
        kind: 'claims',
        sender: from,
        records: someClaims,
      })
      expect(decodeMessage(received(encodeSettlements(from, someSettlements)))).toEqual({
        kind: 'settlements',
        sender: from,
        records: someSettlements,
      })
    }),
  )
})

test('what is sent of events is read as it was written, and not when it is cut', () => {
  fc.assert(
    fc.property(sender, events, fc.integer({ min: 1, max: 19 }), (from, some, missing) => {
      const message = encodeEvents(from, some)
      expect(decodeMessage(received(message))).toEqual({ kind: 'events', sender: from, records: some })
      if (some.length > 0) expect(decodeMessage(message.subarray(0, -missing))).toBeUndefined()
    }),
  )
})

test('answers are read as they were written, and only in their number', () => {
  fc.assert(
    fc.property(answers, (some) => {
      expect(decodeAnswers(received(encodeAnswers(some)), some.length)).toEqual(some)
      expect(decodeAnswers(encodeAnswers(some), some.length + 1)).toBeUndefined()
    }),
  )
})

test('a truncated message, or one of another kind, is not decoded', () => {
  const message = encodeClaims({ word0: 1, word1: 2 }, [
    { id: 1, key: new Int32Array(4), fingerprint: new Int32Array(2) },
  ])
  const ofAnotherKind = message.slice()
  ofAnotherKind[0] = 77

  expect([0, 5, 11, 20, message.length - 1].map((length) => decodeMessage(message.subarray(0, length)))).toEqual(
    Array.from({ length: 5 }, () => undefined),
  )
  expect(decodeMessage(ofAnotherKind)).toBeUndefined()
  expect(decodeAnswers(Uint8Array.of(9, 0), 1)).toBeUndefined()
})
