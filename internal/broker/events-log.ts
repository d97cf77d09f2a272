import type { JetStreamManager } from '@nats-io/jetstream'
import { EVENTS } from '../../streams/events.js'

/** The sequence of the newest event of a subject; 0 when there is none. */
export async function lastEventSequence(manager: JetStreamManager, subject: string): Promise<number> {
  return (await manager.streams.getMessage(EVENTS.name, { last_by_subj: subject }))?.seq ?? 0
}

/** Whether the event with an id is among the events of a subject after a sequence. */
export async function holdsEvent(
  manager: JetStreamManager,
  subject: string,
  after: number,
  eventId: string,
): Promise<boolean> {
  for (let seq = after + 1; ; ) {
    const message = await manager.direct.getMessage(EVENTS.name, { seq, next_by_subj: subject })
    if (message === null) return false
    if (message.json<{ readonly id: string }>().id === eventId) return true
    seq = message.seq + 1
  }
}
