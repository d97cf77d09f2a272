import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EVENT_TYPES } from '../../../internal/events/event-contract.js'
import { type Delivery, encodeDelivery } from '../../../internal/webhooks/delivery.js'
import {
  decodeDeliveries,
  encodeGroup,
  GROUP_DELIVERIES_MAX,
  groupsOf,
} from '../../../internal/webhooks/delivery-group.js'
import { DELIVERIES } from '../../../streams/deliveries.js'
import { drawn } from '../../support/run/rings.js'

const BODY_BYTES_MAX = 64 * 1024

/** Deliveries without attempts, of several events to several endpoints each. */
const deliveries: fc.Arbitrary<readonly Delivery[]> = fc
  .array(
    fc.record({
      tenantId: fc.string(),
      type: fc.constantFrom(...EVENT_TYPES),
      sequence: fc.maxSafeNat(),
      body: fc.oneof(
        fc.uint8Array({ maxLength: 500 }),
        fc.constantFrom(20_000, BODY_BYTES_MAX).map((length) => new Uint8Array(length).fill(0x0a)),
      ),
      endpoints: fc.integer({ min: 1, max: 120 }),
    }),
    { maxLength: 6 },
  )
  .map((events) =>
    events.flatMap(({ endpoints, ...event }, at) =>
      Array.from({ length: endpoints }, (_, i) => ({
        id: `dlv_${at}_${i}`.padEnd(30, 'x'),
        endpointId: `whk_${i}`.padEnd(30, 'x'),
        eventId: `evt_${at}`,
        isReplayed: false,
        attempts: 0,
        parks: 0,
        startedAtMs: undefined,
        parkedAtMs: undefined,
        ...event,
      })),
    ),
  )

/** Bodies as digests: comparing them as byte arrays takes minutes. */
const plain = (all: readonly Delivery[]) =>
  all.map(({ body, ...rest }) => ({ ...rest, body: createHash('sha256').update(body).digest('hex') }))

test('deliveries are decoded from groups unchanged and in order, and every group fits into a message', () => {
  fc.assert(
    fc.property(deliveries, (all) => {
      const groups = groupsOf(all)
      const messages = groups.map(encodeGroup)

      expect(plain(messages.flatMap((message) => decodeDeliveries(message)))).toEqual(plain(all))
      for (const message of messages) expect(message.length).toBeLessThan(DELIVERIES.max_msg_size)
      for (const group of groups) expect(group.length).toBeLessThanOrEqual(GROUP_DELIVERIES_MAX)
    }),
    { numRuns: drawn(30) },
  )
})

test('a single encoded delivery is decoded as a group of one', () => {
  fc.assert(
    fc.property(deliveries, (all) => {
      for (const one of all.slice(0, 3)) expect(plain(decodeDeliveries(encodeDelivery(one)))).toEqual(plain([one]))
    }),
    { numRuns: drawn(30) },
  )
})

test('bytes that are not a group of deliveries are refused', () => {
  const [whole] = groupsOf([
    {
      id: 'dlv_1',
      tenantId: 'tnt_1',
      endpointId: 'whk_1',
      eventId: 'evt_1',
      type: 'apikey.rotated',
      sequence: 1,
      isReplayed: false,
      attempts: 0,
      parks: 0,
      startedAtMs: undefined,
      parkedAtMs: undefined,
      body: Buffer.from('{}'),
    },
  ]).map(encodeGroup)
  expect(() => decodeDeliveries((whole as Buffer).subarray(0, -1))).toThrow()
  for (const text of ['', '[', '[]', '[1]\n', 'x\n']) expect(() => decodeDeliveries(Buffer.from(text))).toThrow()
})
