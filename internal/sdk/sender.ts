import { type CallContext, type ModelCall, quietly } from './event.js'
import { unwatchEnd, type Waiting, watchEnd } from './process-end.js'
import { sendFromChild } from './send-from-child.js'
import { Spool, type Taken } from './spool.js'

export interface SenderOptions {
  /** Of the service, such as `https://attribution.example.com`. */
  readonly baseUrl: string
  /** Any key of the tenant may send calls; it needs no scope. */
  readonly apiKey: string
  /** Longest time that a call waits to be sent together with others. Default: 1,000. */
  readonly flushEveryMs?: number | undefined
  /** Calls kept while the service cannot be reached; further ones are dropped and counted. Default: 10,000. */
  readonly queueMax?: number | undefined
  /** A folder for calls that would be dropped while the service cannot be reached, up to 64 MB. Default: none. */
  readonly spoolFolder?: string | undefined
  /** Called when calls are dropped or refused. Default: a warning on the console, one in an hour at most. */
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
  /** Written to `spoolFolder`, from which this process or a later one sends them. */
  readonly spooled: number
}

const BATCH_MAX = 500
const FULL = 'too many calls wait to be sent'
const ENDED = 'the process ended before the service answered'
/** A call that has ended holds the headers of its request and answer until its record is written. */
const UNWRITTEN_MAX = 100
const WAITING_CHARACTERS_MAX = 16_000_000
const REQUEST_MS_MAX = 10_000
const RETRY_MS_MIN = 250
const RETRY_MS_MAX = 30_000
const FLUSH_MS_MAX = 10_000
/** At the end of the process: what stops it expects that to take a few seconds. */
const END_MS_MAX = 3_000
const WARN_EVERY_MS = 3_600_000

interface OpenCall {
  end(outcome: 'cancelled'): void
  /** Ends with its answer, when that is collected unread. */
  watchUnread?(): void
}

interface Batch {
  /** The same over all attempts, as the events' ids are: a repeated request changes nothing. */
  readonly idempotencyKey: string
  readonly lines: readonly string[]
}

/** Sends calls in the background, in batches, in order. Nothing here throws into the caller, and memory is bounded. */
export class Sender {
  private readonly options: SenderOptions
  private readonly queue: string[] = []
  /** Lines that are being sent. They wait, too, until they are answered. */
  private batch: readonly string[] = []
  private waitingCharacters = 0
  private readonly counts = { recorded: 0, sent: 0, lost: 0, spooled: 0 }
  private readonly spool: Spool | undefined
  private fromSpool: Taken | undefined
  private timer: ReturnType<typeof setTimeout> | undefined
  private sending: Promise<void> | undefined
  private isAway = false
  private warnedAt = Number.NEGATIVE_INFINITY
  private isClosed = false
  /** Ends the request or the wait that is under way. */
  private interrupt: () => void = () => undefined
  /** Calls that have begun. */
  private readonly open = new Set<OpenCall>()
  /** Makes the records of calls that have ended. */
  private unwritten: (() => void)[] = []
  private readonly waiting: Waiting = {
    end: () => {
      for (const call of this.open) call.end('cancelled')
    },
    send: () => this.flush(END_MS_MAX),
    keep: () => this.spare(this.takeAll(), ENDED),
    sendNow: () => {
      const lines = this.takeAll()
      if (this.isAway || quietly(() => sendFromChild(this.request(), lines, END_MS_MAX)) !== true)
        return this.spare(lines, ENDED)
      this.counts.sent += lines.length
      this.deleteTaken()
    },
  }

  constructor(options: SenderOptions) {
    this.options = options
    this.spool = options.spoolFolder === undefined ? undefined : quietly(() => new Spool(options.spoolFolder as string))
    if (this.spool !== undefined) this.sendLater()
  }

  /** A call that will be recorded when it ends, or with the process. */
  opened(call: OpenCall): void {
    this.open.add(call)
    watchEnd(this.waiting)
  }

  /** A call has an answer that may be left unread: it is watched with the next flush. */
  answered(): void {
    this.sendLater()
  }

  ended(call: OpenCall): void {
    this.open.delete(call)
    this.unwatchIfIdle()
  }

  /**
   * Runs a task that makes a record when the event loop turns: the caller has its answer by then. On the edge, where
   * there is no such turn, and when too many wait for it, it runs now.
   */
  later(task: () => void): void {
    this.unwritten.push(task)
    if (typeof setImmediate === 'undefined' || this.unwritten.length >= UNWRITTEN_MAX) this.writeAll()
    else if (this.unwritten.length === 1) setImmediate(() => this.writeAll())
  }

  private writeAll(): void {
    const tasks = this.unwritten
    this.unwritten = []
    for (const task of tasks) quietly(task)
    this.unwatchIfIdle()
  }

  /** Takes a call and returns at once. */
  record(call: ModelCall, context: CallContext): void {
    this.counts.recorded++
    if (this.isClosed) return this.lose(1, 'the client is closed')
    if (this.isFull && this.spool !== undefined) this.spare(this.taken(this.queue.splice(0)), FULL)
    if (this.isFull) return this.lose(1, FULL)
    if (this.count === 0) watchEnd(this.waiting)
    const line = JSON.stringify({
      ingestion_layer: 'application',
      ...context,
      ...call,
      region: call.region ?? context.region,
      provider: nameOf(call.provider),
      requested_model: nameOf(call.requested_model),
      served_model: call.served_model == null ? undefined : nameOf(call.served_model),
      event_id: call.event_id ?? crypto.randomUUID(),
      ingestion_timestamp: call.ingestion_timestamp ?? new Date().toISOString(),
    })
    this.take(line)
    if (this.queue.length >= BATCH_MAX) void this.sendSoon()
    else this.sendLater()
  }

  private sendLater(): void {
    this.timer ??= detached(() => void this.sendSoon(), this.options.flushEveryMs ?? 1_000)
  }

  private get isFull(): boolean {
    return this.count >= (this.options.queueMax ?? 10_000) || this.waitingCharacters > WAITING_CHARACTERS_MAX
  }

  private get count(): number {
    return this.queue.length + this.batch.length
  }

  private take(line: string): void {
    this.queue.push(line)
    this.waitingCharacters += line.length
  }

  private taken(lines: readonly string[]): readonly string[] {
    for (const line of lines) this.waitingCharacters -= line.length
    return lines
  }

  /** Sends what waits. Resolves when it has been sent, or will never be, and after `msMax` at the latest. */
  async flush(msMax = FLUSH_MS_MAX): Promise<void> {
    // Its end would be the end of a process that does nothing else.
    let timer: ReturnType<typeof setTimeout> | undefined
    const isLate = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, msMax)
    })
    await Promise.race([this.sendSoon(), isLate])
    clearTimeout(timer)
  }

  /** Sends what waits, for ten seconds at most, and takes no further calls. */
  async close(msMax = FLUSH_MS_MAX): Promise<void> {
    await this.flush(msMax)
    this.writeAll()
    this.isClosed = true
    this.interrupt()
    this.spare(this.takeAll(), 'the client was closed before the service answered')
    unwatchEnd(this.waiting)
  }

  get state(): SenderCounts {
    this.writeAll()
    return { ...this.counts, waiting: this.count }
  }

  private sendSoon(): Promise<void> {
    this.writeAll()
    clearTimeout(this.timer)
    this.timer = undefined
    for (const call of this.open) call.watchUnread?.()
    this.sending ??= this.sendAll().finally(() => {
      this.sending = undefined
      this.unwatchIfIdle()
    })
    return this.sending
  }

  private unwatchIfIdle(): void {
    if (this.count === 0 && this.open.size === 0 && this.unwritten.length === 0) unwatchEnd(this.waiting)
  }

  private takeAll(): readonly string[] {
    this.writeAll()
    const lines = this.taken([...this.batch, ...this.queue.splice(0)])
    this.batch = []
    return lines
  }

  private async sendAll(): Promise<void> {
    while (!this.isClosed && (this.queue.length > 0 || this.takeSpooled())) {
      const lines = this.queue.splice(0, BATCH_MAX)
      this.batch = lines
      const refused = await this.send({ idempotencyKey: crypto.randomUUID(), lines })
      if (refused === undefined) return
      this.batch = []
      this.counts.sent += this.taken(lines).length - refused.count
      if (refused.count > 0) this.lose(refused.count, refused.why)
      // Calls may have ended while this batch was sent.
      this.writeAll()
    }
  }

  /** The lines of a file, once those of the one before are sent. */
  private takeSpooled(): boolean {
    this.deleteTaken()
    this.fromSpool = this.isAway ? undefined : quietly(() => this.spool?.take())
    for (const line of this.fromSpool?.lines ?? []) this.take(line)
    return this.fromSpool !== undefined
  }

  /** Keeps what cannot be sent now. */
  private spare(lines: readonly string[], why: string): void {
    if (lines.length === 0) return
    if (this.spool?.write(lines) !== true) return this.lose(lines.length, why)
    this.counts.spooled += lines.length
    // What came from a file is in the new one, unless some of it is being sent.
    if (this.batch.length === 0) this.deleteTaken()
  }

  private deleteTaken(): void {
    quietly(() => this.fromSpool?.done())
    this.fromSpool = undefined
  }

  /** Tries until the service answers. @returns undefined when the client was closed meanwhile */
  private async send(batch: Batch): Promise<{ readonly count: number; readonly why: string } | undefined> {
    for (let attempt = 0; ; attempt++) {
      const answer = await this.answerTo(batch)
      if (this.isClosed) return undefined
      this.isAway = answer.status === 0 || answer.status >= 500
      if (answer.status === 202) {
        return { count: rejectedIn(answer.text), why: `the service rejected calls: ${answer.text.slice(0, 300)}` }
      }
      const mayPass = this.isAway || answer.status === 409 || answer.status === 429
      if (!mayPass) {
        return {
          count: batch.lines.length,
          why: `the service refused calls (${answer.status}): ${answer.text.slice(0, 300)}`,
        }
      }
      const backoffMs = Math.random() * Math.min(RETRY_MS_MIN * 2 ** attempt, RETRY_MS_MAX)
      await this.sleep(Math.max(backoffMs, answer.retryAfterMs))
      if (this.isClosed) return undefined
    }
  }

  private async answerTo({ idempotencyKey, lines }: Batch) {
    const controller = new AbortController()
    this.interrupt = () => controller.abort()
    const timer = detached(this.interrupt, REQUEST_MS_MAX)
    try {
      const { url, headers } = this.request(idempotencyKey)
      const response = await (this.options.fetch ?? fetch)(url, {
        method: 'POST',
        headers,
        body: lines.join('\n'),
        signal: controller.signal,
      })
      const retryAfterS = Number(response.headers.get('retry-after') ?? 0)
      return {
        status: response.status,
        text: await response.text(),
        retryAfterMs: Number.isFinite(retryAfterS) ? Math.min(retryAfterS * 1_000, RETRY_MS_MAX) : 0,
      }
    } catch {
      return { status: 0, text: '', retryAfterMs: 0 }
    } finally {
      clearTimeout(timer)
    }
  }

  private sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = detached(resolve, ms)
      this.interrupt = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  private request(idempotencyKey: string = crypto.randomUUID()) {
    const { baseUrl, apiKey } = this.options
    const headers = {
      'content-type': 'application/x-ndjson',
      'idempotency-key': idempotencyKey,
      'x-api-key': apiKey,
    }
    return { url: String(new URL('/api/v1/invocations', baseUrl)), headers }
  }

  private lose(lost: number, message: string): void {
    this.counts.lost += lost
    try {
      if (this.options.onProblem !== undefined) this.options.onProblem({ message, lost })
      else this.warn(message)
    } catch {
      // The application's own handler must not stop the sending.
    }
  }

  private warn(message: string): void {
    if (performance.now() - this.warnedAt < WARN_EVERY_MS) return
    this.warnedAt = performance.now()
    // biome-ignore lint/suspicious/noConsole: the application has no other log that is known here
    console.warn(`attribution: ${message} (${this.counts.lost} calls without a record)`)
  }
}

/** A name of a provider or model as the service takes it: `claude-sonnet-4-5[1m]` has signs of no name. */
const nameOf = (text: string): string =>
  PLAIN_NAME.test(text) ? text : text.replace(/[^\p{L}\p{M}\p{Nd} ._\-/:@+]/gu, '_').slice(0, 256)

const PLAIN_NAME = /^[\w .\-/:@+]{0,256}$/

/** A timer that keeps no process alive. */
function detached(task: () => void, ms: number): ReturnType<typeof setTimeout> {
  const timer = setTimeout(task, ms)
  if (typeof timer === 'object') timer.unref()
  return timer
}

function rejectedIn(text: string): number {
  const found = /"rejected":\s*(\d+)/.exec(text)?.[1]
  return Number(found ?? 0)
}
