import { setTimeout as sleep } from 'node:timers/promises'
import { KEYS_SUBJECT } from '../../../streams/keys.js'
import type { Publisher } from '../../broker/publisher.js'
import { STREAM_FULL } from '../../broker/publisher.js'
import type { Logger } from '../../telemetry/log.js'
import type { Deliver, Drained, Spool } from '../spool/spool.js'
import type { SpoolRecord } from '../spool/spool-record.js'

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
   * @param keys the Idempotency-Keys of its events, which KEYS gets after it: a message of `admitted-keys.ts`
   */
  store(subject: string, payload: Uint8Array, messageId: string, keys?: Uint8Array): Promise<Commit>
  /** Whether the spool is empty. */
  readonly isCaughtUp: boolean
  close(): Promise<void>
}

export interface LogWriterDeps {
  readonly publisher: Publisher
  readonly spool: Spool
  readonly isBrokerUp: () => boolean
  readonly log: Logger
}

/** Time for one attempt; then the log counts as unavailable, and the message goes to the spool under the same id. */
const ATTEMPT_MS = 1_000
const DRAIN_EVERY_MS = 100

/**
 * Writes to JetStream, and to the spool while JetStream does not answer: the sender's traffic continues, and each
 * message is durable before it is acknowledged. While the spool is not empty, new messages are appended to it, so that
 * the log gets them in order; it is drained as soon as the broker is back. A message whose acknowledgement was lost is
 * sent twice under one id; the log or, later, the event_id deduplicates it.
 */
export function createLogWriter(deps: LogWriterDeps): LogWriter {
  const { publisher, spool, isBrokerUp, log } = deps
  const deliver = deliverTo(publisher)
  let isClosing = false
  let draining: Promise<Drained> | undefined
  const drainSoon = setInterval(() => {
    if (draining !== undefined || spool.isEmpty || !isBrokerUp()) return
    draining = spool
      .drain(deliver)
      .then((drained) => {
        if (drained.delivered > 0) log.info({ delivered: drained.delivered, end: drained.kind }, 'drained the spool')
        if (drained.kind === 'failed') log.error({ err: drained.error }, 'the spool could not be drained')
        return drained
      })
      .finally(() => {
        draining = undefined
      })
  }, DRAIN_EVERY_MS)

  const spoolIt = async (messages: readonly SpoolRecord[]): Promise<Commit> => {
    const appended = await spool.append(messages)
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
    get isCaughtUp() {
      return spool.isEmpty
    },

    async store(subject, payload, messageId, keys) {
      const message = { subject, payload, messageId }
      const keyMessages =
        keys === undefined ? [] : [{ subject: KEYS_SUBJECT, payload: keys, messageId: `${messageId}.k` }]
      if (!isBrokerUp() || !spool.isEmpty) return spoolIt([message, ...keyMessages])
      const result = await publisher.publish(subject, payload, messageId, ATTEMPT_MS)
      switch (result.kind) {
        case 'stored':
          // After the group: a key that is known without its event would swallow the repeat of a lost request.
          for (const each of keyMessages) {
            if (await deliver(each)) continue
            const spooled = await spoolIt([each])
            if (spooled.kind === 'unavailable') return { ...spooled, areBytesHeld: true }
          }
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
          return { ...(await spoolIt([message, ...keyMessages])), areBytesHeld: true }
      }
    },

    async close() {
      if (isClosing) return
      isClosing = true
      clearInterval(drainSoon)
      await draining
      await spool.close()
    },
  }
}

export interface OrphanSpools {
  readonly spools: readonly Spool[]
  readonly publisher: Publisher
  readonly isBrokerUp: () => boolean
  readonly log: Logger
  readonly signal: AbortSignal
}

/** Delivers the spools of dead gateways to the log and releases their folders, until none is left or `signal`. */
export async function deliverOrphans(orphans: OrphanSpools): Promise<void> {
  const { spools, publisher, isBrokerUp, log, signal } = orphans
  const toLog = deliverTo(publisher)
  const deliver: Deliver = async (record) => !signal.aborted && (await toLog(record))
  for (const spool of spools) {
    while (!spool.isEmpty && !signal.aborted) {
      if (isBrokerUp()) {
        const drained = await spool.drain(deliver)
        const { delivered } = drained
        const { folder } = spool
        if (delivered > 0) log.info({ delivered, folder }, 'delivered the spool of a dead gateway')
        if (drained.kind === 'failed') {
          log.error({ err: drained.error, folder }, 'the spool of a dead gateway could not be read')
        }
      }
      if (!spool.isEmpty) await sleep(DRAIN_EVERY_MS, undefined, { signal }).catch(() => undefined)
    }
    await spool.close()
  }
}

const deliverTo =
  (publisher: Publisher): Deliver =>
  async ({ subject, payload, messageId }) =>
    (await publisher.publish(subject, payload, messageId, ATTEMPT_MS)).kind === 'stored'
