import type { Position } from '../../invocations/invocation-group.js'
import { parseInstant } from '../../units/instant.js'
import { type ObservationEvent, observationEvent } from './observation-schema.js'

/**
 * The form of one OBSERVATIONS message: a JSON array of admitted observations of one tenant. Only the fields of the
 * schema are written: other fields that a producer sent are not kept anywhere.
 */

const OBSERVATION_FIELDS = Object.keys(observationEvent.shape) as (keyof ObservationEvent)[]

/** Facts known at admission. */
export interface ObservationAdmission {
  readonly tenantId: string
  /** Id of the credential that sent it. */
  readonly principal: string
  /** 16 bytes that derive from tenant and event id. */
  readonly id: Uint8Array
  readonly receivedAtMs: number
}

export interface AdmittedObservation extends ObservationAdmission {
  /** Sequence of its message, and its place in it. */
  readonly position: Position
  /** A UUID in lower case. */
  readonly eventId: string
  readonly type: string
  readonly source: string
  readonly occurredAtMs: number
  readonly traceId: string | undefined
  /** JSON of an object. */
  readonly data: string
}

/** Wire form of an entry: tenant, principal, id (hex), received at (ms since the epoch), the observation. */
interface Entry {
  readonly t: string
  readonly p: string
  readonly i: string
  readonly r: number
  readonly e: ObservationEvent
}

/** One entry as text; `encodeObservations` puts entries together. */
export function encodeObservation(admission: ObservationAdmission, event: ObservationEvent): string {
  const kept: Record<string, unknown> = {}
  for (const field of OBSERVATION_FIELDS) {
    const value = event[field]
    if (value !== undefined && value !== null) kept[field] = value
  }
  const entry = {
    t: admission.tenantId,
    p: admission.principal,
    i: hexOf(admission.id),
    r: admission.receivedAtMs,
    e: kept,
  }
  return JSON.stringify(entry)
}

/** @param entries of one tenant, together below the stream's `max_msg_size` */
export const encodeObservations = (entries: readonly string[]): Uint8Array => Buffer.from(`[${entries.join(',')}]`)

/**
 * Reads a message back.
 *
 * @throws Error when the bytes do not have that form: a poison message
 */
export function decodeObservations(data: Uint8Array, sequence: number): AdmittedObservation[] {
  const entries = JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.length).toString('utf8')) as Entry[]
  return entries.map(({ t, p, i, r, e }, index) => {
    const occurredAtMs = parseInstant(e.occurred_at)
    const isWhole =
      [t, p, e.type, e.source].every((text) => typeof text === 'string') &&
      ID_HEX.test(i) &&
      isInstant(r) &&
      UUID.test(e.event_id) &&
      ['undefined', 'string'].includes(typeof e.trace_id) &&
      typeof e.data === 'object' &&
      e.data !== null
    // Here it is one poison message; later it would fail the insert of a whole batch, again and again.
    if (!isWhole || occurredAtMs === undefined || !isInstant(occurredAtMs)) {
      throw new Error(`entry ${index} is not an observation`)
    }
    return {
      tenantId: t,
      principal: p,
      id: Buffer.from(i, 'hex'),
      receivedAtMs: r,
      position: { sequence, index },
      eventId: e.event_id.toLowerCase(),
      type: e.type,
      source: e.source,
      occurredAtMs,
      traceId: e.trace_id ?? undefined,
      data: JSON.stringify(e.data),
    }
  })
}

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex')

const ID_HEX = /^[0-9a-f]{32}$/
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

const isInstant = (ms: number): boolean => Number.isSafeInteger(ms) && ms >= 0
