import { EVENTS } from '../../streams/events.js'
import {
  DEADLETTERS,
  deadLettersSubject,
  dueSubject,
  REPLAYS_CHECKPOINT,
  REPLAYS_SUBJECT,
  RETRIES,
  replaySchedule,
} from '../../streams/retries.js'
import type { Progress } from '../broker/checkpoint.js'
import type { LogRange, StoredEntry } from '../broker/log.js'
import type { PlannedLog } from '../broker/planned-log.js'
import { type GroupPublisher, publishAllOrThrow, publishOrThrow } from '../broker/publisher.js'
import { envelopeText, replayedText } from '../events/event.js'
import type { EventType } from '../events/event-contract.js'
import { idOfName, type TenantIds } from '../ids/ids.js'
import type { Logger } from '../telemetry/log.js'
import { type Delivery, decodeDelivery, encodeDelivery, newDelivery, partitionOf } from './delivery.js'
import type { StoredWebhook } from './endpoint.js'

/** An order to replay events, executed in batches; a message of `replays.asked`, as JSON. */
export interface ReplayOrder {
  /** Derived from the request. */
  readonly id: string
  readonly tenant_id: string
  readonly endpoint_id: string
  readonly selection: ReplaySelection
  /** The first sequence of the next batch. */
  readonly next: number
  /** The last sequence to replay; fixed when the replay was requested. */
  readonly until: number
}

export type ReplaySelection =
  | {
      readonly kind: 'event'
      readonly event_id: string
      /** Those that the caller may read, beside those that the endpoint subscribes to. Absent: all. */
      readonly types?: readonly EventType[]
    }
  /** Events that the endpoint subscribes to, within these times if given; RFC 3339 in UTC. */
  | { readonly kind: 'range'; readonly from?: string; readonly before?: string }
  | { readonly kind: 'dead_letters' }

/** Message id of the batch that starts at `next`, so that it is stored once. */
export const replayMessageId = ({ id, next }: ReplayOrder): string => `${id}.${next}`

export interface ReplayerDeps extends GroupPublisher {
  readonly findWebhook: (id: string) => Promise<StoredWebhook | undefined>
  readonly readLog: (range: LogRange) => Promise<StoredEntry[]>
  /** The first sequence of EVENTS that was stored at or after a time. */
  readonly firstEventSince: (atMs: number) => Promise<number>
  readonly deleteDeadLetter: (sequence: number) => Promise<void>
  readonly idsOf: (tenantId: string) => TenantIds
  readonly clock: () => number
  readonly log: Logger
}

/** Events or dead letters read per batch of a replay. */
const BATCH_MESSAGES = 500
/** Events read per batch when searching for a single event, possibly through the whole log. */
const SEARCH_MESSAGES = 4_000
const BATCH_BYTES = 4 * 1024 * 1024
/**
 * Pause after a batch with deliveries, so that a long replay does not delay due retries; a batch without any has none.
 */
const BATCH_EVERY_MS = 500

/**
 * Executes replays in batches: each batch publishes its deliveries and orders the next batch. Replayed
 * deliveries go to the log of due retries, so that they do not delay tenants' new events.
 */
export const replayer = (deps: ReplayerDeps): PlannedLog<Progress> => ({
  key: REPLAYS_CHECKPOINT,
  stream: RETRIES.name,
  subject: REPLAYS_SUBJECT,
  initial: { done: 0 },
  isScheduled: true,
  async open() {
    return async (entries, extent, _before, planned) => ({
      plan: planned ?? extent,
      after: { done: extent.last },
      size: entries.length,
      inserts: false,
      async applyEffects() {
        for (const { data } of entries) await replayBatch(JSON.parse(Buffer.from(data).toString()) as ReplayOrder, deps)
      },
    })
  },
})

async function replayBatch(order: ReplayOrder, deps: ReplayerDeps): Promise<void> {
  const webhook = await deps.findWebhook(order.endpoint_id)
  if (webhook?.status !== 'verified') return
  const { kind } = order.selection
  const batch = kind === 'dead_letters' ? await deadLetters(order, deps) : await events(order, webhook, deps)
  const partition = partitionOf(order.endpoint_id)
  await publishAllOrThrow(deps, batch.deliveries, (delivery) => {
    return { subject: dueSubject(partition), payload: encodeDelivery(delivery), messageId: delivery.id }
  })
  for (const sequence of batch.consumed) await deps.deleteDeadLetter(sequence)
  if (batch.next === undefined || batch.next > order.until) return
  const following = { ...order, next: batch.next }
  const payload = Buffer.from(JSON.stringify(following))
  const messageId = replayMessageId(following)
  // Queued after the waiting orders: a search delays another replay by one batch at most.
  if (batch.deliveries.length === 0) return publishOrThrow(deps.publish, REPLAYS_SUBJECT, payload, messageId)
  const schedule = { atMs: deps.clock() + BATCH_EVERY_MS, subject: REPLAYS_SUBJECT }
  await publishOrThrow(deps.publish, replaySchedule(order.id), payload, messageId, { schedule })
}

interface ReplayBatch {
  readonly deliveries: readonly Delivery[]
  /** Sequences of dead letters to delete. */
  readonly consumed: readonly number[]
  /** The first sequence of the next batch; undefined when there is none. */
  readonly next: number | undefined
}

async function events(order: ReplayOrder, webhook: StoredWebhook, deps: ReplayerDeps): Promise<ReplayBatch> {
  const { tenant_id: tenantId, selection, until } = order
  const from = selection.kind === 'range' ? selection.from : undefined
  const start = from === undefined ? order.next : Math.max(order.next, await deps.firstEventSince(Date.parse(from)))
  const entries = await deps.readLog({
    stream: EVENTS.name,
    subject: `events.${tenantId}.>`,
    from: start,
    messagesMax: selection.kind === 'event' ? SEARCH_MESSAGES : BATCH_MESSAGES,
    bytesMax: BATCH_BYTES,
  })
  const within = entries.filter(
    ({ sequence, storedAt }) =>
      sequence <= until &&
      !(
        selection.kind === 'range' &&
        selection.before !== undefined &&
        Date.parse(storedAt) >= Date.parse(selection.before)
      ),
  )
  const wanted = within.filter(({ subject, messageId }) => {
    const type = typeOf(subject)
    const isSubscribed = webhook.events.includes(type)
    if (selection.kind !== 'event') return isSubscribed
    return messageId === selection.event_id && (isSubscribed || selection.types?.includes(type) !== false)
  })
  const isFound = selection.kind === 'event' && wanted.length > 0
  const last = entries.at(-1)
  const isOver = isFound || last === undefined || within.length < entries.length
  return {
    deliveries: wanted.flatMap((entry) => deliveryOf(entry, order, deps)),
    consumed: [],
    next: isOver ? undefined : last.sequence + 1,
  }
}

/** `events.<tenant>.<type>` */
const typeOf = (subject: string): EventType => subject.split('.').slice(2).join('.') as EventType

function deliveryOf(
  { sequence, subject, storedAt, messageId, data }: StoredEntry,
  order: ReplayOrder,
  deps: ReplayerDeps,
): Delivery[] {
  const text = envelopeText(Buffer.from(data).toString(), { sequence, createdAt: storedAt, isReplayed: true })
  if (text === undefined) {
    deps.log.error({ sequence, subject }, 'skipped an undecodable event message')
    return []
  }
  return [
    newDelivery({
      id: replayedId(order, messageId, deps),
      tenantId: order.tenant_id,
      endpointId: order.endpoint_id,
      eventId: messageId,
      type: typeOf(subject),
      sequence,
      isReplayed: true,
      body: Buffer.from(text),
    }),
  ]
}

async function deadLetters(order: ReplayOrder, deps: ReplayerDeps): Promise<ReplayBatch> {
  const entries = await deps.readLog({
    stream: DEADLETTERS.name,
    subject: deadLettersSubject(order.endpoint_id),
    from: order.next,
    messagesMax: BATCH_MESSAGES,
    bytesMax: BATCH_BYTES,
  })
  const within = entries.filter(({ sequence }) => sequence <= order.until)
  const deliveries = within.map(({ data }): Delivery => {
    const letter = decodeDelivery(data)
    return newDelivery({
      ...letter,
      id: replayedId(order, letter.id, deps),
      isReplayed: true,
      body: Buffer.from(replayedText(Buffer.from(letter.body).toString())),
    })
  })
  const last = entries.at(-1)
  return {
    deliveries,
    consumed: within.map(({ sequence }) => sequence),
    next: last === undefined || within.length < entries.length ? undefined : last.sequence + 1,
  }
}

const replayedId = ({ tenant_id, id }: ReplayOrder, originalId: string, { idsOf }: ReplayerDeps): string =>
  idOfName('dlv', idsOf(tenant_id), id, originalId)
