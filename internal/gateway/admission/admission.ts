import { isAscii, isUtf8 } from 'node:buffer'
import type { AdmissionIndex } from '../../admission/admission-index.js'
import type { BodyFingerprint } from '../../admission/body-fingerprint.js'
import { FULL, type InFlight, type Outcome, type Ticket, WAITS, type Waiter } from '../../admission/in-flight.js'
import { hashIdempotencyKey, hashOfInvocationId } from '../../admission/key-hash.js'
import type { Fingerprint, KeyHash } from '../../admission/key-table.js'
import type { Caller } from '../../auth/authenticate.js'
import { invocationIdBytes, type TenantIds, uuidBytes } from '../../ids/ids.js'
import type { SipKey } from '../../ids/siphash.js'
import type { TextRange } from '../../invocations/entry-bytes.js'
import { type AdmissionKey, WAS_DUPLICATE } from '../../invocations/group.js'
import type { InvocationEvent } from '../../invocations/schema.js'
import { type TextShape, validateInvocation } from '../../invocations/validate.js'
import { type Problem, problem } from '../../problems/catalogue.js'
import type { Exchange } from '../exchange.js'
import { takeFrom } from '../rate-limit.js'
import { AcceptedText } from './accepted-text.js'
import type { Group, GroupCommit, Settler } from './group-commit.js'
import { bytesOf, type Confirmation, type KeyConfirmation } from './key-confirmation.js'
import type { Commit } from './log-writer.js'
import { partitionOf } from './partition.js'
import type { ClaimVerdict, Peers, PeerTicket } from './peers.js'

/** What a request is answered with; a repeat of it is answered with the same. */
export type Answer =
  | { readonly kind: 'accepted'; readonly body: string | Uint8Array }
  | { readonly kind: 'refused'; readonly problem: Problem }

/** What a request that waits for another is told: its answer, or that a peer decided, so that it has to look again. */
export type Told = Answer | { readonly kind: 'elsewhere' }
export const ELSEWHERE: Told = { kind: 'elsewhere' }

export interface AdmissionDeps {
  /** Idempotency-Keys of the last 24 hours, with the fingerprints of their bodies. */
  readonly keys: AdmissionIndex
  /** Events of the last 7 days. */
  readonly events: AdmissionIndex
  /** Whether `keys` holds what was admitted before this process; until then the read model is asked for each. */
  readonly isLoaded: () => boolean
  readonly inFlight: InFlight<Told>
  /** The other gateways: each key has one owner among them, whose verdict counts. */
  readonly peers: Pick<Peers, 'ownerOf' | 'claim' | 'settled'>
  readonly fingerprints: BodyFingerprint
  readonly confirmation: KeyConfirmation
  /** Looks once more, also in the log, for a key whose owner does not answer. */
  readonly recheck: (key: KeyHash, fingerprint: Fingerprint) => Promise<Confirmation>
  readonly groups: GroupCommit
  readonly partitions: number
  readonly idsOf: (tenantId: string) => TenantIds
  /** The tenant's key for hashing Idempotency-Keys. */
  readonly keyHashingOf: (tenantId: string) => SipKey
  readonly clock: () => number
}

/** One request under its key. */
export interface KeyedRequest {
  readonly exchange: Exchange
  readonly caller: Caller
  readonly key: KeyHash
  readonly fingerprint: Fingerprint
}

/** An event that may be taken: checked, and with its ids. */
export interface CheckedEvent {
  readonly event: InvocationEvent
  readonly id: Uint8Array
  readonly receivedAtMs: number
  readonly shape: TextShape
}

/** Number of the route in the hash of its keys: keys live per (tenant, route, key). */
const ROUTE = 0
/** What the index remembers of a key's answer, beside `WAS_DUPLICATE`. */
export const WAS_BULK = 2

const NO_FINGERPRINT: Fingerprint = new Int32Array(2)
const eventKey: KeyHash = new Int32Array(4)

/** The key of the entry that is being encoded, which reads it at once: a fresh view a request costs a microsecond. */
const carriedHash = new Int32Array(4)
const carriedFingerprint = new Int32Array(2)
const CARRIED = { hash: bytesOf(carriedHash), fingerprint: bytesOf(carriedFingerprint), flags: 0 }

export function carried({ key, fingerprint }: KeyedRequest, flags: number): AdmissionKey {
  carriedHash.set(key)
  carriedFingerprint.set(fingerprint)
  CARRIED.flags = flags
  return CARRIED
}

/** The hash of the request's Idempotency-Key; undefined when it has none that is a UUID or ULID. */
export function keyOf(
  exchange: Exchange,
  caller: Caller,
  deps: Pick<AdmissionDeps, 'keyHashingOf'>,
  route = ROUTE,
): KeyHash | undefined {
  const key: KeyHash = new Int32Array(4)
  const hashing = deps.keyHashingOf(caller.tenantId)
  return hashIdempotencyKey(hashing, route, exchange.headers.idempotencyKey, key) ? key : undefined
}

/** Who asked what is known of a key; told once. */
export interface KeyKnown {
  fresh(): void
  /** @param flags the index's */
  replay(flags: number): void
  conflict(): void
}

/** What is known of a request's key: told at once or, where only the read model knows, later. */
export function whenKeyIsKnown(
  { key, fingerprint }: KeyedRequest,
  deps: AdmissionDeps,
  tell: KeyKnown,
  nowMs = deps.clock(),
): void {
  const verdict = deps.keys.lookup(key, fingerprint, nowMs)
  if (verdict === 'same') return tell.replay(deps.keys.flags)
  if (verdict === 'conflict') return tell.conflict()
  if (verdict === 'new' && deps.isLoaded()) return tell.fresh()
  deps.confirmation.ask(key, fingerprint, (confirmation, admittedAtMs, flags) => {
    if (confirmation === 'unknown') {
      // Another request may have brought the key meanwhile.
      const now = deps.keys.lookup(key, fingerprint, deps.clock())
      if (now === 'same') return tell.replay(deps.keys.flags)
      return now === 'conflict' ? tell.conflict() : tell.fresh()
    }
    if (confirmation === 'conflict') return tell.conflict()
    deps.keys.admit(key, fingerprint, flags, admittedAtMs)
    tell.replay(flags)
  })
}

/**
 * Admits one event that came alone, or says why not.
 *
 * @param bytes read only within this call
 */
export function admitSingle(request: KeyedRequest, bytes: Buffer, deps: AdmissionDeps): void {
  new SingleEvent(request, parseJson(bytes), bytes, deps).admit()
}

/** One object a request instead of a closure for each thing that may become of it: there are many at once. */
class SingleEvent implements KeyKnown, TurnHandlers, Settler {
  private readonly request: KeyedRequest
  private readonly value: unknown
  /** While they are lent. */
  private bytes: Buffer | undefined
  private readonly deps: AdmissionDeps
  private readonly receivedAtMs: number
  /** Once it was checked and taken from the budget, which is done once. */
  private checked: CheckedEvent | undefined
  private turn: Turn | undefined
  private flags = 0

  constructor(request: KeyedRequest, value: unknown, bytes: Buffer, deps: AdmissionDeps) {
    this.request = request
    this.value = value
    this.bytes = bytes
    this.deps = deps
    this.receivedAtMs = deps.clock()
  }

  admit(): void {
    whenKeyIsKnown(this.request, this.deps, this, this.receivedAtMs)
    this.bytes = undefined
  }

  conflict(): void {
    this.request.exchange.replyProblem(KEY_CONFLICT)
  }

  replay(flags: number): void {
    const { exchange, caller } = this.request
    // What the first request was told is not for everybody who has its bytes.
    if (!mayIngest(caller, this.value as InvocationEvent)) return exchange.replyProblem(LAYER_REFUSED)
    reply(exchange, this.answerAgain(flags), true)
  }

  fresh(): void {
    const { request, value, deps } = this
    const { exchange, caller } = request
    if (this.checked === undefined) {
      const limited = takeFrom(caller.budgets.ingest, 1, this.receivedAtMs)
      if (limited !== undefined) return exchange.replyProblem(limited)
      if (value === undefined) return exchange.replyProblem(MALFORMED)
      const checked = check(value, caller, deps, this.receivedAtMs)
      if ('code' in checked) return exchange.replyProblem(checked)
      this.checked = checked
    }
    proceedInTurn(request, deps, this)
  }

  proceed(turn: Turn): void {
    const { request, checked, bytes, deps } = this
    if (checked === undefined) throw new Error('an event proceeds that was not checked')
    this.turn = turn
    // An event that is known goes to the log too, for its key: actors drop it, and the key is remembered.
    this.flags = isKnownEvent(checked.id, deps, checked.receivedAtMs) ? WAS_DUPLICATE : 0
    const text = bytes === undefined ? undefined : { bytes, start: 0, end: bytes.length }
    const group = addToGroup(checked, text, request.caller, carried(request, this.flags), deps, this)
    if (group === undefined) turn.finish({ kind: 'refused', problem: TOO_MUCH }, 0)
  }

  settled(commit: Commit): void {
    const { request, checked, turn, flags, deps } = this
    if (checked === undefined || turn === undefined) return
    try {
      if (commit.kind === 'unavailable') {
        return turn.finish({ kind: 'refused', problem: unavailable(commit.detail) }, 0)
      }
      // Persisted first, then marked: a mark before the write would lose the retry of a write that failed.
      const now = deps.clock()
      deps.keys.admit(request.key, request.fingerprint, flags, now)
      rememberEvent(checked.id, now, deps)
      const body = acceptedBody(checked.event, checked.id, flags === WAS_DUPLICATE)
      turn.finish({ kind: 'accepted', body }, flags)
    } catch (cause) {
      // The other events of the group have their answers to come.
      request.exchange.fail(cause)
    }
  }

  /** The original answer, made again from the same bytes. */
  answerAgain(flags: number): Answer {
    const event = this.value as InvocationEvent
    const id = invocationIdOf(event, this.request.caller, this.deps)
    return { kind: 'accepted', body: acceptedBody(event, id, (flags & WAS_DUPLICATE) !== 0) }
  }

  again(): void {
    whenKeyIsKnown(this.request, this.deps, this)
  }
}

/** Checks an event's value against schema, time and the credential's layers. */
export function check(
  value: unknown,
  caller: Caller,
  deps: Pick<AdmissionDeps, 'idsOf'>,
  receivedAtMs: number,
): CheckedEvent | Problem {
  const validation = validateInvocation(value, receivedAtMs)
  if (!validation.ok) {
    return problem('VALIDATION_FAILED', 'The event does not match its schema.', { errors: validation.errors })
  }
  const { event, shape } = validation
  if (!mayIngest(caller, event)) return LAYER_REFUSED
  return { event, id: invocationIdOf(event, caller, deps), receivedAtMs, shape }
}

export const mayIngest = ({ ingestionLayers }: Caller, { ingestion_layer: layer }: InvocationEvent): boolean =>
  ingestionLayers === undefined || ingestionLayers.has(layer)

export const LAYER_REFUSED = problem('INSUFFICIENT_SCOPE', 'The credential may not ingest events of this layer.', {
  challenge: 'Bearer realm="attribution", error="insufficient_scope"',
})

export interface TurnHandlers {
  /** It is the request's turn, which must be finished once, whatever becomes of it. */
  proceed(turn: Turn): void
  /** The answer to a request that a peer has admitted already; `elsewhere` when it has to be looked up. */
  answerAgain(flags: number): Told
  /** Look again: a peer has decided on the key. */
  again(): void
}

/**
 * Lets the first request of a key go on, among all gateways; a later one waits for what becomes of it, and is told
 * the same. An owner that does not answer is decided for: the event's own id still leaves one record.
 */
export function proceedInTurn(request: KeyedRequest, deps: AdmissionDeps, handlers: TurnHandlers): void {
  new Turn(request, deps, handlers).begin()
}

/** A request's turn under its key. */
export class Turn implements Waiter<Told> {
  private readonly request: KeyedRequest
  private readonly deps: AdmissionDeps
  private readonly handlers: TurnHandlers
  private ticket: Ticket = WAITS
  private peer: PeerTicket | undefined

  constructor(request: KeyedRequest, deps: AdmissionDeps, handlers: TurnHandlers) {
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

  told(outcome: Outcome<Told>): void {
    switch (outcome.kind) {
      case 'replay':
        return this.tell(outcome.answer, true)
      case 'refused':
        return this.tell(outcome.answer, false)
      case 'conflict':
        return this.request.exchange.replyProblem(KEY_CONFLICT)
      case 'proceed':
        return this.ask(outcome.ticket)
    }
  }

  overdue(): void {
    this.request.exchange.replyProblem(UNDER_WAY)
  }

  /** Tells the waiting ones, and the key's owner, and answers. @param flags kept beside the key by its owner */
  finish(answer: Answer, flags: number): void {
    const isAdmitted = answer.kind === 'accepted'
    this.settle(isAdmitted, answer, false)
    if (this.peer !== undefined) this.deps.peers.settled(this.peer, isAdmitted, flags)
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
        return this.settle(true, this.handlers.answerAgain(verdict.flags), true)
      case 'conflict':
        return this.settle(false, { kind: 'refused', problem: KEY_CONFLICT }, false)
      case 'unanswered':
        if (verdict.isUnderWay) {
          this.deps.peers.settled(verdict.ticket, false, 0)
          return this.settle(false, { kind: 'refused', problem: UNDER_WAY }, false)
        }
        return this.decideFor(verdict.ticket)
    }
  }

  /** The owner is silent: what it has admitted is in the log or the read model. */
  private decideFor(peer: PeerTicket): void {
    const { key, fingerprint } = this.request
    const decide = (found: Confirmation): void => {
      if (found === 'unknown') {
        this.peer = peer
        return this.handlers.proceed(this)
      }
      this.deps.peers.settled(peer, found === 'same', 0)
      if (found === 'same') this.settle(true, this.handlers.answerAgain(0), true)
      else this.settle(false, { kind: 'refused', problem: KEY_CONFLICT }, false)
    }
    this.deps.recheck(key, fingerprint).then(decide, () => decide('unknown'))
  }

  private settle(isAdmitted: boolean, told: Told, isReplay: boolean): void {
    this.deps.inFlight.settle(this.ticket, isAdmitted, told)
    this.tell(told, isReplay)
  }

  private tell(told: Told, isReplay: boolean): void {
    if (told.kind === 'elsewhere') this.handlers.again()
    else reply(this.request.exchange, told, isReplay)
  }
}

/** Whether the event was admitted before, under whatever key. What only a filter knows is left to the actors. */
export function isKnownEvent(id: Uint8Array, deps: Pick<AdmissionDeps, 'events'>, nowMs: number): boolean {
  hashOfInvocationId(id, eventKey)
  return deps.events.lookup(eventKey, NO_FINGERPRINT, nowMs) === 'same'
}

export function rememberEvent(id: Uint8Array, admittedAtMs: number, deps: Pick<AdmissionDeps, 'events'>): void {
  hashOfInvocationId(id, eventKey)
  deps.events.admit(eventKey, NO_FINGERPRINT, 0, admittedAtMs)
}

/**
 * Puts a checked event on its way to the log.
 *
 * @param text the event's own, if it is still at hand; copied at once
 * @param key that is to be remembered with it; read at once
 * @returns undefined when too much waits already
 */
export function addToGroup(
  { event, id, receivedAtMs, shape }: CheckedEvent,
  text: TextRange | undefined,
  { tenantId, principal }: Caller,
  key: AdmissionKey | undefined,
  deps: AdmissionDeps,
  settler: Settler,
): Group | undefined {
  const partition = partitionOf(deps.idsOf(tenantId), event.trace_id ?? undefined, id, deps.partitions)
  return deps.groups.add(partition, { tenantId, principal, id, receivedAtMs, key }, { event, shape, text }, settler)
}

export const invocationIdOf = (
  { event_id }: InvocationEvent,
  { tenantId }: Caller,
  deps: Pick<AdmissionDeps, 'idsOf'>,
) => invocationIdBytes(deps.idsOf(tenantId), uuidBytes(event_id, eventIdBytes))
const eventIdBytes = new Uint8Array(16)

/** The answer to an accepted event (design section 7). Ids and UUIDs need no escaping. */
const ACCEPTED_BODY = new AcceptedText(
  (invocationId, eventId, duplicate) =>
    `{"invocation_id":"${invocationId}","event_id":"${eventId}","status":"queued","duplicate":${duplicate}}`,
)
const acceptedBody = (event: InvocationEvent, id: Uint8Array, isDuplicate: boolean): string =>
  ACCEPTED_BODY.of(id, event.event_id, isDuplicate).toString('latin1')

const ACCEPTED = '202 Accepted\r\nContent-Type: application/json\r\nCache-Control: no-store'

export function reply(exchange: Exchange, answer: Answer, isReplay: boolean): void {
  if (answer.kind === 'refused') exchange.replyProblem(answer.problem)
  else exchange.reply(isReplay ? `${ACCEPTED}\r\nIdempotency-Replayed: true` : ACCEPTED, answer.body)
}

export const unavailable = (detail: string): Problem => problem('SERVICE_UNAVAILABLE', detail, { retryAfterSeconds: 1 })

export const KEY_CONFLICT = problem('IDEMPOTENCY_CONFLICT', 'Use a new Idempotency-Key for another body.')
export const TOO_MUCH = problem('RATE_LIMITED', 'Too much waits for the log; try again.', { retryAfterSeconds: 1 })
const UNDER_WAY = problem(
  'SERVICE_UNAVAILABLE',
  'A request under this key is still under way; repeat it as it was to learn what became of it.',
  { retryAfterSeconds: 1 },
)
const MALFORMED = problem('MALFORMED_REQUEST', 'The body is not valid JSON in UTF-8.')

export function parseJson(bytes: Buffer): unknown {
  // Most events are ASCII, which needs no decoding.
  const encoding = isAscii(bytes) ? 'latin1' : 'utf8'
  if (encoding === 'utf8' && !isUtf8(bytes)) return undefined
  try {
    return JSON.parse(bytes.toString(encoding)) as unknown
  } catch {
    return undefined
  }
}
