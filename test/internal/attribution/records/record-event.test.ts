import { expect, test } from 'vitest'
import { announcer, attributionEvent } from '../../../../internal/attribution/records/record-event.js'
import { EVENT_DATA } from '../../../../internal/events/event-contract.js'
import { eventPublisher } from '../../../../internal/events/publish-event.js'
import { formatId, tenantIdsCache } from '../../../../internal/ids/ids.js'
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

test('attribution.materialized is published for subscribed tenants only, once per version', async () => {
  const broker = await launchLogBroker()
  const announce = announcer({
    subscribesToRecords: (tenantId) => tenantId === 'tnt_one',
    publishEvent: eventPublisher(broker.publish, tenantIdsCache(new Uint8Array(32))),
  })
  const rows = Array.from({ length: 1_200 }, (_, i) => rowOf(i + 1, i % 2 === 0 ? 'tnt_one' : 'tnt_two'))

  await announce(rows)
  await announce(rows)
  await announce([{ ...rowOf(1, 'tnt_one'), validFromMs: NOW_MS + 1 }])

  const { state } = await broker.manager.streams.info(EVENTS.name)
  expect(state.messages).toBe(601)
  const first = await broker.manager.streams.getMessage(EVENTS.name, { seq: 1 })
  expect(first?.subject).toBe('events.tnt_one.attribution.materialized')
  expect(first?.json()).toMatchObject({
    type: 'attribution.materialized',
    tenant_id: 'tnt_one',
    data: { id: formatId('attr', idOf(1)), service: 'search', owner: 'team-search', cost_usd: '0' },
    interpretation: { stage_origin: 'stage_a', confidence_band: 'chargeback_ready', degradation_state: 'none' },
  })
})
