import type { KV } from '@nats-io/kv'
import { eventsSubject } from '../../streams/events.js'
import { isLostRace } from '../broker/errors.js'
import type { EventType } from '../events/contract.js'
import { eventId, type NewEvent, storedText } from '../events/event.js'
import type { TenantIds } from '../ids/ids.js'

/** An event on its way, as it is kept under its key: written down before it is told, so that it is told once. */
interface Announcement {
  readonly subject: string
  readonly id: string
  readonly text: string
  readonly plannedMs: number
  /** The last message of the subject by then: the event can only be behind it. */
  readonly after: number
  readonly isTold: boolean
}

export interface AnnounceDeps {
  /** announcements */
  readonly bucket: KV
  readonly idsOf: (tenantId: string) => TenantIds
  /** @throws when the broker did not store it */
  readonly store: (subject: string, text: string, messageId: string) => Promise<void>
  /** The last message of a subject of EVENTS; 0 without one. */
  readonly lastSequence: (subject: string) => Promise<number>
  /** Whether a message behind another holds an event. */
  readonly isStored: (subject: string, after: number, eventId: string) => Promise<boolean>
  readonly clock: () => number
}

/** After that long the stream may no longer know a repeat by its message id (streams/events.ts). */
const REPEAT_KNOWN_MS = 60_000

/**
 * Tells of something once, however many processes see it and whenever one of them dies: what is told is fixed by
 * compare-and-set first.
 *
 * @param key of the occasion in the bucket; kept for as long as the occasion may be seen again
 * @returns once it is told, by whomever
 */
export async function announceOnce<T extends EventType>(
  key: string,
  event: () => Promise<NewEvent<T>>,
  deps: AnnounceDeps,
): Promise<void> {
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
  if (planned.isTold) return
  const mayBeForgotten = !isMine && clock() - planned.plannedMs > REPEAT_KNOWN_MS
  if (!mayBeForgotten || !(await deps.isStored(planned.subject, planned.after, planned.id))) {
    await deps.store(planned.subject, planned.text, planned.id)
  }
  try {
    await bucket.update(key, JSON.stringify({ ...planned, isTold: true }), revision)
  } catch (cause) {
    if (!isLostRace(cause)) throw cause // another has told it as well: the same message
  }
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

/** Whether an occasion was told, or is about to be: nothing needs to be worked out for it. */
export async function isAnnounced(key: string, { bucket }: Pick<AnnounceDeps, 'bucket'>): Promise<boolean> {
  const entry = await bucket.get(key)
  return entry?.operation === 'PUT' && entry.json<Announcement>().isTold
}
