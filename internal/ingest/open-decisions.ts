import { laneOf, partitionsWithLane } from '../../streams/invocations.js'
import type { BudgetExchange } from '../auth/budget-exchange.js'
import type { Broker } from '../broker/connect.js'
import type { Publisher } from '../broker/publisher.js'
import type { Watermark } from '../broker/watermark.js'
import { turnNow } from '../http/turn-clock.js'
import type { Logger } from '../telemetry/log.js'
import { gauge, whenRead } from '../telemetry/metrics.js'
import type { AdmissionDeps } from './admission/admission.js'
import { Lane, NO_LANE } from './admission/lane.js'
import { GroupCommit } from './commit/group-commit.js'
import { createLogWriter, type LogWriter, writerBehind } from './commit/log-writer.js'
import { PartitionLag } from './commit/partition-lag.js'
import { type IndexSources, openIndex } from './keys/open-index.js'
import { OwnedEvents } from './keys/owned-events.js'
import { type KeyClaims, openKeyClaims } from './open-key-claims.js'
import { type OrphanDelivery, startOrphanDelivery } from './orphan-delivery.js'
import type { EventClaims } from './peers/event-claims.js'
import { KeyOwners } from './peers/key-owners.js'
import { OwnerChanges } from './peers/owner-changes.js'
import type { Spool } from './spool/spool.js'

const WAITING_EVENTS = gauge('log_waiting_events', 'Events of this gateway that the log has not acknowledged yet.')

export interface DecisionsSettings {
  readonly broker: Pick<Broker, 'connection' | 'bucket'>
  readonly isBrokerUp: () => boolean
  readonly publisher: Publisher
  readonly watermark: Pick<Watermark, 'doneOf'>
  /** This gateway's name among the members; a new one per start. */
  readonly gatewayName: string
  readonly budgetExchange: Pick<BudgetExchange, 'follow'>
  readonly partitions: number
  readonly clock: () => number
  readonly log: Logger
  /** Called once when the watch on a KV bucket is lost. */
  readonly onLost: (cause: unknown) => void
  /** Aborted when the gateway stops. */
  readonly stopping: AbortSignal
}

/** What decides on keys and event ids, here and with the other gateways, and writes events to the log. */
export interface Decisions {
  readonly deps: Pick<
    AdmissionDeps,
    | 'keys'
    | 'events'
    | 'isLoaded'
    | 'isEventLoaded'
    | 'inFlight'
    | 'eventClaims'
    | 'confirmation'
    | 'recheck'
    | 'groups'
    | 'lane'
    | 'partitions'
  > &
    Pick<KeyClaims, 'peers'>
  readonly writer: LogWriter
  readonly delivery: OrphanDelivery
  /** Resolves when the log, or the spool, holds every accepted event. */
  close(): Promise<void>
}

/**
 * Opens them, and loads what was admitted before from the log and the read model.
 *
 * @param orphans the spools that dead gateways have left
 */
export async function openDecisions(
  settings: DecisionsSettings,
  { spool, orphans }: { readonly spool: Spool; readonly orphans: readonly Spool[] },
  sources: IndexSources,
): Promise<Decisions> {
  const { publisher, isBrokerUp, gatewayName, partitions, clock } = settings
  const ownerChanges = new OwnerChanges(() => performance.now())
  const isBehindOrphans = (): boolean => !delivery.isDone
  const claims = (): EventClaims => keyClaims.peers.events
  const onCaughtUp = (waitedMs: number): void => keyClaims.announceLateEvents(waitedMs)
  const writer = openWriter({ ...settings, spool, isBehindOrphans, claims, onCaughtUp })
  const owners = new KeyOwners(gatewayName)
  const { groups, lane } = openGroups(writer, settings)
  settings.stopping.addEventListener(
    'abort',
    whenRead(() => WAITING_EVENTS.set(groups.waiting)),
    { once: true },
  )

  const { index, loader } = openIndex(sources, owners, {
    ...settings,
    isBrokerAnswering: () => ownerChanges.isViewCurrent,
  })
  const owned = new OwnedEvents({
    index: index.events,
    isSure: (key) => loader.isLoaded(key) && ownerChanges.areSettled && isBrokerUp(),
    partitionInFlight: (key) => groups.partitionInFlight(key),
    partitions,
    clock,
  })
  const claiming = { keys: index.keys, owners, owned, ownerChanges, loader, flushed: () => groups.flushed() }
  const keyClaims = await openKeyClaims({ ...settings, ...claiming })
  const { peers } = keyClaims
  await loader.load()
  const delivery = await startOrphanDelivery(orphans, { ...settings, publisher, index, peers })
  return {
    deps: {
      ...index,
      isLoaded: (key) => loader.isLoaded(key),
      isEventLoaded: (key) => loader.isLoaded(key),
      inFlight: keyClaims.inFlight,
      peers,
      eventClaims: peers.events,
      confirmation: loader.confirmation,
      recheck: loader.recheck,
      groups,
      lane,
      partitions,
    },
    writer,
    delivery,
    async close() {
      await groups.idle()
      await keyClaims.close()
      await delivery.ended
      await writer.close()
    },
  }
}

/** The groups of events for the log, and the lane for those of tenants that send more than is worked off. */
function openGroups(
  writer: LogWriter,
  { partitions, watermark, log }: DecisionsSettings,
): { readonly groups: GroupCommit; readonly lane: Pick<Lane, 'partitionFor' | 'count'> } {
  const all = partitionsWithLane(partitions)
  const doneOf = (partition: number): number => watermark.doneOf(`a.${partition}`)
  const lag = new PartitionLag(all, doneOf)
  const groups = new GroupCommit(writer, all, (partition, sequence) => lag.stored(partition, sequence, turnNow()))
  const lane = laneOf(partitions)
  if (lane === undefined) return { groups, lane: NO_LANE }
  const lagMs = (partition: number): number => lag.ageMs(partition, turnNow())
  const progress = (): number => {
    let sum = 0
    for (let partition = 0; partition < all; partition++) sum += doneOf(partition)
    return sum
  }
  return { groups, lane: new Lane({ lane, lagMs, progress, clock: turnNow, log }) }
}

interface WriterSettings extends Pick<DecisionsSettings, 'publisher' | 'isBrokerUp' | 'partitions' | 'log'> {
  readonly spool: Spool
  readonly isBehindOrphans: () => boolean
  readonly claims: () => EventClaims
  readonly onCaughtUp: (waitedMs: number) => void
}

/** With one partition, no event can be in another one. */
function openWriter({ isBehindOrphans, partitions, claims, ...deps }: WriterSettings): LogWriter {
  const isAlone = (): boolean => partitions === 1 || (claims().isAlone && claims().areOwnersSettled)
  const writer = createLogWriter({ ...deps, isAlone })
  return writerBehind(isBehindOrphans, writer)
}
