import { KEYS_SUBJECT } from '../../../streams/keys.js'
import type { Publisher } from '../../broker/publisher.js'
import { STREAM_FULL } from '../../broker/publisher.js'
import type { Logger } from '../../telemetry/log.js'
import type { Spool } from '../spool/spool.js'
import type { SpoolRecord } from '../spool/spool-record.js'
import { ATTEMPT_MS, KEYS_LOST, type SpoolDelivery } from './spool-delivery.js'

/** Outcome of a write: the message is in the log or durable in the spool (only this is a 202), or it is unknown. */
export type Commit = (
  | {
      readonly kind: 'stored'
      /** Of the message; absent when it is in the spool. */
      readonly sequence?: number
    }
  | { readonly kind: 'unavailable'; readonly detail: string }
) & {
  /** The message's bytes must not change yet: the broker did not answer, and its client may still have them to send. */
  readonly areBytesHeld?: boolean
}

/** Writes messages to the log. */
export interface LogWriter {
  /**
   * @param payload must not change until the outcome is known, and not afterwards if it is held
   * @param keys the Idempotency-Keys of its events, a message of `admitted-keys.ts`: a message that goes to the spool
   *   takes them along; of one that the log has (the result has its sequence), `storeKeys` is to follow
   */
  store(subject: string, payload: Uint8Array, messageId: string, keys?: Uint8Array): Promise<Commit>
  /**
   * Stores the keys of messages that the log has. Not before: a key that is known without its event would swallow the
   * repeat of a lost request. While the broker is up, the connection has them when this returns.
   */
  storeKeys(keys: Uint8Array): Promise<void>
  close(): Promise<void>
}

export interface LogWriterDeps {
  readonly publisher: Publisher
  readonly spool: Spool
  /** For keys that KEYS does not take. */
  readonly keySpool: Spool
  readonly delivery: SpoolDelivery
  readonly isBrokerUp: () => boolean
  readonly log: Logger
}

/**
 * Writes to JetStream, and to the spool while JetStream does not answer: the sender's traffic continues, and each
 * message is durable before it is acknowledged. While the spool is not empty, new messages are appended to it, so that
 * the log gets them in order; it is drained as soon as the broker is back. A message whose acknowledgement was lost is
 * sent twice under one id; the log or, later, the event_id deduplicates it.
 */
export function createLogWriter(deps: LogWriterDeps): LogWriter {
  const { publisher, spool, keySpool, delivery, isBrokerUp, log } = deps
  const spoolIt = async (messages: readonly SpoolRecord[]): Promise<Commit> => {
    const appended = await delivery.store(spool, messages)
    switch (appended.kind) {
      case 'stored':
        return { kind: 'stored' }
      case 'full':
        return { kind: 'unavailable', detail: 'The log cannot be reached, and the spool is full.' }
      case 'failed':
        log.error({ err: appended.error }, 'a message could not be written to the spool')
        return { kind: 'unavailable', detail: 'The log cannot be reached, and writing to the spool failed.' }
    }
  }

  return {
    async store(subject, payload, messageId, keys) {
      const message = { subject, payload, messageId }
      const both = keys === undefined ? [message] : [message, keyMessageOf(keys)]
      if (!isBrokerUp() || !spool.isEmpty) return spoolIt(both)
      const result = await publisher.publish(subject, payload, messageId, ATTEMPT_MS)
      switch (result.kind) {
        case 'stored':
          return { kind: 'stored', sequence: result.sequence }
        case 'refused':
          // Full means unprocessed: the spool would only hide it.
          return {
            kind: 'unavailable',
            detail:
              result.errorCode === STREAM_FULL
                ? 'The log is full of events that are not processed yet.'
                : 'The log refused the event.',
          }
        case 'unavailable':
          return { ...(await spoolIt(both)), areBytesHeld: true }
      }
    },

    async storeKeys(keys) {
      const stored = await delivery.deliverKeys(keyMessageOf(keys))
      if (stored.kind !== 'failed') return
      KEYS_LOST.inc()
      log.error({ err: stored.error }, 'keys could not be written to the spool')
    },

    async close() {
      await delivery.close()
      await Promise.all([spool.close(), keySpool.close()])
    },
  }
}

/** Without an id, which would cost each gateway and the broker more than a repeat: keys may be stored twice. */
const keyMessageOf = (keys: Uint8Array): SpoolRecord => ({ subject: KEYS_SUBJECT, payload: keys, messageId: '' })

export interface OrphanSpools {
  readonly spools: readonly Spool[]
  readonly delivery: SpoolDelivery
  readonly log: Logger
  readonly signal: AbortSignal
}

/**
 * Delivers the spools of dead gateways to the log and releases their folders, until none is left or `signal`. All at
 * once: one that waits holds up no other.
 */
export async function deliverOrphans({ spools, delivery, log, signal }: OrphanSpools): Promise<void> {
  const deliver = async (spool: Spool): Promise<void> => {
    const { count, folder } = spool
    await delivery.deliverUntil(spool, () => spool.isEmpty, signal)
    if (count > 0 && spool.isEmpty) log.info({ messages: count, folder }, 'delivered the spool of a dead gateway')
    await spool.close()
  }
  await Promise.all(spools.map(deliver))
}
