import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { Publisher } from '../../internal/broker/publisher.js'
import { publishOrThrow } from '../../internal/broker/publisher.js'
import { partitionOf } from '../../internal/ids/event-partition.js'
import { invocationIdBytes, type TenantIds, uuidBytes } from '../../internal/ids/ids.js'
import { encodeEntry, encodeGroup, splitIntoGroups } from '../../internal/invocations/invocation-group.js'
import type { InvocationEvent } from '../../internal/invocations/invocation-schema.js'
import { demoEvent } from '../../internal/local/replay/demo-company.js'
import { readTrace } from '../../internal/local/replay/trace.js'
import { invocationsSubject } from '../../streams/invocations.js'

/** Admitted events in stage A's log, as a gateway puts them there under load: full groups. */

/** From dist/bench/attribution to the checkout. */
const TRACE = readTrace(fileURLToPath(new URL('../../../bench/data/azure-llm-2023.csv', import.meta.url)))

export interface Sender {
  readonly tenantId: string
  readonly ids: TenantIds
  readonly principal: string
  readonly partitions: number
  readonly publish: Publisher['publish']
  /** Of the sampled request that an event came with, by the event's number; absent: none was sampled. */
  readonly traceparentOf?: (i: number) => string | undefined
}

/** What of an event says whose it is. */
export type Labels = 'stated' | 'none'

/**
 * Events of the demo company: token counts of the recorded trace, times of the last hour, a service for each or for
 * none.
 *
 * @returns resolves once the log holds them
 */
export async function publishEvents(count: number, labels: Labels, sender: Sender): Promise<void> {
  const nowMs = Date.now()
  const entries: string[][] = Array.from({ length: sender.partitions }, () => [])
  for (let i = 0; i < count; i++) {
    const row = TRACE[i % TRACE.length]
    if (row === undefined) throw new Error('the trace has no rows')
    const { attributed_service: _, attributed_identity: __, ...event } = demoEvent(row)
    const eventId = randomUUID()
    const id = invocationIdBytes(sender.ids, uuidBytes(eventId))
    const stated =
      labels === 'none' ? {} : { attributed_service: `service-${i % 40}`, attributed_identity: `person-${i % 500}` }
    const wire = {
      ...event,
      ...stated,
      event_id: eventId,
      ingestion_timestamp: new Date(nowMs - (count - i) * 30).toISOString(),
    } as unknown as InvocationEvent
    const traceparent = sender.traceparentOf?.(i)
    const admission = { tenantId: sender.tenantId, principal: sender.principal, id, receivedAtMs: nowMs, traceparent }
    entries[partitionOf(id, sender.partitions)]?.push(encodeEntry(admission, wire))
  }
  for (const [partition, all] of entries.entries()) {
    for (const group of splitIntoGroups(all)) {
      await publishOrThrow(sender.publish, invocationsSubject('a', partition), encodeGroup(group), randomUUID())
    }
  }
}
