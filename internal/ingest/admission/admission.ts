import type { Caller } from '../../auth/authenticate.js'
import type { Exchange } from '../../http/exchange.js'
import { takeFrom } from '../../http/rate-limit.js'
import type { KeyHash } from '../../ids/key-hash.js'
import { bytesOf, hashIdempotencyKey, hashOfInvocationId } from '../../ids/key-hash.js'
import type { SipKey } from '../../ids/siphash.js'
import type { TextRange } from '../../invocations/entry-bytes.js'
import { type AdmissionKey, WAS_DUPLICATE } from '../../invocations/group.js'
import { parseJson } from '../../text/parse-json.js'
import type { Group, Settler } from '../commit/group.js'
import type { GroupCommit } from '../commit/group-commit.js'
import type { Commit } from '../commit/log-writer.js'
import type { AdmissionIndex } from '../keys/admission-index.js'
import type { BodyFingerprint } from '../keys/body-fingerprint.js'
import type { Confirmation, KeyConfirmation } from '../keys/key-confirmation.js'
import type { Fingerprint } from '../keys/key-table.js'
import { AcceptedText } from './accepted-text.js'
import { type Answer, KEY_CONFLICT, reply, TOO_MUCH, unavailable } from './answers.js'
import {
  type CheckDeps,
  type CheckedEvent,
  checkEvent,
  type EventIds,
  type EventText,
  identify,
  newEventIds,
} from './check-event.js'
import { type KeyedRequest, type KeyLock, type KeyLockDeps, type KeyLockHandlers, withKeyLock } from './key-lock.js'

export interface AdmissionDeps extends KeyLockDeps, CheckDeps {
  /** Idempotency-Keys of the last 24 hours, with the fingerprints of their bodies. */
  readonly keys: AdmissionIndex
  /** Events of the last 7 days. */
  readonly events: AdmissionIndex
  /** Whether `keys` holds what was admitted before this process; until then the read model is asked for each. */
  readonly isLoaded: () => boolean
  readonly fingerprints: BodyFingerprint
  readonly confirmation: KeyConfirmation
  readonly groups: GroupCommit
  /** The tenant's key for hashing Idempotency-Keys. */
  readonly keyHashingOf: (tenantId: string) => SipKey
  readonly clock: () => number
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
  for (let i = 0; i < carriedHash.length; i++) carriedHash[i] = key[i] as number
  for (let i = 0; i < carriedFingerprint.length; i++) carriedFingerprint[i] = fingerprint[i] as number
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
  { exchange, key, fingerprint }: KeyedRequest,
  deps: AdmissionDeps,
  tell: KeyKnown,
  nowMs = deps.clock(),
): void {
  const verdict = deps.keys.lookup(key, fingerprint, nowMs)
  if (verdict === 'same') return tell.replay(deps.keys.flags)
  if (verdict === 'conflict') return tell.conflict()
  if (verdict === 'new' && deps.isLoaded()) return tell.fresh()
  const decide = (confirmation: Confirmation, admittedAtMs: number, flags: number): void => {
    if (confirmation === 'unknown') {
      // Another request may have brought the key meanwhile.
      const now = deps.keys.lookup(key, fingerprint, deps.clock())
      if (now === 'same') return tell.replay(deps.keys.flags)
      return now === 'conflict' ? tell.conflict() : tell.fresh()
    }
    if (confirmation === 'conflict') return tell.conflict()
    deps.keys.admit(key, fingerprint, flags, admittedAtMs)
    tell.replay(flags)
  }
  deps.confirmation.ask(key, fingerprint, (...confirmed) => {
    try {
      decide(...confirmed)
    } catch (cause) {
      exchange.fail(cause)
    }
  })
}

/**
 * Admits one event that came alone, or says why not.
 *
 * @param bytes read only within this call
 * @param isAscii where that is known already
 * @param isPaid whether it was taken from the caller's budget already
 */
export function admitSingle(
  request: KeyedRequest,
  bytes: Buffer,
  deps: AdmissionDeps,
  isAscii?: boolean,
  isPaid = false,
): void {
  new SingleEvent(request, bytes, deps, isAscii, isPaid).admit()
}

/** One object a request instead of a closure for each thing that may become of it: there are many at once. */
class SingleEvent implements KeyKnown, KeyLockHandlers, Settler, EventText {
  bytes: Buffer
  readonly start = 0
  readonly end: number
  private readonly request: KeyedRequest
  private readonly deps: AdmissionDeps
  private readonly isAscii: boolean | undefined
  private readonly isPaid: boolean
  private readonly receivedAtMs: number
  /** Once it was checked and taken from the budget, which is done once. */
  private checked: CheckedEvent | undefined
  private turn: KeyLock | undefined
  private flags = 0

  constructor(
    request: KeyedRequest,
    bytes: Buffer,
    deps: AdmissionDeps,
    isAscii: boolean | undefined,
    isPaid: boolean,
  ) {
    this.request = request
    this.bytes = bytes
    this.end = bytes.length
    this.deps = deps
    this.isAscii = isAscii
    this.isPaid = isPaid
    this.receivedAtMs = deps.clock()
  }

  admit(): void {
    whenKeyIsKnown(this.request, this.deps, this, this.receivedAtMs)
    // The bytes are only lent: what could not be decided within the call has to read them later.
    const isRead = this.turn !== undefined || this.request.exchange.isSettled
    this.bytes = isRead ? NO_BYTES : Buffer.from(this.bytes)
  }

  value(): unknown {
    return parseJson(this.bytes, this.isAscii)
  }

  conflict(): void {
    this.request.exchange.replyProblem(KEY_CONFLICT)
  }

  replay(flags: number): void {
    const { request, deps } = this
    const ids = newEventIds()
    // What the first request was told is not for everybody who has its bytes.
    const refused = identify(this, request.caller, deps, this.receivedAtMs, ids)
    if (refused !== undefined) return request.exchange.replyProblem(refused)
    reply(request.exchange, accepted(ids, flags), true)
  }

  fresh(): void {
    const { request, deps } = this
    const { exchange, caller } = request
    if (this.checked === undefined) {
      const limited = this.isPaid ? undefined : takeFrom(caller.budgets.ingest, 1, this.receivedAtMs)
      if (limited !== undefined) return exchange.replyProblem(limited)
      const checked = checkEvent(this, caller, deps, this.receivedAtMs, newEventIds())
      if ('code' in checked) return exchange.replyProblem(checked)
      this.checked = checked
    }
    withKeyLock(request, deps, this)
  }

  proceed(turn: KeyLock): void {
    const { request, checked, deps } = this
    if (checked === undefined) throw new Error('an event proceeds that was not checked')
    this.turn = turn
    // An event that is known goes to the log too, for its key: actors drop it, and the key is remembered.
    this.flags = isKnownEvent(checked.ids.id, deps, checked.receivedAtMs) ? WAS_DUPLICATE : 0
    const group = addToGroup(checked, this, request.caller, carried(request, this.flags), deps, this)
    this.bytes = NO_BYTES
    if (group === undefined) turn.finish({ kind: 'refused', problem: TOO_MUCH }, 0)
  }

  foresee(): void {
    this.deps.keys.touch(this.request.key)
    if (this.checked !== undefined) foreseeEvent(this.checked.ids.id, this.deps)
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
      rememberEvent(checked.ids.id, now, deps)
      turn.finish(accepted(checked.ids, flags), flags)
    } catch (cause) {
      // The other events of the group have their answers to come.
      request.exchange.fail(cause)
    }
  }

  /** The original answer, made again from the same bytes. */
  answerAgain(flags: number): Answer {
    if (this.checked === undefined) throw new Error('an event is answered again that was not checked')
    return accepted(this.checked.ids, flags)
  }

  again(): void {
    whenKeyIsKnown(this.request, this.deps, this)
  }
}

const NO_BYTES = Buffer.alloc(0)

/** Whether the event was admitted before, under whatever key. What only a filter knows is left to the actors. */
export function isKnownEvent(id: Uint8Array, deps: Pick<AdmissionDeps, 'events'>, nowMs: number): boolean {
  hashOfInvocationId(id, eventKey)
  return deps.events.lookup(eventKey, NO_FINGERPRINT, nowMs) === 'same'
}

export function rememberEvent(id: Uint8Array, admittedAtMs: number, deps: Pick<AdmissionDeps, 'events'>): void {
  hashOfInvocationId(id, eventKey)
  deps.events.admit(eventKey, NO_FINGERPRINT, 0, admittedAtMs)
}

/** Before many of `rememberEvent`. */
export function foreseeEvent(id: Uint8Array, deps: Pick<AdmissionDeps, 'events'>): void {
  hashOfInvocationId(id, eventKey)
  deps.events.touch(eventKey)
}

/**
 * Puts a checked event on its way to the log.
 *
 * @param text the event's own; copied at once
 * @param key that is to be remembered with it; read at once
 * @returns undefined when too much waits already
 */
export function addToGroup(
  { ids, partition, receivedAtMs, parsed }: CheckedEvent,
  text: TextRange,
  { tenantId, principal }: Caller,
  key: AdmissionKey | undefined,
  deps: Pick<AdmissionDeps, 'groups'>,
  settler: Settler,
): Group | undefined {
  return deps.groups.add(partition, { tenantId, principal, id: ids.id, receivedAtMs, key }, text, parsed, settler)
}

/** The answer to an accepted event (design section 7). Ids and UUIDs need no escaping. */
const ACCEPTED_BODY = new AcceptedText(
  (invocationId, eventId, duplicate) =>
    `{"invocation_id":"${invocationId}","event_id":"${eventId}","status":"queued","duplicate":${duplicate}}`,
)
/** @returns to be read before the next call */
const accepted = (ids: EventIds, flags: number): Answer => ({
  kind: 'accepted',
  body: ACCEPTED_BODY.of(ids, (flags & WAS_DUPLICATE) !== 0),
})
