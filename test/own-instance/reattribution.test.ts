import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Ask, askAs, sendEvents } from '../support/ask.js'
import { wireEvent } from '../support/gateway.js'
import { command } from '../support/instance.js'
import { killRole, launchService, type RunningService } from '../support/service.js'
import { storeOf } from '../support/service-store.js'
import { readBooks } from '../support/usage.js'

let service: RunningService
let store: ClickHouseClient
let ask: Ask

beforeAll(async () => {
  service = await launchService({ roles: [], args: ['--rate-control', '1000', '--rate-read', '10000'] })
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  store = storeOf(service)
})
afterAll(async () => {
  await store.close()
  await service.stop()
})

// biome-ignore lint/suspicious/noExplicitAny: the contract is what is being checked
type Json = any

const send = (events: readonly Record<string, unknown>[]) => sendEvents(ask, events)

const show = async (id: string): Promise<Json> => (await ask('GET', `/v1/attribution/${id}`)).json
async function shown(id: string): Promise<Json> {
  for (;;) {
    const { status, json } = await ask('GET', `/v1/attribution/${id}`)
    if (status === 200) return json
    await sleep(20)
  }
}

/** @returns what the command has printed */
async function reattribute(from: string, to: string, ...more: string[]): Promise<Json> {
  const window = ['--tenant', service.credentials.tenant_id, '--from', from, '--to', to]
  const { code, lines } = await command(service, ['reattribute', ...window, '--json', ...more])
  if (code !== 0) throw new Error(lines.join('\n'))
  return JSON.parse(lines.find((line) => line.startsWith('{')) ?? '')
}

/** A change of the directory is with the attributor once an event shows it. */
async function untilAttributed(stated: Record<string, unknown>, shows: Record<string, unknown>): Promise<void> {
  for (const until = Date.now() + 60_000; Date.now() < until; ) {
    const [id = ''] = await send([wireEvent({ ingestion_timestamp: '2026-01-01T00:00:00Z', ...stated })])
    const record = await shown(id)
    if (Object.entries(shows).every(([member, value]) => record[member] === value)) return
  }
  throw new Error('the directory does not come to the attributor')
}

const count = async (query: string): Promise<number> => {
  const rows = await (await store.query({ query, format: 'JSONCompactEachRow' })).json<[string]>()
  return Number(rows[0]?.[0])
}

test('re-attribution of a window uses the current directory and keeps prices, overrides and disputes', async () => {
  const at = (minute: number): string => `2026-03-01T10:${String(minute).padStart(2, '0')}:00Z`
  const [aliased, identified, named, unnamed, overridden, disputed, before] = (await send([
    wireEvent({ ingestion_timestamp: at(1), attributed_service: 'old-name' }),
    wireEvent({ ingestion_timestamp: at(2), attributed_service: undefined, attributed_identity: 'bot-1' }),
    wireEvent({ ingestion_timestamp: at(3), attributed_service: 'search', attributed_identity: 'ann' }),
    wireEvent({ ingestion_timestamp: at(4), attributed_service: undefined, attributed_identity: 'nobody knows' }),
    wireEvent({ ingestion_timestamp: at(5), attributed_service: 'old-name' }),
    wireEvent({ ingestion_timestamp: at(6), attributed_service: 'old-name' }),
    wireEvent({ ingestion_timestamp: '2026-03-01T09:59:59Z', attributed_service: 'old-name' }),
  ])) as [string, string, string, string, string, string, string]
  for (const id of [aliased, identified, named, unnamed, overridden, disputed, before]) await shown(id)
  const wasAliased = await show(aliased)
  await ask('POST', `/v1/attribution/${overridden}/override`, { service: 'mine', owner: 'me', reason: 'so it is' })
  await ask('POST', `/v1/attribution/${disputed}/dispute`, { reason: 'so it is' })
  const stay = { overridden: await show(overridden), disputed: await show(disputed), unnamed: await show(unnamed) }

  await ask('POST', '/api/v1/directory/services', { name: 'new-name', owner: 'team-new', aliases: ['old-name'] })
  await ask('POST', '/api/v1/directory/identities', { name: 'bot-1', owner: 'team-bots', service: 'crawler' })
  await ask('POST', '/api/v1/directory/identities', { name: 'ann', owner: 'team-ann' })
  await ask('POST', '/api/v1/prices', {
    provider: 'openai',
    model: 'gpt-4o-mini',
    valid_from: '2026-01-01T00:00:00Z',
    usd_per_million: { input_tokens: '1000', output_tokens: '1000' },
  })
  await untilAttributed({ attributed_service: 'old-name' }, { service: 'new-name', cost_basis: 'tenant_price' })
  await untilAttributed({ attributed_service: 'x', attributed_identity: 'ann' }, { owner: 'team-ann' })

  const dry = await reattribute('2026-03-01T10:00:00Z', '2026-03-01T11:00:00Z', '--dry-run')
  expect(dry).toMatchObject({ status: 'done', dry_run: true, seen: 4, changed: 3 })
  const sumOf = (to: string) => dry.moves.filter(({ to_owner }: Json) => to_owner === to)
  expect(sumOf('team-new')).toMatchObject([{ records: 1, cost_usd: wasAliased.cost_usd }])
  expect([sumOf('team-bots'), sumOf('team-ann')]).toMatchObject([[{ records: 1 }], [{ from_owner: '(the caller)' }]])
  expect(await show(aliased)).toEqual(wasAliased)

  const job = await reattribute('2026-03-01T10:00:00Z', '2026-03-01T11:00:00Z')

  expect(job).toMatchObject({ status: 'done', seen: 4, changed: 3, unnamed: 0 })
  const after = await show(aliased)
  expect(after).toMatchObject({
    service: 'new-name',
    owner: 'team-new',
    cost_usd: wasAliased.cost_usd,
    cost_basis: 'price_book',
    energy_wh: wasAliased.energy_wh,
    carbon_gco2e: wasAliased.carbon_gco2e,
    explanation: {
      evidence: { service_from: 'directory_alias', stated_service: 'old-name' },
      history: [{ service: 'old-name', ended_by: { change: 'reattribution', actor: 'cli' } }],
    },
  })
  expect(await show(identified)).toMatchObject({
    service: 'crawler',
    owner: 'team-bots',
    output_state: 'deterministically_resolved',
    explanation: { history: [{ output_state: 'unresolved' }] },
  })
  expect(await show(named)).toMatchObject({
    service: 'search',
    owner: 'team-ann',
    explanation: { history: [{ owner: 'ann' }] },
  })
  expect(await show(overridden)).toEqual(stay.overridden)
  expect(await show(disputed)).toEqual(stay.disputed)
  expect(await show(unnamed)).toEqual(stay.unnamed)
  expect((await show(before)).service).toBe('old-name')

  expect(await reattribute('2026-03-01T10:00:00Z', '2026-03-01T11:00:00Z')).toMatchObject({ seen: 4, changed: 0 })
  const { records, rollups } = await readBooks(store)
  expect(rollups).toEqual(records)
})

test('a change dated in the past rewrites nothing by itself; a re-attribution applies it since then', async () => {
  const at = (day: number): string => `2026-02-${String(day).padStart(2, '0')}T10:00:00Z`
  await ask('POST', '/api/v1/directory/services', { name: 'ledger', owner: 'team-ledger' })
  await untilAttributed({ attributed_service: 'ledger' }, { owner: 'team-ledger' })
  const ids = await send(
    [9, 10, 11].map((day) => wireEvent({ ingestion_timestamp: at(day), attributed_service: 'ledger' })),
  )
  const [before, , last] = [await shown(ids[0] ?? ''), await shown(ids[1] ?? ''), await shown(ids[2] ?? '')]

  const { json: found } = await ask('GET', '/api/v1/directory/services?name=ledger')
  const { json: changed } = await ask('PATCH', `/api/v1/directory/services/${found.data[0].id}`, {
    changes: [{ from: at(10), owner: 'team-finance', name: 'general-ledger' }],
  })
  expect(changed.changes).toMatchObject([{ reattribution: { from: at(10), to: expect.any(String) } }])
  // A new call is attributed by the directory of its own time, whenever it arrives and whichever name it states.
  await untilAttributed({ attributed_service: 'ledger', ingestion_timestamp: at(12) }, { service: 'general-ledger' })
  await untilAttributed({ attributed_service: 'general-ledger', ingestion_timestamp: at(8) }, { service: 'ledger' })
  expect(await Promise.all(ids.map(show))).toMatchObject(Array(3).fill({ service: 'ledger', owner: 'team-ledger' }))

  const dry = await reattribute(at(8), '2026-02-12', '--dry-run')
  expect(dry.moves).toMatchObject([
    { from_owner: 'team-ledger', to_owner: 'team-finance', records: 2, cost_usd: String(2 * Number(last.cost_usd)) },
  ])
  expect(await reattribute(at(8), '2026-02-12')).toMatchObject({ changed: 2 })
  expect(await show(before.id)).toMatchObject({ service: 'ledger', owner: 'team-ledger' })
  expect(await show(last.id)).toMatchObject({ service: 'general-ledger', owner: 'team-finance' })
})

test('a re-attribution job resumes after kills of attributor and store, without a duplicate version', async () => {
  const total = 24_000
  const events = Array.from({ length: total }, (_, i) =>
    wireEvent({
      event_id: randomUUID(),
      ingestion_timestamp: new Date(Date.UTC(2026, 3, 1) + i * 1_000).toISOString(),
      attributed_service: `service-${i % 7}`,
      attributed_identity: `person-${i % 50}`,
    }),
  )
  await send(events)
  const inWindow = `FROM attributions WHERE event_time >= '2026-04-01 00:00:00' AND event_time < '2026-04-02 00:00:00'`
  while ((await count(`SELECT count() ${inWindow}`)) < total) await sleep(100)
  for (let i = 0; i < 7; i++) {
    await ask('POST', '/api/v1/directory/services', { name: `service-${i}`, owner: `team-${i}` })
  }
  await untilAttributed({ attributed_service: 'service-6', attributed_identity: 'x' }, { owner: 'team-6' })

  const running = reattribute('2026-04-01', '2026-04-02')
  const slices = async (): Promise<number> =>
    count(`SELECT uniqExact(closed_at) FROM closed WHERE change = 'reattribution'`)
  const earlier = await slices()
  await killRole(service, 'attributor')
  while ((await slices().catch(() => earlier)) === earlier) await sleep(20)
  await killRole(service, 'store')
  await killRole(service, 'attributor')
  const job = await running

  expect(job).toMatchObject({ status: 'done', seen: total, changed: total })
  expect(await count(`SELECT count() ${inWindow}`)).toBe(2 * total)
  expect(
    await count(`SELECT count() ${inWindow} AND (id, valid_from) NOT IN (SELECT id, valid_from FROM closed)
                   AND owner = concat('team-', substring(service, 9))`),
  ).toBe(total)
  const { records, rollups } = await readBooks(store)
  expect(rollups).toEqual(records)
})

/** Calls of a deployment, which no book knows until the tenant has said what it stands for. */
async function deployed(deployment: string, day: string, total: number): Promise<string[]> {
  const ids = await send(
    Array.from({ length: total }, (_, i) =>
      wireEvent({
        event_id: randomUUID(),
        ingestion_timestamp: new Date(Date.parse(`${day}T00:00:00Z`) + i * 1_000).toISOString(),
        provider: 'azure',
        requested_model: deployment,
        input_tokens: 1_000,
        output_tokens: 250,
        // In the directory by now: otherwise it would only be declared.
        attributed_service: 'new-name',
      }),
    ),
  )
  while ((await count(`SELECT count() FROM attributions WHERE requested_model = '${deployment}'`)) < total)
    await sleep(50)
  return ids
}

/** With a call that shows that the attributor knows it. */
async function named(deployment: string): Promise<void> {
  await ask('POST', '/api/v1/model-names', { provider: 'azure', name: deployment, served_model: 'gpt-4o' })
  const call = { provider: 'azure', requested_model: deployment, input_tokens: 1_000, output_tokens: 250 }
  await untilAttributed(call, { cost_basis: 'price_book' })
}

test('revaluation prices unpriced records with current prices, as new versions, and keeps priced ones', async () => {
  const [unpriced = ''] = await deployed('prod-chat', '2026-05-01', 3)
  const [priced = '', unknown = ''] = await send([
    wireEvent({ ingestion_timestamp: '2026-05-01T01:00:00Z', input_tokens: 7, output_tokens: 7 }),
    wireEvent({ ingestion_timestamp: '2026-05-01T02:00:00Z', requested_model: 'unheard-of', output_tokens: 7 }),
  ])
  for (const id of [unpriced, priced, unknown]) await shown(id)
  const stay = [await show(priced), await show(unknown)]
  const before = await show(unpriced)
  expect(before).toMatchObject({ cost_basis: 'unpriced', energy_basis: 'unknown' })
  await named('prod-chat')

  const dry = await reattribute('2026-05-01', '2026-05-02', '--fill-unpriced', '--dry-run')
  expect(await show(unpriced)).toEqual(before)
  const job = await reattribute('2026-05-01', '2026-05-02', '--fill-unpriced')

  const found = { status: 'done', seen: 5, changed: 3, cost_records: 3, cost_usd: '0.015', energy_records: 3, left: 1 }
  expect(dry).toMatchObject({ ...found, dry_run: true })
  expect(job).toMatchObject({ ...found, dry_run: false })
  expect(await show(unpriced)).toMatchObject({
    service: before.service,
    owner: before.owner,
    cost_usd: '0.005',
    cost_basis: 'price_book',
    energy_basis: 'modelled',
    carbon_basis: 'modelled',
    interpretation: { export_eligibility: 'eligible' },
    explanation: { history: [{ cost_usd: '0', ended_by: { change: 'revaluation', actor: 'cli' } }] },
  })
  expect([await show(priced), await show(unknown)]).toEqual(stay)
  const again = await reattribute('2026-05-01', '2026-05-02', '--fill-unpriced')
  expect(again).toMatchObject({ changed: 0, cost_usd: '0', left: 1 })
  const { records, rollups } = await readBooks(store)
  expect(rollups).toEqual(records)

  const { json: log } = await ask('GET', '/api/v1/audit-log?action=attribution.reattribute')
  const entry = log.data.find(({ target }: Json) => target === job.job)
  expect(entry).toMatchObject({ actor: 'cli', changes: { after: { valued: 'unpriced', dry_run: false } } })
})

test('a revaluation job resumes after a kill of the attributor and counts nothing twice', async () => {
  const total = 12_000
  await deployed('prod-batch', '2026-06-01', total)
  await named('prod-batch')

  const slices = () => count(`SELECT uniqExact(closed_at) FROM closed WHERE change = 'revaluation'`)
  const earlier = await slices()
  const running = reattribute('2026-06-01', '2026-06-02', '--fill-unpriced')
  while ((await slices()) === earlier) await sleep(5)
  await killRole(service, 'attributor')
  const job = await running

  expect(job).toMatchObject({
    status: 'done',
    seen: total,
    changed: total,
    cost_records: total,
    cost_usd: '60',
    left: 0,
  })
  const ofJob = `FROM attributions WHERE requested_model = 'prod-batch' AND event_time >= '2026-06-01 00:00:00'
                   AND event_time < '2026-06-02 00:00:00'`
  expect(await count(`SELECT count() ${ofJob}`)).toBe(2 * total)
  expect(await count(`SELECT count() ${ofJob} AND (id, valid_from) NOT IN (SELECT id, valid_from FROM closed)`)).toBe(
    total,
  )
  const { records, rollups } = await readBooks(store)
  expect(rollups).toEqual(records)
})

test('an invalid re-attribution command fails at once with a message', async () => {
  await expect(reattribute('2026-04-01', '2026-04-02', '--reprice-book', 'book_none')).rejects.toThrow(
    /price book book_none does not exist/,
  )
  await expect(
    reattribute('2026-04-01', '2026-04-02', '--reprice-book', '2026-11-28', '--fill-unpriced'),
  ).rejects.toThrow(/exclude each other/)
  await expect(reattribute('2026-04-02', '2026-04-01')).rejects.toThrow(/--from must be before --to/)
  await expect(reattribute('2026-04-01', '2026-04-02', '--stage-b', 'mdl_none')).rejects.toThrow(/no model/)
})
