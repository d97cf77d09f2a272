import { DELIVERY_PARTITIONS, deliveriesSubject, deliveriesWake, FAN_OUT_CHECKPOINT } from '../../streams/deliveries.js'
import { EVENTS } from '../../streams/events.js'
import type { Extent, Progress } from '../broker/checkpoint.js'
import type { StoredEntry } from '../broker/log.js'
import type { PlannedLog } from '../broker/planned-log.js'
import { type Publisher, publishOrThrow } from '../broker/publisher.js'
import { EVENT_TYPES, type EventType } from '../events/contract.js'
import { envelopeText } from '../events/event.js'
import { idOfName, type TenantIds } from '../ids/ids.js'
import type { Logger } from '../telemetry/log.js'
import { type Delivery, partitionOf, untried } from './delivery.js'
import { decodeDeliveries, encodeGroup, groupsOf } from './delivery-group.js'
import type { StoredWebhook } from './endpoint.js'

export interface FanOutProgress extends Progress {
  readonly plan?: FanOutPlan
}

interface FanOutPlan extends Extent {
  /** The last sequence of DELIVERIES when the batch was planned: what comes behind it is the batch's. */
  readonly behind: number
}

export interface FanOutDeps {
  /** A tenant's endpoints, once the copy has caught up with all that was written before the call. */
  readonly current: () => Promise<(tenantId: string) => Iterable<StoredWebhook>>
  readonly publish: Publisher['publish']
  /** The last sequence of DELIVERIES. */
  readonly lastDelivery: () => Promise<number>
  /** Messages of DELIVERIES behind a sequence. */
  readonly deliveriesAfter: (sequence: number) => Promise<readonly StoredEntry[]>
  /** Tells couriers, who need not hear it. */
  readonly wake: (subject: string) => void
  readonly idsOf: (tenantId: string) => TenantIds
  readonly log: Logger
}

/** Of a batch at most: beyond that the first of many events would wait for the others. */
const EVENTS_MAX = 250
/** Messages published and not acknowledged at once. */
const UNDER_WAY_MAX = 64

/**
 * Makes each event a delivery to every endpoint that subscribes to its type and was verified before it, each once and in
 * the order of events.
 *
 * It is the only writer of DELIVERIES and foretells the sequence of each message. So a message that is lost takes all
 * behind it with it, two that believe to own the log cannot both write, and after a crash what is behind the plan's mark
 * is what has been written of the batch.
 */
export const fanOut = (deps: FanOutDeps): PlannedLog<FanOutProgress> => ({
  key: FAN_OUT_CHECKPOINT,
  stream: EVENTS.name,
  subject: 'events.>',
  initial: { done: 0 },
  messagesMax: EVENTS_MAX,
  async open() {
    return async (entries, extent, before, planned) => {
      const webhooksOf = await deps.current()
      const deliveries = entries.flatMap((entry) => deliveriesOf(entry, webhooksOf, deps))
      const plan = planned ?? { ...extent, behind: await deps.lastDelivery() }
      if (planned === undefined) tellOfGap(entries, before.done, deps.log)
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

/** What fell out of the log before any courier read it is delivered to nobody: an operator has to know. */
function tellOfGap([first]: readonly StoredEntry[], done: number, log: Logger): void {
  const lost = (first?.sequence ?? 0) - 1 - done
  if (lost > 0)
    log.error(
      { lost, from_sequence: done + 1 },
      'events fell out of the log, full or too old, before any courier read them: nobody is told',
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
    log.error({ sequence, subject }, 'passed over what is no event')
    return []
  }
  const body = Buffer.from(text)
  return endpoints
    .map(({ id: endpointId }) =>
      untried({
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
  const messages = byPart(deliveries).flatMap((ofPart, partition) =>
    groupsOf(unwritten(ofPart, written)).map((group) => ({ partition, group })),
  )
  for (let from = 0; from < messages.length; from += UNDER_WAY_MAX) {
    const some = messages.slice(from, from + UNDER_WAY_MAX)
    await Promise.all(
      some.map(({ partition, group }) =>
        publishOrThrow(deps.publish, deliveriesSubject(partition), encodeGroup(group), '', { lastSequence: last++ }),
      ),
    )
    for (const partition of new Set(some.map((message) => message.partition))) deps.wake(deliveriesWake(partition))
  }
}

function byPart(deliveries: readonly Delivery[]): readonly (readonly Delivery[])[] {
  const parts: Delivery[][] = Array.from({ length: DELIVERY_PARTITIONS }, () => [])
  for (const delivery of deliveries) parts[partitionOf(delivery.endpointId)]?.push(delivery)
  return parts
}

const NONE: ReadonlySet<string> = new Set()

const writtenBehind = async (behind: number, deps: FanOutDeps): Promise<ReadonlySet<string>> =>
  new Set((await deps.deliveriesAfter(behind)).flatMap(({ data }) => decodeDeliveries(data).map(({ id }) => id)))

/** What of a part is not written yet: what is, was written in order, so that all before something written is, too. */
function unwritten(ofPart: readonly Delivery[], written: ReadonlySet<string>): readonly Delivery[] {
  const lastWritten = ofPart.findLastIndex(({ id }) => written.has(id))
  return ofPart.slice(lastWritten + 1)
}
