import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPublisher } from '../../../internal/broker/publisher.js'
import { EVENT_TYPES, eventEnvelope } from '../../../internal/events/contract.js'
import { envelopeOf, eventId, type NewEvent, type StoredEvent } from '../../../internal/events/event.js'
import { eventPublisher } from '../../../internal/events/publish.js'
import { hasTagOf, parseId, tenantIdsCache } from '../../../internal/ids/ids.js'
import { EVENTS, eventsSubject } from '../../../streams/events.js'
import { type Buckets, launchBuckets } from '../../support/buckets.js'

const idsOf = tenantIdsCache(new Uint8Array(32).fill(7))
const rotated = (cause: string, tenantId = 'tnt_one'): NewEvent => ({
  tenantId,
  type: 'apikey.rotated',
  cause,
  data: { old_key_id: 'key_old', new_key_id: cause },
})

describe('an event id', () => {
  test('is the same for the same cause, and another for another cause, type or tenant', () => {
    const ids = [
      eventId(idsOf('tnt_one'), 'apikey.rotated', 'key_a'),
      eventId(idsOf('tnt_one'), 'apikey.rotated', 'key_b'),
      eventId(idsOf('tnt_one'), 'export.failed', 'key_a'),
      eventId(idsOf('tnt_two'), 'apikey.rotated', 'key_a'),
    ]

    expect(eventId(idsOf('tnt_one'), 'apikey.rotated', 'key_a')).toBe(ids[0])
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('is recognised as its tenant’s', () => {
    const bytes = parseId('evt', eventId(idsOf('tnt_one'), 'apikey.rotated', 'key_a'))

    expect(bytes && hasTagOf(bytes, idsOf('tnt_one'))).toBe(true)
  })
})

describe('in the stream', () => {
  let buckets: Buckets
  beforeAll(async () => {
    buckets = await launchBuckets()
  })
  afterAll(() => buckets.close())

  test('an event is stored once a cause, and comes out with the stream’s sequence and time', async () => {
    const { connection, manager } = await buckets.connect()
    const publish = eventPublisher(createPublisher(connection).publish, idsOf)
    const before = Date.now()
    for (const event of [rotated('key_a'), rotated('key_a'), rotated('key_b'), rotated('key_c', 'tnt_two')]) {
      await publish(event)
    }

    const envelopes = []
    const query = { seq: 1, batch: 10, next_by_subj: eventsSubject('tnt_one', '>') }
    for await (const message of await manager.direct.getBatch(EVENTS.name, query)) {
      envelopes.push(envelopeOf(message.json<StoredEvent>(), message.seq, message.time.getTime()))
    }

    expect(envelopes).toEqual(
      ['key_a', 'key_b'].map((cause, i) => ({
        id: eventId(idsOf('tnt_one'), 'apikey.rotated', cause),
        type: 'apikey.rotated',
        created_at: expect.any(String),
        tenant_id: 'tnt_one',
        sequence: i + 1,
        data: { old_key_id: 'key_old', new_key_id: cause },
      })),
    )
    for (const envelope of envelopes) {
      expect(eventEnvelope.safeParse(envelope).success).toBe(true)
      expect(Date.parse(envelope.created_at)).toBeGreaterThanOrEqual(before - 1_000)
    }
    expect(Object.keys(envelopes[0] ?? {})).toEqual(['id', 'type', 'created_at', 'tenant_id', 'sequence', 'data'])
  })

  test('that takes no message the publisher says so', async () => {
    const publish = eventPublisher(
      async () => ({ kind: 'refused', errorCode: 10_077, description: 'maximum bytes exceeded' }),
      idsOf,
    )

    await expect(publish(rotated('key_a'))).rejects.toThrow('did not take a message')
  })
})

test('every type is a row of tokens that stand in a subject as they are', () => {
  for (const type of EVENT_TYPES) expect(eventsSubject('tnt_one', type)).toMatch(/^events\.tnt_one(\.[a-z]+){2,3}$/)
})
