import { setTimeout as sleep } from 'node:timers/promises'
import type { JetStreamManager, JsMsg } from '@nats-io/jetstream'
import type { Logger } from '../telemetry/log.js'

/** A message that this process has taken from a work queue. */
export interface QueuedWork {
  readonly subject: string
  /** Says that it is still worked on, so that nobody else gets it. */
  working(): void
}

/** What becomes of a message: it is gone, comes again to whoever asks then, or is another's to settle by now. */
export type Settlement =
  | { readonly kind: 'done' }
  | { readonly kind: 'again'; readonly afterMs: number }
  | { readonly kind: 'elsewhere' }

export interface WorkQueue {
  readonly manager: JetStreamManager
  readonly stream: string
  readonly consumer: string
  /** Messages in hand at once. */
  readonly concurrency: number
  readonly log: Logger
}

const ASK_MS = 2_000
const RETRY_MS = 500

/**
 * Takes messages from a work queue until `signal` aborts, and waits for those in hand. Several processes share a
 * consumer: each message is in the hands of one of them.
 *
 * @param handle must settle every message; a throw is logged and gives the message back
 */
export async function consumeWorkQueue(
  { manager, stream, consumer, concurrency, log }: WorkQueue,
  handle: (work: QueuedWork) => Promise<Settlement>,
  signal: AbortSignal,
): Promise<void> {
  const queue = await manager.jetstream().consumers.get(stream, consumer)
  const next = async (): Promise<JsMsg | null> => {
    try {
      const messages = await queue.fetch({ max_messages: 1, expires: ASK_MS })
      const stop = (): void => void messages.close()
      signal.addEventListener('abort', stop, { once: true })
      try {
        if (!signal.aborted) for await (const message of messages) return message
        return null
      } finally {
        signal.removeEventListener('abort', stop)
      }
    } catch (cause) {
      log.debug({ err: cause, stream }, 'the queue did not answer')
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
        log.error({ err: cause, subject: message.subject }, 'a message was given back')
        message.nak(RETRY_MS)
      }
    }
  }
  await Promise.all(Array.from({ length: concurrency }, work))
}
