import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import type { Caller } from '../../auth/authenticate.js'
import { formatId, invocationIdBytes, type TenantIds, uuidBytes } from '../../ids/ids.js'
import { encodeEntry } from '../../invocations/group.js'
import type { InvocationEvent } from '../../invocations/schema.js'
import { validateInvocation } from '../../invocations/validate.js'
import { type Problem, problem } from '../../problems/catalogue.js'
import type { Exchange } from '../exchange.js'
import type { Route } from '../route.js'
import type { GroupCommit } from './group-commit.js'

export const EVENT_BYTES_MAX = 64 * 1024

export interface AdmissionDeps {
  readonly groups: GroupCommit
  readonly partitions: number
  readonly idsOf: (tenantId: string) => TenantIds
  readonly clock: () => number
}

/** `POST /api/v1/invocations`: a 202 means that the log holds the event. */
export function admissionRoutes(deps: AdmissionDeps): readonly Route[] {
  return [
    {
      method: 'post',
      path: '/api/v1/invocations',
      access: 'any',
      handle: (exchange, caller) => {
        const refusal = checkHeaders(exchange)
        if (refusal !== undefined) return exchange.replyProblem(refusal)
        exchange.readBody(EVENT_BYTES_MAX, (bytes) => {
          const refused = admit(exchange, caller, bytes, deps)
          if (refused !== undefined) exchange.replyProblem(refused)
        })
      },
    },
  ]
}

function checkHeaders({ headers }: Exchange): Problem | undefined {
  if (!isIdempotencyKey(headers.idempotencyKey)) {
    return problem('IDEMPOTENCY_KEY_REQUIRED', 'Send one Idempotency-Key header, a UUID or a ULID.')
  }
  if (!/^application\/json\s*(;|$)/i.test(headers.contentType)) {
    return problem('UNSUPPORTED_MEDIA_TYPE', 'Send the event as application/json.')
  }
  if (headers.contentEncoding !== '') {
    return problem('UNSUPPORTED_MEDIA_TYPE', 'Send the event without a Content-Encoding.')
  }
  return undefined
}

/** Bare, or as the quoted string of a structured field. */
const IDEMPOTENCY_KEY =
  /^(?:"(?=[^"]+"$))?(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-7][0-9a-hjkmnp-tv-z]{25})"?$/i

const isIdempotencyKey = (text: string): boolean =>
  IDEMPOTENCY_KEY.test(text) && text.startsWith('"') === text.endsWith('"')

/** Takes the event into the log and answers when it is there; what is refused at once is returned. */
function admit(exchange: Exchange, caller: Caller, bytes: Buffer, deps: AdmissionDeps): Problem | undefined {
  const value = parseJson(bytes)
  if (value === undefined) return problem('MALFORMED_REQUEST', 'The body is not valid JSON in UTF-8.')
  const receivedAtMs = deps.clock()
  const validation = validateInvocation(value, receivedAtMs)
  if (!validation.ok) {
    return problem('VALIDATION_FAILED', 'The event does not match its schema.', { errors: validation.errors })
  }
  const { event } = validation
  if (caller.ingestionLayers !== undefined && !caller.ingestionLayers.has(event.ingestion_layer)) {
    return problem('INSUFFICIENT_SCOPE', 'The credential may not ingest events of this layer.')
  }

  const { tenantId, principal } = caller
  const id = invocationIdBytes(deps.idsOf(tenantId), uuidBytes(event.event_id))
  const entry = encodeEntry({ tenantId, principal, id, receivedAtMs }, event)
  const isTaken = deps.groups.add(partitionOf(tenantId, event, id, deps.partitions), entry, (commit) => {
    if (commit.kind === 'unavailable') {
      return exchange.replyProblem(problem('SERVICE_UNAVAILABLE', commit.detail, { retryAfterSeconds: 1 }))
    }
    // Ids and UUIDs need no escaping.
    exchange.reply(
      ACCEPTED,
      `{"invocation_id":"${formatId('inv', id)}","event_id":"${event.event_id.toLowerCase()}","status":"queued","duplicate":false}`,
    )
  })
  if (isTaken) return undefined
  return problem('RATE_LIMITED', 'Too many events wait for the log; try again.', { retryAfterSeconds: 1 })
}

const ACCEPTED = '202 Accepted\r\nContent-Type: application/json\r\nCache-Control: no-store'

function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) return undefined
  try {
    return JSON.parse(bytes.toString('utf8')) as unknown
  } catch {
    return undefined
  }
}

/**
 * Which partition an event belongs to: by its trace where it has one, so that the events of one workflow meet in
 * one actor, else by itself.
 */
function partitionOf(tenantId: string, event: InvocationEvent, id: Uint8Array, partitions: number): number {
  if (partitions === 1) return 0
  if (event.trace_id === undefined || event.trace_id === null) return (id[15] ?? 0) % partitions
  return (createHash('md5').update(`${tenantId}\n${event.trace_id}`).digest()[0] ?? 0) % partitions
}
