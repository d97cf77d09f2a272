import { beforeAll, expect, test } from 'vitest'
import { settingsRoutes } from '../../../../internal/access/tenants/tenant-routes.js'
import { rateLimitsOf } from '../../../../internal/auth/rate-limits.js'
import type { Broker } from '../../../../internal/broker/connect.js'
import { createPublisher } from '../../../../internal/broker/publisher.js'
import { eventPublisher } from '../../../../internal/events/publish-event.js'
import type { Mutate } from '../../../../internal/http/mutations/mutations.js'
import type { Route } from '../../../../internal/http/route.js'
import { EVENTS, eventsSubject } from '../../../../streams/events.js'
import { ask as askAt, refusalOf } from '../../../support/ask.js'
import { idsOf } from '../../../support/key-gateway.js'
import type { MutationGateway } from '../../../support/mutation-gateway.js'
import { ownGateways } from '../../../support/own-gateways.js'
import { TENANT } from '../../../support/scope-keys.js'
import { tenantRecords } from '../../../support/tenant-records.js'

const PATH = '/api/v1/settings'
const OWNER = `admin:config@${Math.floor(Date.now() / 1_000)}#usr_owner`

const start = ownGateways(() => async (mutate: Mutate, broker: Broker): Promise<readonly Route[]> => {
  const { tenants, findTenant } = await tenantRecords(broker, 'held')
  await tenants.change(TENANT, (tenant) => ({ ...tenant, owners: ['usr_owner'] }))
  return settingsRoutes({
    mutate,
    tenants,
    findTenant,
    providerOf: () => undefined,
    instanceLimits: rateLimitsOf({ ingest: 20_000, read: 50, report: 10, control: 10, token: 5 }),
    publishEvent: eventPublisher(createPublisher(broker.connection).publish, idsOf),
    clock: Date.now,
  })
})
let gateway: MutationGateway
beforeAll(async () => {
  gateway = await start()
})

const ask = (method: string, path: string, body?: unknown, credential = 'admin:config') =>
  askAt(gateway.url, method, path, { 'x-api-key': credential }, body)

async function scheduled(): Promise<unknown[]> {
  const events: unknown[] = []
  const { state } = await gateway.broker.manager.streams.info(EVENTS.name)
  for (let seq = Math.max(1, state.first_seq); seq <= state.last_seq; seq++) {
    const message = await gateway.broker.manager.streams.getMessage(EVENTS.name, { seq })
    if (message?.subject === eventsSubject(TENANT, 'settings.change.scheduled')) events.push(message.json())
  }
  return events
}

test('a change that destroys data is shown while it waits, emits one event, and can be cancelled', async () => {
  const asked = await ask('PATCH', PATH, { retention_days: 90, name: 'Renamed' })
  const again = await ask('PATCH', PATH, { retention_days: 90 })

  expect(asked.json).toMatchObject({ name: 'Renamed', retention_days: 400 })
  const [change] = asked.json.pending_changes
  expect(change).toMatchObject({ setting: 'retention_days', to: 90, requested_by: 'key_test' })
  expect(again.json.pending_changes).toEqual([change])
  expect((await ask('GET', PATH)).json.pending_changes).toEqual([change])
  expect(await scheduled()).toMatchObject([
    {
      type: 'settings.change.scheduled',
      data: { setting: 'retention_days', from: 400, to: 90, takes_effect_at: change.takes_effect_at },
    },
  ])
  expect(gateway.audited.map(({ action, changes }) => [action, changes?.after])).toEqual([
    ['settings.update', { name: 'Renamed', pending_changes: [change] }],
    ['settings.update', undefined],
  ])

  const cancel = () => ask('DELETE', `${PATH}/pending-changes/retention_days`)
  expect((await cancel()).status).toBe(204)
  expect(refusalOf(await cancel())).toEqual([404, 'NOT_FOUND'])
  expect((await ask('GET', PATH)).json).toMatchObject({ retention_days: 400, pending_changes: [] })
  expect(gateway.audited.find(({ action }) => action === 'settings.cancel')?.changes).toEqual({
    before: { pending_changes: [change] },
    after: { pending_changes: null },
  })
})

test('only an owner lets everybody give everything; everybody may end it', async () => {
  expect(refusalOf(await ask('PATCH', PATH, { delegation: 'any' }))).toEqual([403, 'INSUFFICIENT_SCOPE'])
  expect((await ask('PATCH', PATH, { delegation: 'any' }, OWNER)).json.delegation).toBe('any')
  expect((await ask('PATCH', PATH, { delegation: 'any' })).status).toBe(200)
  expect((await ask('PATCH', PATH, { delegation: 'held' })).json.delegation).toBe('held')
})

test('only an owner lets cost objects be named for few people; it waits a day, and ends at once', async () => {
  expect(refusalOf(await ask('PATCH', PATH, { cohort_scope: 'people' }))).toEqual([403, 'INSUFFICIENT_SCOPE'])

  const { json } = await ask('PATCH', PATH, { cohort_scope: 'people' }, OWNER)
  expect(json).toMatchObject({ cohort_scope: 'all', pending_changes: [{ setting: 'cohort_scope', to: 'people' }] })

  const back = await ask('PATCH', PATH, { cohort_scope: 'all' })
  expect(back.json).toMatchObject({ cohort_scope: 'all', pending_changes: [] })
})
