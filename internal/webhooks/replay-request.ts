import type { Scope } from '../auth/scopes.js'
import type { WatchedRecords } from '../broker/watched-records.js'
import { typesDeliverableWith } from '../events/readers.js'
import type { MutationRequest, Reply } from '../http/mutations/mutation.js'
import { invalid } from '../http/mutations/read-body.js'
import { noSuch, refusalOfId } from '../http/resource/own-id.js'
import type { TenantIds } from '../ids/ids.js'
import { type FieldError, type Problem, problem } from '../problems/problem-catalogue.js'
import type { ResidencyRegion } from '../residency/residency.js'
import { storeProblem } from '../store/failures.js'
import { parseInstant } from '../units/instant.js'
import type { DeliveryRoutesDeps } from './delivery-routes.js'
import { refusalOfReceiver, type StoredWebhook } from './endpoint.js'
import type { ReplayOrder, ReplaySelection } from './replayer.js'
import { WHAT } from './webhook-changes.js'
import type { ReplayBody } from './webhook-contract.js'

export interface ReplayDeps extends Pick<DeliveryRoutesDeps, 'listAttempts'> {
  readonly webhooks: Pick<WatchedRecords<StoredWebhook>, 'read'>
  readonly newestEvent: () => Promise<number>
  readonly newestDeadLetter: () => Promise<number>
  /** @throws NotStored */
  readonly order: (order: ReplayOrder) => Promise<void>
  readonly idsOf: (tenantId: string) => TenantIds
  readonly residencyRegionOf: (tenantId: string) => ResidencyRegion
  readonly instanceRegion: ResidencyRegion
}

/** Time limit of the query to the delivery log. */
const QUERY_TIMEOUT_MS = 1_000

/** `POST /api/v1/webhooks/{id}/replay`: publishes a replay order, which couriers execute. */
export async function replayWebhook(
  { caller: { tenantId, scopes }, parameter: id, body, newId }: MutationRequest<ReplayBody>,
  deps: ReplayDeps,
): Promise<Reply | Problem> {
  const { webhooks, newestEvent, newestDeadLetter, order, idsOf } = deps
  const refusal = refusalOfId('whk', id, idsOf(tenantId), WHAT)
  if (refusal !== undefined) return refusal
  const webhook = await webhooks.read(id)
  if (webhook === undefined) return noSuch(WHAT)
  const read = readSelection(body, idsOf(tenantId), scopes)
  if ('code' in read) return read
  if (read.kind === 'invalid') return invalid([read.error])
  if (webhook.status !== 'verified') return problem('CONFLICT', 'The webhook endpoint is not verified.')
  const crossing = refusalOfReceiver(deps.residencyRegionOf(tenantId), deps.instanceRegion, webhook)
  if (crossing !== undefined) return crossing
  const newest = read.kind === 'dead_letters' ? await newestDeadLetter() : await newestEvent()
  const known = read.kind === 'event' ? await sequenceOf(read.event_id, tenantId, id, deps) : undefined
  await order({
    id: newId('dlv'),
    tenant_id: tenantId,
    endpoint_id: id,
    selection: read,
    // A sequence beyond the newest is from an earlier event log that was lost, and does not apply to this one.
    next: known !== undefined && known <= newest ? known : (body.from_sequence ?? 1),
    until: Math.min(body.to_sequence ?? newest, newest),
  })
  return {
    status: 202,
    body: { webhook_id: id, status: 'queued', selection: body },
    changes: { after: { selection: body } },
  }
}

/**
 * The sequence of an event that was delivered to the endpoint before, which saves couriers a search through the whole
 * log.
 *
 * @returns undefined when the delivery log has no attempt of it yet, or does not answer in time
 */
async function sequenceOf(
  eventId: string,
  tenantId: string,
  endpointId: string,
  { listAttempts }: ReplayDeps,
): Promise<number | undefined> {
  const any = { before: undefined, eventType: undefined, outcome: undefined, fromMs: undefined, toMs: undefined }
  const question = { ...any, tenantId, endpointId, eventId, limit: 1 }
  try {
    const [row] = await listAttempts(question, AbortSignal.timeout(QUERY_TIMEOUT_MS))
    return row?.eventSequence
  } catch (cause) {
    if (storeProblem(cause) === undefined) throw cause
    return undefined
  }
}

interface Invalid {
  readonly kind: 'invalid'
  readonly error: FieldError
}

const wrong = (pointer: string, detail: string): Invalid => ({ kind: 'invalid', error: { pointer, detail } })

const event = (id: string, scopes: ReadonlySet<Scope>): ReplaySelection => ({
  kind: 'event',
  event_id: id,
  types: typesDeliverableWith(scopes),
})

function readSelection(
  body: ReplayBody,
  ids: TenantIds,
  scopes: ReadonlySet<Scope>,
): ReplaySelection | Problem | Invalid {
  const { event_id: eventId, from_sequence: first, to_sequence: last, from, to, dead_letters: deadLetters } = body
  const isBySequence = first !== undefined || last !== undefined
  const isByTime = from !== undefined || to !== undefined
  const ways = [eventId !== undefined, isBySequence, isByTime, deadLetters !== undefined].filter(Boolean).length
  if (ways !== 1) return wrong('', 'must select exactly one of: an event, a range, or the dead letters')
  if (deadLetters) return { kind: 'dead_letters' }
  if (eventId !== undefined) {
    return refusalOfId('evt', eventId, ids, 'event') ?? event(eventId, scopes)
  }
  if (isBySequence) {
    if (first === undefined) return wrong('/from_sequence', 'is required')
    if (last !== undefined && last < first) return wrong('/to_sequence', 'must not be less than from_sequence')
    return { kind: 'range' }
  }
  if (from === undefined) return wrong('/from', 'is required')
  const fromMs = parseInstant(from) ?? 0
  const toMs = to === undefined ? undefined : (parseInstant(to) ?? 0)
  if (toMs !== undefined && toMs <= fromMs) return wrong('/to', 'must be later than from')
  return {
    kind: 'range',
    from: new Date(fromMs).toISOString(),
    ...(toMs !== undefined && { before: new Date(toMs).toISOString() }),
  }
}
