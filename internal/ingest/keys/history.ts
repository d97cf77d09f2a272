import type { ClickHouseClient } from '@clickhouse/client'
import type { JetStreamManager } from '@nats-io/jetstream'
import type { KV } from '@nats-io/kv'
import { INVOCATIONS, invocationsSubject } from '../../../streams/invocations.js'
import { readLog } from '../../broker/log.js'
import { partitionsHeld } from '../../broker/partitions.js'
import { decodeGroup } from '../../invocations/group.js'
import { admissionKeysSince } from '../../store/queries/attribution/admission-keys.js'
import { recordedEventIdsSince } from '../../store/queries/records/sources.js'
import type { AdmissionHistory } from './load-index.js'

/** The admission history as the log and the read model hold it. */
export function admissionHistory(
  manager: JetStreamManager,
  checkpoints: KV,
  store: ClickHouseClient,
): AdmissionHistory {
  return {
    async *pending() {
      for (const partition of await partitionsHeld(manager)) {
        const checkpoint = (await checkpoints.get(`a.${partition}`))?.json<{ readonly done: number }>()
        const subject = invocationsSubject('a', partition)
        let from = (checkpoint?.done ?? 0) + 1
        for (;;) {
          const range = { stream: INVOCATIONS.name, subject, from, messagesMax: 500, bytesMax: 8 * 1024 * 1024 }
          const entries = await readLog(manager, range)
          const last = entries.at(-1)
          if (last === undefined) break
          for (const { data, sequence } of entries) yield* readable(data, sequence)
          from = last.sequence + 1
        }
      }
    },
    keysSince: (sinceMs) => admissionKeysSince(store, sinceMs),
    eventsSince: (sinceMs) => recordedEventIdsSince(store, sinceMs),
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
