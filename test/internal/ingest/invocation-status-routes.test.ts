import { expect, test } from 'vitest'
import { deriveTenantIds, formatId, invocationIdBytes, uuidBytes } from '../../../internal/ids/ids.js'
import { type InvocationStatusDeps, invocationStatusRoutes } from '../../../internal/ingest/invocation-status-routes.js'
import { validEvent } from '../../support/invocations.js'
import { TENANT } from '../../support/scope-keys.js'
import { serveRoutes } from '../../support/serve-routes.js'

const ids = deriveTenantIds(new Uint8Array(32).fill(7), TENANT)
const idIn = (tenantIds: typeof ids): Uint8Array => invocationIdBytes(tenantIds, uuidBytes(validEvent().event_id))
const ID = formatId('inv', idIn(ids))
const RECORD = 'ab'.repeat(16)

async function statusOf(found: Partial<InvocationStatusDeps>, id = ID) {
  const deps: InvocationStatusDeps = {
    idsOf: () => ids,
    recordOf: async () => undefined,
    findQuarantined: async () => undefined,
    isAdmitted: async () => false,
    isRecorded: async () => false,
    ...found,
  }
  const { url } = await serveRoutes(invocationStatusRoutes(deps))
  const response = await fetch(`${url}/api/v1/invocations/${id}`, { headers: { 'x-api-key': 'read:attribution' } })
  const body = (await response.json()) as Record<string, unknown>
  return { status: response.status, body, retryAfter: response.headers.get('retry-after') }
}

test('an event with a record is attributed, to the record that counts its call', async () => {
  expect(await statusOf({ recordOf: async () => RECORD, isAdmitted: async () => true })).toMatchObject({
    status: 200,
    body: {
      invocation_id: ID,
      status: 'attributed',
      attribution_id: formatId('attr', Buffer.from(RECORD, 'hex')),
    },
  })
})

test('an event in quarantine says why', async () => {
  const findQuarantined = async () => ({ stage: 'b', reason: 'rule_failed: Error' })

  expect((await statusOf({ findQuarantined })).body).toEqual({
    invocation_id: ID,
    status: 'quarantined',
    stage: 'b',
    reason: 'rule_failed: Error',
  })
})

test('an event that waits is queued, and one that nobody knows does not exist', async () => {
  expect((await statusOf({ isAdmitted: async () => true })).body).toEqual({ invocation_id: ID, status: 'queued' })
  expect(await statusOf({})).toMatchObject({ status: 404, body: { error_code: 'NOT_FOUND' } })
  expect(await statusOf({}, 'inv_x')).toMatchObject({ status: 404, body: { error_code: 'NOT_FOUND' } })
})

test('an event that gets its record while it is looked for is attributed', async () => {
  let asked = 0
  const recordOf = async () => (++asked > 1 ? RECORD : undefined)

  expect((await statusOf({ recordOf })).body).toMatchObject({ status: 'attributed' })
})

test('an event whose record is not visible yet is queued: it has left all mailboxes', async () => {
  expect((await statusOf({ isRecorded: async () => true })).body).toEqual({ invocation_id: ID, status: 'queued' })
})

test('while it cannot be known whether an event waits, the caller is asked to come again', async () => {
  expect(await statusOf({ isAdmitted: async () => undefined })).toMatchObject({
    status: 503,
    body: { error_code: 'SERVICE_UNAVAILABLE' },
    retryAfter: '1',
  })
})

test('an event of another tenant is refused', async () => {
  const other = deriveTenantIds(new Uint8Array(32).fill(7), 'tnt_two')

  expect(await statusOf({ isAdmitted: async () => true }, formatId('inv', idIn(other)))).toMatchObject({
    body: { error_code: 'TENANT_MISMATCH' },
  })
})
