import { randomBytes } from 'node:crypto'
import type { Msg, NatsConnection } from '@nats-io/transport-node'
import { CLAIM_ANSWER_MS, CLAIMS_MAX, claimsSubject } from '../../../streams/gateways.js'
import type { KeyHash } from '../../ids/key-hash.js'
import type { Logger } from '../../telemetry/log.js'
import type { Fingerprint } from '../keys/key-table.js'
import type { LocalKeys } from '../keys/local-keys.js'
import { claimsOfPeers, LEASE_MS } from './claims-of-peers.js'
import { KeyOwners } from './key-owners.js'
import {
  type Answered,
  decodeAnswers,
  decodeMessage,
  encodeAnswers,
  encodeClaims,
  encodeSettlements,
  type Sender,
  type SettlementRecord,
} from './peer-messages.js'

/**
 * Several gateways decide on each Idempotency-Key once: each key has one owner among the live gateways, whoever else
 * gets a request for it claims it there before the event is published, and the owner's verdict counts.
 *
 * What the claims of one event-loop turn cost is one request a peer. What becomes of a claimed key is told to the
 * owner in the same way, and told again until it has heard.
 *
 * Two gateways may both admit one key, with different bodies, only
 * - while its owner does not answer, or was away when it was told: the others decide for themselves
 * - while its owner changes: claims that were under way are not known to the new owner, and for the milliseconds until
 *   each has heard of the change some ask the old one. A new owner does not know what the old one knew (`onDeparture`)
 * - when a request takes longer than its lease of 4 s
 * The check of event_id then still leaves one record an event.
 */
export interface Peers {
  /** The other gateways that are alive. */
  readonly others: readonly string[]
  /** @returns undefined when this gateway owns the key, or is alone: nobody is to be asked */
  ownerOf(key: KeyHash): string | undefined
  /**
   * Asks the owner for a key. `key` and `fingerprint` must not change any more.
   *
   * @param tell called once, in a later turn
   */
  claim(owner: string, key: KeyHash, fingerprint: Fingerprint, tell: (verdict: ClaimVerdict) => void): void
  /**
   * Says what became of the request, once for each ticket, also one of 'unanswered'. Nothing is to be waited for.
   *
   * @param flags 0 to 255, what others are told with 'same'
   */
  settled(ticket: PeerTicket, isAdmitted: boolean, flags: number): void
  /**
   * Calls back when gateways have gone, be it dead, or out of hearing for seconds because of this gateway's own
   * connection. What they knew of the keys that are now this gateway's it does not know: load the history again, and
   * confirm each new key until then.
   */
  onDeparture(tell: (departed: readonly string[]) => void): void
  /** Tells what is to be told, and leaves. Claims under way are unanswered. */
  close(): Promise<void>
}

export type ClaimVerdict =
  /** Nobody else has the key: go on, and settle the ticket. */
  | { readonly kind: 'proceed'; readonly ticket: PeerTicket }
  /** It was admitted, with this body. */
  | { readonly kind: 'same'; readonly flags: number }
  /** It was admitted, with another body. */
  | { readonly kind: 'conflict' }
  /**
   * The caller decides, and settles the ticket.
   *
   * @param isUnderWay the owner did answer, for 2 s, that another request has the key: to go on is likely to take the
   *   key twice, to have the sender try again is not
   */
  | { readonly kind: 'unanswered'; readonly ticket: PeerTicket; readonly isUnderWay: boolean }

/** Names a claim to `settled`. */
export interface PeerTicket {
  readonly id: number
  readonly owner: string
  readonly key: KeyHash
  readonly fingerprint: Fingerprint
}

export interface PeerMembers {
  /** Names of the live gateways. */
  live(): readonly string[]
  onChange(tell: () => void): void
  leave(): Promise<void>
}

export interface PeersDeps {
  readonly connection: NatsConnection
  /** Joins the members under the name `self`; called when this gateway can be asked. */
  readonly join: () => Promise<PeerMembers>
  /** A token of a subject, distinct for each start: a gateway that comes back is another one, which knows nothing yet. */
  readonly self: string
  readonly local: LocalKeys
  /** Milliseconds, never going back. */
  readonly clock: () => number
  readonly log: Logger
  /** `CLAIM_ANSWER_MS` unless told: an owner that has not answered by then is decided for. */
  readonly answerWithinMs?: number
}

/** A claim that was told to wait is asked again after this, */
const ASK_AGAIN_MS = 20
/** and until this. */
const WAIT_MAX_MS = 2_000
const SWEEP_MS = 250
/** A peer that has not confirmed a settlement within this is told again. */
const SETTLEMENT_HEARD_MS = 500

interface Claim extends PeerTicket {
  /** The one that was asked last. */
  owner: string
  readonly tell: (verdict: ClaimVerdict) => void
  waitsSinceMs: number | undefined
}

/** What goes to one peer at the end of the turn. */
interface Outgoing {
  claims: Claim[]
  settlements: SettlementRecord[]
}

/**
 * Joins the gateways that are alive, and answers for its share of the keys from then on. To be called before the
 * history is loaded: a key that was admitted between the two would be known to nobody who is asked for it. Until the
 * history is loaded `local` says 'maybe' instead of 'new', and its `confirm` waits for what only the log knows.
 */
export async function joinPeers(deps: PeersDeps): Promise<Peers> {
  const { connection, join, self, local, clock, log, answerWithinMs = CLAIM_ANSWER_MS } = deps
  const random = randomBytes(12)
  const sender: Sender = { word0: random.readInt32LE(0), word1: random.readInt32LE(4) }
  let lastId = random.readUInt32LE(8)
  const owners = new KeyOwners(self)
  const ofPeers = claimsOfPeers(local, clock, log)
  let outgoing = new Map<string, Outgoing>()
  let isTurnScheduled = false
  const asked = new Set<Claim>()
  let waiting: Claim[] = []
  let askAgain: NodeJS.Timeout | undefined
  const silent = new Set<string>()
  const departures: ((departed: readonly string[]) => void)[] = []
  let isClosed = false

  const outgoingTo = (peer: string): Outgoing => {
    let to = outgoing.get(peer)
    if (to === undefined) {
      to = { claims: [], settlements: [] }
      outgoing.set(peer, to)
    }
    if (!isTurnScheduled) {
      isTurnScheduled = true
      setImmediate(endTurn)
    }
    return to
  }

  const endTurn = (): void => {
    isTurnScheduled = false
    const turn = outgoing
    outgoing = new Map()
    for (const [peer, { claims, settlements }] of turn) {
      for (const part of parts(settlements)) void tellSettled(peer, part)
      for (const part of parts(claims)) void ask(peer, part)
    }
  }

  const ask = async (owner: string, claims: readonly Claim[]): Promise<void> => {
    for (const claim of claims) asked.add(claim)
    const answers = await answersWithin(owner, claims)
    if (answers === undefined && !silent.has(owner) && !isClosed) {
      silent.add(owner)
      log.warn({ owner, claims: claims.length }, 'a gateway does not answer for the keys it owns')
    } else if (answers !== undefined) {
      silent.delete(owner)
    }
    for (const [i, claim] of claims.entries()) {
      // Not so when the peers were closed meanwhile, and the claim was told.
      if (asked.delete(claim)) take(claim, answers?.[i])
    }
  }

  const answersWithin = (owner: string, claims: readonly Claim[]): Promise<Answered[] | undefined> =>
    new Promise((resolve) => {
      // After a stall of this process the timer comes first although the answer is there: let it be read.
      const timer = setTimeout(() => setImmediate(() => resolve(undefined)), answerWithinMs)
      const decide = (answers: Answered[] | undefined): void => {
        clearTimeout(timer)
        resolve(answers)
      }
      connection.request(claimsSubject(owner), encodeClaims(sender, claims), { timeout: 2 * answerWithinMs }).then(
        ({ data }) => decide(decodeAnswers(data, claims.length)),
        () => decide(undefined),
      )
    })

  const take = (claim: Claim, answer: Answered | undefined): void => {
    switch (answer?.kind) {
      case undefined:
        return say(claim, { kind: 'unanswered', ticket: claim, isUnderWay: false })
      case 'proceed':
        return say(claim, { kind: 'proceed', ticket: claim })
      case 'same':
      case 'conflict':
        return say(claim, answer)
      case 'wait':
        claim.waitsSinceMs ??= clock()
        waiting.push(claim)
        if (!isClosed) askAgain ??= setTimeout(askThoseThatWait, ASK_AGAIN_MS)
    }
  }

  const say = (claim: Claim, verdict: ClaimVerdict): void => {
    try {
      claim.tell(verdict)
    } catch (cause) {
      // One caller's fault must not leave the turn's other claims without a verdict.
      log.error({ err: cause }, 'a request failed on the verdict of its key')
    }
  }

  const askThoseThatWait = (): void => {
    askAgain = undefined
    const claims = waiting
    waiting = []
    const nowMs = clock()
    for (const claim of claims) {
      const owner = owners.ownerOf(claim.key)
      const isUnderWay = owner !== undefined && nowMs - (claim.waitsSinceMs ?? nowMs) >= WAIT_MAX_MS
      if (owner === undefined || isUnderWay) {
        say(claim, { kind: 'unanswered', ticket: claim, isUnderWay })
        continue
      }
      claim.owner = owner
      outgoingTo(owner).claims.push(claim)
    }
  }

  const tellOwnerNow = (settlement: SettlementRecord, toldAlready?: string): void => {
    const owner = owners.ownerOf(settlement.key)
    if (settlement.isAdmitted && owner !== undefined && owner !== toldAlready)
      outgoingTo(owner).settlements.push(settlement)
  }

  /** Core NATS may lose a message, and with a settlement the owner's knowledge of an admitted key. */
  const tellSettled = async (owner: string, settlements: readonly SettlementRecord[]): Promise<void> => {
    const message = encodeSettlements(sender, settlements)
    const startedAtMs = clock()
    for (;;) {
      try {
        await connection.request(claimsSubject(owner), message, { timeout: SETTLEMENT_HEARD_MS })
        return
      } catch (cause) {
        if (isClosed) return
        if (!owners.peers.includes(owner)) {
          for (const settlement of settlements) tellOwnerNow(settlement)
          return
        }
        if (clock() - startedAtMs >= LEASE_MS) {
          log.warn({ err: cause, owner, keys: settlements.length }, 'a gateway was not told of keys it owns')
          return
        }
        await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS))
      }
    }
  }

  const hear = (message: Msg): void => {
    const heard = decodeMessage(message.data)
    switch (heard?.kind) {
      case undefined:
        log.warn({ bytes: message.data.length }, 'another gateway sent what this one does not understand')
        return
      case 'claims':
        message.respond(encodeAnswers(ofPeers.answer(heard.sender, heard.records)))
        return
      case 'settlements':
        ofPeers.settle(heard.sender, heard.records)
        message.respond()
    }
  }

  const subscription = connection.subscribe(claimsSubject(self), {
    callback: (error, message) => {
      try {
        if (error !== null) throw error
        hear(message)
      } catch (cause) {
        // The sender gets no answer, and decides for itself.
        log.error({ err: cause }, 'the claims of another gateway could not be heard')
      }
    },
  })
  const sweeping = setInterval(() => ofPeers.sweep(), SWEEP_MS)
  // Whoever sees this gateway among the members may ask it at once.
  await connection.flush()
  const members = await join()
  owners.setMembers(members.live())
  members.onChange(() => {
    const before = owners.peers
    owners.setMembers(members.live())
    const now = owners.peers
    const departed = before.filter((peer) => !now.includes(peer))
    for (const peer of departed) silent.delete(peer)
    if (departed.length > 0 && !isClosed) for (const tell of departures) tell(departed)
  })

  return {
    get others() {
      return owners.peers
    },

    ownerOf: (key) => owners.ownerOf(key),

    claim(owner, key, fingerprint, tell) {
      lastId = (lastId + 1) >>> 0
      outgoingTo(owner).claims.push({ id: lastId, owner, key, fingerprint, tell, waitsSinceMs: undefined })
    },

    settled(ticket, isAdmitted, flags) {
      const { id, owner, key, fingerprint } = ticket
      const settlement = { id, key, fingerprint, isAdmitted, flags }
      outgoingTo(owner).settlements.push(settlement)
      // The owner may be another by now.
      tellOwnerNow(settlement, owner)
    },

    onDeparture(tell) {
      departures.push(tell)
    },

    async close() {
      const unanswered = [...asked, ...waiting, ...[...outgoing.values()].flatMap(({ claims }) => claims)]
      asked.clear()
      waiting = []
      for (const to of outgoing.values()) to.claims = []
      isClosed = true
      clearTimeout(askAgain)
      for (const claim of unanswered) say(claim, { kind: 'unanswered', ticket: claim, isUnderWay: false })
      endTurn()
      clearInterval(sweeping)
      try {
        await members.leave()
        await subscription.drain()
      } catch (cause) {
        // The broker is away: the others will miss the heartbeats instead.
        log.warn({ err: cause }, 'the other gateways could not be told of the departure')
      }
    },
  }
}

/** In pieces of one message. */
function parts<T>(records: readonly T[]): (readonly T[])[] {
  if (records.length === 0) return []
  if (records.length <= CLAIMS_MAX) return [records]
  return Array.from({ length: Math.ceil(records.length / CLAIMS_MAX) }, (_, i) =>
    records.slice(i * CLAIMS_MAX, (i + 1) * CLAIMS_MAX),
  )
}
