import type { AdmissionIndex } from '../../admission/admission-index.js'
import type { BodyFingerprint } from '../../admission/body-fingerprint.js'
import { hashIdempotencyKey, hashOfInvocationId } from '../../admission/key-hash.js'
import type { Fingerprint, KeyHash } from '../../admission/key-table.js'
import type { Caller } from '../../auth/authenticate.js'
import { invocationIdBytes, type TenantIds, uuidBytes } from '../../ids/ids.js'
import type { SipKey } from '../../ids/siphash.js'
import { parseJson } from '../../intake/parse-json.js'
import type { TextRange } from '../../invocations/entry-bytes.js'
import { type AdmissionKey, WAS_DUPLICATE } from '../../invocations/group.js'
import type { InvocationEvent } from '../../invocations/schema.js'
import { type TextShape, validateInvocation } from '../../invocations/validate.js'
import { type Problem, problem } from '../../problems/catalogue.js'
import type { Exchange } from '../exchange.js'
import { takeFrom } from '../rate-limit.js'
import { AcceptedText } from './accepted-text.js'
import { type Answer, KEY_CONFLICT, reply, TOO_MUCH, unavailable } from './answers.js'
import type { Group, GroupCommit, Settler } from './group-commit.js'
import { bytesOf, type KeyConfirmation } from './key-confirmation.js'
import type { Commit } from './log-writer.js'
import { partitionOf } from './partition.js'
import { type KeyedRequest, proceedInTurn, type Turn, type TurnDeps, type TurnHandlers } from './turn.js'

export interface AdmissionDeps extends TurnDeps {
  /** Idempotency-Keys of the last 24 hours, with the fingerprints of their bodies. */
  readonly keys: AdmissionIndex
  /** Events of the last 7 days. */
  readonly events: AdmissionIndex
  /** Whether `keys` holds what was admitted before this process; until then the read model is asked for each. */
  readonly isLoaded: () => boolean
  readonly fingerprints: BodyFingerprint
  readonly confirmation: KeyConfirmation
  readonly groups: GroupCommit
  readonly partitions: number
  readonly idsOf: (tenantId: string) => TenantIds
  /** Whether a source only discovers traffic and must not send single calls. */
  readonly isDiscoveryOnly: (tenantId: string, ingestionLayer: string) => boolean
  /** The tenant's key for hashing Idempotency-Keys. */
  readonly keyHashingOf: (tenantId: string) => SipKey
  readonly clock: () => number
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
 * @param isAscii where that is known already
 */
export function admitSingle(request: KeyedRequest, bytes: Buffer, deps: AdmissionDeps, isAscii?: boolean): void {
  new SingleEvent(request, parseJson(bytes, isAscii), bytes, deps).admit()
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

  foresee(): void {
    this.deps.keys.touch(this.request.key)
    if (this.checked !== undefined) foreseeEvent(this.checked.id, this.deps)
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

/**
 * Checks an event's value against schema, time and the credential's layers.
 *
 * @param id gets the event's, where it need not be kept
 */
export function check(
  value: unknown,
  caller: Caller,
  deps: Pick<AdmissionDeps, 'idsOf' | 'isDiscoveryOnly'>,
  receivedAtMs: number,
  id?: Uint8Array,
): CheckedEvent | Problem {
  const validation = validateInvocation(value, receivedAtMs)
  if (!validation.ok) {
    return problem('VALIDATION_FAILED', 'The event does not match its schema.', { errors: validation.errors })
  }
  const { event, shape } = validation
  if (!mayIngest(caller, event)) return LAYER_REFUSED
  if (deps.isDiscoveryOnly(caller.tenantId, event.ingestion_layer)) return DISCOVERY_ONLY
  return { event, id: invocationIdOf(event, caller, deps, id), receivedAtMs, shape }
}

export const mayIngest = ({ ingestionLayers }: Caller, { ingestion_layer: layer }: InvocationEvent): boolean =>
  ingestionLayers === undefined || ingestionLayers.has(layer)

export const LAYER_REFUSED = problem('INSUFFICIENT_SCOPE', 'The credential may not ingest events of this layer.', {
  challenge: 'Bearer realm="attribution", error="insufficient_scope"',
})

/** What only discovers traffic is never converted into attribution of single calls (spec 4.4). */
const DISCOVERY_ONLY = problem('VALIDATION_FAILED', 'The event does not match its schema.', {
  errors: [{ pointer: '/ingestion_layer', detail: 'must not be a source that only discovers traffic' }],
})

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
  into?: Uint8Array,
) => invocationIdBytes(deps.idsOf(tenantId), uuidBytes(event_id, eventIdBytes), into)
const eventIdBytes = new Uint8Array(16)

/** The answer to an accepted event (design section 7). Ids and UUIDs need no escaping. */
const ACCEPTED_BODY = new AcceptedText(
  (invocationId, eventId, duplicate) =>
    `{"invocation_id":"${invocationId}","event_id":"${eventId}","status":"queued","duplicate":${duplicate}}`,
)
/** @returns to be read before the next call */
const acceptedBody = (event: InvocationEvent, id: Uint8Array, isDuplicate: boolean): Uint8Array =>
  ACCEPTED_BODY.of(id, event.event_id, isDuplicate)

const MALFORMED = problem('MALFORMED_REQUEST', 'The body is not valid JSON in UTF-8.')
