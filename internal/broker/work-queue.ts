import { setTimeout as sleep } from 'node:timers/promises'
import type { JetStreamManager, JsMsg } from '@nats-io/jetstream'
import type { Logger } from '../telemetry/log.js'

/** A work queue message that this process is working on. */
export interface QueuedWork {
  readonly subject: string
  /** Extends the ack wait, so that the message is not redelivered to another process. */
  working(): void
}

/** How a message is settled: acked, redelivered after a delay, or left to the process that owns it by now. */
export type Settlement =
  | { readonly kind: 'done' }
  | { readonly kind: 'again'; readonly afterMs: number }
  | { readonly kind: 'elsewhere' }

export interface WorkQueue {
  readonly manager: JetStreamManager
  readonly stream: string
  readonly consumer: string
  /** Messages processed at a time. */
  readonly concurrency: number
  readonly log: Logger
}

/** A fetch that was lost with a broker is repeated after it. */
const FETCH_MS = 30_000
const RETRY_MS = 500

/**
 * Consumes a work queue until `signal` aborts, then waits for the messages in flight. Several processes share a
 * consumer: each message is delivered to one of them.
 *
 * @param handle must settle every message; an exception is logged and naks the message
 */
export async function consumeWorkQueue(
  { manager, stream, consumer, concurrency, log }: WorkQueue,
  handle: (work: QueuedWork) => Promise<Settlement>,
  signal: AbortSignal,
): Promise<void> {
  const queue = await manager.jetstream().consumers.get(stream, consumer)
  const next = async (): Promise<JsMsg | null> => {
    try {
      const messages = await queue.fetch({ max_messages: 1, expires: FETCH_MS })
      const stop = (): void => void messages.close()
      signal.addEventListener('abort', stop, { once: true })
      try {
        if (!signal.aborted) for await (const message of messages) return message
        return null
      } finally {
        signal.removeEventListener('abort', stop)
      }
    } catch (cause) {
      log.debug({ err: cause, stream }, 'could not fetch from the work queue; will retry')
      await sleep(RETRY_MS)
      return null
    }
  }
  const work = async (): Promise<void> => {
    while (!signal.aborted) {
      const message = await next()
      if (message === null) continue
      try {
        const settlement = signal.aborted
          ? ({ kind: 'again', afterMs: 0 } as const)
          : await handle({ subject: message.subject, working: () => message.working() })
        if (settlement.kind === 'done') await message.ackAck()
        else if (settlement.kind === 'again') message.nak(settlement.afterMs)
      } catch (cause) {
        log.error({ err: cause, subject: message.subject }, 'could not handle a message; it will be redelivered')
        message.nak(RETRY_MS)
      }
    }
  }
  await Promise.all(Array.from({ length: concurrency }, work))
}
