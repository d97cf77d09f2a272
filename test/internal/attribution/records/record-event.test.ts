import type { StoredMsg } from '@nats-io/jetstream'
import { expect, test } from 'vitest'
import { announcer, attributionEvent } from '../../../../internal/attribution/records/record-event.js'
import { lastSequenceOf, readMessages } from '../../../../internal/broker/log.js'
import { EVENT_DATA } from '../../../../internal/events/event-contract.js'
import { eventsPublisher } from '../../../../internal/events/publish-event.js'
import { formatId, tenantIdsCache } from '../../../../internal/ids/ids.js'
import type { AttributionRow } from '../../../../internal/store/tables/attributions.js'
import { EVENTS } from '../../../../streams/events.js'
import { idOf, NOW_MS } from '../../../support/invocations.js'
import { launchLogBroker } from '../../../support/planned-logs.js'
import { finishedRow } from '../../../support/rows.js'

test('an attribution event carries the basis of each amount, so that an unknown amount is not read as 0', () => {
  const row = { ...finishedRow(), costBasis: 'unpriced', energyBasis: 'modelled', carbonBasis: 'unknown' }

  const { data } = attributionEvent('attribution.materialized', row, 'a')

  expect(data).toMatchObject({ cost_basis: 'unpriced', energy_basis: 'modelled', carbon_basis: 'unknown' })
  expect(EVENT_DATA['attribution.materialized'].parse(data)).toEqual(data)
  expect(data).toMatchObject({ cost_bound: null })
  const bounded = attributionEvent('attribution.materialized', { ...row, costBound: 'lower' }, 'a')
  expect(EVENT_DATA['attribution.materialized'].parse(bounded.data)).toMatchObject({ cost_bound: 'lower' })
})

const rowOf = (number: number, tenantId: string) => finishedRow({ id: idOf(number), tenantId })

const broker = await launchLogBroker()
const announcing = (subscribesToRecords: (tenantId: string) => boolean) =>
  announcer({ subscribesToRecords, publishEvents: eventsPublisher(broker, tenantIdsCache(new Uint8Array(32))) })
const rowsFrom = (first: number, count: number): AttributionRow[] =>
  Array.from({ length: count }, (_, i) => rowOf(first + i, i % 2 === 0 ? 'tnt_one' : 'tnt_two'))

/** The messages behind a sequence. */
async function storedBehind(sequence: number): Promise<StoredMsg[]> {
  const range = { stream: EVENTS.name, subject: 'events.>', from: sequence + 1, messagesMax: 2_000, bytesMax: 2 ** 24 }
  return readMessages(broker.manager, range)
}
const lastSequence = () => lastSequenceOf(broker.manager, EVENTS.name)

test('attribution.materialized is published for subscribed tenants only, once per version', async () => {
  const announce = announcing((tenantId) => tenantId === 'tnt_one')
  const rows = rowsFrom(1, 1_200)

  await announce(rows)
  await announce(rows)
  await announce([{ ...rowOf(1, 'tnt_one'), validFromMs: NOW_MS + 1 }])

  const stored = await storedBehind(0)
  expect(stored).toHaveLength(601)
  expect(stored[0]?.subject).toBe('events.tnt_one.attribution.materialized')
  expect(stored[0]?.json()).toMatchObject({
    type: 'attribution.materialized',
    tenant_id: 'tnt_one',
    data: { id: formatId('attr', idOf(1)), service: 'search', owner: 'team-search', cost_usd: '0' },
    interpretation: { stage_origin: 'stage_a', confidence_band: 'chargeback_ready', degradation_state: 'none' },
  })
})

test('the events of many records are stored together, each as a message with its own sequence and time', async () => {
  const before = await lastSequence()
  // Others at a second attempt: a group with an id that is known is refused.
  const rows = rowsFrom(10_000 + 1_000 * before, 1_000)

  await announcing(() => true)(rows)

  const stored = await storedBehind(before)
  expect(stored.map((message) => message.json<{ data: { id: string } }>().data.id)).toEqual(
    rows.map(({ id }) => formatId('attr', id)),
  )
  // Each group costs the broker one sync.
  expect(new Set(stored.map(({ header }) => header.get('Nats-Batch-Id'))).size).toBe(2)
  expect(new Set(stored.map(({ timestamp }) => timestamp)).size).toBe(rows.length)
})

test('events that were stored in part, when a tenant subscribed meanwhile, are completed without a double', async () => {
  const before = await lastSequence()
  const rows = rowsFrom(4_001, 40)

  await announcing((tenantId) => tenantId === 'tnt_one')(rows)
  await announcing(() => true)(rows)

  const ids = (await storedBehind(before)).map((message) => message.json<{ id: string }>().id)
  expect(ids).toHaveLength(rows.length)
  expect(new Set(ids).size).toBe(rows.length)
})

test('a broker that stores none of the events makes the batch fail', async () => {
  await broker.manager.streams.update(EVENTS.name, { max_msg_size: 100 })

  await expect(announcing(() => true)(rowsFrom(5_001, 40))).rejects.toThrow('was not stored')
})
