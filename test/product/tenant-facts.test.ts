import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import { type Ask, askAs } from '../support/ask.js'
import { wireEvent } from '../support/gateway.js'
import { newTenantOfProduct } from '../support/product.js'
import type { Instance } from '../support/service.js'

/** What a tenant states about itself by the API counts for the calls that come next, without a restart. */

let service: Instance
let ask: Ask

beforeAll(async () => {
  service = await newTenantOfProduct()
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
})

// biome-ignore lint/suspicious/noExplicitAny: the contract is what is being checked
async function attributed(stated: Record<string, unknown>): Promise<any> {
  const taken = await ask('POST', '/api/v1/invocations', wireEvent({ event_id: randomUUID(), ...stated }))
  expect(taken.status).toBe(202)
  const path = `/v1/attribution/${taken.json.invocation_id.replace('inv_', 'attr_')}`
  for (;;) {
    const { status, json } = await ask('GET', path)
    if (status === 200) return json
    await sleep(20)
  }
}

/** The attributor hears of a change within milliseconds: events are sent until one shows it. */
async function untilAttributed(stated: Record<string, unknown>, shows: Record<string, unknown>): Promise<void> {
  for (const until = Date.now() + 60_000; Date.now() < until; ) {
    const record = await attributed(stated)
    if (Object.entries(shows).every(([member, value]) => record[member] === value)) return
  }
  expect(await attributed(stated)).toMatchObject(shows)
}

test('a service is attributed by its directory entry: by alias, to its owner, and to a new owner', async () => {
  const asAlias = { attributed_service: 'checkout-v2', attributed_identity: 'ada@example.com' }
  expect(await attributed(asAlias)).toMatchObject({ service: 'checkout-v2', owner: 'ada@example.com' })

  const services = '/api/v1/directory/services'
  const { json } = await ask('POST', services, { name: 'checkout', owner: 'team-shop', aliases: ['checkout-v2'] })
  await untilAttributed(asAlias, { service: 'checkout', owner: 'team-shop' })

  await ask('PATCH', `${services}/${json.id}`, { owner: 'team-pay' })
  await untilAttributed(asAlias, { service: 'checkout', owner: 'team-pay' })

  await ask('DELETE', `${services}/${json.id}`)
  await untilAttributed(asAlias, { service: 'checkout-v2', owner: 'ada@example.com' })
})

test('an identity or credential that is mapped to one service resolves calls without a service', async () => {
  const identified = { attributed_service: undefined, attributed_identity: 'bot-7' }
  await ask('POST', '/api/v1/directory/identities', { name: 'bot-7', owner: 'team-bots', service: 'crawler' })
  await untilAttributed(identified, { service: 'crawler', owner: 'team-bots' })

  const key = `key_${service.credentials.api_key.split('_')[2]}`
  await ask('POST', '/api/v1/directory/principals', { principal_id: key, service: 'batch-jobs' })
  const unstated = { attributed_service: undefined, attributed_identity: undefined }
  await untilAttributed(unstated, { service: 'batch-jobs', output_state: 'deterministically_resolved' })
})

test('a negotiated price applies until it is deleted, and the explanation shows it', async () => {
  const event = { requested_model: 'o3', input_tokens: 1_000_000, output_tokens: 0 }
  const { json } = await ask('POST', '/api/v1/prices', {
    provider: 'openai',
    model: 'o3',
    valid_from: '2026-01-01T00:00:00Z',
    usd_per_million: { input_tokens: '0.123', output_tokens: '1' },
  })
  await untilAttributed(event, { cost_usd: '0.123', cost_basis: 'tenant_price' })
  expect(await attributed(event)).toMatchObject({
    explanation: { cost: { basis: 'tenant_price', lines: [{ part: 'input', rate_usd_per_million: '0.123' }] } },
  })

  await ask('DELETE', `/api/v1/prices/${json.id}`)
  await untilAttributed(event, { cost_basis: 'price_book' })
})

test('a tag key that is declared is a member and a filter of the records that come next', async () => {
  const stated = { attributed_service: 'checkout', tags: { Team: 'payments', release: '7' } }
  const older = await attributed(stated)
  expect(older).toMatchObject({ tags: {}, event_tags: stated.tags })
  expect((await ask('GET', '/v1/attribution?filter[tags.team][eq]=payments')).json.detail).toContain('none')

  const declared = await ask('PATCH', '/api/v1/settings', {
    dimensions: [{ key: 'team' }, { key: 'author', personal: true }],
  })
  expect(declared.json.dimensions).toMatchObject([
    { key: 'team', personal: false },
    { key: 'author', personal: true },
  ])
  await expect.poll(async () => (await attributed(stated)).tags.team).toBe('payments')
  const record = await attributed(stated)

  expect(record).toMatchObject({ tags: { team: 'payments', author: null }, event_tags: stated.tags })
  const found = async (filter: string) => {
    const { json } = await ask('GET', `/v1/attribution?limit=200&sort=cost_usd&${filter}`)
    return json.data.map(({ id, tags }: typeof record) => [id, tags])
  }
  expect(await found('filter[tags.TEAM][eq]=payments')).toContainEqual([record.id, record.tags])
  expect(await found('filter[tags.team][contains]=PAY&filter[tags.author][eq]=')).toContainEqual([
    record.id,
    record.tags,
  ])
  expect(await found('filter[tags.team][eq]=(not declared)')).toContainEqual([
    older.id,
    { team: '(not declared)', author: '(not declared)' },
  ])
  const undeclared = await ask('GET', '/v1/attribution?filter[tags.release][eq]=7')
  expect(undeclared).toMatchObject({ status: 400, json: { error_code: 'INVALID_FILTER' } })
  expect(undeclared.json.detail).toContain('team, author')

  const report = await ask('GET', '/v1/reports/usage?group_by=tags.Team,service&filter[tags.author][eq]=')
  expect([report.status, report.json.report.group_by]).toEqual([200, ['tags.team', 'service']])
  expect((await ask('GET', '/v1/reports/usage?group_by=tags.release')).status).toBe(400)
  const { json: dimensions } = await ask('GET', '/v1/reports/dimensions')
  expect(dimensions.data.filter(({ tag }: { tag: object | null }) => tag !== null)).toEqual([
    { name: 'tags.team', description: 'The declared tag team.', tag: { key: 'team', personal: false } },
    { name: 'tags.author', description: 'The declared tag author.', tag: { key: 'author', personal: true } },
  ])
  expect(dimensions.data).toContainEqual({ name: 'service', description: expect.any(String), tag: null })
  const budgetPer = (per: string) => ask('POST', '/api/v1/budgets', { name: 'each', ceiling_usd: '1', per })
  expect((await budgetPer('tags.TEAM')).json).toMatchObject({ per: 'tags.team' })
  expect((await budgetPer('tags.release')).json).toMatchObject({ errors: [{ pointer: '/per' }] })

  await ask('POST', `/v1/attribution/${record.id}/override`, { service: 'pay', owner: 'team-of-tags', reason: 'known' })
  await expect.poll(() => found('filter[owner][eq]=team-of-tags')).toEqual([[record.id, record.tags]])
})

test('shorter retention waits a day, emits an event, is audited, and can be cancelled', async () => {
  const path = '/api/v1/settings'
  const before = (await ask('GET', path)).json
  const days = before.retention_days

  const asked = await ask('PATCH', path, { retention_days: days - 100, name: 'Renamed' })

  expect(asked.json).toMatchObject({ name: 'Renamed', retention_days: days })
  const [change] = asked.json.pending_changes
  expect(change).toMatchObject({ setting: 'retention_days', to: days - 100 })
  expect(Date.parse(change.takes_effect_at) - Date.parse(change.requested_at)).toBe(24 * 60 * 60 * 1000)
  expect((await ask('GET', path)).json.pending_changes).toEqual([change])
  const events = `/api/v1/events/log?type=settings.change.scheduled`
  let logged = await ask('GET', events)
  while (logged.json.data.length === 0) logged = await ask('GET', events)
  expect(logged.json.data).toMatchObject([
    {
      type: 'settings.change.scheduled',
      data: { setting: 'retention_days', from: days, to: days - 100, takes_effect_at: change.takes_effect_at },
    },
  ])

  expect((await ask('DELETE', `${path}/pending-changes/retention_days`)).status).toBe(204)
  expect((await ask('DELETE', `${path}/pending-changes/retention_days`)).status).toBe(404)
  expect((await ask('GET', path)).json).toMatchObject({ retention_days: days, pending_changes: [] })
  const log = '/api/v1/audit-log?action=settings.cancel'
  // The second attempt, which found nothing, is in the log, too.
  const cancelled = async () =>
    (await ask('GET', log)).json.data.find(({ changes }: { changes: unknown }) => changes !== null)
  let entry = await cancelled()
  while (entry === undefined) entry = await cancelled()
  expect(entry.changes).toEqual({
    before: { pending_changes: [change] },
    after: { pending_changes: null },
  })
})
