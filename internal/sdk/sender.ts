import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CallContext, ModelCall } from './event.js'

export interface SenderOptions {
  /** Of the service, such as `https://attribution.example.com`. */
  readonly baseUrl: string
  /** Any key of the tenant may send calls; it needs no scope. */
  readonly apiKey: string
  /** Longest time that a call waits to be sent together with others. Default: 1,000. */
  readonly flushEveryMs?: number | undefined
  /** Calls kept while the service cannot be reached; further ones are dropped and counted. Default: 10,000. */
  readonly queueMax?: number | undefined
  /** Told when calls are dropped or refused. Default: nobody. */
  readonly onProblem?: ((problem: SenderProblem) => void) | undefined
  /** Default: that of the platform. */
  readonly fetch?: typeof fetch | undefined
}

export interface SenderProblem {
  readonly message: string
  /** Calls that will have no record. */
  readonly lost: number
}

export interface SenderCounts {
  readonly recorded: number
  readonly sent: number
  readonly lost: number
  readonly waiting: number
}

const BATCH_MAX = 500
const REQUEST_MS_MAX = 10_000
const RETRY_MS_MIN = 250
const RETRY_MS_MAX = 30_000
const CLOSE_MS_MAX = 10_000

interface Batch {
  /** The same over all attempts, as the events' ids are: a repeated request changes nothing. */
  readonly idempotencyKey: string
  readonly lines: readonly string[]
}

/** Sends calls in the background, in batches, in order. Nothing here throws into the caller, and memory is bounded. */
export class Sender {
  private readonly options: SenderOptions
  private readonly queue: string[] = []
  private readonly counts = { recorded: 0, sent: 0, lost: 0 }
  private timer: NodeJS.Timeout | undefined
  private sending: Promise<void> | undefined
  private readonly closing = new AbortController()
  /** While calls wait, an application that has nothing else to do sends them before it ends. */
  private readonly atExit = (): void => void this.flush()

  constructor(options: SenderOptions) {
    this.options = options
  }

  /** Takes a call and returns at once. */
  record(call: ModelCall, context: CallContext): void {
    this.counts.recorded++
    if (this.closing.signal.aborted) return this.lose(1, 'the client is closed')
    if (this.queue.length >= (this.options.queueMax ?? 10_000)) return this.lose(1, 'too many calls wait to be sent')
    if (this.queue.length === 0) process.once('beforeExit', this.atExit)
    this.queue.push(
      JSON.stringify({
        event_id: randomUUID(),
        ingestion_layer: 'application',
        ingestion_timestamp: new Date().toISOString(),
        ...stated(context),
        ...stated(call),
      }),
    )
    if (this.queue.length >= BATCH_MAX) void this.flush()
    else this.timer ??= setTimeout(() => void this.flush(), this.options.flushEveryMs ?? 1_000).unref()
  }

  /** Sends what waits. Resolves when it has been sent, or will never be. */
  flush(): Promise<void> {
    clearTimeout(this.timer)
    this.timer = undefined
    this.sending ??= this.sendAll().finally(() => {
      this.sending = undefined
      if (this.queue.length === 0) process.off('beforeExit', this.atExit)
    })
    return this.sending
  }

  /** Sends what waits, for ten seconds at most, and takes no further calls. */
  async close(): Promise<void> {
    const timeout = new AbortController()
    await Promise.race([
      this.flush(),
      sleep(CLOSE_MS_MAX, undefined, { signal: timeout.signal }).catch(() => undefined),
    ])
    timeout.abort()
    this.closing.abort()
    if (this.queue.length > 0)
      this.lose(this.queue.splice(0).length, 'the client was closed before the service answered')
  }

  get state(): SenderCounts {
    return { ...this.counts, waiting: this.queue.length }
  }

  private async sendAll(): Promise<void> {
    while (this.queue.length > 0) {
      const batch = { idempotencyKey: randomUUID(), lines: this.queue.slice(0, BATCH_MAX) }
      const refused = await this.send(batch)
      if (refused === undefined) return
      // They stay in the queue until they are answered, and count against its limit.
      this.queue.splice(0, batch.lines.length)
      this.counts.sent += batch.lines.length - refused.count
      if (refused.count > 0) this.lose(refused.count, refused.why)
    }
  }

  /** Tries until the service answers. @returns undefined when the client was closed meanwhile */
  private async send(batch: Batch): Promise<{ readonly count: number; readonly why: string } | undefined> {
    for (let attempt = 0; ; attempt++) {
      const answer = await this.request(batch)
      if (this.closing.signal.aborted) return undefined
      if (answer.status === 202) return { count: rejectedIn(answer.text), why: 'the service rejected calls' }
      const mayPass = answer.status === 0 || answer.status === 409 || answer.status === 429 || answer.status >= 500
      if (!mayPass) {
        return {
          count: batch.lines.length,
          why: `the service refused calls (${answer.status}): ${answer.text.slice(0, 300)}`,
        }
      }
      const backoffMs = Math.random() * Math.min(RETRY_MS_MIN * 2 ** attempt, RETRY_MS_MAX)
      await sleep(Math.max(backoffMs, answer.retryAfterMs), undefined, {
        ref: false,
        signal: this.closing.signal,
      }).catch(() => undefined)
      if (this.closing.signal.aborted) return undefined
    }
  }

  private async request({ idempotencyKey, lines }: Batch) {
    try {
      const response = await (this.options.fetch ?? fetch)(new URL('/api/v1/invocations', this.options.baseUrl), {
        method: 'POST',
        headers: {
          'content-type': 'application/x-ndjson',
          'idempotency-key': idempotencyKey,
          'x-api-key': this.options.apiKey,
        },
        body: lines.join('\n'),
        signal: AbortSignal.any([AbortSignal.timeout(REQUEST_MS_MAX), this.closing.signal]),
      })
      const retryAfterS = Number(response.headers.get('retry-after') ?? 0)
      return {
        status: response.status,
        text: await response.text(),
        retryAfterMs: Number.isFinite(retryAfterS) ? Math.min(retryAfterS * 1_000, RETRY_MS_MAX) : 0,
      }
    } catch {
      return { status: 0, text: '', retryAfterMs: 0 }
    }
  }

  private lose(lost: number, message: string): void {
    this.counts.lost += lost
    try {
      this.options.onProblem?.({ message, lost })
    } catch {
      // The application's own handler must not stop the sending.
    }
  }
}

const stated = (fields: object): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

function rejectedIn(text: string): number {
  const found = /"rejected":\s*(\d+)/.exec(text)?.[1]
  return Number(found ?? 0)
}
