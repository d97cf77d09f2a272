import { afterAll, beforeAll, expect, test } from 'vitest'
import type { StoredPool } from '../../../../internal/attribution/pools/pool.js'
import { poolRoutes } from '../../../../internal/attribution/pools/pool-routes.js'
import { watchRecords } from '../../../../internal/broker/watched-records.js'
import { createCursorCodec } from '../../../../internal/http/resource/pages.js'
import { formatId, tenantIdsCache } from '../../../../internal/ids/ids.js'
import { POOLS } from '../../../../streams/buckets.js'
import { type Ask, type Asked, askAs } from '../../../support/ask.js'
import { launchBroker } from '../../../support/broker.js'
import { type MutationGateway, SECRET, startMutationGateway } from '../../../support/mutation-gateway.js'

let gateway: MutationGateway
let ask: Ask
let isOver = false

beforeAll(async () => {
  const { url } = await launchBroker()
  const fail = (cause: unknown): void => {
    if (!isOver) throw cause
  }
  gateway = await startMutationGateway(url, async (mutate, broker) =>
    poolRoutes({
      mutate,
      pools: await watchRecords<StoredPool>(await broker.bucket(POOLS), fail),
      isService: (_tenantId, name) => name === 'search',
      idsOf: tenantIdsCache(SECRET),
      cursors: createCursorCodec(new Uint8Array(32)),
      clock: Date.now,
    }),
  )
  ask = askAs(gateway.url, { 'x-api-key': 'admin:config' })
})
afterAll(async () => {
  isOver = true
  await gateway.stop()
})

const PATH = '/api/v1/pools'
const RULES = [{ provider: 'bedrock' }, { ingestion_layer: 'proxy', principal_id: null }]
const codeOf = ({ status, json }: Asked) => `${status} ${json?.error_code}`

test('a pool is created, read, updated and deleted, and the audit log records each change', async () => {
  const made = await ask('POST', PATH, { name: 'shared', owner: 'team-platform', rules: RULES })

  expect(made).toMatchObject({ status: 201 })
  expect(made.json).toEqual({
    id: expect.stringMatching(/^pool_[0-9a-z]{26}$/),
    name: 'shared',
    owner: 'team-platform',
    priority: 100,
    rules: [{ provider: 'bedrock' }, { ingestion_layer: 'proxy' }],
    created_at: expect.any(String),
  })
  const path = `${PATH}/${made.json.id}`
  expect((await ask('GET', path)).json).toEqual(made.json)
  expect((await ask('GET', PATH)).json.data).toEqual([made.json])

  const changed = await ask('PATCH', path, { priority: 0, rules: [{ provider: 'gemini' }] })
  expect(changed.json).toEqual({ ...made.json, priority: 0, rules: [{ provider: 'gemini' }] })

  expect((await ask('DELETE', path)).status).toBe(204)
  expect(codeOf(await ask('GET', path))).toBe('404 NOT_FOUND')
  expect(codeOf(await ask('DELETE', path))).toBe('404 NOT_FOUND')
  expect(gateway.audited.slice(0, 3).map(({ action }) => action)).toEqual(['pool.create', 'pool.update', 'pool.delete'])
  expect(gateway.audited[1]?.changes).toMatchObject({ before: { priority: 100 }, after: { priority: 0 } })
})

test('a tenant cannot have two pools with the same name, or one with the name of the default pool', async () => {
  const pool = { name: 'twice', owner: 'team', rules: RULES }

  expect((await ask('POST', PATH, pool)).status).toBe(201)
  expect(codeOf(await ask('POST', PATH, { ...pool, owner: 'another' }))).toBe('409 CONFLICT')
  expect(codeOf(await ask('POST', PATH, { ...pool, name: 'unallocated' }))).toBe('422 VALIDATION_FAILED')
})

test.each([
  ['no rules', { rules: [] }],
  ['a rule without conditions', { rules: [{}] }],
  ['an unknown condition', { rules: [{ tag: 'x' }] }],
  ['a priority out of range', { rules: RULES, priority: 1001 }],
])('a pool with %s is refused', async (_, stated) => {
  expect(codeOf(await ask('POST', PATH, { name: 'wrong', owner: 'team', ...stated }))).toBe('422 VALIDATION_FAILED')
})

test('a pool id of another tenant gets a 403, whether the pool exists or not', async () => {
  const foreign = formatId('pool', new Uint8Array(16))

  expect(codeOf(await ask('GET', `${PATH}/${foreign}`))).toBe('403 TENANT_MISMATCH')
  expect(codeOf(await ask('PATCH', `${PATH}/${foreign}`, { owner: 'x' }))).toBe('403 TENANT_MISMATCH')
  expect(codeOf(await ask('DELETE', `${PATH}/${foreign}`))).toBe('403 TENANT_MISMATCH')
})

test('a pool may not have the name of a service', async () => {
  expect(codeOf(await ask('POST', PATH, { name: 'search', owner: 'team', rules: RULES }))).toBe('409 CONFLICT')
})
