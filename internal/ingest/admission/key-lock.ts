import type { Caller } from '../../auth/authenticate.js'
import type { Exchange } from '../../http/exchange.js'
import type { KeyHash } from '../../ids/key-hash.js'
import { problem } from '../../problems/problem-catalogue.js'
import type { AdmissionIndex } from '../../repeats/admission-index.js'
import type { Fingerprint } from '../../repeats/key-table.js'
import { FULL, type InFlight, type Outcome, type Ticket, WAITS, type Waiter } from '../keys/in-flight.js'
import { type Answer, KEY_CONFLICT, kept, reply, TOO_MUCH } from './answers.js'

/** One request under its key. */
export interface KeyedRequest {
  readonly exchange: Exchange
  readonly caller: Caller
  readonly key: KeyHash
  readonly fingerprint: Fingerprint
}

export interface KeyLockDeps {
  readonly inFlight: InFlight<Answer>
  /** Idempotency-Keys of the last 24 hours of all gateways, with the fingerprints of their bodies. */
  readonly keys: AdmissionIndex
  readonly clock: () => number
}

/**
 * Lets the first request of a key proceed at this gateway; a later one waits for its outcome and gets the same answer.
 *
 * @param proceed called at the request's turn, which must be finished exactly once, whatever the outcome
 */
export function withKeyLock(request: KeyedRequest, deps: KeyLockDeps, proceed: (turn: KeyLock) => void): void {
  new KeyLock(request, deps, proceed).begin()
}

/** A request's turn under its key. */
export class KeyLock implements Waiter<Answer> {
  private readonly request: KeyedRequest
  private readonly deps: KeyLockDeps
  private readonly proceed: (turn: KeyLock) => void
  private ticket: Ticket = WAITS

  constructor(request: KeyedRequest, deps: KeyLockDeps, proceed: (turn: KeyLock) => void) {
    this.request = request
    this.deps = deps
    this.proceed = proceed
  }

  begin(): void {
    const { key, fingerprint, exchange } = this.request
    const ticket = this.deps.inFlight.begin(key, fingerprint, this)
    if (ticket === FULL) return exchange.replyProblem(TOO_MUCH)
    if (ticket !== WAITS) this.take(ticket)
  }

  onOutcome(outcome: Outcome<Answer>): void {
    switch (outcome.kind) {
      case 'replay':
        return reply(this.request.exchange, outcome.answer, true)
      case 'refused':
        return reply(this.request.exchange, outcome.answer, false)
      case 'conflict':
        return this.request.exchange.replyProblem(KEY_CONFLICT)
      case 'proceed':
        return this.takeOver(outcome.ticket)
    }
  }

  overdue(): void {
    this.request.exchange.replyProblem(IN_FLIGHT)
  }

  /** Notifies the waiting requests, and answers. @param answer whose bytes are read within the call */
  finish(answer: Answer): void {
    const { inFlight } = this.deps
    inFlight.settle(this.ticket, answer.kind === 'accepted', inFlight.isAwaited(this.ticket) ? kept(answer) : answer)
    reply(this.request.exchange, answer, false)
  }

  /** While it waited, another gateway may have admitted another body. */
  private takeOver(ticket: Ticket): void {
    const { request, deps } = this
    if (deps.keys.lookup(request.key, request.fingerprint, deps.clock()) !== 'conflict') return this.take(ticket)
    this.ticket = ticket
    this.finish({ kind: 'refused', problem: KEY_CONFLICT })
  }

  private take(ticket: Ticket): void {
    this.ticket = ticket
    this.proceed(this)
  }
}

const IN_FLIGHT = problem(
  'SERVICE_UNAVAILABLE',
  'A request with this Idempotency-Key is still in flight; repeat it unchanged to get its outcome.',
  { retryAfterSeconds: 1 },
)
