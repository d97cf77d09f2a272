import type { Caller } from '../../auth/authenticate.js'
import type { Exchange } from '../../http/exchange.js'
import type { KeyHash } from '../../ids/key-hash.js'
import { problem } from '../../problems/problem-catalogue.js'
import type { Fingerprint } from '../../repeats/key-table.js'
import { FULL, type InFlight, type Outcome, type Ticket, WAITS, type Waiter } from '../keys/in-flight.js'
import type { Rechecked } from '../keys/key-confirmation.js'
import type { ClaimVerdict, PeerTicket } from '../peers/claim.js'
import type { Peers } from '../peers/peers.js'
import { type Answer, KEY_CONFLICT, kept, reply, type SharedAnswer, TOO_MUCH, unavailable } from './answers.js'

/** One request under its key. */
export interface KeyedRequest {
  readonly exchange: Exchange
  readonly caller: Caller
  readonly key: KeyHash
  readonly fingerprint: Fingerprint
}

export interface KeyLockDeps {
  readonly inFlight: InFlight<SharedAnswer>
  /** The other gateways: each key has one owner among them, whose verdict counts. */
  readonly peers: Pick<Peers, 'ownerOf' | 'claim' | 'settled' | 'admitted'>
  /** Looks a key up again, also in the log, when its owner does not answer. */
  readonly recheck: (key: KeyHash, fingerprint: Fingerprint) => Promise<Rechecked>
}

export interface KeyLockHandlers {
  /** It is the request's turn, which must be finished exactly once, whatever the outcome. */
  proceed(turn: KeyLock): void
  /**
   * The answer to a request that a peer has already admitted; `elsewhere` if it must be looked up, undefined if the
   * answer is lost and the request must proceed after all.
   */
  answerAgain(flags: number): SharedAnswer | undefined
  /** Look the key up again: a peer has decided on it. */
  again(): void
}

/**
 * Lets the first request of a key proceed, across all gateways; a later one waits for its outcome and gets the same
 * answer. If the key's owner does not answer, this gateway decides: deduplication by event_id still leaves one record.
 */
export function withKeyLock(request: KeyedRequest, deps: KeyLockDeps, handlers: KeyLockHandlers): void {
  new KeyLock(request, deps, handlers).begin()
}

/** A request's turn under its key. */
export class KeyLock implements Waiter<SharedAnswer> {
  private readonly request: KeyedRequest
  private readonly deps: KeyLockDeps
  private readonly handlers: KeyLockHandlers
  private ticket: Ticket = WAITS
  private peer: PeerTicket | undefined

  constructor(request: KeyedRequest, deps: KeyLockDeps, handlers: KeyLockHandlers) {
    this.request = request
    this.deps = deps
    this.handlers = handlers
  }

  begin(): void {
    const { key, fingerprint, exchange } = this.request
    const ticket = this.deps.inFlight.begin(key, fingerprint, this)
    if (ticket === FULL) return exchange.replyProblem(TOO_MUCH)
    if (ticket !== WAITS) this.ask(ticket)
  }

  onOutcome(outcome: Outcome<SharedAnswer>): void {
    switch (outcome.kind) {
      case 'replay':
        return this.answer(outcome.answer, true)
      case 'refused':
        return this.answer(outcome.answer, false)
      case 'conflict':
        return this.request.exchange.replyProblem(KEY_CONFLICT)
      case 'proceed':
        return this.ask(outcome.ticket)
    }
  }

  overdue(): void {
    this.request.exchange.replyProblem(IN_FLIGHT)
  }

  /**
   * Notifies the waiting requests and the key's owner, and answers.
   *
   * @param answer whose bytes are read within the call
   * @param flags the owner keeps them with the key
   */
  finish(answer: Answer, flags: number): void {
    const isAdmitted = answer.kind === 'accepted'
    this.settle(isAdmitted, answer, false)
    const { peers } = this.deps
    const { key, fingerprint } = this.request
    if (this.peer !== undefined) peers.settled(this.peer, isAdmitted, flags)
    // The key may have become another gateway's meanwhile, which had loaded the log before that held the event.
    else if (isAdmitted && peers.ownerOf(key) !== undefined) peers.admitted({ key, fingerprint, flags })
  }

  private ask(ticket: Ticket): void {
    const { key, fingerprint } = this.request
    const { peers } = this.deps
    this.ticket = ticket
    const owner = peers.ownerOf(key)
    if (owner === undefined) return this.handlers.proceed(this)
    peers.claim(owner, key, fingerprint, (verdict) => this.judged(verdict))
  }

  private judged(verdict: ClaimVerdict): void {
    switch (verdict.kind) {
      case 'proceed':
        this.peer = verdict.ticket
        return this.handlers.proceed(this)
      case 'same':
        return this.replay(verdict.flags)
      case 'conflict':
        return this.settle(false, { kind: 'refused', problem: KEY_CONFLICT }, false)
      case 'unanswered':
        if (verdict.isInFlight) {
          this.deps.peers.settled(verdict.ticket, false, 0)
          return this.settle(false, { kind: 'refused', problem: IN_FLIGHT }, false)
        }
        return this.decideFor(verdict.ticket)
    }
  }

  /** The owner is silent: its admissions are in the log or the read model. */
  private decideFor(peer: PeerTicket): void {
    const { key, fingerprint } = this.request
    const decide = ({ found, flags }: Rechecked): void => {
      if (found === 'unknown') {
        this.peer = peer
        return this.handlers.proceed(this)
      }
      this.deps.peers.settled(peer, found === 'same', flags)
      if (found === 'same') this.replay(flags)
      else this.settle(false, { kind: 'refused', problem: KEY_CONFLICT }, false)
    }
    this.deps.recheck(key, fingerprint).then(decide, () => decide({ found: 'unknown', flags: 0 }))
  }

  private replay(flags: number): void {
    const answer = this.handlers.answerAgain(flags)
    if (answer === undefined) this.handlers.proceed(this)
    else this.settle(true, answer, true)
  }

  private settle(isAdmitted: boolean, answer: SharedAnswer, isReplay: boolean): void {
    const { inFlight } = this.deps
    inFlight.settle(this.ticket, isAdmitted, inFlight.isAwaited(this.ticket) ? kept(answer) : answer)
    this.answer(answer, isReplay)
  }

  private answer(answer: SharedAnswer, isReplay: boolean): void {
    if (answer.kind === 'elsewhere') this.handlers.again()
    else reply(this.request.exchange, answer, isReplay)
  }
}

/** How often a request looks up a decision that a peer has reported. */
export const LOOKUPS_MAX = 3
export const UNDECIDED = unavailable('The outcome of the first request is not known at present; try again.')

const IN_FLIGHT = problem(
  'SERVICE_UNAVAILABLE',
  'A request with this Idempotency-Key is still in flight; repeat it unchanged to get its outcome.',
  { retryAfterSeconds: 1 },
)
