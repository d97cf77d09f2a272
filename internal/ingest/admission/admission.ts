import type { Caller } from '../../auth/authenticate.js'
import type { Exchange } from '../../http/exchange.js'
import { takeFrom } from '../../http/rate-limit.js'
import type { KeyHash } from '../../ids/key-hash.js'
import { bytesOf, hashIdempotencyKey } from '../../ids/key-hash.js'
import type { SipKey } from '../../ids/siphash.js'
import type { TextRange } from '../../invocations/entry-bytes.js'
import { type Admission, type AdmissionKey, WAS_DUPLICATE } from '../../invocations/invocation-group.js'
import type { Fingerprint } from '../../repeats/key-table.js'
import type { Logger } from '../../telemetry/log.js'
import { parseJson } from '../../text/parse-json.js'
import type { Group, Settler } from '../commit/commit-group.js'
import { EVENT_COUNTS } from '../commit/event-counts.js'
import type { GroupCommit } from '../commit/group-commit.js'
import type { Commit } from '../commit/log-writer.js'
import type { BodyFingerprint } from '../keys/body-fingerprint.js'
import type { Confirmation, KeyConfirmation } from '../keys/key-confirmation.js'
import type { MissingKeys } from '../keys/missing-keys.js'
import type { OwnCalls } from '../keys/own-calls.js'
import type { RecentEvents } from '../keys/recent-events.js'
import type { OnReceived } from '../received/pending-counts.js'
import { reasonOf } from '../received/tally.js'
import { AcceptedText } from './accepted-text.js'
import { type Answer, KEY_CONFLICT, reply, TOO_MUCH, unavailable } from './answers.js'
import {
  type CheckDeps,
  type CheckedEvent,
  checkEvent,
  type EventIds,
  type EventText,
  identify,
  MALFORMED,
  newEventIds,
} from './check-event.js'
import { type KeyedRequest, type KeyLock, type KeyLockDeps, withKeyLock } from './key-lock.js'
import type { Lane } from './lane.js'
import type { TenantShares } from './tenant-shares.js'

export interface AdmissionDeps extends KeyLockDeps, CheckDeps {
  readonly missingKeys: Pick<MissingKeys, 'arePossible'>
  readonly recentEvents: RecentEvents
  readonly ownCalls: OwnCalls
  /** Called with a key that another gateway admitted with another body at the same time. */
  readonly onKeyConflict: (key: KeyHash) => void
  readonly fingerprints: BodyFingerprint
  readonly confirmation: KeyConfirmation
  readonly groups: GroupCommit
  readonly tenantShares: Pick<TenantShares, 'count' | 'refusal'>
  readonly lane: Pick<Lane, 'partitionFor' | 'count'>
  /** The tenant's key for hashing Idempotency-Keys. */
  readonly keyHashingOf: (tenantId: string) => SipKey
  readonly received: OnReceived
  readonly log: Pick<Logger, 'warn'>
}

/** Number of the route in the hash of its keys: keys live per (tenant, route, key). */
const ROUTE = 0
/** Flag of a key's answer in the index, besides `WAS_DUPLICATE`. */
export const WAS_BULK = 2

/** The key of the entry that is being encoded, which reads it at once: a new view per request costs a microsecond. */
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

/** Handlers for the result of a key lookup; one of them is called, once. */
export interface KeyKnown {
  fresh(): void
  /** @param flags the index's */
  replay(flags: number): void
  conflict(): void
}

/** Looks a request's key up; reports at once or, where the read model must be queried, later. */
export function whenKeyIsKnown(
  { exchange, key, fingerprint }: KeyedRequest,
  deps: AdmissionDeps,
  on: KeyKnown,
  nowMs = deps.clock(),
): void {
  const verdict = deps.keys.lookup(key, fingerprint, nowMs)
  if (verdict === 'same') return on.replay(deps.keys.flags)
  if (verdict === 'conflict') return on.conflict()
  if (verdict === 'new' && !deps.missingKeys.arePossible(nowMs)) return on.fresh()
  const decide = (confirmation: Confirmation, admittedAtMs: number, flags: number, recorded: Fingerprint): void => {
    if (confirmation === 'unknown') {
      // Another request with the key may have been admitted meanwhile.
      const now = deps.keys.lookup(key, fingerprint, deps.clock())
      if (now === 'same') return on.replay(deps.keys.flags)
      return now === 'conflict' ? on.conflict() : on.fresh()
    }
    deps.keys.admit(key, recorded, flags, admittedAtMs)
    if (confirmation === 'conflict') return on.conflict()
    on.replay(flags)
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
 * Adds the key of a request that the log has.
 *
 * @param id of its call, or of the first one
 * @param flags for the index
 */
export function admitKey(
  { key, fingerprint, caller }: KeyedRequest,
  id: Uint8Array,
  flags: number,
  nowMs: number,
  { keys, ownCalls, onKeyConflict }: Pick<AdmissionDeps, 'keys' | 'ownCalls' | 'onKeyConflict'>,
): void {
  ownCalls.add(key, caller.tenantId, id)
  if (keys.admit(key, fingerprint, flags, nowMs)) return
  // Another gateway's was read from KEYS meanwhile.
  if (keys.lookup(key, fingerprint, nowMs) === 'conflict') onKeyConflict(key)
}

/**
 * Takes over the body of a request that is no single event, if it holds several.
 *
 * @param bytes read only within this call
 * @param isPaid whether the caller's budget was already charged
 * @returns whether it has
 */
export type AdmitSeveral<Deps> = (request: KeyedRequest, bytes: Buffer, isPaid: boolean, deps: Deps) => boolean

/**
 * Admits one event sent on its own, or refuses it with a problem.
 *
 * @param bytes read only within this call
 * @param isAscii if already known
 * @param isPaid whether the caller's budget was already charged
 * @param orSeveral asked before a body is refused that is no JSON value
 */
export function admitSingle<Deps extends AdmissionDeps>(
  request: KeyedRequest,
  bytes: Buffer,
  deps: Deps,
  isAscii?: boolean,
  isPaid = false,
  orSeveral?: AdmitSeveral<Deps>,
): void {
  new SingleEvent(request, bytes, deps, isAscii, isPaid, orSeveral).admit()
}

/** One object per request instead of one closure per outcome: many requests are in flight at once. */
class SingleEvent<Deps extends AdmissionDeps> implements KeyKnown, Settler, EventText {
  bytes: Buffer
  readonly start = 0
  readonly end: number
  private readonly request: KeyedRequest
  private readonly deps: Deps
  private readonly isAscii: boolean | undefined
  private readonly isPaid: boolean
  private readonly orSeveral: AdmitSeveral<Deps> | undefined
  private readonly receivedAtMs: number
  /** Set once the event is checked and the budget charged, which happens once. */
  private checked: CheckedEvent | undefined
  private turn: KeyLock | undefined
  private flags = 0

  constructor(
    request: KeyedRequest,
    bytes: Buffer,
    deps: Deps,
    isAscii: boolean | undefined,
    isPaid: boolean,
    orSeveral: AdmitSeveral<Deps> | undefined,
  ) {
    this.request = request
    this.bytes = bytes
    this.end = bytes.length
    this.deps = deps
    this.isAscii = isAscii
    this.isPaid = isPaid
    this.orSeveral = orSeveral
    this.receivedAtMs = deps.clock()
  }

  admit(): void {
    whenKeyIsKnown(this.request, this.deps, this, this.receivedAtMs)
    // The bytes are only lent for this call: copy them if the decision comes later.
    if (this.bytes === NO_BYTES) return
    this.bytes = this.request.exchange.isSettled ? NO_BYTES : Buffer.from(this.bytes)
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
    // The first request's answer must not be shown to everybody who has its bytes.
    const refused = identify(this, request.caller, deps, this.receivedAtMs, ids)
    if (refused === KEY_CONFLICT && this.orSeveral?.(request, this.bytes, false, deps) === true) return
    if (refused !== undefined) return request.exchange.replyProblem(refused)
    deps.received.ofApi(request.caller).accept(true, this.receivedAtMs)
    reply(request.exchange, accepted(ids, flags), true)
  }

  fresh(): void {
    const { request, deps } = this
    const { exchange, caller } = request
    if (this.checked === undefined) {
      // As of now: while this waited, others may have used what the budget has gained since its arrival.
      const limited = this.isPaid ? undefined : takeFrom(caller.budgets.ingest, 1, deps.clock())
      const refused = limited ?? deps.tenantShares.refusal(caller.tenantId)
      if (refused !== undefined) return exchange.replyProblem(refused)
      const checked = checkEvent(this, caller, deps, this.receivedAtMs, newEventIds())
      if ('code' in checked) {
        if (checked === MALFORMED && this.orSeveral?.(request, this.bytes, true, deps) === true) return
        EVENT_COUNTS.rejected++
        deps.received.ofApi(caller).reject(reasonOf(checked), this.receivedAtMs)
        return exchange.replyProblem(checked)
      }
      this.checked = checked
    }
    withKeyLock(request, deps, (turn) => this.send(turn))
  }

  private send(turn: KeyLock): void {
    const { request, checked, deps } = this
    if (checked === undefined) throw new Error('an unchecked event is sent')
    this.turn = turn
    // A known event also goes to the log, for its key: stage A drops the event, and the key is recorded.
    this.flags = deps.recentEvents.has(checked.ids.id, this.receivedAtMs) ? WAS_DUPLICATE : 0
    const group = addToGroup(checked, this, senderOf(request), carried(request, this.flags), deps, this)
    this.bytes = NO_BYTES
    if (group === undefined) turn.finish({ kind: 'refused', problem: TOO_MUCH })
  }

  foresee(): void {
    this.deps.keys.touch(this.request.key)
  }

  settled(commit: Commit): void {
    const { request, checked, turn, flags, deps } = this
    if (checked === undefined || turn === undefined) return
    try {
      if (commit.kind === 'unavailable') {
        EVENT_COUNTS.unavailable++
        return turn.finish({ kind: 'refused', problem: unavailable(commit.detail) })
      }
      // Persisted first, then marked: a mark before the write would lose the retry of a write that failed.
      const now = deps.clock()
      admitKey(request, checked.ids.id, flags, now, deps)
      deps.recentEvents.add(checked.ids.id, now)
      EVENT_COUNTS[isDuplicate(flags) ? 'duplicate' : 'accepted']++
      deps.received.ofApi(request.caller).accept(isDuplicate(flags), now)
      turn.finish(accepted(checked.ids, flags))
    } catch (cause) {
      // The other events of the group still need their answers.
      request.exchange.fail(cause)
    }
  }
}

const NO_BYTES = Buffer.alloc(0)

/** Who sends an event, and through which intake; none: the API. */
export interface EventSender extends Caller {
  readonly intake?: string
  /** Of the request, if it is sampled. */
  readonly traceparent?: string | undefined
}

export function senderOf({ exchange, caller }: Pick<KeyedRequest, 'exchange' | 'caller'>): EventSender {
  const { traceparent } = exchange
  return traceparent === undefined ? caller : { ...caller, traceparent }
}

/**
 * Puts a checked event on its way to the log.
 *
 * @param text the event's own; copied at once
 * @param key recorded with the event; read at once
 * @returns undefined when too many events are waiting
 */
export function addToGroup(
  { ids, partition, receivedAtMs, parsed }: CheckedEvent,
  text: TextRange,
  { tenantId, principal, trustsCost, isGateway, intake, traceparent }: EventSender,
  key: AdmissionKey | undefined,
  deps: Pick<AdmissionDeps, 'groups' | 'tenantShares' | 'lane'>,
  settler: Settler,
): Group | undefined {
  deps.tenantShares.count(tenantId, text.end - text.start)
  deps.lane.count(tenantId, text.end - text.start)
  const admission: Admission = {
    tenantId,
    principal,
    ...(trustsCost === false && { isCostUntrusted: true }),
    ...(isGateway === true && { isFromGateway: true }),
    intake,
    id: ids.id,
    receivedAtMs,
    traceparent,
    key,
  }
  return deps.groups.add(partition, admission, text, parsed, settler)
}

/** The answer to an accepted event. Ids and UUIDs need no escaping. */
const ACCEPTED_BODY = new AcceptedText(
  (invocationId, eventId, duplicate) =>
    `{"invocation_id":"${invocationId}","event_id":"${eventId}","status":"queued","duplicate":${duplicate}}`,
)
/** @returns valid until the next call */
const accepted = (ids: EventIds, flags: number): Answer => ({
  kind: 'accepted',
  body: ACCEPTED_BODY.of(ids, isDuplicate(flags)),
})

const isDuplicate = (flags: number): boolean => (flags & WAS_DUPLICATE) !== 0
