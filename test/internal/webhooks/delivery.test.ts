import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EVENT_TYPES } from '../../../internal/events/event-contract.js'
import { type Delivery, decodeDelivery, encodeDelivery, partitionOf } from '../../../internal/webhooks/delivery.js'
import { DELIVERY_PARTITIONS } from '../../../streams/deliveries.js'

const atMs = fc.option(fc.maxSafeNat(), { nil: undefined })
/**
 * An attempted delivery has the time of its first attempt; one without attempts may have the time of its first parking.
 */
const life = fc.oneof(
  fc.record({ attempts: fc.integer({ min: 1, max: 20 }), startedAtMs: atMs, parkedAtMs: fc.constant(undefined) }),
  fc.record({ attempts: fc.constant(0), startedAtMs: fc.constant(undefined), parkedAtMs: atMs }),
)

const delivery: fc.Arbitrary<Delivery> = fc
  .record({
    id: fc.string(),
    tenantId: fc.string(),
    endpointId: fc.string(),
    eventId: fc.string(),
    type: fc.constantFrom(...EVENT_TYPES),
    sequence: fc.maxSafeNat(),
    isReplayed: fc.boolean(),
    parks: fc.nat(1_000),
    body: fc.uint8Array(),
    life,
  })
  .map(({ life, ...rest }) => ({ ...rest, ...life }))

test('a delivery is decoded as it was encoded, with the exact bytes of its body', () => {
  fc.assert(
    fc.property(delivery, (one) => {
      const { body, ...rest } = decodeDelivery(encodeDelivery(one))
      expect({ ...rest, body: Uint8Array.from(body) }).toEqual(one)
    }),
  )
})

test('bytes that are not a delivery are refused', () => {
  for (const text of ['', '{}', '{}\n', 'null\n', '{"d":1,"w":2}\n', 'x\n']) {
    expect(() => decodeDelivery(Buffer.from(text))).toThrow()
  }
})

test('endpoints are spread evenly over the partitions', () => {
  const counts = Array.from({ length: DELIVERY_PARTITIONS }, () => 0)
  for (let i = 0; i < 10_000; i++) {
    const part = partitionOf(`whk_${i.toString(36).padStart(8, '0')}`)
    counts[part] = (counts[part] ?? 0) + 1
  }

  for (const count of counts) expect(count).toBeGreaterThan(10_000 / DELIVERY_PARTITIONS / 2)
})
