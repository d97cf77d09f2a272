import type { KV } from '@nats-io/kv'
import { eventsSubject } from '../../streams/events.js'
import { isLostRace } from '../broker/errors.js'
import { eventId, type NewEvent, storedText } from '../events/event.js'
import type { EventType } from '../events/event-contract.js'
import type { TenantIds } from '../ids/ids.js'

/** An event under its key in the bucket: stored before the event is published, so that the event is emitted once. */
interface Announcement {
  readonly subject: string
  readonly id: string
  readonly text: string
  readonly plannedMs: number
  /** Sequence of the subject's last message at that time: the event can only come after it. */
  readonly after: number
  /** Whether the event was published. The name is stored. */
  readonly isTold: boolean
}

export interface AnnounceDeps {
  /** announcements */
  readonly bucket: KV
  readonly idsOf: (tenantId: string) => TenantIds
  /** @throws when the broker did not store the message */
  readonly store: (subject: string, text: string, messageId: string) => Promise<void>
  /** Sequence of the last message of a subject of EVENTS; 0 without one. */
  readonly lastSequence: (subject: string) => Promise<number>
  /** Whether a message after a sequence holds the event. */
  readonly isStored: (subject: string, after: number, eventId: string) => Promise<boolean>
  readonly clock: () => number
}

/** After this time the stream may no longer recognize a duplicate by its message id (streams/events.ts). */
const REPEAT_KNOWN_MS = 60_000

/**
 * Emits an event exactly once, however many sentinels detect its occasion and whenever one of them crashes: the content
 * of the event is first fixed by compare-and-set.
 *
 * @param key of the occasion in the bucket; stored for as long as the occasion may be detected again
 * @returns once the event is published, by any sentinel: when it was planned, milliseconds since the epoch
 */
export async function announceOnce<T extends EventType>(
  key: string,
  event: () => Promise<NewEvent<T>>,
  deps: AnnounceDeps,
): Promise<number> {
  const { bucket, clock } = deps
  const known = await bucket.get(key)
  let planned = known?.operation === 'PUT' ? known.json<Announcement>() : undefined
  let revision = known?.revision ?? 0
  let isMine = false
  if (planned === undefined) {
    planned = await plan(await event(), deps)
    try {
      revision = await bucket.create(key, JSON.stringify(planned))
      isMine = true
    } catch (cause) {
      if (!isLostRace(cause)) throw cause
      return announceOnce(key, event, deps)
    }
  }
  if (planned.isTold) return planned.plannedMs
  const mayBeUnknown = !isMine && clock() - planned.plannedMs > REPEAT_KNOWN_MS
  if (!mayBeUnknown || !(await deps.isStored(planned.subject, planned.after, planned.id))) {
    await deps.store(planned.subject, planned.text, planned.id)
  }
  try {
    await bucket.update(key, JSON.stringify({ ...planned, isTold: true }), revision)
  } catch (cause) {
    if (!isLostRace(cause)) throw cause // another sentinel has published the same message
  }
  return planned.plannedMs
}

async function plan<T extends EventType>(
  event: NewEvent<T>,
  { idsOf, lastSequence, clock }: AnnounceDeps,
): Promise<Announcement> {
  const subject = eventsSubject(event.tenantId, event.type)
  const id = eventId(idsOf(event.tenantId), event.type, event.cause)
  const after = await lastSequence(subject)
  return { subject, id, text: storedText(id, event), plannedMs: clock(), after, isTold: false }
}

/** Whether the event of an occasion was published, so that the occasion needs no further check. */
export async function isAnnounced(key: string, { bucket }: Pick<AnnounceDeps, 'bucket'>): Promise<boolean> {
  const entry = await bucket.get(key)
  return entry?.operation === 'PUT' && entry.json<Announcement>().isTold
}
