import { ID_CHARACTERS, writeBase32 } from '../../ids/base32.js'

/**
 * The text of what is answered for an accepted event, as bytes. It is the same but for the two ids, which are written
 * into it; a text put together of strings costs several times as much.
 */
export class AcceptedText {
  /** With `"duplicate":false`, which is the longer one. */
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

  /**
   * @param id the invocation's 16 bytes
   * @param eventId a UUID, which is answered in lower case
   * @returns to be read before the next call
   */
  of(id: Uint8Array, eventId: string, isDuplicate: boolean): Buffer {
    const text = isDuplicate ? this.duplicate : this.accepted
    writeBase32(id, text, this.invocationIdAt)
    const at = this.eventIdAt
    for (let i = 0; i < UUID_CHARACTERS; i++) {
      const code = eventId.charCodeAt(i)
      // A to F
      text[at + i] = code >= 0x41 && code <= 0x46 ? code + 0x20 : code
    }
    return text
  }
}

const UUID_CHARACTERS = 36
