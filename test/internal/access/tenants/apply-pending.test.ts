import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { applyPending } from '../../../../internal/access/tenants/apply-pending.js'
import { auditOnce } from '../../../../internal/audit/audit-sink.js'
import type { AuditEntry } from '../../../../internal/auth/audit-entry.js'
import { DEFAULT_SETTINGS, settingsOf, type Tenant } from '../../../../internal/auth/tenant.js'
import { type Broker, connectBroker, ensureStreams } from '../../../../internal/broker/connect.js'
import { createPublisher } from '../../../../internal/broker/publisher.js'
import { bucketRecords, type Records } from '../../../../internal/broker/records.js'
import { AUDIT } from '../../../../streams/audit.js'
import { TENANTS } from '../../../../streams/buckets.js'
import { launchBroker } from '../../../support/broker.js'

const NOW_MS = Date.UTC(2026, 10, 25)
let broker: Broker
let tenants: Records<Tenant>
let audit: (entry: AuditEntry, id: string) => Promise<void>
let made = 0
let tenant: Tenant

beforeAll(async () => {
  const { url } = await launchBroker()
  broker = await connectBroker({ url, user: '', password: '', name: 'test' })
  await ensureStreams(broker, { replicas: 1, invocationsBytesMax: 2 ** 20, observationsBytesMax: 2 ** 20 })
  tenants = bucketRecords<Tenant>(await broker.bucket(TENANTS), async () => undefined)
  audit = auditOnce(createPublisher(broker.connection).publish)
})
afterAll(() => broker.close())
beforeEach(async () => {
  const id = `tnt_${made++}`
  tenant = await tenants.createOnce(id, {
    id,
    name: 'One',
    created_at: '2026-11-21T00:00:00.000Z',
    settings: { ...DEFAULT_SETTINGS, retention_days: 400 },
    pending_changes: [
      {
        setting: 'retention_days',
        to: 90,
        requested_by: 'usr_one',
        requested_at: '2026-11-24T00:00:00.000Z',
        takes_effect_at: '2026-11-25T00:00:00.000Z',
      },
    ],
  })
})

const apply = (clock = () => NOW_MS, auditWith = audit) =>
  applyPending(tenant, { tenants, auditOnce: auditWith, clock })
const auditedOf = async (tenantId: string): Promise<number> =>
  (await broker.manager.streams.info(AUDIT.name, { subjects_filter: `audit.${tenantId}` })).state.subjects?.[
    `audit.${tenantId}`
  ] ?? 0

test('a due change applies once and is audited once, however many processes look at the same time', async () => {
  await Promise.all(Array.from({ length: 8 }, () => apply()))
  await apply()

  const after = await tenants.read(tenant.id)
  expect(after && settingsOf(after).retention_days).toBe(90)
  expect([after?.pending_changes, after?.applied_changes]).toEqual([undefined, undefined])
  expect(await auditedOf(tenant.id)).toBe(1)
})

test('nothing applies before its time', async () => {
  expect(await apply(() => NOW_MS - 1)).toEqual([])

  expect(await tenants.read(tenant.id)).toEqual(tenant)
})

test('a change whose process died before the audit entry is audited by the next, and applied only once', async () => {
  const died = apply(undefined, async () => {
    throw new Error('died here')
  })
  await expect(died).rejects.toThrow('died here')
  await tenants.change(tenant.id, (now) => ({ ...now, settings: { ...now.settings, retention_days: 500 } }))

  tenant = (await tenants.read(tenant.id)) as Tenant
  await apply()

  const after = await tenants.read(tenant.id)
  expect(after && settingsOf(after).retention_days).toBe(500)
  expect(after?.applied_changes).toBeUndefined()
  expect(await auditedOf(tenant.id)).toBe(1)
})

test('a change that was cancelled meanwhile does not apply', async () => {
  await tenants.change(tenant.id, ({ pending_changes: _, ...others }) => others)

  expect(await apply()).toEqual([])
  const after = await tenants.read(tenant.id)
  expect(after && settingsOf(after).retention_days).toBe(400)
})
