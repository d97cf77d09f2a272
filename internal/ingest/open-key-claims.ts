import { MEMBERS } from '../../streams/buckets.js'
import { partitionsWithLane } from '../../streams/invocations.js'
import type { BudgetExchange } from '../auth/budget-exchange.js'
import type { Broker } from '../broker/connect.js'
import { joinMembers, type Membership } from '../broker/members.js'
import { describeBuild, newestBuild } from '../http/builds.js'
import type { AdmissionIndex } from '../repeats/admission-index.js'
import type { Logger } from '../telemetry/log.js'
import { ELSEWHERE, type SharedAnswer } from './admission/answers.js'
import { InFlight } from './keys/in-flight.js'
import type { IndexLoader } from './keys/load-index.js'
import { localKeys } from './keys/local-keys.js'
import type { OwnedEvents } from './keys/owned-events.js'
import type { OwnerChanges } from './peers/owner-changes.js'
import { joinPeers, type Peers, type PeersDeps } from './peers/peers.js'

/**
 * A request whose key has been in flight for this long is answered with a 503, so that no sender waits for more than
 * 3 s, whichever dependency is unavailable: looking the key up in the log and the read model may have taken 1 s before.
 */
const OVERDUE_MS = 2_000
const OVERDUE_EVERY_MS = 100
/** After a pause of this length other gateways may have counted this one as dead, and decided in its place. */
const PAUSED_MS = 2_500

export interface KeyClaimsSettings {
  readonly broker: Pick<Broker, 'connection' | 'bucket'>
  readonly gatewayName: string
  readonly budgetExchange: Pick<BudgetExchange, 'follow'>
  readonly keys: AdmissionIndex
  readonly owners: PeersDeps['owners']
  readonly owned: OwnedEvents
  readonly ownerChanges: OwnerChanges
  readonly flushed: () => Promise<void>
  readonly partitions: number
  readonly loader: IndexLoader
  readonly clock: () => number
  readonly log: Logger
  /** Called once when the watch on the members is lost. */
  readonly onLost: (cause: unknown) => void
}

export interface KeyClaims {
  readonly inFlight: InFlight<SharedAnswer>
  readonly peers: Peers
  /** The log holds now what had waited in the spool, the first of it for so long. */
  announceLateEvents(waitedMs: number): void
  close(): Promise<void>
}

/** Opens the table of requests in flight and joins the other gateways, which share the ownership of keys. */
export async function openKeyClaims(settings: KeyClaimsSettings): Promise<KeyClaims> {
  const { broker, gatewayName, budgetExchange, keys, owned, loader, clock, log, onLost } = settings
  const { owners, ownerChanges, flushed, partitions } = settings
  // Read ten times per second, not once per request.
  let coarseMs = performance.now()
  const inFlight = new InFlight<SharedAnswer>({ keysMax: 65_536, waitingMax: 2_000, clock: () => coarseMs })
  const loadUnheard = (unheardMs: number): void => void loader.load({ gained: [], unheardMs })
  const overdue = setInterval(() => {
    const nowMs = performance.now()
    const pausedMs = nowMs - coarseMs
    if (pausedMs > PAUSED_MS) loadUnheard(pausedMs)
    coarseMs = nowMs
    inFlight.notifyOverdue(OVERDUE_MS)
  }, OVERDUE_EVERY_MS)
  let members: Membership | undefined
  const peers = await joinPeers({
    connection: broker.connection,
    self: gatewayName,
    join: async () => {
      const http = describeBuild(newestBuild())
      const bucket = await broker.bucket(MEMBERS)
      members = await joinMembers(bucket, 'gateway', gatewayName, onLost, undefined, http)
      // What it spooled while it did not reach the broker, the owners of these keys and events have not heard of.
      members.onLate(loadUnheard)
      budgetExchange.follow(members)
      return members
    },
    local: localKeys<SharedAnswer>({
      index: keys,
      inFlight,
      isLoaded: (key) => loader.isLoaded(key),
      confirm: loader.confirm,
      elsewhere: ELSEWHERE,
      clock,
    }),
    owners,
    owned,
    ownerChanges,
    flushed,
    partitions: partitionsWithLane(partitions),
    clock: () => performance.now(),
    log,
  })
  // Other gateways now own the departed gateway's keys, and do not know them yet.
  peers.onDeparture((_, missing) => void loader.load(missing))
  return {
    inFlight,
    peers,
    announceLateEvents: (waitedMs) => members?.announceLate(Math.ceil(waitedMs)),
    async close() {
      clearInterval(overdue)
      await peers.close()
    },
  }
}
