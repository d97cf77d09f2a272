import { isUtf8 } from 'node:buffer'
import type { AdmissionIndex } from '../../admission/admission-index.js'
import type { BodyFingerprint } from '../../admission/body-fingerprint.js'
import { FULL, type InFlight, type Ticket, WAITS } from '../../admission/in-flight.js'
import { hashIdempotencyKey, hashOfInvocationId } from '../../admission/key-hash.js'
import type { Fingerprint, KeyHash } from '../../admission/key-table.js'
import type { Caller } from '../../auth/authenticate.js'
import { formatId, invocationIdBytes, type TenantIds, uuidBytes } from '../../ids/ids.js'
import type { SipKey } from '../../ids/siphash.js'
import { type AdmissionKey, encodeEntry } from '../../invocations/group.js'
import type { InvocationEvent } from '../../invocations/schema.js'
import { validateInvocation } from '../../invocations/validate.js'
import { type Problem, problem } from '../../problems/catalogue.js'
import type { Exchange } from '../exchange.js'
import { takeFrom } from '../rate-limit.js'
import type { GroupCommit } from './group-commit.js'
import { bytesOf, type Confirmation, type KeyConfirmation } from './key-confirmation.js'
import { partitionOf } from './partition.js'
import type { Peers, PeerTicket } from './peers.js'

/** What a request is answered with; a repeat of it is answered with the same. */
export type Answer =
  | { readonly kind: 'accepted'; readonly body: string }
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
}

/** Number of the route in the hash of its keys: keys live per (tenant, route, key). */
const ROUTE = 0
/** What the index remembers of a key's answer. */
export const WAS_DUPLICATE = 1
export const WAS_BULK = 2

const NO_FINGERPRINT: Fingerprint = new Int32Array(2)
const eventKey: KeyHash = new Int32Array(4)

/** The key of the entry that is being encoded, which reads it at once: a fresh view a request costs a microsecond. */
const carriedHash = new Int32Array(4)
const carriedFingerprint = new Int32Array(2)
const CARRIED: AdmissionKey = { hash: bytesOf(carriedHash), fingerprint: bytesOf(carriedFingerprint) }

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

/**
 * What is known of a request's key. Calls back at once or, where only the read model knows, later.
 *
 * @param known `replay` with the index's flags, or undefined when the read model remembers them no longer
 */
export function whenKeyIsKnown(
  { key, fingerprint }: KeyedRequest,
  deps: AdmissionDeps,
  tell: {
    readonly fresh: () => void
    readonly replay: (flags: number | undefined) => void
    readonly conflict: () => void
  },
): void {
  const verdict = deps.keys.lookup(key, fingerprint, deps.clock())
  if (verdict === 'same') return tell.replay(deps.keys.flags)
  if (verdict === 'conflict') return tell.conflict()
  if (verdict === 'new' && deps.isLoaded()) return tell.fresh()
  deps.confirmation.ask(key, fingerprint, (confirmation, admittedAtMs) => {
    if (confirmation === 'unknown') {
      // Another request may have brought the key meanwhile.
      const now = deps.keys.lookup(key, fingerprint, deps.clock())
      if (now === 'same') return tell.replay(deps.keys.flags)
      return now === 'conflict' ? tell.conflict() : tell.fresh()
    }
    if (confirmation === 'conflict') return tell.conflict()
    deps.keys.admit(key, fingerprint, 0, admittedAtMs)
    tell.replay(undefined)
  })
}

/** Admits one event that came alone, or says why not. */
export function admitSingle(request: KeyedRequest, bytes: Buffer, deps: AdmissionDeps): void {
  const { exchange, caller } = request
  const value = parseJson(bytes)
  const begin = (checked: CheckedEvent): void =>
    proceedInTurn(request, deps, {
      proceed: (turn) => commitSingle(request, checked, turn, deps),
      answerAgain: (flags) => answerAgain(request, value, flags, deps),
      // What was checked and taken from the budget stays so.
      again: () => lookUp(() => begin(checked)),
    })
  const lookUp = (fresh: () => void): void =>
    whenKeyIsKnown(request, deps, {
      conflict: () => exchange.replyProblem(KEY_CONFLICT),
      replay: (flags) => reply(exchange, answerAgain(request, value, flags, deps), true),
      fresh,
    })

  lookUp(() => {
    if (value === undefined) return exchange.replyProblem(MALFORMED)
    const checked = check(value, caller, deps)
    if ('code' in checked) return exchange.replyProblem(checked)
    const limited = takeFrom(caller.budgets.ingest, 1, checked.receivedAtMs)
    if (limited !== undefined) return exchange.replyProblem(limited)
    begin(checked)
  })
}

/** Checks an event's value against schema, time and the credential's layers. */
export function check(
  value: unknown,
  caller: Caller,
  deps: Pick<AdmissionDeps, 'idsOf' | 'clock'>,
  receivedAtMs = deps.clock(),
): CheckedEvent | Problem {
  const validation = validateInvocation(value, receivedAtMs)
  if (!validation.ok) {
    return problem('VALIDATION_FAILED', 'The event does not match its schema.', { errors: validation.errors })
  }
  const { event } = validation
  if (caller.ingestionLayers !== undefined && !caller.ingestionLayers.has(event.ingestion_layer)) {
    return problem('INSUFFICIENT_SCOPE', 'The credential may not ingest events of this layer.')
  }
  const id = invocationIdBytes(deps.idsOf(caller.tenantId), uuidBytes(event.event_id))
  return { event, id, receivedAtMs }
}

/** A request's turn under its key: to be finished once, whatever becomes of it. */
export interface Turn {
  /** Tells the waiting ones, and the key's owner, and answers. @param flags kept beside the key by its owner */
  finish(answer: Answer, flags: number): void
}

export interface TurnHandlers {
  readonly proceed: (turn: Turn) => void
  /** The answer to a request that a peer has admitted already; `elsewhere` when it has to be looked up. */
  readonly answerAgain: (flags: number) => Told
  /** Look again: a peer has decided on the key. */
  readonly again: () => void
}

/**
 * Lets the first request of a key go on, among all gateways; a later one waits for what becomes of it, and is told
 * the same. An owner that does not answer is decided for: the event's own id still leaves one record.
 */
export function proceedInTurn(request: KeyedRequest, deps: AdmissionDeps, handlers: TurnHandlers): void {
  const { exchange, key, fingerprint } = request
  const { inFlight, peers } = deps
  const tell = (told: Told, isReplay: boolean): void =>
    told.kind === 'elsewhere' ? handlers.again() : reply(exchange, told, isReplay)
  const settle = (ticket: Ticket, isAdmitted: boolean, told: Told, isReplay: boolean): void => {
    inFlight.settle(ticket, isAdmitted, told)
    tell(told, isReplay)
  }
  const proceed = (ticket: Ticket, peer: PeerTicket | undefined): void =>
    handlers.proceed({
      finish(answer, flags) {
        const isAdmitted = answer.kind === 'accepted'
        settle(ticket, isAdmitted, answer, false)
        if (peer !== undefined) peers.settled(peer, isAdmitted, flags)
      },
    })
  /** The owner is silent: what it has admitted is in the log or the read model. */
  const decideFor = (peer: PeerTicket, ticket: Ticket): void => {
    const decide = (found: Confirmation): void => {
      if (found === 'unknown') return proceed(ticket, peer)
      peers.settled(peer, found === 'same', 0)
      if (found === 'same') settle(ticket, true, handlers.answerAgain(0), true)
      else settle(ticket, false, { kind: 'refused', problem: KEY_CONFLICT }, false)
    }
    deps.recheck(key, fingerprint).then(decide, () => decide('unknown'))
  }
  const ask = (ticket: Ticket): void => {
    const owner = peers.ownerOf(key)
    if (owner === undefined) return proceed(ticket, undefined)
    peers.claim(owner, key, fingerprint, (verdict) => {
      switch (verdict.kind) {
        case 'proceed':
          return proceed(ticket, verdict.ticket)
        case 'same':
          return settle(ticket, true, handlers.answerAgain(verdict.flags), true)
        case 'conflict':
          return settle(ticket, false, { kind: 'refused', problem: KEY_CONFLICT }, false)
        case 'unanswered':
          if (verdict.isUnderWay) {
            peers.settled(verdict.ticket, false, 0)
            return settle(ticket, false, { kind: 'refused', problem: UNDER_WAY }, false)
          }
          return decideFor(verdict.ticket, ticket)
      }
    })
  }
  const ticket = inFlight.begin(key, fingerprint, (outcome) => {
    switch (outcome.kind) {
      case 'replay':
        return tell(outcome.answer, true)
      case 'refused':
        return tell(outcome.answer, false)
      case 'conflict':
        return exchange.replyProblem(KEY_CONFLICT)
      case 'proceed':
        return ask(outcome.ticket)
    }
  })
  if (ticket === FULL) return exchange.replyProblem(TOO_MUCH)
  if (ticket !== WAITS) ask(ticket)
}

/** Whether the event was admitted before, under whatever key. What only a filter knows is left to the actors. */
export function isKnownEvent(id: Uint8Array, deps: AdmissionDeps): boolean {
  hashOfInvocationId(id, eventKey)
  return deps.events.lookup(eventKey, NO_FINGERPRINT, deps.clock()) === 'same'
}

export function rememberEvent(id: Uint8Array, admittedAtMs: number, deps: Pick<AdmissionDeps, 'events'>): void {
  hashOfInvocationId(id, eventKey)
  deps.events.admit(eventKey, NO_FINGERPRINT, 0, admittedAtMs)
}

/** Puts a checked event on its way to the log. @returns false when too much waits already */
export function addToGroup(
  { event, id, receivedAtMs }: CheckedEvent,
  { caller, key, fingerprint }: Pick<KeyedRequest, 'caller'> & Partial<KeyedRequest>,
  deps: AdmissionDeps,
  settle: Parameters<GroupCommit['add']>[2],
): boolean {
  const { tenantId, principal } = caller
  let carried: AdmissionKey | undefined
  if (key !== undefined && fingerprint !== undefined) {
    carriedHash.set(key)
    carriedFingerprint.set(fingerprint)
    carried = CARRIED
  }
  const entry = encodeEntry({ tenantId, principal, id, receivedAtMs, key: carried }, event)
  const partition = partitionOf(deps.idsOf(tenantId), event.trace_id ?? undefined, id, deps.partitions)
  return deps.groups.add(partition, entry, settle)
}

function commitSingle(request: KeyedRequest, checked: CheckedEvent, turn: Turn, deps: AdmissionDeps): void {
  const { key, fingerprint } = request
  const { event, id } = checked
  if (isKnownEvent(id, deps)) {
    deps.keys.admit(key, fingerprint, WAS_DUPLICATE, deps.clock())
    return turn.finish({ kind: 'accepted', body: acceptedBody(event, id, true) }, WAS_DUPLICATE)
  }
  const isTaken = addToGroup(checked, request, deps, (commit) => {
    if (commit.kind === 'unavailable') {
      return turn.finish({ kind: 'refused', problem: unavailable(commit.detail) }, 0)
    }
    // Persisted first, then marked: a mark before the write would lose the retry of a write that failed.
    const now = deps.clock()
    deps.keys.admit(key, fingerprint, 0, now)
    rememberEvent(id, now, deps)
    turn.finish({ kind: 'accepted', body: acceptedBody(event, id, false) }, 0)
  })
  if (!isTaken) turn.finish({ kind: 'refused', problem: TOO_MUCH }, 0)
}

/** The original answer, made again from the same bytes. */
function answerAgain(request: KeyedRequest, value: unknown, flags: number | undefined, deps: AdmissionDeps): Answer {
  const event = value as InvocationEvent
  const id = invocationIdBytes(deps.idsOf(request.caller.tenantId), uuidBytes(event.event_id))
  const wasDuplicate = flags !== undefined && (flags & WAS_DUPLICATE) !== 0
  return { kind: 'accepted', body: acceptedBody(event, id, wasDuplicate) }
}

/** The answer to an accepted event (design section 7). Ids and UUIDs need no escaping. */
const acceptedBody = (event: InvocationEvent, id: Uint8Array, isDuplicate: boolean): string =>
  `{"invocation_id":"${formatId('inv', id)}","event_id":"${event.event_id.toLowerCase()}","status":"queued","duplicate":${isDuplicate}}`

const ACCEPTED = '202 Accepted\r\nContent-Type: application/json\r\nCache-Control: no-store'

export function reply(exchange: Exchange, answer: Answer, isReplay: boolean): void {
  if (answer.kind === 'refused') exchange.replyProblem(answer.problem)
  else exchange.reply(isReplay ? `${ACCEPTED}\r\nIdempotency-Replayed: true` : ACCEPTED, answer.body)
}

export const unavailable = (detail: string): Problem => problem('SERVICE_UNAVAILABLE', detail, { retryAfterSeconds: 1 })

export const KEY_CONFLICT = problem('IDEMPOTENCY_CONFLICT', 'Use a new Idempotency-Key for another body.')
export const TOO_MUCH = problem('RATE_LIMITED', 'Too much waits for the log; try again.', { retryAfterSeconds: 1 })
const UNDER_WAY = problem('SERVICE_UNAVAILABLE', 'Another request under this key is still under way.', {
  retryAfterSeconds: 1,
})
const MALFORMED = problem('MALFORMED_REQUEST', 'The body is not valid JSON in UTF-8.')

export function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) return undefined
  try {
    return JSON.parse(bytes.toString('utf8')) as unknown
  } catch {
    return undefined
  }
}
