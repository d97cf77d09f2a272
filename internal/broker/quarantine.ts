import { type Publisher, publishOrThrow } from './publisher.js'

/** Headers of a message of QUARANTINE, which has the bytes of what is poison as its own. */
export const REASON_HEADER = 'Attribution-Reason'
export const LOG_HEADER = 'Attribution-Log'
export const MESSAGE_ID_HEADER = 'Attribution-Message-Id'

/** A message, or a part of one, that its reader cannot handle, and why. */
export interface Poison {
  /** Names it, so that it is kept once; replayed and poison again, it has another. */
  readonly id: string
  /** Subject of the log that it was read from. */
  readonly log: string
  /** That it had there; absent of a part of a message. */
  readonly messageId?: string
  readonly data: Uint8Array
  /** Made by `poisonReason`. */
  readonly reason: string
}

/**
 * - unreadable_message: its bytes have not the form that they should have
 * - rule_failed: a rule threw at an event of valid form
 */
export type PoisonKind = 'unreadable_message' | 'rule_failed'

/**
 * Why something is poison: out of a closed list, with the error's class. Never the error's message, which may quote
 * what a tenant sent (that of JSON.parse does).
 */
export const poisonReason = (kind: PoisonKind, cause: unknown): string =>
  `${kind}: ${cause instanceof Error ? cause.constructor.name : typeof cause}`

/** Keeps what is poison in QUARANTINE, with why and where it came from. @param subject of whoever could not handle it */
export async function quarantine(
  publish: Publisher['publish'],
  subject: string,
  poison: readonly Poison[],
): Promise<void> {
  for (const { id, data, reason, log, messageId } of poison) {
    const headers = {
      [REASON_HEADER]: reason,
      [LOG_HEADER]: log,
      ...(messageId !== undefined && { [MESSAGE_ID_HEADER]: messageId }),
    }
    await publishOrThrow(publish, subject, data, `quarantine.${id}`, { headers })
  }
}
