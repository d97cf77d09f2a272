import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { EventEnvelope } from '../../internal/events/event-contract.js'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { EVENTS, eventsSubject } from '../../streams/events.js'
import { type Asked, ask } from '../support/ask.js'
import { launchGateway, wireEvent } from '../support/gateway.js'
import { command, connectTo, untilKnown } from '../support/instance.js'
import type { Launched } from '../support/processes.js'
import { launchService, type RunningService } from '../support/service.js'

/** API keys and settings at two gateways of one instance, and on the command line. */

const PATH = '/api/v1/api-keys'
let service: RunningService
let second: { process: Launched; baseUrl: string }

beforeAll(async () => {
  service = await launchService({ roles: [], args: ['--rate-control', '10000', '--rate-read', '10000'] })
  const port = await freePort()
  second = { process: await launchGateway(service, port), baseUrl: `http://127.0.0.1:${port}` }
  while (!(await fetch(`${second.baseUrl}/readyz`)).ok) await sleep(20)
})
afterAll(async () => {
  await second.process.kill('SIGTERM')
  await service.stop()
})

const key = (apiKey: string) => ({ 'x-api-key': apiKey })
const admin = (method: string, path: string, body?: unknown, baseUrl = service.baseUrl): Promise<Asked> =>
  ask(baseUrl, method, path, key(service.credentials.api_key), body)

async function newKey(body: object = {}): Promise<{ readonly id: string; readonly secret: string }> {
  const { status, json } = await admin('POST', PATH, { name: 'e2e', scopes: ['read:attribution'], ...body })
  expect(status).toBe(201)
  for (const { baseUrl } of [service, second]) await untilKnown(baseUrl, json.secret)
  return json
}

const codeAt = async (baseUrl: string, secret: string): Promise<string> => {
  const { status, json } = await ask(baseUrl, 'GET', '/v1/attribution?limit=1', key(secret))
  return status === 200 ? '200' : `${status} ${json.error_code}`
}

test('a new key works at both gateways, and its revocation at one reaches the other within moments', async () => {
  for (let i = 0; i < 10; i++) {
    const { id, secret } = await newKey()
    const [here, there] = i % 2 === 0 ? [service, second] : [second, service]
    expect(await codeAt(here.baseUrl, secret)).toBe('200')
    expect(await codeAt(there.baseUrl, secret)).toBe('200')

    expect((await admin('DELETE', `${PATH}/${id}`, undefined, here.baseUrl)).status).toBe(204)
    // The gateway that has revoked it knows at once.
    expect(await codeAt(here.baseUrl, secret)).toBe('401 INVALID_CREDENTIALS')
    while ((await codeAt(there.baseUrl, secret)) === '200');
    expect(await codeAt(there.baseUrl, secret)).toBe('401 INVALID_CREDENTIALS')
  }
})

test('a key may ingest only its ingestion layers, and nothing when its list is empty', async () => {
  const { secret } = await newKey({ ingestion_layers: ['gateway'] })
  const nothing = await newKey({ ingestion_layers: [] })
  const post = (apiKey: string, ingestion_layer: string) =>
    ask(second.baseUrl, 'POST', '/api/v1/invocations', key(apiKey), wireEvent({ ingestion_layer }))

  expect((await post(secret, 'gateway')).status).toBe(202)
  expect((await post(secret, 'proxy')).status).toBe(403)
  expect((await post(nothing.secret, 'gateway')).status).toBe(403)
})

test('after a rotation the old secret is valid for the overlap, and the new one everywhere at once', async () => {
  const [cut, overlapped] = [await newKey(), await newKey()]

  const atOnce = await admin('POST', `${PATH}/${cut.id}/rotate`)
  const later = await admin('POST', `${PATH}/${overlapped.id}/rotate`, { overlap_seconds: 1 }, second.baseUrl)

  expect([atOnce.status, later.status]).toEqual([201, 201])
  for (const { json } of [atOnce, later]) await untilKnown(second.baseUrl, json.secret)
  expect(await codeAt(service.baseUrl, cut.secret)).toBe('401 INVALID_CREDENTIALS')
  expect(await codeAt(second.baseUrl, overlapped.secret)).toBe('200')
  while ((await codeAt(second.baseUrl, overlapped.secret)) === '200') await sleep(20)
  expect(await codeAt(second.baseUrl, overlapped.secret)).toBe('401 EXPIRED')
  expect((await admin('GET', `${PATH}/${overlapped.id}`)).json.status).toBe('expired')
  expect(await codeAt(service.baseUrl, later.json.secret)).toBe('200')

  const broker = await connectTo(service)
  const events: EventEnvelope[] = []
  const query = { seq: 1, batch: 100, next_by_subj: eventsSubject(service.credentials.tenant_id, 'apikey.rotated') }
  for await (const message of await broker.manager.direct.getBatch(EVENTS.name, query)) events.push(message.json())
  await broker.close()
  expect(events.map(({ data }) => data)).toEqual([
    { old_key_id: cut.id, new_key_id: atOnce.json.id },
    { old_key_id: overlapped.id, new_key_id: later.json.id },
  ])
})

test('the audit log records every change of a key, without secrets', async () => {
  const { id, secret } = await newKey({ name: 'to be audited' })
  await admin('DELETE', `${PATH}/${id}`)
  await admin('POST', PATH, { name: 'refused', scopes: [] })
  const wanted = ['refused', 'succeeded', 'succeeded']

  let records: { action: string; target: string | null; outcome: string; error_code: string | null }[] = []
  while (records.length < wanted.length) {
    const { json } = await admin('GET', '/api/v1/audit-log?limit=20')
    records = (json.data as typeof records).filter(
      ({ target, error_code }) => target === id || error_code === 'NO_SCOPE',
    )
    expect(JSON.stringify(json)).not.toContain(secret.slice(-58, -6))
  }

  expect(records.map(({ action, outcome }) => [action, outcome])).toEqual([
    ['api_key.create', 'refused'],
    ['api_key.revoke', 'succeeded'],
    ['api_key.create', 'succeeded'],
  ])
})

test('settings that are changed at one gateway apply at the other', async () => {
  const { json: before } = await admin('GET', '/api/v1/settings')
  expect(before).toMatchObject({ tenant_id: service.credentials.tenant_id, k: 5, api_key_max_lifetime_days: 365 })

  const changed = await admin('PATCH', '/api/v1/settings', {
    api_key_max_lifetime_days: 1,
    rate_limits: { report: { per_second: 2 } },
  })

  expect(changed.status).toBe(200)
  expect(changed.json).toEqual({
    ...before,
    api_key_max_lifetime_days: 1,
    rate_limits: { ...before.rate_limits, report: { per_second: 2, burst: 10 } },
  })
  const shownThere = async () => (await admin('GET', '/api/v1/settings', undefined, second.baseUrl)).json
  while ((await shownThere()).api_key_max_lifetime_days !== 1);
  expect(await shownThere()).toEqual(changed.json)
  const limits = (await admin('GET', '/api/v1/rate-limit', undefined, second.baseUrl)).json.data
  expect(limits).toContainEqual(expect.objectContaining({ route_class: 'report', per_second: 2, burst: 10 }))
  const inTwoDays = new Date(Date.now() + 2 * 24 * 60 * 60 * 1000).toISOString()
  const tooLong = await admin(
    'POST',
    PATH,
    { name: 'long', scopes: ['read:attribution'], expires_at: inTwoDays },
    second.baseUrl,
  )
  expect([tooLong.status, tooLong.json.errors?.[0]?.pointer]).toEqual([422, '/expires_at'])

  expect(
    (await admin('PATCH', '/api/v1/settings', { api_key_max_lifetime_days: 365, rate_limits: null })).json,
  ).toEqual(before)
  for (const [body, pointer] of [
    [{ k: 4 }, '/k'],
    [{ nothing: 1 }, '/nothing'],
    [{ rate_limits: { read: { per_second: 10_001 } } }, '/rate_limits/read/per_second'],
    [{ retention_days: 1 }, '/retention_days'],
  ] as const) {
    const refused = await admin('PATCH', '/api/v1/settings', body)
    expect([refused.status, refused.json.error_code, refused.json.errors[0].pointer]).toEqual([
      422,
      'VALIDATION_FAILED',
      pointer,
    ])
  }
  const changes: unknown[] = []
  while (changes.length === 0) {
    const { json } = await admin('GET', '/api/v1/audit-log?action=settings.update&outcome=succeeded')
    changes.push(...(json.data as { changes: unknown }[]).map((record) => record.changes).slice(-1))
  }
  expect(changes).toEqual([
    {
      before: { api_key_max_lifetime_days: 365, rate_limits: null },
      after: { api_key_max_lifetime_days: 1, rate_limits: { report: { per_second: 2 } } },
    },
  ])
})

test('the command line creates tenants whose first key works, and shows and changes them', async () => {
  const made = await command(service, [
    'tenant',
    'create',
    '--name',
    'Second tenant',
    '--settings',
    '{"retention_days":90}',
  ])
  expect(made.code).toBe(0)
  const [id = '', secret = ''] = [/tnt_\w+/, /ak_live_\w+/].map((form) => form.exec(made.lines.join('\n'))?.[0])
  await untilKnown(second.baseUrl, secret)

  const { json } = await ask(second.baseUrl, 'GET', '/api/v1/settings', key(secret))
  expect(json).toMatchObject({ tenant_id: id, name: 'Second tenant', retention_days: 90 })
  const listed = await command(service, ['tenant', 'list', '--json'])
  expect(listed.lines.map((line) => (JSON.parse(line) as { id: string }).id)).toEqual([
    service.credentials.tenant_id,
    id,
  ])
  const shown = await command(service, ['tenant', 'show', id])
  expect(JSON.parse(shown.lines.join('\n'))).toMatchObject({
    id,
    settings: { retention_days: 90, stage_b_enabled: true },
  })

  // Its operator may give a tenant more than it may give itself.
  const limits = '{"rate_limits":{"read":{"per_second":50000}}}'
  expect((await command(service, ['tenant', 'update', id, '--settings', limits])).code).toBe(0)
  const readLimit = async () =>
    (await ask(second.baseUrl, 'GET', '/api/v1/settings', key(secret))).json.rate_limits.read.per_second as number
  while ((await readLimit()) !== 50_000);

  const further = await command(service, ['key', 'create', '--tenant', id, '--scopes', 'read:reporting', '--json'])
  const { secret: another } = JSON.parse(further.lines[0] ?? '') as { secret: string }
  await untilKnown(second.baseUrl, another)
  expect(await codeAt(second.baseUrl, another)).toBe('403 INSUFFICIENT_SCOPE')

  const audited = async () => {
    const { json: log } = await ask(service.baseUrl, 'GET', '/api/v1/audit-log', key(secret))
    return (log.data as { actor: string; action: string }[]).map(({ actor, action }) => `${actor} ${action}`).reverse()
  }
  while ((await audited()).length < 4) await sleep(20)
  expect(await audited()).toEqual([
    'cli tenant.create',
    'cli api_key.create',
    'cli tenant.update',
    'cli api_key.create',
  ])
  for (const wrong of [
    ['tenant', 'show', 'tnt_unknown'],
    ['tenant', 'create', '--name', ''],
    ['tenant', 'update', id, '--settings', '{"k":1}'],
    ['key', 'create', '--tenant', id, '--scopes', 'everything'],
  ]) {
    expect((await command(service, wrong)).code).toBe(1)
  }
})

test('the last use of a key shows at once where it was, and elsewhere once its gateway has stored it', async () => {
  const lastUse = async (id: string, baseUrl: string): Promise<string | null> =>
    (await admin('GET', `${PATH}/${id}`, undefined, baseUrl)).json.last_used_at
  const { id, secret } = await newKey()
  // Both gateways have seen it.
  const before = Date.parse((await lastUse(id, service.baseUrl)) ?? '')
  while (Date.now() <= before);
  expect(await codeAt(second.baseUrl, secret)).toBe('200')
  const used = await lastUse(id, second.baseUrl)
  // The clocks of two processes differ by a millisecond now and then.
  expect(Date.parse(used ?? '')).toBeGreaterThan(before - 2)

  // A gateway that stops writes down what it has not written yet.
  await second.process.kill('SIGTERM')

  while ((await lastUse(id, service.baseUrl)) !== used);
})
