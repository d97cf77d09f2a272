import type { Caller } from '../../auth/authenticate.js'
import type { Exchange } from '../../http/exchange.js'
import { takeFrom } from '../../http/rate-limit.js'
import type { Route } from '../../http/route.js'
import { invocationIdBytes, type TenantIds, uuidBytes } from '../../ids/ids.js'
import { hexOf } from '../../ids/key-hash.js'
import { EVENT_BYTES_MAX } from '../../invocations/limits.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import { parseJson } from '../../text/parse-json.js'
import { type AdmissionDeps, keyOf } from '../admission/admission.js'
import { type Answer, KEY_CONFLICT, KEY_REQUIRED, OTHER_CHARSET, reply, unavailable } from '../admission/answers.js'
import { LAYER_REFUSED } from '../admission/check-event.js'
import { type KeyedRequest, withKeyLock } from '../admission/key-lock.js'
import type { LogWriter } from '../commit/log-writer.js'
import type { KeptRecords } from '../keys/kept-records.js'
import { INGEST_OBSERVATION } from './observation-contract.js'
import type { ObservationEvent } from './observation-schema.js'
import { looksLikeCall, SEND_CALLS_ELSEWHERE, validateObservation } from './validate-observation.js'

/** The record kept with the key of an observation. */
export interface ObservationRecord {
  /** Hex of the body's fingerprint. */
  readonly fingerprint: string
}

export interface ObservationDeps extends AdmissionDeps, KeptRecords<ObservationRecord> {
  readonly writer: LogWriter
  /** Subject and bytes of the message that carries an observation. */
  readonly messageOf: (observation: {
    readonly tenantId: string
    readonly principal: string
    readonly id: Uint8Array
    readonly receivedAtMs: number
    readonly event: ObservationEvent
  }) => { readonly subject: string; readonly payload: Uint8Array }
}

/** Number of the route in the hash of its keys. */
const ROUTE = 1

/** `POST /api/v1/events`: an observation that is not a single model call. A 202 means that the log holds it. */
export function observationRoutes(deps: ObservationDeps): readonly Route[] {
  return [
    {
      method: 'post',
      path: '/api/v1/events',
      operation: INGEST_OBSERVATION,
      access: 'any',
      rateClass: 'ingest',
      chargesItself: true,
      isIngestion: true,
      handle: (exchange, caller) => read(exchange, caller, deps),
    },
  ]
}

function read(exchange: Exchange, caller: Caller, deps: ObservationDeps): void {
  // Observations have no layer: a credential that may ingest some may send them, one that may ingest none may not.
  if (caller.ingestionLayers?.size === 0) return exchange.replyProblem(LAYER_REFUSED)
  // A refused event costs the caller as much as an accepted one.
  const refuse = (what: Problem): void =>
    exchange.replyProblem(takeFrom(caller.budgets.ingest, 1, deps.clock()) ?? what)
  const key = keyOf(exchange, caller, deps, ROUTE)
  if (key === undefined) return refuse(KEY_REQUIRED)
  const { contentType, contentEncoding } = exchange.headers
  const isJson = /^application\/json\s*(;|$)/i.test(contentType) && !OTHER_CHARSET.test(contentType)
  if (!isJson || contentEncoding !== '') {
    return refuse(problem('UNSUPPORTED_MEDIA_TYPE', 'Send the event as plain application/json in UTF-8.'))
  }
  exchange.readBody(EVENT_BYTES_MAX, (bytes) => {
    const fingerprint = new Int32Array(2)
    deps.fingerprints.of(bytes, fingerprint)
    const request = { exchange, caller, key, fingerprint }
    const refuseBody = (what: Problem): void => {
      refuseUnlessUsed(what, request, deps).catch((cause: unknown) => exchange.fail(cause))
    }
    const value = parseJson(bytes)
    if (value === undefined) {
      return refuseBody(problem('MALFORMED_REQUEST', 'The body is not valid JSON in UTF-8.'))
    }
    const receivedAtMs = deps.clock()
    const validation = validateObservation(value, receivedAtMs)
    if (!validation.ok) {
      const { errors } = validation
      return refuseBody(problem('VALIDATION_FAILED', 'The event does not match its schema.', { errors }))
    }
    const observed: Observed = { event: validation.event, isCall: looksLikeCall(value) }
    withKeyLock(request, deps, (turn) => {
      admit(observed, receivedAtMs, request, deps)
        .catch((cause: unknown): Admitted => {
          exchange.fail(cause)
          return refused(unavailable('The event could not be stored.'))
        })
        .then(({ answer, isReplay }) => {
          // The first answer counts: a replay is marked before the turn's own answer, which then comes too late.
          if (isReplay) reply(exchange, answer, true)
          turn.finish(answer)
        })
    })
  })
}

/** Refuses a body for what it is, unless its key was used with another one, which comes before. */
async function refuseUnlessUsed(what: Problem, request: KeyedRequest, deps: ObservationDeps): Promise<void> {
  const { exchange, caller } = request
  const limited = takeFrom(caller.budgets.ingest, 1, deps.clock())
  if (limited !== undefined) return exchange.replyProblem(limited)
  const record = await deps.findRecord(hexOf(request.key))
  const isConflict = record !== undefined && record.fingerprint !== hexOf(request.fingerprint)
  exchange.replyProblem(isConflict ? KEY_CONFLICT : what)
}

/** A checked observation. */
interface Observed {
  readonly event: ObservationEvent
  /** Whether it looks like a call, which belongs elsewhere. */
  readonly isCall: boolean
}

interface Admitted {
  readonly answer: Answer
  readonly isReplay: boolean
}

const accepted = ({ event, isCall }: Observed): Answer => ({
  kind: 'accepted',
  body: Buffer.from(
    JSON.stringify({ event_id: event.event_id, status: 'queued', ...(isCall && { hint: SEND_CALLS_ELSEWHERE }) }),
  ),
})

async function admit(
  observed: Observed,
  receivedAtMs: number,
  { caller, key, fingerprint }: KeyedRequest,
  deps: ObservationDeps,
): Promise<Admitted> {
  const { event } = observed
  const { tenantId, principal } = caller
  const [keyHex, fingerprintHex] = [hexOf(key), hexOf(fingerprint)]

  const record = await deps.findRecord(keyHex)
  if (record?.fingerprint === fingerprintHex) return { answer: accepted(observed), isReplay: true }
  if (record !== undefined) return refused(KEY_CONFLICT)
  const limited = takeFrom(caller.budgets.ingest, 1, deps.clock())
  if (limited !== undefined) return refused(limited)

  const id = observationIdBytes(deps.idsOf(tenantId), event.event_id)
  const { subject, payload } = deps.messageOf({ tenantId, principal, id, receivedAtMs, event })
  const commit = await deps.writer.store(subject, payload, `observation.${Buffer.from(id).toString('hex')}`)
  if (commit.kind === 'unavailable') return refused(unavailable(commit.detail))
  await deps.keepRecord(keyHex, { fingerprint: fingerprintHex })
  return { answer: accepted(observed), isReplay: false }
}

/** An observation and an invocation of one event_id are different things. */
function observationIdBytes(ids: TenantIds, eventId: string): Uint8Array {
  const bytes = Uint8Array.from(uuidBytes(eventId))
  return invocationIdBytes(ids, Uint8Array.from([...bytes, ROUTE]))
}

const refused = (what: Problem): Admitted => ({ answer: { kind: 'refused', problem: what }, isReplay: false })
