import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPublisher } from '../../../internal/broker/publisher.js'
import { envelopeText, eventId, type NewEvent, storedText } from '../../../internal/events/event.js'
import { EVENT_TYPES, eventEnvelope } from '../../../internal/events/event-contract.js'
import { ExactNumber } from '../../../internal/events/exact-json.js'
import { eventPublisher } from '../../../internal/events/publish-event.js'
import { hasTagOf, parseId, tenantIdsCache } from '../../../internal/ids/ids.js'
import { EVENTS, eventsSubject } from '../../../streams/events.js'
import { type Buckets, launchBuckets } from '../../support/buckets.js'

const idsOf = tenantIdsCache(new Uint8Array(32).fill(7))
const rotated = (cause: string, tenantId = 'tnt_one'): NewEvent<'apikey.rotated'> => ({
  tenantId,
  type: 'apikey.rotated',
  cause,
  data: { old_key_id: 'key_old', new_key_id: cause },
})

describe('an event id', () => {
  test('is the same for the same cause, and different for another cause, type or tenant', () => {
    const ids = [
      eventId(idsOf('tnt_one'), 'apikey.rotated', 'key_a'),
      eventId(idsOf('tnt_one'), 'apikey.rotated', 'key_b'),
      eventId(idsOf('tnt_one'), 'export.failed', 'key_a'),
      eventId(idsOf('tnt_two'), 'apikey.rotated', 'key_a'),
    ]

    expect(eventId(idsOf('tnt_one'), 'apikey.rotated', 'key_a')).toBe(ids[0])
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('identifies its tenant', () => {
    const bytes = parseId('evt', eventId(idsOf('tnt_one'), 'apikey.rotated', 'key_a'))

    expect(bytes && hasTagOf(bytes, idsOf('tnt_one'))).toBe(true)
  })
})

describe('publishing an event', () => {
  let buckets: Buckets
  beforeAll(async () => {
    buckets = await launchBuckets()
  })
  afterAll(() => buckets.close())

  test('stores it once per cause, with the stream’s sequence and time', async () => {
    const { connection, manager } = await buckets.connect()
    const publish = eventPublisher(createPublisher(connection).publish, idsOf)
    const before = Date.now()
    for (const event of [rotated('key_a'), rotated('key_a'), rotated('key_b'), rotated('key_c', 'tnt_two')]) {
      await publish(event)
    }

    const envelopes = []
    const query = { seq: 1, batch: 10, next_by_subj: eventsSubject('tnt_one', '>') }
    for await (const message of await manager.direct.getBatch(EVENTS.name, query)) {
      const occasion = { sequence: message.seq, createdAt: message.timestamp, isReplayed: false }
      envelopes.push(JSON.parse(envelopeText(message.string(), occasion) ?? ''))
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
    expect(Object.keys(envelopes[0] ?? {})).toEqual(['id', 'type', 'created_at', 'sequence', 'tenant_id', 'data'])
  })

  test('rejects when the stream stores no message', async () => {
    const publish = eventPublisher(
      async () => ({ kind: 'refused', errorCode: 10_077, description: 'maximum bytes exceeded' }),
      idsOf,
    )

    await expect(publish(rotated('key_a'))).rejects.toThrow('was not stored')
  })
})

describe('the text of an envelope', () => {
  const occasion = { sequence: 7, createdAt: '2026-11-21T09:30:00.000000001Z', isReplayed: false }

  test('has the exact amounts of a budget, beyond the precision of a float', () => {
    const data = {
      budget_id: 'bdg_one',
      threshold: 75,
      period_to_date_usd: new ExactNumber('12345678901234567890.123456789012345678'),
      ceiling_usd: new ExactNumber('100'),
    } as const
    const event = { tenantId: 'tnt_one', type: 'budget.threshold.crossed', cause: 'one', data } as const

    const text = envelopeText(storedText('evt_one', event), occasion) ?? ''

    expect(text).toContain('"period_to_date_usd":12345678901234567890.123456789012345678,"ceiling_usd":100}')
    expect(JSON.parse(text)).toMatchObject({ sequence: 7, data: { ceiling_usd: 100 } })
  })

  test('is the same in every delivery, except for the flag of a replay', () => {
    const stored = storedText('evt_one', rotated('key_a'))

    expect(envelopeText(stored, occasion)).toBe(envelopeText(stored, occasion))
    expect(JSON.parse(envelopeText(stored, { ...occasion, isReplayed: true }) ?? '')).toEqual({
      ...JSON.parse(envelopeText(stored, occasion) ?? ''),
      replayed: true,
    })
  })

  test('is undefined for bytes that are not an event', () => {
    expect(envelopeText('{"a":1}', occasion)).toBeUndefined()
  })
})

test('every event type consists of valid subject tokens', () => {
  for (const type of EVENT_TYPES) expect(eventsSubject('tnt_one', type)).toMatch(/^events\.tnt_one(\.[a-z]+){2,3}$/)
})
