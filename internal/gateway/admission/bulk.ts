import { formatId } from '../../ids/ids.js'
import type { InvocationEvent } from '../../invocations/schema.js'
import type { ErrorCode, FieldError, Problem } from '../../problems/catalogue.js'
import { problem } from '../../problems/catalogue.js'
import { takeFrom } from '../rate-limit.js'
import {
  type AdmissionDeps,
  type Answer,
  addToGroup,
  admitSingle,
  type CheckedEvent,
  check,
  ELSEWHERE,
  isKnownEvent,
  KEY_CONFLICT,
  type KeyedRequest,
  proceedInTurn,
  rememberEvent,
  reply,
  TOO_MUCH,
  unavailable,
  WAS_BULK,
  whenKeyIsKnown,
} from './admission.js'
import { type BodyHeaders, type BulkItem, openBulkBody } from './bulk-body.js'
import { type BulkOutcome, type BulkRecord, decodeOutcomes, encodeOutcomes } from './bulk-outcomes.js'
import type { KeptRecords } from './kept-records.js'
import { bytesOf } from './key-confirmation.js'
import type { Commit } from './log-writer.js'

export type BulkDeps = AdmissionDeps & KeptRecords<BulkRecord>

/** One event of the answer, in wire form (design section 7). */
interface ItemResult {
  readonly index: number
  readonly event_id?: string
  readonly invocation_id?: string
  readonly duplicate?: boolean
  readonly error_code?: ErrorCode
  readonly errors?: readonly FieldError[]
}

/** Events worked off before others have their turn: about 3 ms. */
const SLICE = 500

/**
 * Admits a bulk request: each event by itself, all under one Idempotency-Key. 202 when the log holds every event that
 * was not rejected, with a result an event; 422 when none could be taken, 503 when the log did not take all: a
 * repeat with the same key finds what was taken by its event_id.
 *
 * @param bytes must not change any more
 */
export async function admitBulk(
  request: KeyedRequest,
  headers: BodyHeaders,
  bytes: Buffer,
  deps: BulkDeps,
): Promise<void> {
  const { exchange, caller, key, fingerprint } = request
  const body = await openBulkBody(headers, bytes)
  if (exchange.isSettled) return
  if (body.kind === 'refused') return exchange.replyProblem(body.problem)
  if (body.kind === 'event') return admitSingle(request, body.bytes, deps)

  const keyHex = Buffer.from(bytesOf(key)).toString('hex')
  const fingerprintHex = Buffer.from(bytesOf(fingerprint)).toString('hex')
  const { count, items } = body

  /** Looks for the record of the key, which is its durable memory; the index may be younger. */
  const lookUp = async (fresh: () => void): Promise<void> => {
    const record = await deps.findRecord(keyHex)
    if (record === undefined) {
      return whenKeyIsKnown(request, deps, {
        conflict: () => exchange.replyProblem(KEY_CONFLICT),
        // Admitted, and its record is lost or a moment away: taking it again finds every event by its id.
        replay: fresh,
        fresh,
      })
    }
    if (record.fingerprint !== fingerprintHex) return exchange.replyProblem(KEY_CONFLICT)
    reply(exchange, await answerAgain(request, items, count, record, deps), true)
  }

  const begin = (looks: number): void =>
    proceedInTurn(request, deps, {
      // A peer that has admitted the key has kept its record before; without one the request is taken again.
      answerAgain: () => ELSEWHERE,
      again: () =>
        looks >= LOOKS_MAX
          ? exchange.replyProblem(unavailable('What became of the first request cannot be said now.'))
          : fail(lookUp(() => begin(looks + 1))),
      proceed: (turn) => {
        const work = count <= deps.groups.room ? admitItems(request, items, deps) : full()
        fail(
          work
            .then(async ({ answer, record }) => {
              if (record !== undefined) {
                deps.keys.admit(key, fingerprint, WAS_BULK, record.receivedAtMs)
                await deps.keepRecord(keyHex, { ...record, fingerprint: fingerprintHex }).catch(() => undefined)
              }
              return answer
            })
            .catch((cause: unknown): Answer => {
              exchange.fail(cause)
              return { kind: 'refused', problem: unavailable('The request could not be finished.') }
            })
            .then((answer) => turn.finish(answer, WAS_BULK)),
        )
      },
    })
  const fail = (work: Promise<void>): void => void work.catch((cause: unknown) => exchange.fail(cause))

  await lookUp(() => {
    const limited = takeFrom(caller.budgets.ingest, count, deps.clock())
    if (limited !== undefined) return exchange.replyProblem(limited)
    begin(0)
  })
}

/** How often a request looks for what a peer is said to have decided. */
const LOOKS_MAX = 3

type Admitted = { readonly answer: Answer; readonly record?: Omit<BulkRecord, 'fingerprint'> }

const full = async (): Promise<Admitted> => ({ answer: { kind: 'refused', problem: TOO_MUCH } })

async function admitItems(request: KeyedRequest, items: Iterable<BulkItem>, deps: BulkDeps): Promise<Admitted> {
  const receivedAtMs = deps.clock()
  const results: ItemResult[] = []
  const outcomes: BulkOutcome[] = []
  const commits: Promise<Commit>[] = []
  const seen = new Set<string>()
  const { caller } = request

  for (const item of items) {
    if (item.index % SLICE === SLICE - 1) await nextTurn()
    const checked = item.problem ?? check(item.value, caller, deps, receivedAtMs)
    if ('code' in checked) {
      results.push(rejected(item, checked))
      outcomes.push('rejected')
      continue
    }
    const idHex = Buffer.from(checked.id).toString('hex')
    const isDuplicate = seen.has(idHex) || isKnownEvent(checked.id, deps)
    seen.add(idHex)
    results.push(accepted(item.index, checked, isDuplicate))
    outcomes.push(isDuplicate ? 'duplicate' : 'accepted')
    if (!isDuplicate) commits.push(commit(checked, request, deps))
  }

  const missed = (await Promise.all(commits)).find(({ kind }) => kind === 'unavailable')
  if (missed?.kind === 'unavailable') return { answer: { kind: 'refused', problem: unavailable(missed.detail) } }
  const answer = answerOf(results)
  if (answer.kind === 'refused') return { answer }
  return { answer, record: { receivedAtMs, outcomes: encodeOutcomes(outcomes) } }
}

function commit(checked: CheckedEvent, { caller }: KeyedRequest, deps: BulkDeps): Promise<Commit> {
  return new Promise((resolve) => {
    const isTaken = addToGroup(checked, { caller }, deps, (result) => {
      if (result.kind === 'stored') rememberEvent(checked.id, deps.clock(), deps)
      resolve(result)
    })
    if (!isTaken) resolve({ kind: 'unavailable', detail: 'Too much waits for the log; try again.' })
  })
}

/** The original answer, made again from the same bytes and the outcomes that were kept. */
async function answerAgain(
  { caller }: KeyedRequest,
  items: Iterable<BulkItem>,
  count: number,
  record: BulkRecord,
  deps: BulkDeps,
): Promise<Answer> {
  const outcomes = decodeOutcomes(record.outcomes, count)
  const results: ItemResult[] = []
  for (const item of items) {
    if (item.index % SLICE === SLICE - 1) await nextTurn()
    const checked = item.problem ?? check(item.value, caller, deps, record.receivedAtMs)
    results.push(
      'code' in checked ? rejected(item, checked) : accepted(item.index, checked, outcomes[item.index] === 'duplicate'),
    )
  }
  return answerOf(results)
}

function answerOf(results: readonly ItemResult[]): Answer {
  const rejectedCount = results.filter(({ error_code }) => error_code !== undefined).length
  if (rejectedCount === results.length) {
    const errors = results.flatMap(({ index, errors: own = [] }) =>
      own.map(({ pointer, detail }) => ({ pointer: `/${index}${pointer}`, detail })),
    )
    return {
      kind: 'refused',
      problem: problem('VALIDATION_FAILED', 'None of the events could be taken.', {
        errors: errors.slice(0, ERRORS_MAX),
      }),
    }
  }
  const body = { accepted: results.length - rejectedCount, rejected: rejectedCount, results }
  return { kind: 'accepted', body: JSON.stringify(body) }
}

const ERRORS_MAX = 100

const accepted = (index: number, { event, id }: CheckedEvent, duplicate: boolean): ItemResult => ({
  index,
  event_id: event.event_id.toLowerCase(),
  invocation_id: formatId('inv', id),
  duplicate,
})

function rejected({ index, value }: BulkItem, { code, detail, errors }: Problem): ItemResult {
  const eventId = (value as Partial<InvocationEvent> | undefined | null)?.event_id
  return {
    index,
    // Only what has the form of an id is echoed.
    ...(typeof eventId === 'string' && /^[0-9a-fA-F-]{36}$/.test(eventId) ? { event_id: eventId } : {}),
    error_code: code,
    errors: errors ?? [{ pointer: '', detail }],
  }
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
