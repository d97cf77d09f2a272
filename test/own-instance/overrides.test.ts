import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Ask, type Asked, askAs, refusalOf, sendEvents } from '../support/ask.js'
import { wireEvent } from '../support/gateway.js'
import { killRole, launchService, type RunningService } from '../support/service.js'
import { storeOf } from '../support/service-store.js'
import { readBooks } from '../support/usage.js'

/** Overrides of thirty thousand records at once, while processes are killed. */

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

const PATH = '/v1/attribution/overrides'
const VALUES = { service: 'support-chat', owner: 'team-support', reason: 'The proxy does not send its service.' }
const LEGACY = { field: 'service', operator: 'eq', values: ['legacy'] }
const dryRun = (filters: readonly object[]) => ask('POST', PATH, { dry_run: true, filters, ...VALUES })

const send = (events: readonly Record<string, unknown>[]) => sendEvents(ask, events)

const legacyCalls = (count: number, day: string) =>
  Array.from({ length: count }, (_, i) =>
    wireEvent({
      event_id: randomUUID(),
      ingestion_timestamp: new Date(Date.parse(`${day}T00:00:00Z`) + i * 1_000).toISOString(),
      attributed_service: 'legacy',
    }),
  )

const count = async (where: string): Promise<number> => {
  const valid = '(id, valid_from) NOT IN (SELECT id, valid_from FROM closed)'
  const query = `SELECT count() FROM attributions WHERE ${valid} AND ${where}`
  const rows = await (await store.query({ query, format: 'JSONCompactEachRow' })).json<[string]>()
  return Number(rows[0]?.[0])
}
async function untilRecorded(service: string, total: number): Promise<void> {
  while ((await count(`service = '${service}'`)) < total) await sleep(50)
}

/** The same key gets one answer, whichever process is killed. */
async function untilFinal(path: string, body: unknown): Promise<Asked> {
  const key = { 'idempotency-key': randomUUID() }
  for (;;) {
    const answer = await ask('POST', path, body, key).catch(() => undefined)
    const isBusy = answer?.json?.error_code === 'IDEMPOTENCY_IN_PROGRESS'
    if (answer !== undefined && answer.status < 500 && !isBusy) return answer
    await sleep(50)
  }
}

async function untilStatus(id: string, status: string): Promise<Json> {
  for (;;) {
    const answer = await ask('GET', `${PATH}/${id}/status`).catch(() => undefined)
    if (answer?.json?.status === status) return answer.json
    await sleep(50)
  }
}

const TOTAL = 30_000

test('an override of 30,000 records takes what its dry run showed, once, despite kills; so does its undo', async () => {
  const ids = await send([...legacyCalls(TOTAL, '2026-10-01'), wireEvent({ attributed_service: 'other' })])
  await untilRecorded('legacy', TOTAL)
  const [mine = '', changed = '', disputed = '', again = ''] = ids
  await ask('POST', `/v1/attribution/${mine}/override`, { ...VALUES, service: 'mine' })

  const { status, json: dry } = await dryRun([LEGACY])
  expect([status, dry]).toMatchObject([
    200,
    {
      records: TOTAL - 1,
      before: [{ service: 'legacy', owner: 'unassigned', records: TOTAL - 1, cost_usd: dry.cost_usd }],
      after: [{ service: 'support-chat', owner: 'team-support', records: TOTAL - 1, cost_usd: dry.cost_usd }],
      unchanged: { overridden: 0, disputed: 0 },
    },
  ])
  expect(await count("service = 'support-chat'")).toBe(0)
  // After the dry run: one that arrives, and one that somebody overrides.
  await send(legacyCalls(1, '2026-10-02'))
  await untilRecorded('legacy', TOTAL)
  await ask('POST', `/v1/attribution/${changed}/override`, { ...VALUES, service: 'mine' })

  const answering = untilFinal(PATH, { dry_run: false, token: dry.token })
  while ((await count("service = 'support-chat'").catch(() => 0)) === 0) await sleep(5)
  await killRole(service, 'attributor')
  await killRole(service, 'store')
  await killRole(service, 'gateway')
  await killRole(service, 'attributor')
  const applied = await answering
  expect([200, 202]).toContain(applied.status)

  expect(await untilStatus(dry.token, 'applied')).toMatchObject({ records: TOTAL - 1, overridden: TOTAL - 2 })
  expect(await count("service = 'support-chat' AND evidence_basis = 'manual_override'")).toBe(TOTAL - 2)
  expect(await count("service = 'legacy'")).toBe(1)
  const versions = await store.query({
    query: "SELECT count(), uniqExact(id) FROM attributions WHERE service = 'support-chat'",
    format: 'JSONCompactEachRow',
  })
  expect(await versions.json()).toEqual([[String(TOTAL - 2), String(TOTAL - 2)]])
  const second = await ask('POST', PATH, { dry_run: false, token: dry.token })
  expect(refusalOf(second)).toEqual([409, 'CONFLICT'])

  await ask('POST', `/v1/attribution/${disputed}/dispute`, { reason: 'not ours' })
  await ask('DELETE', `/v1/attribution/${again}/override`)
  await ask('POST', `/v1/attribution/${again}/override`, { ...VALUES, service: 'mine' })
  const undoing = untilFinal(`${PATH}/${dry.token}/undo`, undefined)
  while ((await count("service = 'legacy'").catch(() => 0)) < 100) await sleep(5)
  await killRole(service, 'attributor')
  await undoing

  expect(await untilStatus(dry.token, 'undone')).toMatchObject({ overridden: TOTAL - 2, restored: TOTAL - 3 })
  expect(await count("service = 'legacy'")).toBe(TOTAL - 2)
  expect(await count("service = 'mine'")).toBe(3)
  expect((await ask('GET', `/v1/attribution/${disputed}`)).json).toMatchObject({
    service: 'legacy',
    output_state: 'disputed',
  })
  expect(refusalOf(await ask('POST', `${PATH}/${dry.token}/undo`))).toEqual([409, 'CONFLICT'])
  const { records, rollups } = await readBooks(store)
  expect(rollups).toEqual(records)

  let audited: Json[] = []
  while (audited.length < 5) {
    audited = (await ask('GET', '/api/v1/audit-log?limit=200')).json.data.filter(({ action }: Json) =>
      /overrides$/.test(action),
    )
  }
  expect(audited.map(({ action, outcome }) => `${action} ${outcome}`)).toEqual([
    'attribution.undo_overrides refused',
    'attribution.undo_overrides succeeded',
    'attribution.apply_overrides refused',
    'attribution.apply_overrides succeeded',
    'attribution.preview_overrides succeeded',
  ])
})

test('an override whose filters are wrong, or whose token is none, is refused', async () => {
  const refused = async (body: unknown): Promise<Json> => {
    const answer = await ask('POST', PATH, body)
    return [...refusalOf(answer), answer.json.errors?.map(({ pointer }: Json) => pointer)]
  }

  expect(await refused({ dry_run: true, filters: [], ...VALUES })).toEqual([422, 'VALIDATION_FAILED', ['/filters']])
  expect(await refused({ dry_run: true, filters: [LEGACY] })).toEqual([
    422,
    'VALIDATION_FAILED',
    ['/service', '/owner', '/reason'],
  ])
  expect(await refused({ dry_run: true, filters: [{ ...LEGACY, field: 'tags.none' }], ...VALUES })).toEqual([
    422,
    'VALIDATION_FAILED',
    ['/filters/0/field'],
  ])
  expect(await refused({ dry_run: false, token: 'ovr_none', ...VALUES })).toEqual([
    422,
    'VALIDATION_FAILED',
    ['/service', '/owner', '/reason'],
  ])
  expect(await refused({ filters: [LEGACY], ...VALUES })).toEqual([422, 'VALIDATION_FAILED', ['/dry_run']])
  expect(await refused({ dry_run: false, token: 'ovr_none' })).toEqual([422, 'VALIDATION_FAILED', ['/token']])
})
