import { mkdtempSync, readFileSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { isClientSecret, type StoredClient } from '../../../../internal/access/oauth/clients.js'
import { isPasswordOf } from '../../../../internal/access/oauth/passwords.js'
import { type StoredUser, userKey } from '../../../../internal/access/oauth/users.js'
import { settingsOf, type Tenant } from '../../../../internal/auth/tenant.js'
import type { Broker } from '../../../../internal/broker/connect.js'
import { bucketRecords } from '../../../../internal/broker/records.js'
import { bootstrapTenant, type Credentials } from '../../../../internal/local/supervisor/bootstrap.js'
import { type InstanceFiles, openInstance } from '../../../../internal/local/supervisor/supervised-instance.js'
import { writeDurably } from '../../../../internal/process/durable-files.js'
import { CLIENTS, TENANTS, USERS } from '../../../../streams/buckets.js'
import { type Buckets, launchBuckets } from '../../../support/buckets.js'
import { masterKeysOf } from '../../../support/master-keys.js'

const BASE_URL = 'http://127.0.0.1:8080'
let buckets: Buckets
let broker: Broker
let files: InstanceFiles

beforeAll(async () => {
  buckets = await launchBuckets()
  broker = await buckets.connect()
})
afterAll(() => buckets.close())
beforeEach(() => {
  files = openInstance(mkdtempSync(join(tmpdir(), 'attribution-bootstrap-')), true).files
})

const bootstrap = (baseUrl = BASE_URL): Promise<Credentials> =>
  bootstrapTenant(broker, files, masterKeysOf(1), 'production', baseUrl)
const kept = (): Credentials => JSON.parse(readFileSync(files.credentials, 'utf8')) as Credentials
const clientOf = async ({ client_id }: Credentials) =>
  (await (await broker.bucket(CLIENTS)).get(client_id))?.json<StoredClient>()
const userOf = async ({ tenant_id, admin_username }: Credentials) =>
  (await (await broker.bucket(USERS)).get(userKey(tenant_id, admin_username)))?.json<StoredUser>()

test('the first start creates working credentials that only their owner can read', async () => {
  const made = await bootstrap()

  expect(kept()).toEqual(made)
  expect(Object.keys(made)).toEqual([
    'base_url',
    'console_url',
    'tenant_id',
    'client_id',
    'client_secret',
    'api_key',
    'admin_username',
    'admin_password',
  ])
  expect(statSync(files.credentials).mode & 0o777).toBe(0o600)
  expect(isClientSecret('production', await clientOf(made), made.client_secret)).toBe(true)
  expect(await isPasswordOf((await userOf(made))?.password, made.admin_password)).toBe(true)
})

test('the first administrator owns the tenant, also one of an older version; others give what they hold', async () => {
  const made = await bootstrap()
  const tenants = bucketRecords<Tenant>(await broker.bucket(TENANTS), async () => undefined)
  const tenant = await tenants.read(made.tenant_id)
  const owner = (await userOf(made))?.id

  expect(tenant?.owners).toEqual([owner])
  expect(tenant && settingsOf(tenant).delegation).toBe('held')

  await tenants.change(made.tenant_id, ({ owners: _, ...before }) => before)
  await bootstrap()
  expect((await tenants.read(made.tenant_id))?.owners).toEqual([owner])

  await tenants.change(made.tenant_id, (before) => ({ ...before, owners: ['usr_other'] }))
  await bootstrap()
  expect((await tenants.read(made.tenant_id))?.owners).toEqual(['usr_other'])
})

test('later starts keep the credentials and update the base URL', async () => {
  const made = await bootstrap()

  expect(await bootstrap()).toEqual(made)
  expect(await bootstrap('http://127.0.0.1:9000')).toEqual({
    ...made,
    base_url: 'http://127.0.0.1:9000',
    console_url: `http://127.0.0.1:9000/console/t/${made.tenant_id}`,
  })
  expect(kept().base_url).toBe('http://127.0.0.1:9000')
})

test('a credentials file that lacks some is completed and keeps its values', async () => {
  const { tenant_id, api_key } = await bootstrap()
  writeDurably(files.credentials, JSON.stringify({ base_url: BASE_URL, tenant_id, api_key }))

  const completed = await bootstrap()

  expect(completed).toMatchObject({ tenant_id, api_key })
  expect(kept()).toEqual(completed)
  expect(isClientSecret('production', await clientOf(completed), completed.client_secret)).toBe(true)
})

test('a start after a crash creates the missing records from the credentials file', async () => {
  const made = await bootstrap()
  const unmade = { ...made, client_id: `${made.client_id.slice(0, -2)}00`, admin_username: 'other' }
  writeDurably(files.credentials, JSON.stringify(unmade))

  await bootstrap()

  expect(isClientSecret('production', await clientOf(unmade), unmade.client_secret)).toBe(true)
  expect(await isPasswordOf((await userOf(unmade))?.password, unmade.admin_password)).toBe(true)
})

test('a start does not reset a changed password', async () => {
  const made = await bootstrap()
  const users = await broker.bucket(USERS)
  const key = userKey(made.tenant_id, made.admin_username)
  await users.put(key, JSON.stringify({ ...(await userOf(made)), status: 'disabled' }))

  await bootstrap()

  expect((await userOf(made))?.status).toBe('disabled')
})
