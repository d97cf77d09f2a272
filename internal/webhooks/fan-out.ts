import { DELIVERY_PARTITIONS, deliveriesSubject, deliveriesWake, FAN_OUT_CHECKPOINT } from '../../streams/deliveries.js'
import { EVENTS, EVENTS_OF_ALL } from '../../streams/events.js'
import type { Extent, Progress } from '../broker/checkpoint.js'
import type { StoredEntry } from '../broker/log.js'
import type { PlannedLog } from '../broker/planned-log.js'
import { type Publisher, publishOrThrow } from '../broker/publisher.js'
import { envelopeText } from '../events/event.js'
import { EVENT_TYPES, type EventType } from '../events/event-contract.js'
import { idOfName, type TenantIds } from '../ids/ids.js'
import type { Logger } from '../telemetry/log.js'
import { type Delivery, newDelivery, partitionOf } from './delivery.js'
import { decodeDeliveries, encodeGroup, groupsOf } from './delivery-group.js'
import type { StoredWebhook } from './endpoint.js'

export interface FanOutProgress extends Progress {
  readonly plan?: FanOutPlan
}

interface FanOutPlan extends Extent {
  /** The last sequence of DELIVERIES when the batch was planned: later messages belong to the batch. */
  readonly behind: number
}

export interface FanOutDeps {
  /** Looks up a tenant's endpoints, after the copy has caught up with all writes before this call. */
  readonly current: () => Promise<(tenantId: string) => Iterable<StoredWebhook>>
  readonly publish: Publisher['publish']
  /** The last sequence of DELIVERIES. */
  readonly lastDelivery: () => Promise<number>
  /** Messages of DELIVERIES after a sequence. */
  readonly deliveriesAfter: (sequence: number) => Promise<readonly StoredEntry[]>
  /** Wakes the couriers of a partition; the message may be lost. */
  readonly wake: (subject: string) => void
  readonly idsOf: (tenantId: string) => TenantIds
  readonly log: Logger
}

/** Maximum events per batch: in a larger batch, the first event would wait for all others. */
const EVENTS_MAX = 250
/** Maximum publishes in flight. */
const IN_FLIGHT_MAX = 64

/**
 * Creates one delivery per event and endpoint, for endpoints that subscribe to the event's type and were verified
 * before it, in the order of the events.
 *
 * The fan-out is the only writer of DELIVERIES and publishes each message with its expected sequence. Therefore a lost
 * message makes all later ones fail, two processes that both consider themselves the owner cannot both write, and after
 * a crash the messages after the plan's `behind` are those of the batch that were stored.
 */
export const fanOut = (deps: FanOutDeps): PlannedLog<FanOutProgress> => ({
  key: FAN_OUT_CHECKPOINT,
  stream: EVENTS.name,
  subject: EVENTS_OF_ALL,
  initial: { done: 0 },
  messagesMax: EVENTS_MAX,
  async open() {
    return async (entries, extent, before, planned) => {
      const webhooksOf = await deps.current()
      const deliveries = entries.flatMap((entry) => deliveriesOf(entry, webhooksOf, deps))
      const plan = planned ?? { ...extent, behind: await deps.lastDelivery() }
      if (planned === undefined) logGap(entries, before.done, deps.log)
      return {
        plan,
        after: { done: extent.last },
        size: entries.length,
        inserts: false,
        applyEffects: () => publishAll(deliveries, planned, plan.behind, deps),
      }
    }
  },
})

/** Events that the stream discarded before a courier read them are not delivered: the operator has to know. */
function logGap([first]: readonly StoredEntry[], done: number, log: Logger): void {
  const lost = (first?.sequence ?? 0) - 1 - done
  if (lost > 0)
    log.error(
      { lost, from_sequence: done + 1 },
      'stream EVENTS discarded events (size or age limit) before a courier read them; they will not be delivered',
    )
}

function deliveriesOf(
  { sequence, subject, storedAt, messageId, data }: StoredEntry,
  webhooksOf: (tenantId: string) => Iterable<StoredWebhook>,
  { idsOf, log }: FanOutDeps,
): Delivery[] {
  const [, tenantId = '', ...rest] = subject.split('.')
  const type = rest.join('.') as EventType
  const endpoints = [...webhooksOf(tenantId)].filter(
    ({ status, starts_after, events }) => status === 'verified' && starts_after < sequence && events.includes(type),
  )
  if (endpoints.length === 0) return []
  const text = envelopeText(Buffer.from(data).toString(), { sequence, createdAt: storedAt, isReplayed: false })
  if (text === undefined || !EVENT_TYPES.includes(type)) {
    log.error({ sequence, subject }, 'skipped an undecodable event message')
    return []
  }
  const body = Buffer.from(text)
  return endpoints
    .map(({ id: endpointId }) =>
      newDelivery({
        id: idOfName('dlv', idsOf(tenantId), endpointId, messageId),
        tenantId,
        endpointId,
        eventId: messageId,
        type,
        sequence,
        isReplayed: false,
        body,
      }),
    )
    .sort((one, other) => (one.endpointId < other.endpointId ? -1 : 1))
}

async function publishAll(
  deliveries: readonly Delivery[],
  planned: FanOutPlan | undefined,
  behind: number,
  deps: FanOutDeps,
): Promise<void> {
  if (deliveries.length === 0) return
  let last = planned === undefined ? behind : await deps.lastDelivery()
  const written = last === behind ? NONE : await writtenBehind(behind, deps)
  const messages = byPartition(deliveries).flatMap((ofPartition, partition) =>
    groupsOf(unwritten(ofPartition, written)).map((group) => ({ partition, group })),
  )
  for (let from = 0; from < messages.length; from += IN_FLIGHT_MAX) {
    const some = messages.slice(from, from + IN_FLIGHT_MAX)
    await Promise.all(
      some.map(({ partition, group }) =>
        publishOrThrow(deps.publish, deliveriesSubject(partition), encodeGroup(group), '', { lastSequence: last++ }),
      ),
    )
    for (const partition of new Set(some.map((message) => message.partition))) deps.wake(deliveriesWake(partition))
  }
}

function byPartition(deliveries: readonly Delivery[]): readonly (readonly Delivery[])[] {
  const partitions: Delivery[][] = Array.from({ length: DELIVERY_PARTITIONS }, () => [])
  for (const delivery of deliveries) partitions[partitionOf(delivery.endpointId)]?.push(delivery)
  return partitions
}

const NONE: ReadonlySet<string> = new Set()

const writtenBehind = async (behind: number, deps: FanOutDeps): Promise<ReadonlySet<string>> =>
  new Set((await deps.deliveriesAfter(behind)).flatMap(({ data }) => decodeDeliveries(data).map(({ id }) => id)))

/**
 * A partition's deliveries that are not stored yet. They are stored in order: all before a stored one are stored, too.
 */
function unwritten(ofPartition: readonly Delivery[], written: ReadonlySet<string>): readonly Delivery[] {
  const lastWritten = ofPartition.findLastIndex(({ id }) => written.has(id))
  return ofPartition.slice(lastWritten + 1)
}
