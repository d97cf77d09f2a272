import type { Caller } from '../../auth/authenticate.js'
import { partitionOf } from '../../ids/event-partition.js'
import { ID_BYTES, invocationIdBytes, isUuid, type TenantIds, uuidBytes } from '../../ids/ids.js'
import type { ParsedEvent, TextRange } from '../../invocations/entry-bytes.js'
import { readUsualMembers, readUsualText, type WrittenMember } from '../../invocations/hot-reader.js'
import { NO_SHAPE, validateInvocation } from '../../invocations/validate-invocation.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import { KEY_CONFLICT } from './answers.js'
import type { Lane } from './lane.js'

export interface CheckDeps {
  readonly partitions: number
  readonly lane: Pick<Lane, 'partitionFor'>
  readonly idsOf: (tenantId: string) => TenantIds
  /** Whether a source is discovery-only and must not send single calls. */
  readonly isDiscoveryOnly: (tenantId: string, ingestionLayer: string) => boolean
  /** The instant before which the tenant keeps no calls. */
  readonly retainedFromMs: (tenantId: string, nowMs: number) => number
}

/** An event as received. */
export interface EventText extends TextRange {
  /** The members of one that was written here: it need not be read as a text. */
  readonly written?: { readonly members: readonly WrittenMember[]; readonly count: number }
  /** Parses it; undefined when it is not JSON in UTF-8. */
  value(): unknown
  /** What a value that is no event means as a line of a shipper; absent where only events come. */
  shipped?(value: unknown): unknown
}

/** The two ids of an event, 16 bytes each. */
export interface EventIds {
  /** The UUID assigned by its sender. */
  readonly uuid: Uint8Array
  /** The id shared by `inv_` and `attr_`. */
  readonly id: Uint8Array
}

export const newEventIds = (): EventIds => ({ uuid: new Uint8Array(ID_BYTES), id: new Uint8Array(ID_BYTES) })

/** An event that passed all checks. */
export interface CheckedEvent {
  readonly ids: EventIds
  readonly partition: number
  readonly receivedAtMs: number
  /** Absent if the text holds exactly the fields to keep. */
  readonly parsed: ParsedEvent | undefined
}

/**
 * Checks an event against schema, time and the credential's layers.
 *
 * @param ids receives the event's ids
 */
export function checkEvent(
  text: EventText,
  caller: Caller,
  deps: CheckDeps,
  receivedAtMs: number,
  ids: EventIds,
): CheckedEvent | Problem {
  const tenant = deps.idsOf(caller.tenantId)
  const retainedFromMs = deps.retainedFromMs(caller.tenantId, receivedAtMs)
  const { bytes, start, end, written } = text
  const usual =
    written === undefined
      ? readUsualText(bytes, start, end, receivedAtMs, retainedFromMs)
      : readUsualMembers(bytes, written.members, written.count, receivedAtMs, retainedFromMs)
  if (usual !== undefined) {
    const refused = refusalOf(caller, usual.ingestionLayer, deps)
    if (refused !== undefined) return refused
    setIds(ids, tenant, usual.uuid)
    return { ids, partition: destination(ids, caller, deps), receivedAtMs, parsed: undefined }
  }

  const value = text.value()
  if (value === undefined) return MALFORMED
  const asSent = validateInvocation(value, receivedAtMs, retainedFromMs)
  const shipped = asSent.ok ? undefined : text.shipped?.(value)
  const validation = shipped === undefined ? asSent : validateInvocation(shipped, receivedAtMs, retainedFromMs)
  if (!validation.ok) {
    return problem('VALIDATION_FAILED', 'The event does not match its schema.', { errors: validation.errors })
  }
  const { event } = validation
  // The log then holds what was read, not the text.
  const shape = shipped === undefined ? validation.shape : NO_SHAPE
  const refused = refusalOf(caller, event.ingestion_layer, deps)
  if (refused !== undefined) return refused
  setIds(ids, tenant, uuidBytes(event.event_id, eventIdBytes))
  return { ids, partition: destination(ids, caller, deps), receivedAtMs, parsed: { event, shape } }
}

const destination = ({ id }: EventIds, { tenantId }: Caller, { lane, partitions }: CheckDeps): number =>
  lane.partitionFor(tenantId, partitionOf(id, partitions))

/**
 * Finds the ids of an event that was checked on its first arrival, independent of the current rules and credential.
 *
 * @param receivedAtMs time of the first arrival
 * @returns a refusal if the credential may not ingest events of this layer, and so not read their status; or if the
 * body can never have been an event, so that the key was used with another body
 */
export function identify(
  text: EventText,
  caller: Caller,
  deps: Pick<CheckDeps, 'idsOf'>,
  receivedAtMs: number,
  ids: EventIds,
): Problem | undefined {
  const tenant = deps.idsOf(caller.tenantId)
  const usual = readUsualText(text.bytes, text.start, text.end, receivedAtMs)
  if (usual !== undefined) {
    if (!mayIngest(caller, usual.ingestionLayer)) return LAYER_REFUSED
    setIds(ids, tenant, usual.uuid)
    return undefined
  }
  const value = text.value()
  // As it was admitted: the event within a line has an id of its own.
  const known = identityIn(text.shipped === undefined ? value : text.shipped(value))
  if (known === undefined) return KEY_CONFLICT
  const { eventId, ingestionLayer } = known
  if (!mayIngest(caller, ingestionLayer)) return LAYER_REFUSED
  setIds(ids, tenant, uuidBytes(eventId, eventIdBytes))
  return undefined
}

function identityIn(value: unknown): { eventId: string; ingestionLayer: string } | undefined {
  const { event_id: eventId, ingestion_layer: layer } = (value ?? {}) as Readonly<Record<string, unknown>>
  const isKnown = typeof eventId === 'string' && isUuid(eventId) && typeof layer === 'string'
  return isKnown ? { eventId, ingestionLayer: layer } : undefined
}

function setIds(ids: EventIds, tenant: TenantIds, uuid: Uint8Array): void {
  for (let i = 0; i < ID_BYTES; i++) ids.uuid[i] = uuid[i] as number
  invocationIdBytes(tenant, uuid, ids.id)
}
const eventIdBytes = new Uint8Array(ID_BYTES)

function refusalOf(caller: Caller, ingestionLayer: string, deps: CheckDeps): Problem | undefined {
  if (!mayIngest(caller, ingestionLayer)) return LAYER_REFUSED
  return deps.isDiscoveryOnly(caller.tenantId, ingestionLayer) ? DISCOVERY_ONLY : undefined
}

const mayIngest = ({ ingestionLayers }: Caller, ingestionLayer: string): boolean =>
  ingestionLayers === undefined || ingestionLayers.has(ingestionLayer)

export const LAYER_REFUSED = problem('INSUFFICIENT_SCOPE', 'The credential may not ingest events of this layer.', {
  challenge: 'Bearer realm="attribution", error="insufficient_scope"',
})

/** Discovery-only sources are never converted into attribution of single calls. */
const DISCOVERY_ONLY = problem('VALIDATION_FAILED', 'The event does not match its schema.', {
  errors: [{ pointer: '/ingestion_layer', detail: 'must not be a source that only discovers traffic' }],
})

export const MALFORMED = problem('MALFORMED_REQUEST', 'The event is not valid JSON in UTF-8.')
