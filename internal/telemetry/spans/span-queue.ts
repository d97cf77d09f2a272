import { counter } from '../metrics.js'
import type { FinishedSpan } from './finished-span.js'

/** Sends a batch. @throws when the collector does not take it */
export type SendSpans = (spans: readonly FinishedSpan[]) => Promise<void>

/** At a thousand spans per second, what comes while one export waits for its timeout. */
export const QUEUE_SPANS_MAX = 4_096
const BATCH_SPANS_MAX = 512
const SEND_EVERY_MS = 1_000
/** A stop waits for a collector no longer than this. */
const FLUSH_MS_MAX = 2_000

const EXPORTED = counter('spans_exported_total', 'Spans that the collector has taken.')
const DROPPED = counter('spans_dropped_total', 'Spans that were dropped, by reason.', ['reason'])

/**
 * Spans on their way to the collector. The caller that adds one never waits: beyond its bound, and when the collector
 * does not take them, spans are dropped and counted.
 */
export class SpanQueue {
  private readonly send: SendSpans
  private readonly failed: (cause: unknown) => void
  private waiting: FinishedSpan[] = []
  private sending: Promise<void> | undefined
  private timer: NodeJS.Timeout | undefined
  private isClosed = false
  private hasFailed = false

  /** @param failed called with the first failure after a success */
  constructor(send: SendSpans, failed: (cause: unknown) => void) {
    this.send = send
    this.failed = failed
  }

  add(span: FinishedSpan): void {
    if (this.isClosed) return DROPPED.inc({ reason: 'stopped' })
    if (this.waiting.length >= QUEUE_SPANS_MAX) return DROPPED.inc({ reason: 'queue_full' })
    this.waiting.push(span)
    if (this.waiting.length >= BATCH_SPANS_MAX) this.sendAll()
    else this.timer ??= setTimeout(() => this.sendAll(), SEND_EVERY_MS).unref()
  }

  /** Sends what is left, for a while. Spans that are added later are dropped. */
  async close(): Promise<void> {
    this.isClosed = true
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, FLUSH_MS_MAX)
    })
    await Promise.race([late, this.sendAll()])
    clearTimeout(timer)
    if (this.waiting.length > 0) DROPPED.inc({ reason: 'stopped' }, this.waiting.length)
    this.waiting = []
  }

  private sendAll(): Promise<void> {
    clearTimeout(this.timer)
    this.timer = undefined
    this.sending ??= this.sendBatches().finally(() => {
      this.sending = undefined
    })
    return this.sending
  }

  /** One batch at a time, until none is left. */
  private async sendBatches(): Promise<void> {
    while (this.waiting.length > 0) {
      const batch = this.waiting.splice(0, BATCH_SPANS_MAX)
      try {
        await this.send(batch)
        EXPORTED.inc(batch.length)
        this.hasFailed = false
      } catch (cause) {
        DROPPED.inc({ reason: 'export_failed' }, batch.length)
        if (!this.hasFailed) this.failed(cause)
        this.hasFailed = true
      }
    }
  }
}
