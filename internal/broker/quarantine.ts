import { type GroupPublisher, publishAllOrThrow } from './publisher.js'

/** Headers of a message of QUARANTINE; its body is the poison message's. */
export const REASON_HEADER = 'Attribution-Reason'
export const LOG_HEADER = 'Attribution-Log'
export const MESSAGE_ID_HEADER = 'Attribution-Message-Id'

/** A message, or a single event of one, that its reader cannot handle, and the reason. */
export interface Poison {
  /** Identifies it, so that it is kept once; a replayed message that is poison again has another id. */
  readonly id: string
  /** Subject that it was read from. */
  readonly log: string
  /** Its original message id; absent for a single event of a message. */
  readonly messageId?: string
  readonly data: Uint8Array
  /** Made by `poisonReason`. */
  readonly reason: string
}

/**
 * - unreadable_message: its bytes could not be decoded
 * - rule_failed: a rule threw on a well-formed event
 */
export type PoisonKind = 'unreadable_message' | 'rule_failed'

/**
 * The reason for quarantining a message: a kind from a closed list, and the error's class. Never the error's message,
 * which may quote a tenant's data (that of JSON.parse does).
 */
export const poisonReason = (kind: PoisonKind, cause: unknown): string =>
  `${kind}: ${cause instanceof Error ? cause.constructor.name : typeof cause}`

/** Stores poison messages in QUARANTINE, with reason and origin. @param subject the reader's subject there */
export const quarantine = (publisher: GroupPublisher, subject: string, poison: readonly Poison[]): Promise<void> =>
  publishAllOrThrow(publisher, poison, ({ id, data, reason, log, messageId }) => {
    const headers = {
      [REASON_HEADER]: reason,
      [LOG_HEADER]: log,
      ...(messageId !== undefined && { [MESSAGE_ID_HEADER]: messageId }),
    }
    return { subject, payload: data, messageId: `quarantine.${id}`, more: { headers } }
  })
