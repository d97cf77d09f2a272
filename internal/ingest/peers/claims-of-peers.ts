import type { KeyHash } from '../../ids/key-hash.js'
import type { Logger } from '../../telemetry/log.js'
import { FULL, type Ticket } from '../keys/in-flight.js'
import type { Fingerprint } from '../keys/key-table.js'
import { isTicket, type LocalKeys } from '../keys/local-keys.js'
import type { Answered, ClaimRecord, Sender, SettlementRecord } from './peer-messages.js'

/**
 * The owner's side: answers what peers claim, and holds each key for the peer that may proceed with it until that
 * one says what became of it, or its lease ends.
 *
 * A claim that cannot be answered yet gets 'wait' and is asked again under the same id. Meanwhile it stands in the
 * same queue as the owner's own requests, so that all have their turn in the order in which they came. One that is
 * asked no more loses its turn.
 *
 * An answer repeats: asked again because the first answer was lost, a claim that proceeds still proceeds.
 */
export interface ClaimsOfPeers {
  /** One answer a claim, in their order. */
  answer(sender: Sender, claims: readonly ClaimRecord[]): Answered[]
  /** Safe to repeat, and for claims that nobody knows here: what was admitted is admitted in the index. */
  settle(sender: Sender, settlements: readonly SettlementRecord[]): void
  /** Ends leases and forgets claims that are asked no more; to be called every some hundred milliseconds. */
  sweep(): void
  /** Claims held in whatever state. */
  readonly held: number
}

/** A key that was never settled is free after this. Longer than a dead gateway takes to be missed (members.ts). */
export const LEASE_MS = 4_000
/** A claim that waits is asked every 20 ms; after this silence its turn goes to the next one. */
const ASKED_WITHIN_MS = 500
/** Claims held at most, with some 300 bytes each; past them 'wait' is answered and nothing kept. */
const HELD_MAX = 200_000

interface Held {
  readonly id: number
  readonly key: KeyHash
  readonly fingerprint: Fingerprint
  state: State
  askedAtMs: number
}

type State =
  /** The read model is being asked for the key. */
  | { readonly kind: 'confirming' }
  /** Others are before it. */
  | { readonly kind: 'waiting' }
  /** The key is the claim's. */
  | { readonly kind: 'granted'; readonly ticket: Ticket }
  /** The read model knew the key. */
  | { readonly kind: 'known'; readonly answer: Answered }

type Claims = Map<number, Held>

/** @param clock milliseconds, never going back */
export function claimsOfPeers(local: LocalKeys, clock: () => number, log: Logger): ClaimsOfPeers {
  const senders = new Map<string, Claims>()
  let count = 0

  const forget = (claims: Claims, held: Held): void => {
    if (claims.delete(held.id)) count--
  }
  const isHeld = (claims: Claims, held: Held): boolean => claims.get(held.id) === held

  const release = (ticket: Ticket, isAdmitted: boolean): void => {
    try {
      local.settle(ticket, isAdmitted)
    } catch (cause) {
      // A request of this gateway that waited has failed; the claims of others go on.
      log.error({ err: cause }, 'a request that waited for the key of a peer failed')
    }
  }

  const begin = (claims: Claims, held: Held): Answered => {
    const begun = local.begin(held.key, held.fingerprint, (ticket) => {
      if (ticket === undefined) return forget(claims, held)
      if (isHeld(claims, held) && clock() - held.askedAtMs <= ASKED_WITHIN_MS) held.state = { kind: 'granted', ticket }
      else {
        forget(claims, held)
        release(ticket, false)
      }
    })
    if (isTicket(begun)) {
      held.state = { kind: 'granted', ticket: begun }
      return PROCEED
    }
    // FULL too: asked again, it may find room.
    held.state = { kind: 'waiting' }
    if (begun === FULL) forget(claims, held)
    return WAIT
  }

  const confirm = async (claims: Claims, held: Held): Promise<void> => {
    try {
      const confirmation = await local.confirm(held.key, held.fingerprint)
      if (!isHeld(claims, held)) return
      // Another request may have brought the key meanwhile.
      const verdict = confirmation === 'unknown' ? local.lookup(held.key, held.fingerprint) : confirmation
      if (verdict === 'same') held.state = { kind: 'known', answer: { kind: 'same', flags: knownFlags(held) } }
      else if (verdict === 'conflict') held.state = { kind: 'known', answer: CONFLICT }
      else begin(claims, held)
    } catch (cause) {
      forget(claims, held)
      log.error({ err: cause }, 'the key of a peer could not be confirmed')
    }
  }
  const knownFlags = ({ key, fingerprint }: Held): number =>
    local.lookup(key, fingerprint) === 'same' ? local.flags : 0

  const answerOne = (claims: Claims, { id, key, fingerprint }: ClaimRecord, nowMs: number): Answered => {
    const before = claims.get(id)
    if (before !== undefined) {
      before.askedAtMs = nowMs
      switch (before.state.kind) {
        case 'confirming':
        case 'waiting':
          return WAIT
        case 'granted':
          return PROCEED
        case 'known':
          forget(claims, before)
          return before.state.answer
      }
    }

    const verdict = local.lookup(key, fingerprint)
    if (verdict === 'same') return { kind: 'same', flags: local.flags }
    if (verdict === 'conflict') return CONFLICT
    if (count >= HELD_MAX) return WAIT
    const held: Held = { id, key, fingerprint, state: { kind: 'confirming' }, askedAtMs: nowMs }
    claims.set(id, held)
    count++
    if (verdict === 'new') return begin(claims, held)
    void confirm(claims, held)
    return WAIT
  }

  return {
    answer(sender, records) {
      const name = nameOf(sender)
      let claims = senders.get(name)
      if (claims === undefined) {
        claims = new Map()
        senders.set(name, claims)
      }
      const nowMs = clock()
      const answers: Answered[] = []
      for (const record of records) answers.push(answerOne(claims, record, nowMs))
      return answers
    },

    settle(sender, settlements) {
      const claims = senders.get(nameOf(sender))
      for (const { id, key, fingerprint, isAdmitted, flags } of settlements) {
        // Before those who wait are told: they look into the index.
        if (isAdmitted) local.admit(key, fingerprint, flags)
        const held = claims?.get(id)
        if (claims === undefined || held === undefined) continue
        forget(claims, held)
        if (held.state.kind === 'granted') release(held.state.ticket, isAdmitted)
      }
    },

    sweep() {
      const nowMs = clock()
      for (const [name, claims] of senders) {
        for (const held of claims.values()) {
          // From when it was last asked: no later could the peer have heard that it proceeds.
          if (nowMs - held.askedAtMs < LEASE_MS) continue
          forget(claims, held)
          if (held.state.kind === 'granted') release(held.state.ticket, false)
        }
        if (claims.size === 0) senders.delete(name)
      }
    },

    get held() {
      return count
    },
  }
}

const PROCEED: Answered = { kind: 'proceed' }
const CONFLICT: Answered = { kind: 'conflict' }
const WAIT: Answered = { kind: 'wait' }

const nameOf = ({ word0, word1 }: Sender): string => `${word0}.${word1}`
