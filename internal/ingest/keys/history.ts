import type { ClickHouseClient } from '@clickhouse/client'
import type { JetStreamManager } from '@nats-io/jetstream'
import type { KV } from '@nats-io/kv'
import { INVOCATIONS, invocationsSubject, STAGES, type StageName } from '../../../streams/invocations.js'
import { readLogToItsEnd } from '../../broker/log.js'
import { partitionsHeld } from '../../broker/partitions.js'
import { type AdmittedInvocation, decodeGroup } from '../../invocations/invocation-group.js'
import { admissionKeysSince } from '../../store/queries/attribution/admission-keys.js'
import { recordedEventsSince } from '../../store/queries/records/sources.js'
import type { AdmissionHistory } from './load-index.js'

/** The admission history as the log and the read model hold it. */
export function admissionHistory(
  manager: JetStreamManager,
  checkpoints: KV,
  store: ClickHouseClient,
): AdmissionHistory {
  return {
    async *pending() {
      const partitions = await partitionsHeld(manager)
      // In this order: an event that moves on meanwhile is found in the next mailbox, or has its record.
      for (const stage of STAGES) {
        const mailboxes = [...partitions].map((partition) => unprocessed(manager, checkpoints, stage, partition))
        // The first messages of all at once: requests wait for this, and most mailboxes are empty.
        const firsts = await Promise.all(mailboxes.map((mailbox) => mailbox.next()))
        for (const [i, first] of firsts.entries()) {
          if (first.done === true) continue
          yield first.value
          yield* mailboxes[i] as (typeof mailboxes)[number]
        }
      }
    },
    keysSince: (slots, sinceMs) => admissionKeysSince(store, slots, sinceMs),
    eventsSince: (slots, sinceMs) => recordedEventsSince(store, slots, sinceMs),
  }
}

/** A mailbox's events that its stage has not processed; the later stages' carry no keys: stage A recorded them. */
async function* unprocessed(
  manager: JetStreamManager,
  checkpoints: KV,
  stage: StageName,
  partition: number,
): AsyncGenerator<AdmittedInvocation> {
  const checkpoint = (await checkpoints.get(`${stage}.${partition}`))?.json<{ readonly done: number }>()
  const subject = invocationsSubject(stage, partition)
  let from = (checkpoint?.done ?? 0) + 1
  for (;;) {
    const range = { stream: INVOCATIONS.name, subject, from, messagesMax: 500, bytesMax: 8 * 1024 * 1024 }
    const entries = await readLogToItsEnd(manager, range)
    const last = entries.at(-1)
    if (last === undefined) break
    for (const { data, sequence } of entries) yield* readable(data, sequence)
    from = last.sequence + 1
  }
}

/** A message that cannot be read is stage A's to quarantine. */
function readable(data: Uint8Array, sequence: number): ReturnType<typeof decodeGroup> {
  try {
    return decodeGroup(data, sequence)
  } catch {
    return []
  }
}
