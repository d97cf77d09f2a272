import { ID_CHARACTERS, writeBase32 } from '../../ids/base32.js'
import { UUID_CHARACTERS, writeUuid } from '../../ids/ids.js'
import type { EventIds } from './check-event.js'

/**
 * The response body for an accepted event, as bytes. Only the two ids differ, and are written into it; concatenating
 * strings costs several times as much.
 */
export class AcceptedText {
  /** With `"duplicate":false`, the longer form. */
  private readonly accepted: Buffer
  private readonly duplicate: Buffer
  private readonly invocationIdAt: number
  private readonly eventIdAt: number

  /** @param write the text for an `invocation_id`, an `event_id` and `duplicate` */
  constructor(write: (invocationId: string, eventId: string, isDuplicate: boolean) => string) {
    const [invocationId, eventId] = [`inv_${'i'.repeat(ID_CHARACTERS)}`, 'e'.repeat(UUID_CHARACTERS)]
    this.accepted = Buffer.from(write(invocationId, eventId, false))
    this.duplicate = Buffer.from(write(invocationId, eventId, true))
    this.invocationIdAt = this.accepted.indexOf(invocationId) + 'inv_'.length
    this.eventIdAt = this.accepted.indexOf(eventId)
  }

  /** @returns valid until the next call */
  of({ id, uuid }: EventIds, isDuplicate: boolean): Buffer {
    const text = isDuplicate ? this.duplicate : this.accepted
    writeBase32(id, text, this.invocationIdAt)
    writeUuid(uuid, text, this.eventIdAt)
    return text
  }
}
