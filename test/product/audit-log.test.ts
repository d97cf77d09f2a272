import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAuditSink } from '../../internal/audit/audit-sink.js'
import type { AuditEntry, AuditSink } from '../../internal/auth/audit-entry.js'
import type { Broker } from '../../internal/broker/connect.js'
import { createPublisher } from '../../internal/broker/publisher.js'
import { createLog } from '../../internal/telemetry/log.js'
import { auditEntry } from '../support/audit.js'
import { addApiKey, addTenant, command, connectTo, untilKnown } from '../support/instance.js'
import { newTenantOfProduct } from '../support/product.js'
import type { Instance } from '../support/service.js'

const START_MS = Date.UTC(2026, 10, 21)
const COUNT = 25

let service: Instance
let broker: Broker
let sink: AuditSink
let tenant: { readonly id: string; readonly apiKey: string }

const record = ({ tenantId = tenant.id, ...stated }: Partial<AuditEntry>): Promise<void> => {
  const { repeats: _, ...entry } = auditEntry({ tenantId, ...stated })
  return sink.record(entry)
}

beforeAll(async () => {
  service = await newTenantOfProduct()
  broker = await connectTo(service)
  sink = createAuditSink({
    publish: createPublisher(broker.connection).publish,
    clock: Date.now,
    log: createLog('test', 'silent'),
  })
  tenant = await addTenant(broker, service)
  await untilKnown(service.baseUrl, tenant.apiKey)
  for (let i = 0; i < COUNT; i++) {
    await record({
      target: `target-${i}`,
      at: START_MS + i * 1_000,
      ...(i % 5 === 0 ? { outcome: 'refused', errorCode: 'INSUFFICIENT_SCOPE', actor: 'key_two' } : {}),
      ...(i === 24 ? { changes: { before: { k: 1 }, after: { k: 2 } }, sourceAddress: '192.0.2.1' } : {}),
    })
  }
  while ((await page('limit=200')).data.length < COUNT) await sleep(50)
})

afterAll(() => broker.close())

interface Shown {
  readonly data: readonly Record<string, unknown>[]
  readonly page: { readonly next_cursor?: string; readonly limit: number; readonly has_more: boolean }
}

const ask = (query: string, apiKey = tenant.apiKey): Promise<Response> =>
  fetch(`${service.baseUrl}/api/v1/audit-log?${query}`, { headers: { 'x-api-key': apiKey } })
const page = async (query: string, apiKey?: string): Promise<Shown> =>
  (await ask(query, apiKey)).json() as Promise<Shown>
const targets = ({ data }: Shown) => data.map(({ target }) => target)

test('the audit log lists the newest record first, with every field', async () => {
  const { data, page: envelope } = await page('limit=1')

  expect(data).toEqual([
    {
      sequence: COUNT,
      tenant_id: tenant.id,
      created_at: '2026-11-21T00:00:24.000Z',
      actor: 'key_one',
      action: 'settings.update',
      target: 'target-24',
      outcome: 'succeeded',
      error_code: null,
      trace_id: '0af7651916cd43dd8448eb211c80319c',
      source_address: '192.0.2.1',
      changes: { before: { k: 1 }, after: { k: 2 } },
      repeats: 1,
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    },
  ])
  expect(envelope).toEqual({ limit: 1, has_more: true, next_cursor: expect.any(String) })
})

test('the cursor of the audit log yields each record once, also while records are being written', async () => {
  const seen: unknown[] = []
  let shown = await page('limit=7')
  for (;;) {
    seen.push(...targets(shown))
    if (!shown.page.has_more) break
    await record({ tenantId: tenant.id, action: 'user.create', target: 'meanwhile' })
    shown = await page(`limit=7&cursor=${shown.page.next_cursor}`)
  }

  expect(shown.page.next_cursor).toBeUndefined()
  expect(seen).toEqual(Array.from({ length: COUNT }, (_, i) => `target-${COUNT - 1 - i}`))
})

test('the audit log can be filtered by action, actor, outcome and time', async () => {
  expect(targets(await page('action=settings.update&limit=2'))).toEqual(['target-24', 'target-23'])
  expect(targets(await page('action=webhook.create'))).toEqual([])
  expect(targets(await page('actor=key_two'))).toEqual(['target-20', 'target-15', 'target-10', 'target-5', 'target-0'])
  expect(targets(await page('outcome=refused&from=2026-11-21T00:00:10Z&to=2026-11-21T00:00:20Z'))).toEqual([
    'target-15',
    'target-10',
  ])
})

test.each([
  'limit=0',
  'limit=201',
  'action=nothing',
  'outcome=maybe',
  `actor=${'x'.repeat(100)}`,
  'from=yesterday',
  'sort=actor',
  'limit=1&limit=1',
])('%s is refused', async (query) => {
  const answer = await ask(query)

  expect([answer.status, ((await answer.json()) as { error_code: string }).error_code]).toEqual([400, 'INVALID_FILTER'])
})

test('a cursor of the audit log is refused with other filters and for another tenant', async () => {
  const { page: envelope } = await page('limit=1&outcome=refused')
  const other = await addTenant(broker, service)
  await untilKnown(service.baseUrl, other.apiKey)

  expect((await ask(`limit=1&outcome=refused&cursor=${envelope.next_cursor}`)).status).toBe(200)
  expect((await ask(`limit=1&cursor=${envelope.next_cursor}`)).status).toBe(400)
  expect((await ask(`limit=1&outcome=refused&cursor=${envelope.next_cursor}`, other.apiKey)).status).toBe(403)
})

test('the audit log needs admin:config and shows a tenant only its own records', async () => {
  const reader = await addApiKey(broker, service, tenant.id, ['read:attribution', 'read:reporting', 'webhooks:manage'])
  const other = await addTenant(broker, service)
  for (const key of [reader, other.apiKey]) await untilKnown(service.baseUrl, key)

  expect((await ask('', reader)).status).toBe(403)
  expect((await fetch(`${service.baseUrl}/api/v1/audit-log`)).status).toBe(401)
  expect(await page('', other.apiKey)).toEqual({ data: [], page: { limit: 50, has_more: false } })
})

test('the command line verifies the audit log', async () => {
  const verified = await command(service, ['audit', 'verify', '--tenant', tenant.id])

  expect([verified.code, verified.lines.at(-1)]).toEqual([0, 'intact'])
  expect((await command(service, ['audit', 'verify'])).code).toBe(1)
})
