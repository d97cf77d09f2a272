import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ReattributionJob } from '../../../../internal/attribution/changes/reattribution-job.js'
import type { StoredPool } from '../../../../internal/attribution/pools/pool.js'
import { reattributionRoutes } from '../../../../internal/attribution/reattributions/reattribution-routes.js'
import { bucketRecords, type Records } from '../../../../internal/broker/records.js'
import { watchRecords } from '../../../../internal/broker/watched-records.js'
import { type OpenDirectory, openDirectory } from '../../../../internal/directory/open-directory.js'
import { tenantIdsCache } from '../../../../internal/ids/ids.js'
import { DIRECTORY, POOLS, REATTRIBUTIONS } from '../../../../streams/buckets.js'
import { type Ask, type Asked, askAs } from '../../../support/ask.js'
import { launchBroker } from '../../../support/broker.js'
import { type MutationGateway, SECRET, startMutationGateway } from '../../../support/mutation-gateway.js'
import { TENANT } from '../../../support/scope-keys.js'

/** The routes without an attributor: a job ends as soon as it is started. */

let gateway: MutationGateway
let ask: Ask
let jobs: Records<ReattributionJob>
let directory: OpenDirectory
let isOver = false
let isCrashing = false

beforeAll(async () => {
  const { url } = await launchBroker()
  const fail = (cause: unknown): void => {
    if (!isOver) throw cause
  }
  gateway = await startMutationGateway(url, async (mutate, broker) => {
    const idsOf = tenantIdsCache(SECRET)
    jobs = bucketRecords<ReattributionJob>(await broker.bucket(REATTRIBUTIONS), async () => undefined)
    directory = await openDirectory(await broker.bucket(DIRECTORY), idsOf, fail)
    return reattributionRoutes({
      ...directory,
      mutate,
      jobs,
      idsOf,
      pools: await watchRecords<StoredPool>(await broker.bucket(POOLS), fail),
      rules: { get: () => undefined },
      prices: { revision: () => 3 },
      isPool: (_tenantId, name) => name === 'rest',
      watermark: { renewed: async () => 0 },
      refusalToShow: () => undefined,
      async publishSlice(_tenantId, { jobId }) {
        if (isCrashing) throw new Error('as if the process had crashed')
        return jobs.change(jobId, (job) => ({ ...job, status: 'done' }))
      },
      listAnswers: async () => [],
      clock: Date.now,
    })
  })
  ask = askAs(gateway.url, { 'x-api-key': 'admin:config' })
})
afterAll(async () => {
  isOver = true
  await gateway.stop()
})

const PATH = '/api/v1/reattributions'
const from = '2026-11-01T00:00:00Z'
const codeOf = ({ status, json }: Asked) => `${status} ${json?.error_code}`
const ownerOf = (name: string): string | undefined => directory.directory.serviceEntry(TENANT, name)?.owner

test('a dry run keeps the entry as it is, and its job the entry as it would be', async () => {
  const { status, json } = await ask('POST', `${PATH}/dry-run`, { from, service: { name: 'tried', owner: 'team' } })

  expect({ status, json }).toMatchObject({ status: 200, json: { dry_run: true, status: 'done' } })
  expect(ownerOf('tried')).toBeUndefined()
  expect((await jobs.read(json.id))?.answer).toMatchObject({ before: null, after: { name: 'tried', owner: 'team' } })
})

test('an entry is changed and its job started; undoing it once brings back what it was', async () => {
  await ask('POST', PATH, { from, service: { name: 'search', owner: 'team-a', aliases: ['finder'] } })
  const changed = await ask('POST', PATH, { from, service: { name: 'search', owner: 'team-b' } })

  expect(changed).toMatchObject({ status: 200, json: { dry_run: false, records: 0 } })
  expect(directory.directory.serviceEntry(TENANT, 'finder')?.owner).toBe('team-b')
  expect(gateway.audited.at(-1)).toMatchObject({
    action: 'directory.put',
    changes: { before: { owner: 'team-a' }, after: { owner: 'team-b', reattribution: changed.json.id } },
  })

  expect((await ask('POST', `${PATH}/${changed.json.id}/undo`)).status).toBe(200)
  expect(ownerOf('search')).toBe('team-a')
  expect(codeOf(await ask('POST', `${PATH}/${changed.json.id}/undo`))).toBe('409 CONFLICT')
})

test('undoing an addition removes the entry; one that was changed since stays', async () => {
  const added = await ask('POST', PATH, { from, service: { name: 'chat', owner: 'team-a' } })
  await ask('POST', PATH, { from, service: { name: 'chat', owner: 'team-b' } })
  expect(codeOf(await ask('POST', `${PATH}/${added.json.id}/undo`))).toBe('409 CONFLICT')
  expect(ownerOf('chat')).toBe('team-b')

  const pool = { name: 'shared', owner: 'team-c', rules: [{ provider: 'openai' }] }
  const pooled = await ask('POST', PATH, { from, pool })
  expect((await ask('POST', `${PATH}/${pooled.json.id}/undo`)).status).toBe(200)
  expect(gateway.audited.at(-1)).toMatchObject({ action: 'pool.delete', changes: { before: { owner: 'team-c' } } })
})

test('an attempt that is repeated after a crash finds what the entry was', async () => {
  const key = { 'idempotency-key': '0190f5fe-7c00-7a00-8000-000000000001' }
  const body = { from, service: { name: 'mailer', owner: 'team-a' } }
  isCrashing = true
  expect((await ask('POST', PATH, body, key)).status).toBe(500)
  isCrashing = false
  expect(ownerOf('mailer')).toBe('team-a')

  const { status, json } = await ask('POST', PATH, body, key)
  expect(status).toBe(200)
  const answer = (await jobs.read(json.id))?.answer
  expect(answer).toMatchObject({ before: null, after: { owner: 'team-a' }, revision: directory.revision() })
})

test.each([
  [
    'two entries',
    { from, service: { name: 'a', owner: 'b' }, pool: { name: 'c', owner: 'd', rules: [{ provider: 'e' }] } },
    '422 VALIDATION_FAILED',
  ],
  ['a service with the name of a pool', { from, service: { name: 'rest', owner: 'team' } }, '409 CONFLICT'],
  [
    'an end before its begin',
    { from, to: '2026-10-01T00:00:00Z', service: { name: 'a', owner: 'b' } },
    '422 VALIDATION_FAILED',
  ],
])('%s is refused, and nothing is written', async (_, body, code) => {
  expect(codeOf(await ask('POST', PATH, body))).toBe(code)
  expect(codeOf(await ask('POST', `${PATH}/dry-run`, body))).toBe(code)
  expect([ownerOf('a'), ownerOf('rest')]).toEqual([undefined, undefined])
})

test('calls without a price are priced by a job that waits for the prices that were there when it was asked for', async () => {
  const { status, json } = await ask('POST', '/api/v1/prices/apply', { from })

  expect({ status, json }).toMatchObject({ status: 200, json: { cost_usd: '0', dry_run: false } })
  expect(await jobs.read(json.id)).toMatchObject({ valued: 'unpriced', prices_revision: 3 })
  expect((await ask('GET', `${PATH}/${json.id}`)).json).toEqual(json)
})

test('without an entry, all calls of the period are attributed again by the directory that there is', async () => {
  const tried = await ask('POST', `${PATH}/dry-run`, { from })
  const made = await ask('POST', PATH, { from })

  expect([tried, made]).toMatchObject([{ json: { dry_run: true } }, { status: 200, json: { dry_run: false } }])
  const job = await jobs.read(made.json.id)
  expect(job).toMatchObject({ by_service: true, directory_revision: directory.revision() })
  expect(job?.answer).toBeUndefined()
})
