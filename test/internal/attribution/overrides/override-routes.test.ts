import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { ReattributionJob } from '../../../../internal/attribution/changes/reattribution-job.js'
import { type OverridePreview, overrideRoutes } from '../../../../internal/attribution/overrides/override-routes.js'
import { bucketRecords } from '../../../../internal/broker/records.js'
import { tenantIdsCache } from '../../../../internal/ids/ids.js'
import { refusalOfCrossing } from '../../../../internal/residency/residency.js'
import type { SelectedOwner } from '../../../../internal/store/queries/records/selected-records.js'
import { OVERRIDE_PREVIEWS, REATTRIBUTIONS } from '../../../../streams/buckets.js'
import { type Ask, askAs, refusalOf } from '../../../support/ask.js'
import { launchBroker } from '../../../support/broker.js'
import { type MutationGateway, SECRET, startMutationGateway } from '../../../support/mutation-gateway.js'

/** What the read model selects is given here; `test/own-instance/overrides.test.ts` has the whole of it. */

const SELECTED: SelectedOwner = {
  service: 'legacy',
  owner: 'unassigned',
  records: '2',
  costUsd: '0.5',
  overridden: '0',
  disputed: '0',
  implausible: '0',
  implausibleUsd: '0',
  firstMs: '10',
  lastMs: '20',
}

let gateway: MutationGateway
let ask: Ask
let nowMs = Date.now()
let selected: readonly SelectedOwner[] = [SELECTED]
let home: string | null = null
let replaced = 0

beforeAll(async () => {
  const { url } = await launchBroker()
  gateway = await startMutationGateway(url, async (mutate, broker) => {
    const jobs = bucketRecords<ReattributionJob>(await broker.bucket(REATTRIBUTIONS), async () => undefined)
    return overrideRoutes({
      mutate,
      clock: () => nowMs,
      idsOf: tenantIdsCache(SECRET),
      watermark: { latest: async () => 1, renewed: async () => 1 },
      dimensionsOf: () => [],
      refusalToShow: () => refusalOfCrossing(home, [{ name: 'this instance', region: 'us-east-1' }]),
      selectedOwners: async () => ({ value: selected }),
      countReplaced: async () => replaced,
      previews: bucketRecords<OverridePreview>(await broker.bucket(OVERRIDE_PREVIEWS), async () => undefined),
      jobs,
      publishSlice: (_tenantId, { jobId }) => jobs.change(jobId, (job) => ({ ...job, status: 'done', changed: 2 })),
    })
  })
  ask = askAs(gateway.url, { 'x-api-key': 'admin:config' })
})
afterAll(() => gateway.stop())
beforeEach(() => {
  selected = [SELECTED]
  home = null
  replaced = 0
  nowMs = Date.now()
})

const PATH = '/v1/attribution/overrides'
const DRY_RUN = {
  dry_run: true,
  filters: [{ field: 'service', operator: 'eq', values: ['legacy'] }],
  service: 'chat',
  owner: 'team-chat',
  reason: 'so it is',
}
const tokenOf = async (): Promise<string> => (await ask('POST', PATH, DRY_RUN)).json.token
const apply = (token: string, as = ask) => as('POST', PATH, { dry_run: false, token })

test('a token applies what its dry run has shown, and only once', async () => {
  const token = await tokenOf()
  expect(await apply(token)).toMatchObject({
    status: 200,
    json: { id: token, status: 'applied', records: 2, overridden: 2, service: 'chat', restored: null },
  })
  expect(refusalOf(await apply(token))).toEqual([409, 'CONFLICT'])
  expect((await ask('GET', `${PATH}/${token}/status`)).json).toMatchObject({ status: 'applied' })
})

test('a repeated request gets its answer, not that the token is used', async () => {
  const token = await tokenOf()
  const key = { 'idempotency-key': crypto.randomUUID() }
  const answers = [1, 2].map(() => ask('POST', PATH, { dry_run: false, token }, key))

  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200])
})

test('of many requests with one token, one applies it', async () => {
  const token = await tokenOf()

  const answers = await Promise.all(Array.from({ length: 8 }, () => apply(token)))

  expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(409)])
})

test('a token expires after an hour', async () => {
  const token = await tokenOf()
  nowMs += 60 * 60_000

  expect(refusalOf(await apply(token))).toEqual([409, 'CONFLICT'])
  expect(refusalOf(await ask('GET', `${PATH}/${token}/status`))).toEqual([404, 'NOT_FOUND'])
})

test('a token of another tenant is refused, and so is its override', async () => {
  const other = askAs(gateway.url, { 'x-api-key': 'tnt_two:admin:config' })
  const token = await tokenOf()
  await apply(token)

  expect(refusalOf(await apply(token, other))).toEqual([403, 'TENANT_MISMATCH'])
  expect(refusalOf(await other('GET', `${PATH}/${token}/status`))).toEqual([403, 'TENANT_MISMATCH'])
  expect(refusalOf(await other('POST', `${PATH}/${token}/undo`))).toEqual([403, 'TENANT_MISMATCH'])
})

test('more than 250,000 records are refused, and what they cost is not shown', async () => {
  selected = [{ ...SELECTED, records: '250001' }]

  const answer = await ask('POST', PATH, DRY_RUN)

  expect(refusalOf(answer)).toEqual([422, 'VALIDATION_FAILED'])
  expect(answer.json.errors[0].detail).toContain('these select 250001')
})

test('a tenant whose overrides have replaced a million versions overrides no more at once', async () => {
  const token = await tokenOf()
  replaced = 999_999

  expect(refusalOf(await ask('POST', PATH, DRY_RUN))).toEqual([409, 'CONFLICT'])
  expect(refusalOf(await apply(token))).toEqual([409, 'CONFLICT'])
})

test('an override that was never applied, or was undone, is not undone', async () => {
  const token = await tokenOf()
  expect(refusalOf(await ask('POST', `${PATH}/${token}/undo`))).toEqual([404, 'NOT_FOUND'])
  await apply(token)

  expect((await ask('POST', `${PATH}/${token}/undo`)).json).toMatchObject({ status: 'undone', restored: 2 })
  expect(refusalOf(await ask('POST', `${PATH}/${token}/undo`))).toEqual([409, 'CONFLICT'])
})

test('an instance outside the region of a tenant shows no dry run', async () => {
  home = 'eu-central-1'

  expect(refusalOf(await ask('POST', PATH, DRY_RUN))).toEqual([409, 'RESIDENCY_BLOCKED'])
})

test('an old sign-in takes a new one first', async () => {
  const stale = askAs(gateway.url, { 'x-api-key': `admin:config@${Math.floor(Date.now() / 1_000) - 16 * 60}` })

  expect(refusalOf(await stale('POST', PATH, DRY_RUN))).toEqual([401, 'STEP_UP_REQUIRED'])
})
