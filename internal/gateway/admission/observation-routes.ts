import type { Caller } from '../../auth/authenticate.js'
import { invocationIdBytes, type TenantIds, uuidBytes } from '../../ids/ids.js'
import type { ObservationEvent } from '../../observations/schema.js'
import { validateObservation } from '../../observations/validate.js'
import { problem } from '../../problems/catalogue.js'
import type { Exchange } from '../exchange.js'
import { takeFrom } from '../rate-limit.js'
import type { Route } from '../route.js'
import {
  type AdmissionDeps,
  type Answer,
  KEY_CONFLICT,
  keyOf,
  parseJson,
  proceedInTurn,
  reply,
  unavailable,
} from './admission.js'
import type { KeptRecords } from './kept-records.js'
import { bytesOf } from './key-confirmation.js'
import { EVENT_BYTES_MAX } from './limits.js'
import type { LogWriter } from './log-writer.js'

/** What is kept beside the key of an observation. */
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

/** `POST /api/v1/events`: an observation that is no single model call. A 202 means that the log holds it. */
export function observationRoutes(deps: ObservationDeps): readonly Route[] {
  return [
    {
      method: 'post',
      path: '/api/v1/events',
      access: 'any',
      rateClass: 'ingest',
      isIngestion: true,
      handle: (exchange, caller) => read(exchange, caller, deps),
    },
  ]
}

function read(exchange: Exchange, caller: Caller, deps: ObservationDeps): void {
  const key = keyOf(exchange, caller, deps, ROUTE)
  if (key === undefined) {
    return exchange.replyProblem(
      problem('IDEMPOTENCY_KEY_REQUIRED', 'Send one Idempotency-Key header, a UUID or a ULID.'),
    )
  }
  if (!/^application\/json\s*(;|$)/i.test(exchange.headers.contentType) || exchange.headers.contentEncoding !== '') {
    return exchange.replyProblem(problem('UNSUPPORTED_MEDIA_TYPE', 'Send the event as plain application/json.'))
  }
  exchange.readBody(EVENT_BYTES_MAX, (bytes) => {
    const value = parseJson(bytes)
    if (value === undefined) {
      return exchange.replyProblem(problem('MALFORMED_REQUEST', 'The body is not valid JSON in UTF-8.'))
    }
    const receivedAtMs = deps.clock()
    const validation = validateObservation(value, receivedAtMs)
    if (!validation.ok) {
      const { errors } = validation
      return exchange.replyProblem(problem('VALIDATION_FAILED', 'The event does not match its schema.', { errors }))
    }
    const fingerprint = new Int32Array(2)
    deps.fingerprints.of(bytes, fingerprint)
    const request = { exchange, caller, key, fingerprint }
    proceedInTurn(request, deps, (ticket) => {
      admit(validation.event, receivedAtMs, request, deps)
        .catch((cause: unknown): { answer: Answer; isReplay: boolean } => {
          exchange.fail(cause)
          return {
            answer: { kind: 'refused', problem: unavailable('The event could not be stored.') },
            isReplay: false,
          }
        })
        .then(({ answer, isReplay }) => {
          deps.inFlight.settle(ticket, answer.kind === 'accepted', answer)
          reply(exchange, answer, isReplay)
        })
    })
  })
}

async function admit(
  event: ObservationEvent,
  receivedAtMs: number,
  { caller, key, fingerprint }: Parameters<typeof proceedInTurn>[0],
  deps: ObservationDeps,
): Promise<{ readonly answer: Answer; readonly isReplay: boolean }> {
  const { tenantId, principal } = caller
  const keyHex = Buffer.from(bytesOf(key)).toString('hex')
  const fingerprintHex = Buffer.from(bytesOf(fingerprint)).toString('hex')
  const accepted: Answer = { kind: 'accepted', body: JSON.stringify({ event_id: event.event_id, status: 'queued' }) }

  const record = await deps.findRecord(keyHex)
  if (record?.fingerprint === fingerprintHex) return { answer: accepted, isReplay: true }
  if (record !== undefined) return refused(KEY_CONFLICT)
  const limited = takeFrom(caller.budgets.ingest, 1, receivedAtMs)
  if (limited !== undefined) return refused(limited)

  const id = observationIdBytes(deps.idsOf(tenantId), event.event_id)
  const { subject, payload } = deps.messageOf({ tenantId, principal, id, receivedAtMs, event })
  const commit = await deps.writer.store(subject, payload, `observation.${Buffer.from(id).toString('hex')}`)
  if (commit.kind === 'unavailable') return refused(unavailable(commit.detail))
  // Without the record a repeat is taken as new, and its event_id leaves one observation.
  await deps.keepRecord(keyHex, { fingerprint: fingerprintHex }).catch(() => undefined)
  return { answer: accepted, isReplay: false }
}

/** An observation and an invocation of one event_id are different things. */
function observationIdBytes(ids: TenantIds, eventId: string): Uint8Array {
  const bytes = Uint8Array.from(uuidBytes(eventId))
  return invocationIdBytes(ids, Uint8Array.from([...bytes, ROUTE]))
}

const refused = (what: ReturnType<typeof problem>) =>
  ({ answer: { kind: 'refused', problem: what }, isReplay: false }) as const
