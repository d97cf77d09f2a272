import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type WatchedRecords, watchRecords } from '../../../internal/broker/watched-records.js'
import type { MutationRequest } from '../../../internal/http/mutations/mutation.js'
import { randomId, tenantIdsCache } from '../../../internal/ids/ids.js'
import type { Delivery } from '../../../internal/webhooks/delivery.js'
import { challengeText, type StoredWebhook } from '../../../internal/webhooks/endpoint.js'
import { createWebhook, verifyWebhook, type WebhookChangesDeps } from '../../../internal/webhooks/webhook-changes.js'
import type { CreateBody } from '../../../internal/webhooks/webhook-contract.js'
import { WEBHOOKS } from '../../../streams/buckets.js'
import { type Buckets, launchBuckets } from '../../support/buckets.js'
import { masterKeysOf } from '../../support/master-keys.js'

const idsOf = tenantIdsCache(new Uint8Array(32))
let buckets: Buckets
/** The copies of two gateways. */
let copies: WatchedRecords<StoredWebhook>[]
beforeAll(async () => {
  buckets = await launchBuckets()
  copies = await Promise.all(
    [1, 2].map(async () =>
      watchRecords<StoredWebhook>(await (await buckets.connect()).bucket(WEBHOOKS), () => undefined),
    ),
  )
})
afterAll(async () => {
  for (const copy of copies) copy.stop()
  await buckets.close()
})

let tenantId = 'tnt_0'
let sent: Delivery[]
beforeEach(() => {
  tenantId = `tnt_${Number(tenantId.slice(4)) + 1}`
  sent = []
})

const gateway = (index: number): WebhookChangesDeps => ({
  webhooks: copies[index % copies.length] as WatchedRecords<StoredWebhook>,
  healthOf: () => undefined,
  masterKeys: masterKeysOf(7),
  targetRules: { ports: [443], allowsPrivateNames: false, ownHosts: [] },
  guard: { check: () => ({ kind: 'allowed', addresses: [] }) },
  deliver: async (delivery) => void sent.push(delivery),
  newestEvent: async () => 0,
  deleteRemains: async () => undefined,
  idsOf,
  residencyRegionOf: () => null,
  instanceRegion: null,
  clock: Date.now,
})

function requestOf<B>(body: B): MutationRequest<B> {
  const id = randomId('whk', idsOf(tenantId))
  return {
    caller: { tenantId } as MutationRequest<B>['caller'],
    body,
    parameter: '',
    query: '',
    traceId: '',
    newId: () => id,
    newSecret: () => new Uint8Array(32),
    isRepeat: false,
  }
}

/** @returns 201, or the code of the refusal */
async function create(deps: WebhookChangesDeps, stated: Partial<MutationRequest<CreateBody>> = {}) {
  const body: CreateBody = { url: 'https://hooks.example.com/', events: ['export.failed'] }
  const reply = await createWebhook({ ...requestOf(body), ...stated }, deps)
  return 'code' in reply ? reply.code : reply.status
}
const existing = async (): Promise<string[]> => {
  const bucket = await buckets.open(WEBHOOKS)
  const found: string[] = []
  for await (const key of await bucket.keys()) {
    if ((await bucket.get(key))?.json<StoredWebhook>().tenant_id === tenantId) found.push(key)
  }
  return found.sort()
}

test('gateways that create endpoints concurrently create at most 100, and challenge those', async () => {
  const codes = await Promise.all(Array.from({ length: 130 }, (_, i) => create(gateway(i))))

  expect(codes.filter((code) => code === 201)).toHaveLength(100)
  expect(codes.filter((code) => code === 'CONFLICT')).toHaveLength(30)
  expect(sent.map(({ endpointId }) => endpointId).sort()).toEqual(await existing())
})

test('an endpoint beyond the limit, left by an interrupted request, is deleted by the repeated request', async () => {
  for (let i = 0; i < 100; i++) await create(gateway(0))
  const before = await existing()
  const [first] = copies[0]?.of(tenantId) ?? []
  const id = randomId('whk', idsOf(tenantId))
  await copies[0]?.createOnce(id, { ...(first as StoredWebhook), id })

  const repeat = () => create(gateway(0), { newId: () => id, isRepeat: true })

  expect([await repeat(), await repeat()]).toEqual(['CONFLICT', 'CONFLICT'])
  expect(await existing()).toEqual(before)
  expect(sent).toHaveLength(100)
})

test('an endpoint within the limit is kept when its request is repeated', async () => {
  for (let i = 0; i < 99; i++) await create(gateway(0))
  const id = randomId('whk', idsOf(tenantId))
  await create(gateway(0), { newId: () => id })

  expect(await create(gateway(1), { newId: () => id, isRepeat: true })).toBe(201)
  expect(await existing()).toContain(id)
})

test('a repeated confirmation gets the same response; a new one for a verified endpoint is refused', async () => {
  const id = randomId('whk', idsOf(tenantId))
  await create(gateway(0), { newId: () => id })
  const challenge = (await gateway(0).webhooks.read(id))?.challenge ?? undefined
  const text = challenge === undefined ? '' : challengeText(masterKeysOf(7), id, challenge)
  const confirm = async (answer: string, isRepeat: boolean) => {
    const body = { challenge: answer }
    const reply = await verifyWebhook({ ...requestOf(body), parameter: id, isRepeat }, gateway(0))
    return 'code' in reply ? reply.code : reply.status
  }

  expect(await confirm(text, false)).toBe(200)
  expect(await confirm(text, true)).toBe(200)
  expect(await confirm(text, false)).toBe('CONFLICT')
  expect(await confirm('made-up', false)).toBe('CONFLICT')
})
