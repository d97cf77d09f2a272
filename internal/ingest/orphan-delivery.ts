/** Delivery to the log of the events that dead gateways left in their spools, of which no living gateway may know. */
import { setTimeout as sleep } from 'node:timers/promises'
import { isInvocations, partitionOfSubject } from '../../streams/invocations.js'
import type { Publisher } from '../broker/publisher.js'
import { wordsOf } from '../ids/key-hash.js'
import { decodeGroup } from '../invocations/invocation-group.js'
import type { Logger } from '../telemetry/log.js'
import { deliverOrphans } from './commit/log-writer.js'
import { UNSURE } from './keys/event-answers.js'
import { eventKeyOf, type LoadedIndex, noteAdmitted } from './keys/load-index.js'
import type { Peers } from './peers/peers.js'
import type { Spool } from './spool/spool.js'
import type { SpoolRecord } from './spool/spool-record.js'

export interface OrphanDelivery {
  /** Set once the owners of these events, and of their keys, know them: this gateway admits nothing before. */
  readonly isDone: boolean
  /** Resolves when all are delivered, or the gateway stops. */
  readonly ended: Promise<void>
}

export interface OrphanDeliveryDeps {
  readonly publisher: Publisher
  readonly isBrokerUp: () => boolean
  readonly index: LoadedIndex
  readonly peers: Pick<Peers, 'admitted' | 'events'>
  readonly log: Logger
  readonly stopping: AbortSignal
}

/** The events are in the log by then, if it has space. */
const WAIT_MS = 2_000

/**
 * Starts the delivery and waits for it for a short time: a full log may refuse the events for long, and the gateway
 * then serves everything but ingestion. Call it when the index is loading: what is noted here must not precede the
 * gateway's own membership.
 */
export async function startOrphanDelivery(
  orphans: readonly Spool[],
  deps: OrphanDeliveryDeps,
): Promise<OrphanDelivery> {
  const { publisher, isBrokerUp, log, stopping } = deps
  const onDelivered = (record: SpoolRecord): void => noteDelivered(record, deps)
  let isDone = false
  const ended = deliverOrphans({ spools: orphans, publisher, isBrokerUp, onDelivered, log, signal: stopping }).then(
    () => {
      // Otherwise the delivery was cancelled, not finished.
      isDone = !stopping.aborted
    },
  )
  await Promise.race([ended, sleep(WAIT_MS, undefined, { ref: false })])
  if (!isDone) log.warn('events are refused until the log holds those that dead gateways had spooled')
  return {
    get isDone() {
      return isDone
    },
    ended,
  }
}

/**
 * Notes a group's keys and events in this gateway's index, no matter who owns them (its dead predecessor counts as an
 * owner for seconds), and with the gateways that own them. These have loaded their share of the log before it held the
 * group.
 */
function noteDelivered({ subject, payload }: SpoolRecord, { index, peers, log }: OrphanDeliveryDeps): void {
  if (!isInvocations(subject)) return
  try {
    for (const invocation of decodeGroup(payload, 0)) {
      const { id, key } = invocation
      noteAdmitted(invocation, index, undefined)
      if (key !== undefined) {
        peers.admitted({ key: wordsOf(key.hash), fingerprint: wordsOf(key.fingerprint), flags: key.flags })
      }
      // All others hear of it: this gateway has just started, and may take a dead one for the owner.
      peers.events.settled(eventKeyOf(id), partitionOfSubject(subject), undefined, UNSURE, true)
    }
  } catch (cause) {
    // Stage A quarantines it.
    log.error({ err: cause }, 'a group of events that a dead gateway had spooled could not be read')
  }
}
