import { expect, test } from 'vitest'
import type { GroupPublisher, Message, PublishResult } from '../../../../internal/broker/publisher.js'
import { createLog } from '../../../../internal/telemetry/log.js'
import { OutcomeSettler } from '../../../../internal/webhooks/courier/outcome-settler.js'
import type { AttemptRecord, Outcome } from '../../../../internal/webhooks/courier/outcomes.js'
import type { PartitionLog } from '../../../../internal/webhooks/courier/partition-log.js'
import { type Delivery, newDelivery, partitionOf } from '../../../../internal/webhooks/delivery.js'
import { deadLettersSubject, dueSubject, retrySubject } from '../../../../streams/retries.js'

const STORED: PublishResult = { kind: 'stored', sequence: 1, duplicate: false }
const ENDPOINT = 'whk_down'

const deliveryOf = (number: number, type: Delivery['type'] = 'apikey.rotated'): Delivery =>
  newDelivery({
    id: `dlv_${number}`,
    tenantId: 'tnt_one',
    endpointId: ENDPOINT,
    eventId: `evt_${number}`,
    type,
    sequence: number,
    isReplayed: false,
    body: Buffer.from('{}'),
  })

const recordOf = (delivery: Delivery): AttemptRecord => ({
  delivery,
  attempt: 1,
  attemptedAtMs: 0,
  latencyMs: 1,
  status: null,
  outcome: 'dead_lettered',
  reason: 'expired',
  nextAttemptAtMs: null,
})

/** What a broker gets of these outcomes when they are settled together. */
async function settled(outcomes: readonly (Outcome & { readonly delivery: Delivery })[]) {
  const groups: (readonly Message[])[] = []
  let single = 0
  const publisher: GroupPublisher = {
    async publish() {
      single++
      return STORED
    },
    async publishTogether(messages) {
      groups.push(messages)
      return STORED
    },
  }
  const deps = { ...publisher, logAttempts: async () => undefined, log: createLog('test', 'silent') }
  const settler = new OutcomeSettler([], deps, () => undefined)
  const done: number[] = []
  const log = { settle: (index: number) => void done.push(index) } as unknown as PartitionLog
  for (const [index, outcome] of outcomes.entries()) settler.add({ log, index, bytes: 1 }, outcome)

  await settler.settleOnce()

  expect(done).toHaveLength(outcomes.length)
  return { single, groups }
}

test('an endpoint that is down costs a few groups, not a write per delivery', async () => {
  const again = Array.from({ length: 4_000 }, (_, i) => deliveryOf(i))
  const dead = Array.from({ length: 1_000 }, (_, i) => deliveryOf(10_000 + i))

  const { single, groups } = await settled([
    ...again.map((delivery) => ({ kind: 'again', delivery, atMs: 5 }) as const),
    ...dead.map((delivery) => ({ kind: 'dead_lettered', delivery, record: recordOf(delivery) }) as const),
  ])

  expect([single, groups.length]).toEqual([0, 10])
  const messages = groups.flat()
  const partition = partitionOf(ENDPOINT)
  const schedule = { atMs: 5, subject: dueSubject(partition) }
  expect(messages.filter(({ more }) => more !== undefined)).toMatchObject(
    again.map(({ id }) => ({ subject: retrySubject(partition, ENDPOINT, id), messageId: '', more: { schedule } })),
  )
  expect(messages.filter(({ more }) => more === undefined)).toMatchObject(
    dead.map(({ id }) => ({ subject: deadLettersSubject(ENDPOINT), messageId: id })),
  )
})

test('a challenge that nobody answered is no dead letter', async () => {
  const challenge = deliveryOf(1, 'webhook.verification')

  const { single, groups } = await settled([
    { kind: 'dead_lettered', delivery: challenge, record: recordOf(challenge) },
    { kind: 'dead_lettered', delivery: deliveryOf(2), record: recordOf(deliveryOf(2)) },
  ])

  expect([single, groups.length]).toEqual([1, 0])
})
