import { MEMBERS } from '../../streams/buckets.js'
import type { BudgetExchange } from '../auth/budget-exchange.js'
import type { Broker } from '../broker/connect.js'
import { joinMembers } from '../broker/members.js'
import type { Publisher } from '../broker/publisher.js'
import type { Watermark } from '../broker/watermark.js'
import type { PublishEvent } from '../events/publish-event.js'
import { turnNow } from '../http/turn-clock.js'
import { untilAvailable } from '../process/main.js'
import type { Logger } from '../telemetry/log.js'
import { gauge, whenRead } from '../telemetry/metrics.js'
import type { AdmissionDeps } from './admission/admission.js'
import type { Answer } from './admission/answers.js'
import { Lane } from './admission/lane.js'
import { GroupCommit } from './commit/group-commit.js'
import { createLogWriter, deliverOrphans, type LogWriter } from './commit/log-writer.js'
import { PartitionLag } from './commit/partition-lag.js'
import { SpoolDelivery } from './commit/spool-delivery.js'
import { followKeys } from './keys/follow-keys.js'
import { createKeyConfirmation, type FindKeys } from './keys/key-confirmation.js'
import { conflictNotices } from './keys/key-conflicts.js'
import { MissingKeys, type MissingKeysDeps } from './keys/missing-keys.js'
import { openInFlight } from './keys/open-in-flight.js'
import { KEY_WINDOW_MS, openKeys } from './keys/open-keys.js'
import { OwnCalls } from './keys/own-calls.js'
import { RecentEvents } from './keys/recent-events.js'
import { addSpooledKeys } from './keys/spooled-keys.js'
import type { Spools } from './spool/open-spools.js'

const WAITING_EVENTS = gauge('log_waiting_events', 'Events of this gateway that the log has not acknowledged yet.')

export interface DecisionsSettings {
  readonly broker: Pick<Broker, 'bucket' | 'connection' | 'manager'>
  readonly isBrokerUp: () => boolean
  readonly publisher: Publisher
  readonly publishEvent: PublishEvent
  readonly watermark: Pick<Watermark, 'doneOf'>
  /** This gateway's name among the members; a new one per start. */
  readonly gatewayName: string
  /** Its HTTP parser, for `attribution doctor`. */
  readonly httpBuild: string
  readonly budgetExchange: Pick<BudgetExchange, 'follow'>
  readonly partitions: number
  /** Whether a tenant's mapping rules may cost a call more than the rest of its attribution. */
  readonly haveCostlyGlobs: (tenantId: string) => boolean
  readonly clock: () => number
  readonly log: Logger
  /** Called once when the watch on a KV bucket is lost. */
  readonly onLost: (cause: unknown) => void
  /** Aborted when the gateway stops. */
  readonly stopping: AbortSignal
}

/** What decides on keys, and writes events to the log. */
export interface Decisions {
  readonly deps: Pick<
    AdmissionDeps,
    | 'keys'
    | 'missingKeys'
    | 'recentEvents'
    | 'ownCalls'
    | 'onKeyConflict'
    | 'inFlight'
    | 'confirmation'
    | 'groups'
    | 'lane'
    | 'partitions'
  >
  readonly writer: LogWriter
  /** Whether events wait on this disk, or may wait on that of another gateway. */
  readonly mayBeSpooled: () => boolean
  /** Resolves when the log, or the spool, holds every accepted event. */
  close(): Promise<void>
}

/** Keys that stage A has recorded. */
export interface RecordedKeys extends Pick<MissingKeysDeps, 'hasKeysBetween'> {
  readonly findKeys: (hashes: readonly Uint8Array[], sinceMs: number) => ReturnType<FindKeys>
}

/**
 * Opens them: joins the gateways, and reads the keys of the last 24 hours.
 *
 * @param spools those that dead gateways have left are delivered meanwhile
 */
export async function openDecisions(
  settings: DecisionsSettings,
  { spool, keySpool, orphans }: Spools,
  recorded: RecordedKeys,
): Promise<Decisions> {
  const { broker, clock, log, partitions, stopping } = settings
  const delivery = new SpoolDelivery({ ...settings, keySpool })
  const writer = createLogWriter({ ...settings, spool, keySpool, delivery })
  const { groups, lane } = openGroups(writer, settings)
  stopping.addEventListener(
    'abort',
    whenRead(() => WAITING_EVENTS.set(groups.waiting)),
    { once: true },
  )
  const keys = openKeys(stopping)
  await addSpooledKeys(orphans, keys, clock(), log)
  const delivered = deliverOrphans({ spools: orphans, delivery, log, signal: stopping })
  const bucket = await broker.bucket(MEMBERS)
  const isSpooling = (): boolean => [spool, ...orphans].some(({ isEmpty }) => !isEmpty)
  const { gatewayName, httpBuild: http, onLost } = settings
  const members = await joinMembers(bucket, 'gateway', gatewayName, onLost, undefined, { http, isSpooling })
  settings.budgetExchange.follow(members)

  const ownCalls = new OwnCalls()
  const onConflict = conflictNotices(ownCalls, settings)
  const missing = new MissingKeys({ ...recorded, clock, log, signal: stopping })
  // Requests that have come are still decided while the gateway stops.
  const decided = new AbortController()
  const { sender } = groups
  const { storeKeys } = writer
  const follow = { ...broker, keys, missing, sender, storeKeys, onConflict, log, signal: decided.signal }
  await untilAvailable('the keys of the last 24 hours', () => followKeys(follow), log)
  const requests = openInFlight<Answer>()
  return {
    deps: {
      keys,
      missingKeys: missing,
      recentEvents: new RecentEvents(),
      ownCalls,
      onKeyConflict: onConflict,
      inFlight: requests.inFlight,
      confirmation: createKeyConfirmation((hashes) => recorded.findKeys(hashes, clock() - KEY_WINDOW_MS), clock, log),
      groups,
      lane,
      partitions,
    },
    writer,
    mayBeSpooled: () => isSpooling() || members.mayOthersSpool(),
    async close() {
      await groups.idle()
      decided.abort()
      requests.close()
      await members.leave().catch((cause: unknown) => {
        log.warn({ err: cause }, 'could not deregister; the others will see the heartbeat expire')
      })
      await delivered
      await writer.close()
    },
  }
}

/** The groups of events for the log, and the lane for those of tenants that send more than is worked off. */
function openGroups(
  writer: LogWriter,
  { partitions, haveCostlyGlobs, watermark, log }: DecisionsSettings,
): { readonly groups: GroupCommit; readonly lane: Pick<Lane, 'partitionFor' | 'count'> } {
  const doneOf = (partition: number): number => watermark.doneOf(partition < partitions ? `a.${partition}` : 'l.0')
  const lag = new PartitionLag(partitions + 1, doneOf)
  const groups = new GroupCommit(writer, partitions, (partition, sequence) =>
    lag.stored(partition, sequence, turnNow()),
  )
  const lagMs = (partition: number): number => lag.ageMs(partition, turnNow())
  const progress = (): number => {
    let sum = 0
    for (let partition = 0; partition <= partitions; partition++) sum += doneOf(partition)
    return sum
  }
  const lane = new Lane({ lane: partitions, lagMs, progress, isCostly: haveCostlyGlobs, clock: turnNow, log })
  return { groups, lane }
}
