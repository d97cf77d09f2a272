import { expect, test } from 'vitest'
import { eventId } from '../../../../internal/events/event.js'
import { tenantIdsCache } from '../../../../internal/ids/ids.js'
import type { AttemptRequest } from '../../../../internal/webhooks/courier/attempt.js'
import { deliver } from '../../../../internal/webhooks/courier/deliver.js'
import type { Outcome } from '../../../../internal/webhooks/courier/outcomes.js'
import { type Delivery, newDelivery } from '../../../../internal/webhooks/delivery.js'
import { type StoredWebhook, storeChallenge, storeSecret } from '../../../../internal/webhooks/endpoint.js'
import { masterKeysOf } from '../../../support/master-keys.js'

const NOW_MS = Date.parse('2026-11-21T09:30:00Z')
const AT = new Date(NOW_MS).toISOString()
const masterKeys = masterKeysOf(7)
const idsOf = tenantIdsCache(new Uint8Array(32))

const VERIFIED: StoredWebhook = {
  id: 'whk_1',
  tenant_id: 'tnt_one',
  url: 'https://hooks.example.com/',
  events: ['apikey.rotated'],
  residency_region: null,
  status: 'verified',
  secrets: [storeSecret(masterKeys, 'whk_1', 'whsec_', AT)],
  challenge: null,
  verified_at: AT,
  starts_after: 0,
  created_at: AT,
}
const challenged = (id: string): StoredWebhook => ({
  ...VERIFIED,
  status: 'pending',
  challenge: storeChallenge(masterKeys, 'whk_1', { id, text: `text of ${id}` }, NOW_MS),
})

const delivery = (more: Partial<Delivery> = {}): Delivery => ({
  ...newDelivery({
    id: 'dlv_1',
    tenantId: 'tnt_one',
    endpointId: 'whk_1',
    eventId: 'evt_1',
    type: 'apikey.rotated',
    sequence: 1,
    isReplayed: false,
    body: Buffer.from('{}'),
  }),
  ...more,
})
const challengeOf = (id: string): Delivery =>
  delivery({
    eventId: eventId(idsOf('tnt_one'), 'webhook.verification', id),
    type: 'webhook.verification',
    sequence: 0,
    body: new Uint8Array(0),
  })

interface Given {
  readonly copy: StoredWebhook | undefined
  readonly bucket: StoredWebhook | undefined
}

/**
 * One attempt by a courier whose receiver answers 200.
 *
 * @returns the outcome, the request, and the reads of the bucket
 */
async function attempted(given: Delivery, { copy, bucket }: Given) {
  const sent: AttemptRequest[] = []
  let reads = 0
  const outcome = await new Promise<Outcome>((made, failed) =>
    deliver(
      given,
      {
        findWebhook: () => copy,
        webhooks: {
          async read() {
            reads++
            return bucket
          },
          change: async () => bucket,
        },
        masterKeys,
        targetRules: { ports: [443], allowsPrivateNames: false, ownHosts: [] },
        mayReceive: () => true,
        rules: { maximaMs: [1_000], stopMs: 60_000 },
        attempt(request, done) {
          sent.push(request)
          queueMicrotask(() => done({ kind: 'acknowledged', status: 200, latencyMs: 1, responseBody: Buffer.from('') }))
        },
        onAttempt: () => undefined,
        newestEvent: async () => 0,
        idsOf,
        clock: () => NOW_MS,
        random: () => 1,
      },
      made,
      failed,
    ),
  )
  return { kind: outcome.kind, sent: sent.map(({ body }) => Buffer.from(body).toString()), reads }
}

test('a delivery to an endpoint that is verified in the mirror is sent without reading the bucket', async () => {
  const made = await attempted(delivery(), { copy: VERIFIED, bucket: undefined })

  expect(made).toEqual({ kind: 'acknowledged', sent: ['{}'], reads: 0 })
})

test.each([
  ['does not know', undefined],
  ['knows as pending', challenged('one')],
])('an event for an endpoint that a lagging mirror %s is delivered, not dropped', async (_, copy) => {
  const made = await attempted(delivery(), { copy, bucket: VERIFIED })

  expect(made).toEqual({ kind: 'acknowledged', sent: ['{}'], reads: 1 })
})

test('a new challenge is sent even while the mirror still has the previous one', async () => {
  const made = await attempted(challengeOf('two'), { copy: challenged('one'), bucket: challenged('two') })

  expect(made.sent).toEqual([expect.stringContaining('text of two')])
})

test.each([
  ['that was deleted', undefined],
  ['that is pending', challenged('one')],
  ['of another tenant', { ...VERIFIED, tenant_id: 'tnt_two' }],
])('the courier sends nothing to an endpoint %s', async (_, bucket) => {
  expect(await attempted(delivery(), { copy: undefined, bucket })).toMatchObject({ kind: 'dropped', sent: [] })
})
