import type { Caller } from '../../auth/authenticate.js'
import { takeFrom, takeOrOwe } from '../../http/rate-limit.js'
import { hexOf } from '../../ids/key-hash.js'
import { WAS_DUPLICATE } from '../../invocations/invocation-group.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import { ownTurn } from '../../process/own-turn.js'
import {
  type AdmissionDeps,
  admitKey,
  admitSingle,
  carried,
  senderOf,
  WAS_BULK,
  whenKeyIsKnown,
} from '../admission/admission.js'
import { type Answer, KEY_CONFLICT, KEY_REQUIRED, reply, unavailable } from '../admission/answers.js'
import { checkEvent, identify, LAYER_REFUSED, newEventIds } from '../admission/check-event.js'
import { type KeyedRequest, withKeyLock } from '../admission/key-lock.js'
import { noRoomFor } from '../admission/room.js'
import type { KeptRecords } from '../keys/kept-records.js'
import { UNNAMED_SENDER } from '../received/sender.js'
import { reasonOf, Tally } from '../received/tally.js'
import { admitEach, SLICE } from './admit-each.js'
import {
  type BulkBody,
  type BulkItems,
  holdsLines,
  linesIn,
  openBulkBody,
  type SentBody,
  type ShippedRows,
} from './bulk-body.js'
import { type BulkOutcome, type BulkRecord, decodeOutcomes, encodeOutcomes } from './bulk-outcomes.js'
import { BulkResults } from './bulk-results.js'

export type BulkDeps = AdmissionDeps & KeptRecords<BulkRecord>

/** Without an Idempotency-Key a repeat is recognised by the ids of its events alone. */
type UnkeyedRequest = Pick<KeyedRequest, 'exchange' | 'caller'> & { readonly key?: undefined }
export type BulkRequest = KeyedRequest | UnkeyedRequest

/**
 * Admits a bulk request: each event by itself, all under its Idempotency-Key, if it has one. 202 when the log holds
 * every event that was not rejected, with one result per event; 422 when none is accepted, 503 when the log did not
 * store all: a repeat recognises the stored events by their event_id.
 *
 * The caller's budget is charged for one event before the body is read, whatever the outcome: a small body may be
 * costly to open. The other events are charged once they are counted, and only if the request is not a replay.
 *
 * @param isPaid whether the first event is charged already
 */
export async function admitBulk(request: BulkRequest, sent: SentBody, deps: BulkDeps, isPaid = false): Promise<void> {
  const { exchange, caller } = request
  const exhausted = isPaid ? undefined : takeFrom(caller.budgets.ingest, 1, deps.clock())
  if (exhausted !== undefined) return exchange.replyProblem(exhausted)
  const body = await openBulkBody(sent, exchange)
  if (exchange.isSettled) return
  if (request.key === undefined) return admitUnkeyed(request, body, sent.shippedRows, deps)
  if (body.kind === 'refused') return refuseUnlessUsed(body.problem, request, deps)
  if (body.kind === 'event') return admitSingle(request, body.bytes, deps, undefined, true)
  return admitKeyed(request, body.items, deps)
}

async function admitUnkeyed(
  request: UnkeyedRequest,
  opened: BulkBody,
  shippedRows: ShippedRows,
  deps: BulkDeps,
): Promise<void> {
  const { exchange, caller } = request
  const body = opened.kind === 'event' && holdsLines(opened.bytes) ? await linesIn(opened.bytes, shippedRows) : opened
  if (body.kind !== 'bulk') {
    const problem = body.kind === 'event' ? KEY_REQUIRED : body.problem
    deps.received.refused(caller, '', problem.code, deps.clock())
    return exchange.replyProblem(problem)
  }
  const limited = chargeRest(caller, body.items.count, deps)
  if (limited !== undefined) return exchange.replyProblem(limited)
  const { answer } = await admitItems(request, body.items, deps)
  reply(exchange, answer, false)
}

/** Charges all events but the first, which was paid before the body was opened. Shippers cannot split what they send. */
function chargeRest({ budgets: { ingest }, tenantId }: Caller, count: number, deps: BulkDeps): Problem | undefined {
  const refused = noRoomFor(count, tenantId, deps)
  if (refused !== undefined) return refused
  const limited = takeOrOwe(ingest, count - 1, deps.clock())
  return limited && { ...limited, detail: `None of the ${count} events is accepted; send them again later.` }
}

async function admitKeyed(request: KeyedRequest, items: BulkItems, deps: BulkDeps): Promise<void> {
  const { exchange, caller, key, fingerprint } = request
  const [keyHex, fingerprintHex] = [hexOf(key), hexOf(fingerprint)]

  /** Looks for the record of the key, which is its durable memory; the index may be younger. */
  const lookUp = async (fresh: () => void): Promise<void> => {
    const record = await deps.findRecord(keyHex)
    if (record === undefined) {
      return whenKeyIsKnown(request, deps, {
        conflict: () => exchange.replyProblem(KEY_CONFLICT),
        // Admitted, but its record is lost or not written yet: admitting it again recognises every event by its id.
        replay: fresh,
        fresh,
      })
    }
    if (record.fingerprint !== fingerprintHex) return exchange.replyProblem(KEY_CONFLICT)
    reply(exchange, await answerAgain(request, items, record, deps), true)
  }

  const begin = (): void =>
    withKeyLock(request, deps, (turn) => {
      fail(
        admitItems(request, items, deps)
          .then(async ({ answer, firstId, record }) => {
            if (firstId !== undefined && record !== undefined) {
              admitKey(request, firstId, WAS_BULK, record.receivedAtMs, deps)
              await deps.keepRecord(keyHex, { ...record, fingerprint: fingerprintHex })
            }
            return answer
          })
          .catch((cause: unknown): Answer => {
            exchange.fail(cause)
            return { kind: 'refused', problem: unavailable('The request could not be finished.') }
          })
          .then((answer) => turn.finish(answer)),
      )
    })
  const fail = (work: Promise<void>): void => void work.catch((cause: unknown) => exchange.fail(cause))

  await lookUp(() => {
    const limited = chargeRest(caller, items.count, deps)
    if (limited !== undefined) return exchange.replyProblem(limited)
    begin()
  })
}

/**
 * Refuses a body that was not opened, unless its key was used with another one, which comes before. A
 * request accepted under this key but refused now, for lack of memory or by current rules, can be repeated.
 */
async function refuseUnlessUsed(what: Problem, request: KeyedRequest, deps: BulkDeps): Promise<void> {
  const { exchange, caller, key, fingerprint } = request
  const refuse = (): void => {
    deps.received.refused(caller, '', what.code, deps.clock())
    exchange.replyProblem(what)
  }
  const conflict = (): void => exchange.replyProblem(KEY_CONFLICT)
  const record = await deps.findRecord(hexOf(key))
  if (record === undefined) return whenKeyIsKnown(request, deps, { conflict, replay: refuse, fresh: refuse })
  if (record.fingerprint === hexOf(fingerprint)) refuse()
  else conflict()
}

interface Admitted {
  readonly answer: Answer
  /** Of the calls under the key the first one stands for all. */
  readonly firstId?: Uint8Array | undefined
  readonly record?: Omit<BulkRecord, 'fingerprint'>
}

async function admitItems(request: BulkRequest, items: BulkItems, deps: BulkDeps): Promise<Admitted> {
  const receivedAtMs = deps.clock()
  const results = new BulkResults(items.count)
  const outcomes: BulkOutcome[] = []
  const tally = new Tally(UNNAMED_SENDER)
  let firstId: Uint8Array | undefined
  const missed = await admitEach(items, senderOf(request), receivedAtMs, deps, {
    // The first event carries the request's key: the key's record is lost if the broker is unavailable for too long.
    ...(request.key !== undefined && {
      keyFor: (isKnown: boolean) => carried(request, isKnown ? WAS_BULK | WAS_DUPLICATE : WAS_BULK),
    }),
    accept(ids, isDuplicate) {
      firstId ??= Uint8Array.from(ids.id)
      results.accept(ids, isDuplicate)
      tally[isDuplicate ? 'duplicates' : 'accepted']++
      outcomes.push(isDuplicate ? 'duplicate' : 'accepted')
    },
    reject(item, refused) {
      results.reject(item, refused)
      tally.reject(reasonOf(refused))
      outcomes.push(refused === LAYER_REFUSED ? 'forbidden' : 'rejected')
    },
  })
  if (missed !== undefined) return { answer: { kind: 'refused', problem: missed } }
  deps.received.add(request.caller, '', [tally], receivedAtMs)
  const answer = results.answer()
  if (answer.kind === 'refused') return { answer }
  return { answer, firstId, record: { receivedAtMs, outcomes: encodeOutcomes(outcomes) } }
}

/** The original answer, recomputed from the same bytes and the kept outcomes. */
async function answerAgain(
  { caller }: KeyedRequest,
  items: BulkItems,
  record: BulkRecord,
  deps: BulkDeps,
): Promise<Answer> {
  const outcomes = decodeOutcomes(record.outcomes, items.count)
  const results = new BulkResults(items.count)
  const tally = new Tally(UNNAMED_SENDER)
  const ids = newEventIds()
  for (const item of items) {
    if (item.index % SLICE === SLICE - 1) await ownTurn()
    const outcome = outcomes[item.index]
    if (outcome === 'accepted' || outcome === 'duplicate') {
      const refused = identify(item, caller, deps, record.receivedAtMs, ids)
      if (refused !== undefined) return { kind: 'refused', problem: refused }
      results.accept(ids, outcome === 'duplicate')
      tally.duplicates++
      continue
    }
    const rejected = item.problem ?? (outcome === 'forbidden' ? LAYER_REFUSED : undefined)
    const checked = rejected ?? checkEvent(item, caller, deps, record.receivedAtMs, ids)
    const refused = 'code' in checked ? checked : NO_LONGER_REJECTED
    results.reject(item, refused)
    tally.reject(reasonOf(refused))
  }
  deps.received.add(caller, '', [tally], deps.clock())
  return results.answer()
}

/** The rules have changed since. */
const NO_LONGER_REJECTED = problem(
  'VALIDATION_FAILED',
  'The event did not match the schema when it was first received.',
)
