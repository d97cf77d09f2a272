import type { KeyHash } from '../../ids/key-hash.js'
import type { Fingerprint } from '../../repeats/key-table.js'
import type { Logger } from '../../telemetry/log.js'
import { FULL, type Ticket } from '../keys/in-flight.js'
import { isTicket, type LocalKeys } from '../keys/local-keys.js'
import type { ClaimAnswer, ClaimRecord, PeerId, SettlementRecord } from './peer-messages.js'

/** A key that was never settled is free after this. Longer than it takes to detect a dead gateway (members.ts). */
export const LEASE_MS = 4_000
/** A peer repeats a waiting claim every 20 ms; after this silence the next request gets the key. */
const REPEATED_WITHIN_MS = 500
/** At some 300 bytes per claim. Past this limit the answer is 'wait' and nothing is held. */
const HELD_MAX = 200_000

interface Held {
  readonly id: number
  readonly key: KeyHash
  readonly fingerprint: Fingerprint
  state: State
  claimedAtMs: number
}

type State =
  /** The read model is being queried for the key. */
  | { readonly kind: 'confirming' }
  /** Other requests are ahead in the queue. */
  | { readonly kind: 'waiting' }
  /** The claim holds the key. */
  | { readonly kind: 'granted'; readonly ticket: Ticket }
  /** The read model knew the key. */
  | { readonly kind: 'known'; readonly answer: ClaimAnswer }

type Claims = Map<number, Held>

/**
 * The owner's side: answers peers' claims, and holds each key for the peer that may proceed with it until that peer
 * settles the claim or the lease ends.
 *
 * A claim that cannot be answered yet gets 'wait', and the peer repeats it under the same id. Meanwhile it is in the
 * same queue as the owner's own requests, so that all get the key in order of arrival. A claim that the peer no longer
 * repeats loses its place in the queue.
 *
 * Answering is idempotent: a claim that was granted and is repeated because the answer was lost is granted again.
 */
export class PeerClaims {
  private readonly local: LocalKeys
  private readonly clock: () => number
  private readonly log: Logger
  private readonly senders = new Map<string, Claims>()
  private count = 0

  /** @param clock milliseconds, monotonic */
  constructor(local: LocalKeys, clock: () => number, log: Logger) {
    this.local = local
    this.clock = clock
    this.log = log
  }

  /** Claims held, in any state. */
  get held(): number {
    return this.count
  }

  /** @returns one answer per claim, in their order */
  answer(sender: PeerId, records: readonly ClaimRecord[]): ClaimAnswer[] {
    const name = nameOf(sender)
    let claims = this.senders.get(name)
    if (claims === undefined) {
      claims = new Map()
      this.senders.set(name, claims)
    }
    const nowMs = this.clock()
    const answers: ClaimAnswer[] = []
    for (const record of records) answers.push(this.answerOne(claims, record, nowMs))
    return answers
  }

  /** Safe to repeat, and for unknown claims: an admitted key enters the index in any case. */
  settle(sender: PeerId, settlements: readonly SettlementRecord[]): void {
    const claims = this.senders.get(nameOf(sender))
    for (const { id, key, fingerprint, isAdmitted, flags } of settlements) {
      // Before the waiting requests are notified: they look the key up in the index.
      if (isAdmitted) this.local.admit(key, fingerprint, flags)
      const held = claims?.get(id)
      if (claims === undefined || held === undefined) continue
      this.forget(claims, held)
      if (held.state.kind === 'granted') this.release(held.state.ticket, isAdmitted)
    }
  }

  /** Ends leases and forgets claims that are no longer repeated; call it every few hundred milliseconds. */
  sweep(): void {
    const nowMs = this.clock()
    for (const [name, claims] of this.senders) {
      for (const held of claims.values()) {
        // Counted from the latest claim: the peer cannot have received a later 'proceed'.
        if (nowMs - held.claimedAtMs < LEASE_MS) continue
        this.forget(claims, held)
        if (held.state.kind === 'granted') this.release(held.state.ticket, false)
      }
      if (claims.size === 0) this.senders.delete(name)
    }
  }

  private answerOne(claims: Claims, { id, key, fingerprint }: ClaimRecord, nowMs: number): ClaimAnswer {
    const repeated = claims.get(id)
    if (repeated !== undefined) {
      repeated.claimedAtMs = nowMs
      switch (repeated.state.kind) {
        case 'confirming':
        case 'waiting':
          return WAIT
        case 'granted':
          return PROCEED
        case 'known':
          this.forget(claims, repeated)
          return repeated.state.answer
      }
    }

    const verdict = this.local.lookup(key, fingerprint)
    if (verdict === 'same') return { kind: 'same', flags: this.local.flags }
    if (verdict === 'conflict') return CONFLICT
    if (this.count >= HELD_MAX) return WAIT
    const held: Held = { id, key, fingerprint, state: { kind: 'confirming' }, claimedAtMs: nowMs }
    claims.set(id, held)
    this.count++
    if (verdict === 'new') return this.begin(claims, held)
    void this.confirm(claims, held)
    return WAIT
  }

  private begin(claims: Claims, held: Held): ClaimAnswer {
    const begun = this.local.begin(held.key, held.fingerprint, (ticket) => this.onTicket(claims, held, ticket))
    if (isTicket(begun)) {
      held.state = { kind: 'granted', ticket: begun }
      return PROCEED
    }
    // When the table is FULL, a repeated claim may find space.
    held.state = { kind: 'waiting' }
    if (begun === FULL) this.forget(claims, held)
    return WAIT
  }

  /** @param ticket undefined when the key must be looked up again */
  private onTicket(claims: Claims, held: Held, ticket: Ticket | undefined): void {
    if (ticket === undefined) return this.forget(claims, held)
    if (isHeld(claims, held) && this.clock() - held.claimedAtMs <= REPEATED_WITHIN_MS) {
      held.state = { kind: 'granted', ticket }
    } else {
      this.forget(claims, held)
      this.release(ticket, false)
    }
  }

  private async confirm(claims: Claims, held: Held): Promise<void> {
    const { local } = this
    const { key, fingerprint } = held
    try {
      const confirmation = await local.confirm(key, fingerprint)
      if (!isHeld(claims, held)) return
      // Another request may have admitted the key meanwhile.
      const verdict = confirmation === 'unknown' ? local.lookup(key, fingerprint) : confirmation
      if (verdict === 'same') {
        const flags = local.lookup(key, fingerprint) === 'same' ? local.flags : 0
        held.state = { kind: 'known', answer: { kind: 'same', flags } }
      } else if (verdict === 'conflict') held.state = { kind: 'known', answer: CONFLICT }
      else this.begin(claims, held)
    } catch (cause) {
      this.forget(claims, held)
      this.log.error({ err: cause }, "the key of a peer gateway's claim could not be confirmed")
    }
  }

  private release(ticket: Ticket, isAdmitted: boolean): void {
    try {
      this.local.settle(ticket, isAdmitted)
    } catch (cause) {
      // A waiting request of this gateway has failed; the other claims continue.
      this.log.error({ err: cause }, "a request that waited for a peer gateway's key failed")
    }
  }

  private forget(claims: Claims, held: Held): void {
    if (claims.delete(held.id)) this.count--
  }
}

const isHeld = (claims: Claims, held: Held): boolean => claims.get(held.id) === held

const PROCEED: ClaimAnswer = { kind: 'proceed' }
const CONFLICT: ClaimAnswer = { kind: 'conflict' }
const WAIT: ClaimAnswer = { kind: 'wait' }

const nameOf = ({ word0, word1 }: PeerId): string => `${word0}.${word1}`
