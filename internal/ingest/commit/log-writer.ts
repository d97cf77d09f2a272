import { setTimeout as sleep } from 'node:timers/promises'
import { isInvocations } from '../../../streams/invocations.js'
import { UNCONFIRMED_SUBJECT } from '../../../streams/unconfirmed.js'
import type { Publisher } from '../../broker/publisher.js'
import { STREAM_FULL } from '../../broker/publisher.js'
import { identifyEntries } from '../../invocations/invocation-group.js'
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
   * @param unconfirmed ids of its events that UNCONFIRMED must have before the log has the message
   */
  store(subject: string, payload: Uint8Array, messageId: string, unconfirmed?: readonly Uint8Array[]): Promise<Commit>
  /** Whether the spool is empty. */
  readonly isCaughtUp: boolean
  close(): Promise<void>
}

export interface LogWriterDeps {
  readonly publisher: Publisher
  readonly spool: Spool
  readonly isBrokerUp: () => boolean
  /** Whether no other gateway, and no other partition, can get the same events. */
  readonly isAlone: () => boolean
  /** Called when the log holds all that was spooled, the first of which has waited this long. */
  readonly onCaughtUp: (waitedMs: number) => void
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
 *
 * An event that waits in the spool may be admitted again meanwhile, by a gateway that cannot know it: UNCONFIRMED gets
 * the ids of all events that were spooled, unless this gateway has no other beside it.
 */
export function createLogWriter(deps: LogWriterDeps): LogWriter {
  const { publisher, spool, isBrokerUp, isAlone, onCaughtUp, log } = deps
  const deliver = deliverTo(publisher)
  let isClosing = false
  let draining: Promise<Drained> | undefined
  /** When the oldest message in the spool came. */
  let waitingSinceMs: number | undefined
  const endWaiting = (): void => {
    if (!spool.isEmpty || waitingSinceMs === undefined) return
    const waitedMs = performance.now() - waitingSinceMs
    waitingSinceMs = undefined
    onCaughtUp(waitedMs)
  }

  const drainSoon = setInterval(() => {
    if (draining !== undefined || spool.isEmpty || !isBrokerUp()) return
    draining = spool
      .drain(deliver)
      .then((drained) => {
        if (drained.delivered > 0) log.info({ delivered: drained.delivered, end: drained.kind }, 'drained the spool')
        if (drained.kind === 'failed') log.error({ err: drained.error }, 'the spool could not be drained')
        endWaiting()
        return drained
      })
      .finally(() => {
        draining = undefined
      })
  }, DRAIN_EVERY_MS)

  const spoolIt = async (subject: string, payload: Uint8Array, messageId: string): Promise<Commit> => {
    const message = { subject, payload, messageId }
    const isShared = isInvocations(subject) && !isAlone()
    const ids = isShared ? identifyEntries(payload).map(({ id }) => id) : []
    const cameAtMs = performance.now()
    const appended = await spool.append(isShared ? [noticeOf(ids, `${messageId}.s`), message] : [message])
    switch (appended.kind) {
      case 'stored':
        waitingSinceMs ??= cameAtMs
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

    async store(subject, payload, messageId, unconfirmed = []) {
      if (!isBrokerUp() || !spool.isEmpty) return spoolIt(subject, payload, messageId)
      if (unconfirmed.length > 0) {
        const isKnown = await deliver(noticeOf(unconfirmed, `${messageId}.n`))
        if (!isKnown) return spoolIt(subject, payload, messageId)
      }
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
          return { ...(await spoolIt(subject, payload, messageId)), areBytesHeld: true }
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

/**
 * A writer that refuses messages while the spools of dead gateways are being delivered: their events go to the log
 * first, so that a repeat of one of them is recognised.
 */
export const writerBehind = (isWaiting: () => boolean, writer: LogWriter): LogWriter => ({
  get isCaughtUp() {
    return writer.isCaughtUp
  },
  store: (...message) => (isWaiting() ? Promise.resolve(OTHERS_FIRST) : writer.store(...message)),
  close: () => writer.close(),
})

const OTHERS_FIRST: Commit = {
  kind: 'unavailable',
  detail: 'Events accepted by a gateway that has ended are still being delivered to the log.',
}

export interface OrphanSpools {
  readonly spools: readonly Spool[]
  readonly publisher: Publisher
  readonly isBrokerUp: () => boolean
  /** Called when the log holds a message. */
  readonly onDelivered: (record: SpoolRecord) => void
  readonly log: Logger
  readonly signal: AbortSignal
}

/** Delivers the spools of dead gateways to the log and releases their folders, until none is left or `signal`. */
export async function deliverOrphans(orphans: OrphanSpools): Promise<void> {
  const { spools, publisher, isBrokerUp, onDelivered, log, signal } = orphans
  const toLog = deliverTo(publisher)
  const deliver: Deliver = async (record) => {
    if (signal.aborted || !(await toLog(record))) return false
    onDelivered(record)
    return true
  }
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

/** The message of UNCONFIRMED with these ids. */
const noticeOf = (ids: readonly Uint8Array[], messageId: string): SpoolRecord => ({
  subject: UNCONFIRMED_SUBJECT,
  payload: Buffer.concat(ids),
  messageId,
})

const deliverTo =
  (publisher: Publisher): Deliver =>
  async ({ subject, payload, messageId }) =>
    (await publisher.publish(subject, payload, messageId, ATTEMPT_MS)).kind === 'stored'
