import { expect, test } from 'vitest'
import type { LogRange, StoredEntry } from '../../../internal/broker/log.js'
import { eventId, storedText } from '../../../internal/events/event.js'
import { tenantIdsCache } from '../../../internal/ids/ids.js'
import { createLog } from '../../../internal/telemetry/log.js'
import { decodeDelivery, partitionOf } from '../../../internal/webhooks/delivery.js'
import type { StoredWebhook } from '../../../internal/webhooks/endpoint.js'
import {
  type ReplayerDeps,
  type ReplayOrder,
  type ReplaySelection,
  replayer,
} from '../../../internal/webhooks/replayer.js'
import { dueSubject, REPLAYS_SUBJECT, replaySchedule } from '../../../streams/retries.js'

const NOW_MS = Date.parse('2026-11-21T09:30:00Z')
const TENANT = 'tnt_one'
const idsOf = tenantIdsCache(new Uint8Array(32))
const ENDPOINT = { id: 'whk_1', tenant_id: TENANT, status: 'verified', events: ['export.failed'] } as const
const idOf = (sequence: number): string => eventId(idsOf(TENANT), 'apikey.rotated', `${sequence}`)

const entryOf = (sequence: number): StoredEntry => ({
  sequence,
  subject: `events.${TENANT}.apikey.rotated`,
  storedAt: '2026-11-20T00:00:00.000000000Z',
  messageId: idOf(sequence),
  data: Buffer.from(
    storedText(idOf(sequence), {
      tenantId: TENANT,
      type: 'apikey.rotated',
      cause: `${sequence}`,
      data: { old_key_id: 'key_old', new_key_id: `${sequence}` },
    }),
  ),
})

interface Published {
  readonly subject: string
  readonly payload: Uint8Array
  readonly messageId: string
  readonly isScheduled: boolean
}

/** Executes a replay order on a log with this many events. */
async function replayed(selection: ReplaySelection, count: number, events: readonly string[] = ENDPOINT.events) {
  const published: Published[] = []
  const reads: LogRange[] = []
  let writes = 0
  const deps: ReplayerDeps = {
    findWebhook: async () => ({ ...ENDPOINT, events }) as StoredWebhook,
    async readLog(range) {
      reads.push(range)
      const length = Math.min(range.messagesMax, count - range.from + 1)
      return Array.from({ length }, (_, i) => entryOf(range.from + i))
    },
    firstEventSince: async () => 1,
    deleteDeadLetter: async () => undefined,
    async publish(subject, payload, messageId, _timeoutMs, more) {
      writes++
      published.push({ subject, payload, messageId, isScheduled: more?.schedule !== undefined })
      return { kind: 'stored', sequence: published.length, duplicate: false }
    },
    async publishTogether(messages) {
      writes++
      published.push(...messages.map((message) => ({ ...message, isScheduled: false })))
      return { kind: 'stored', sequence: published.length, duplicate: false }
    },
    idsOf,
    clock: () => NOW_MS,
    log: createLog('test', 'silent'),
  }
  const prepare = await replayer(deps).open({ done: 0 })
  let pieces = 0
  const carryOut = async (order: Uint8Array): Promise<readonly Published[]> => {
    const sequence = ++pieces
    const entry = { ...entryOf(sequence), subject: REPLAYS_SUBJECT, data: order }
    const extent = { first: sequence, last: sequence, atMs: NOW_MS }
    const before = published.length
    const batch = await prepare([entry], extent, { done: sequence - 1 }, undefined)
    await batch.applyEffects()
    return published.slice(before)
  }
  const order: ReplayOrder = {
    id: 'dlv_order',
    tenant_id: TENANT,
    endpoint_id: ENDPOINT.id,
    selection,
    next: 1,
    until: count,
  }
  let next: Uint8Array | undefined = Buffer.from(JSON.stringify(order))
  while (next !== undefined) {
    const made: readonly Published[] = await carryOut(next)
    const orders = made.filter(({ subject }) => subject === REPLAYS_SUBJECT || subject === replaySchedule(order.id))
    expect(orders.length).toBeLessThanOrEqual(1)
    next = orders[0]?.payload
  }
  const deliveries = published.filter(({ subject }) => subject === dueSubject(partitionOf(ENDPOINT.id)))
  return {
    pieces,
    reads,
    writes,
    orders: published.filter((one) => !deliveries.includes(one)),
    sequences: deliveries.map(({ payload }) => decodeDelivery(payload).sequence),
  }
}

test('the search for one event reads large batches, each of which orders the next at once', async () => {
  const { pieces, orders, sequences } = await replayed({ kind: 'event', event_id: idOf(9_999) }, 10_000)

  expect(sequences).toEqual([9_999])
  expect(pieces).toBe(3)
  expect(orders.map(({ subject, isScheduled, messageId }) => [subject, isScheduled, messageId])).toEqual([
    [REPLAYS_SUBJECT, false, 'dlv_order.4001'],
    [REPLAYS_SUBJECT, false, 'dlv_order.8001'],
  ])
})

test('one event is replayed if the endpoint subscribes to its type or the caller may read it', async () => {
  const event = { kind: 'event', event_id: idOf(3) } as const
  const counts = async (selection: ReplaySelection, events?: readonly string[]) =>
    (await replayed(selection, 3, events)).sequences.length

  expect(await counts({ ...event, types: ['export.failed'] })).toBe(0)
  expect(await counts({ ...event, types: ['apikey.rotated'] })).toBe(1)
  expect(await counts({ ...event, types: [] }, ['apikey.rotated'])).toBe(1)
  // Ordered by an earlier version.
  expect(await counts(event)).toBe(1)
})

test('the search for a missing event reads the log once, up to the time of the request', async () => {
  const { reads, sequences } = await replayed({ kind: 'event', event_id: idOf(20_000) }, 10_000)

  expect(sequences).toEqual([])
  expect(reads.map(({ from }) => from)).toEqual([1, 4_001, 8_001])
})

test('batches of a range replay pause after deliveries, and not when nothing matched', async () => {
  const wanted = await replayed({ kind: 'range' }, 1_200, ['apikey.rotated'])
  const unwanted = await replayed({ kind: 'range' }, 1_200, ['export.failed'])

  expect(wanted.sequences).toEqual(Array.from({ length: 1_200 }, (_, i) => i + 1))
  // Three batches, each in one write, and two orders.
  expect(wanted.writes).toBe(5)
  expect(wanted.orders.map(({ isScheduled }) => isScheduled)).toEqual([true, true])
  expect(unwanted.orders.map(({ isScheduled }) => isScheduled)).toEqual([false, false])
})
