import { randomBytes } from 'node:crypto'
import type { NatsConnection } from '@nats-io/transport-node'
import { CLAIM_ANSWER_MS, EVENT_CLAIM_ANSWER_MS } from '../../../streams/gateways.js'
import type { KeyHash } from '../../ids/key-hash.js'
import type { Fingerprint } from '../../repeats/key-table.js'
import type { Logger } from '../../telemetry/log.js'
import type { Missing } from '../keys/load-index.js'
import type { LocalKeys } from '../keys/local-keys.js'
import type { OwnedEvents } from '../keys/owned-events.js'
import type { ClaimVerdict, PeerTicket } from './claim.js'
import { ClaimRequests } from './claim-requests.js'
import { EventClaims } from './event-claims.js'
import { answerGreetings, greet } from './greetings.js'
import type { KeyOwners } from './key-owners.js'
import { Outbox } from './outbox.js'
import type { OwnerChanges } from './owner-changes.js'
import { answerPeers } from './peer-listener.js'
import type { PeerId, SettlementRecord } from './peer-messages.js'
import { SettlementNotices } from './settlement-notices.js'

/**
 * Several gateways decide on each Idempotency-Key once: each key has one owner among the live gateways. Any other
 * gateway that gets a request for the key claims it at the owner before publishing the event, and the owner's verdict
 * counts.
 *
 * All claims of one event-loop iteration cost one request per peer. The gateway notifies the owner in the same way how
 * each claim was settled, and repeats the notice until the owner confirms it.
 *
 * Two gateways may both admit one key, with different bodies, only
 * - while its owner does not answer, or did not receive the settlement: the others then decide for themselves. What was
 *   spooled meanwhile they hear of when the log holds it (`announceLate` of the members)
 * - while its owner changes: the new owner does not know the claims in flight, and until every gateway has seen the
 *   change (milliseconds) some still ask the old one. A new owner lacks the old one's knowledge (`onDeparture`)
 * - when a request takes longer than its lease of 4 s
 * The owner of the event's id (`events`) then still leaves one record per event.
 */
export interface Peers {
  /** The other live gateways. */
  readonly others: readonly string[]
  /** Claims for event ids, which have owners as keys do. */
  readonly events: EventClaims
  /** @returns undefined when this gateway owns the key or is alone: no claim is needed */
  ownerOf(key: KeyHash): string | undefined
  /**
   * Claims a key at its owner. The caller must not change `key` and `fingerprint` afterwards.
   *
   * @param onVerdict called once, in a later event-loop iteration
   */
  claim(owner: string, key: KeyHash, fingerprint: Fingerprint, onVerdict: (verdict: ClaimVerdict) => void): void
  /**
   * Reports how the request ended, once per ticket, including tickets of 'unanswered'. Returns at once.
   *
   * @param flags 0 to 255; other requests get them with 'same'
   */
  settled(ticket: PeerTicket, isAdmitted: boolean, flags: number): void
  /**
   * Reports a key that was admitted without a claim to its owner, if that is another gateway. The caller must not
   * change it.
   */
  admitted(admitted: Pick<SettlementRecord, 'key' | 'fingerprint' | 'flags'>): void
  /**
   * Calls back when gateways have departed: dead, or unreachable for seconds because of this gateway's own connection;
   * when an owner of events answers again that was silent; and when this gateway's own heartbeats are stored again,
   * which others may have counted as dead meanwhile. This gateway does not know what they decided: load what is
   * missing, and confirm each new key until then.
   */
  onDeparture(listener: (departed: readonly string[], missing: Missing) => void): void
  /** Sends the pending settlements and leaves. Claims in flight become unanswered. */
  close(): Promise<void>
}

export interface PeerMembers {
  /** Names of the live gateways. */
  live(): readonly string[]
  onChange(listener: () => void): void
  isCurrent(): boolean
  onCurrentAgain(listener: (lapsedMs: number) => void): void
  leave(): Promise<void>
}

export interface PeersDeps {
  readonly connection: NatsConnection
  /** Joins the members under the name `self`; called once this gateway can answer claims. */
  readonly join: () => Promise<PeerMembers>
  /** A subject token, distinct per start: a restarted gateway is a new member, which knows no keys yet. */
  readonly self: string
  readonly local: LocalKeys
  /** Owners of keys and of event ids; this follows the members for them. */
  readonly owners: KeyOwners
  readonly owned: OwnedEvents
  readonly ownerChanges: Pick<OwnerChanges, 'follow' | 'noteChange' | 'noteSilence' | 'areSettled'>
  /** Resolves when the log holds the events that are under way now. */
  readonly flushed: () => Promise<void>
  /** Partitions of the log. */
  readonly partitions: number
  /** Milliseconds, monotonic. */
  readonly clock: () => number
  readonly log: Logger
  /** Default: `CLAIM_ANSWER_MS`. The requesting gateway decides for an owner that has not answered by then. */
  readonly answerWithinMs?: number
  /** Default: `EVENT_CLAIM_ANSWER_MS`. */
  readonly eventAnswerWithinMs?: number
}

/**
 * Joins the live gateways and starts to answer for this gateway's share of the keys. Call it before loading the
 * history: otherwise no owner would know a key admitted between the two. Until the history is loaded, `local` answers
 * 'maybe' instead of 'new', and its `confirm` waits for the keys that only the log holds.
 */
export async function joinPeers(deps: PeersDeps): Promise<Peers> {
  const { connection, join, self, local, owners, owned, ownerChanges, flushed, partitions, clock, log } = deps
  const { answerWithinMs = CLAIM_ANSWER_MS, eventAnswerWithinMs = EVENT_CLAIM_ANSWER_MS } = deps
  const { sender, nextId } = newSender()
  const outbox = new Outbox({
    sendClaims: (peer, claims) => void requests.send(peer, claims),
    sendSettlements: (peer, settlements) => void notices.send(peer, settlements),
    sendEvents: (peer, records) => void events.send(peer, records),
  })
  /** For the key's current owner, which may differ from the one that granted the claim. */
  const notifyCurrentOwner = (settlement: SettlementRecord, notified?: string): void => {
    const owner = owners.ownerOf(settlement.key)
    if (settlement.isAdmitted && owner !== undefined && owner !== notified) outbox.addSettlement(owner, settlement)
  }
  const resend = (claim: Parameters<Outbox['addClaim']>[1]): void => outbox.addClaim(claim.owner, claim)
  const requests = new ClaimRequests({ connection, sender, owners, answerWithinMs, resend, clock, log })
  const notices = new SettlementNotices({ connection, sender, owners, redirect: notifyCurrentOwner, clock, log })
  const events = new EventClaims({
    connection,
    sender,
    owners,
    changes: ownerChanges,
    owned,
    post: (owner, notice) => outbox.addEvent(owner, notice),
    onReturn: (owner, silentMs) => void joined.then(({ departures }) => departures.notify([owner], silentMs)),
    partitions,
    answerWithinMs: eventAnswerWithinMs,
    clock,
    log,
  })
  const listener = answerPeers(connection, self, local, owned, clock, log)
  const forget = (departed: readonly string[]): number => forgetOwners(departed, requests, events)
  const untilMember = async (name: string): Promise<void> => (await joined).departures.untilMember(name)
  const greetings = answerGreetings(connection, self, untilMember, flushed, log)

  // A peer that sees this gateway among the members may claim keys, and answer a greeting, at once.
  const joined = connection.flush().then(async () => {
    const members = await join()
    ownerChanges.follow(members)
    return { members, departures: followMembers(members, owners, ownerChanges, forget) }
  })
  const { members, departures } = await joined
  await greet(connection, self, owners.peers)

  return {
    get others() {
      return owners.peers
    },

    events,

    ownerOf: (key) => owners.ownerOf(key),

    claim(owner, key, fingerprint, onVerdict) {
      outbox.addClaim(owner, { id: nextId(), owner, key, fingerprint, onVerdict, waitingSinceMs: undefined })
    },

    settled(ticket, isAdmitted, flags) {
      const { id, owner, key, fingerprint } = ticket
      const settlement = { id, key, fingerprint, isAdmitted, flags }
      outbox.addSettlement(owner, settlement)
      notifyCurrentOwner(settlement, owner)
    },

    admitted: (admitted) => notifyCurrentOwner({ ...admitted, id: nextId(), isAdmitted: true }),

    onDeparture: (notify) => departures.onDeparture(notify),

    async close() {
      departures.close()
      notices.close()
      requests.close(outbox.removeClaims())
      events.close(outbox.removeEvents())
      outbox.flush()
      listener.stopSweeping()
      greetings.unsubscribe()
      await leave(members, listener, log)
    },
  }
}

/** Identifies this process, and each of its claims. */
function newSender(): { readonly sender: PeerId; readonly nextId: () => number } {
  const random = randomBytes(12)
  return {
    sender: { word0: random.readInt32LE(0), word1: random.readInt32LE(4) },
    nextId: wordsAfter(random.readUInt32LE(8)),
  }
}

/** @returns for how long the longest silent of them has not answered */
function forgetOwners(departed: readonly string[], requests: ClaimRequests, events: EventClaims): number {
  let silentMs = 0
  for (const peer of departed) {
    requests.forgetOwner(peer)
    silentMs = Math.max(silentMs, events.forgetOwner(peer))
  }
  return silentMs
}

async function leave(members: PeerMembers, listener: ReturnType<typeof answerPeers>, log: Logger): Promise<void> {
  try {
    await members.leave()
    await listener.drain()
  } catch (cause) {
    log.warn({ err: cause }, 'could not deregister; peers will see the heartbeat expire')
  }
}

/** @returns the next 32-bit word at each call */
function wordsAfter(first: number): () => number {
  let last = first
  return () => {
    last = (last + 1) >>> 0
    return last
  }
}

interface FollowedMembers extends Pick<Peers, 'onDeparture'> {
  /** Resolves when this gateway is among the members, as this one sees them. */
  untilMember(name: string): Promise<void>
  /** Calls the listeners of `onDeparture`: some gateways were not heard for this long. */
  notify(departed: readonly string[], unheardMs: number): void
  close(): void
}

/**
 * Keeps the owners equal to the live members, and reports departures until it is closed.
 *
 * @param onDeparted returns for how long they had been silent
 */
function followMembers(
  members: PeerMembers,
  owners: KeyOwners,
  changes: PeersDeps['ownerChanges'],
  onDeparted: (departed: readonly string[]) => number,
): FollowedMembers {
  const listeners: ((departed: readonly string[], missing: Missing) => void)[] = []
  let expected: { readonly name: string; readonly resolve: () => void }[] = []
  let isClosed = false
  const notifyAll = (departed: readonly string[], missing: Missing): void => {
    if (!isClosed) for (const notify of listeners) notify(departed, missing)
  }
  const setMembers = (): Missing['gained'] => {
    const gained = owners.setMembers(members.live())
    for (const { name, resolve } of expected) if (owners.peers.includes(name)) resolve()
    expected = expected.filter(({ name }) => !owners.peers.includes(name))
    return gained
  }
  setMembers()
  if (!owners.isAlone) changes.noteChange()
  members.onChange(() => {
    const before = owners.peers
    changes.noteChange()
    const gained = setMembers()
    const now = owners.peers
    const departed = before.filter((peer) => !now.includes(peer))
    const unheardMs = onDeparted(departed)
    if (departed.length > 0 || gained.length > 0) notifyAll(departed, { gained, unheardMs })
  })
  members.onCurrentAgain((lapsedMs) => {
    if (lapsedMs > 0) notifyAll([], { gained: [], unheardMs: lapsedMs })
  })
  return {
    notify: (departed, unheardMs) => notifyAll(departed, { gained: [], unheardMs }),
    onDeparture: (listener) => void listeners.push(listener),
    async untilMember(name) {
      if (owners.peers.includes(name)) return
      await new Promise<void>((resolve) => expected.push({ name, resolve }))
    },
    close() {
      isClosed = true
    },
  }
}
