import { Answer, type Stated } from './answer.js'
import { derivedId } from './derived-id.js'
import { type CallContext, decimalText, type ModelCall, member } from './event.js'
import { factsOfHeaders, type HeaderFacts, usageInHeaders } from './gateway-headers.js'
import { sellerOf } from './provider.js'
import type { SentRequest } from './request.js'

export type Outcome = NonNullable<ModelCall['outcome']>

/** What is known of a call when it begins. */
export interface BegunCall {
  readonly request: Omit<SentRequest, 'body'>
  /** Undefined for a request that calls no model. */
  readonly model: string | undefined
  readonly isCall: boolean
  /** As the application states it. */
  readonly provider: string | undefined
  readonly context: CallContext
  readonly onEnd: (() => void) | undefined
}

/** What takes the record of a call, and knows which calls have begun. */
export interface Recorder {
  opened(call: ObservedCall): void
  /** Calls `watchUnread` of all open calls soon. */
  answered(): void
  ended(call: ObservedCall): void
  /** Runs a task after the caller has its answer. */
  later(task: () => void): void
  record(call: ModelCall, context: CallContext): void
}

/** An answer that nobody reads is a call all the same, where the platform says that it is collected. */
export const unread =
  typeof FinalizationRegistry === 'undefined'
    ? undefined
    : new FinalizationRegistry<{ abandon(): void }>((call) => call.abandon())

/** One request, from its begin to the end of its answer: recorded once, or not at all. */
export class ObservedCall {
  private readonly begun: BegunCall
  private readonly recorder: Recorder
  private readonly startedAt = performance.now()
  private readonly startedMs = Date.now()
  private readonly answer = new Answer()
  private headers: Headers | undefined
  private isStreamed = false
  private readers = 1
  private isEnded = false
  private unwatched: object | undefined
  private readonly onAbort = (): void => this.end('cancelled')

  constructor(begun: BegunCall, recorder: Recorder) {
    this.begun = begun
    this.recorder = recorder
    recorder.opened(this)
    begun.request.signal?.addEventListener('abort', this.onAbort, { once: true })
  }

  answered(headers: Headers, isStreamed: boolean): void {
    this.headers = headers
    this.isStreamed = isStreamed
  }

  /** Ends the call when nobody can read its answer any more. */
  watch(answer: object): void {
    // Of an answer and its copies, each is watched.
    this.watchUnread()
    this.unwatched = answer
    this.recorder.answered()
  }

  /** Most answers are read before. One that is watched costs the garbage collector more than the rest of its call. */
  watchUnread(): void {
    if (this.unwatched !== undefined) unread?.register(this.unwatched, this, this)
    this.unwatched = undefined
  }

  /** A part of the answer. */
  see(stated: Stated): void {
    this.answer.add(stated)
  }

  /** The whole answer, as its caller has it. */
  seeParsed(answers: readonly Stated[]): void {
    for (const stated of answers) this.answer.add(stated)
    this.answer.copyUsage()
  }

  /** One of many answers in a file: the results of a batch. */
  seeOne(stated: Stated): void {
    const answer = new Answer()
    answer.add(stated)
    const endedAt = performance.now()
    if (answer.hasUsage) this.recorder.later(() => this.recordAnswer(answer, 'success', endedAt, true))
  }

  copied(): void {
    this.readers++
  }

  /** A reader left before the end. */
  abandon(): void {
    if (--this.readers === 0) this.end('cancelled')
  }

  /** The request, or the reading of its answer, threw. What the provider refused, or never got, costs nothing. */
  fail(cause: unknown): void {
    if (NOT_SENT.has(codeOf(cause)) || typeof member(cause, 'status') === 'number') this.drop()
    else this.end(isAbort(cause) ? 'cancelled' : 'error')
  }

  end(outcome: Outcome): void {
    if (this.isEnded) return
    this.isEnded = true
    const endedAt = performance.now()
    this.recorder.later(() => {
      const usage = this.answer.hasUsage || this.headers === undefined ? undefined : usageInHeaders(this.headers)
      if (usage !== undefined) this.answer.add({ usage })
      if (this.isWanted(outcome)) this.recordAnswer(this.answer, outcome, endedAt, this.answer.isDeferred)
    })
    this.close()
  }

  private isWanted(outcome: Outcome): boolean {
    const { answer, begun } = this
    // What is only fetched was recorded when it was created, and what is answered later will be.
    if (answer.hasUsage) return answer.isDeferred ? !answer.isPending : begun.isCall
    const isOfModel = begun.model !== undefined || (begun.isCall && answer.facts().served_model !== undefined)
    return isOfModel && !answer.isDeferred && (outcome !== 'success' || this.isStreamed)
  }

  /** A failure of the provider costs nothing. */
  drop(): void {
    if (this.isEnded) return
    this.isEnded = true
    this.close()
  }

  private close(): void {
    unread?.unregister(this)
    this.unwatched = undefined
    this.begun.request.signal?.removeEventListener('abort', this.onAbort)
    this.recorder.ended(this)
    this.begun.onEnd?.()
  }

  private recordAnswer(answer: Answer, outcome: Outcome, endedAt: number, isSameWhenSeenAgain: boolean): void {
    const { request, model, provider, context } = this.begun
    const { region, ...facts } = answer.facts()
    const headers = this.headers === undefined ? NO_HEADERS : factsOfHeaders(this.headers)
    const seller = sellerOf(request, headers.provider, answer.api, [facts.served_model, model])
    const call: ModelCall = {
      event_id: isSameWhenSeenAgain && facts.response_id != null ? derivedId(facts.response_id) : undefined,
      ingestion_timestamp: new Date(this.startedMs).toISOString(),
      requested_model: model ?? facts.served_model ?? 'unknown',
      latency_ms: Math.round(endedAt - this.startedAt),
      ...facts,
      provider: provider ?? seller.provider,
      region: region ?? context.region ?? seller.region,
      outcome: answer.outcome ?? outcome,
      request_id: headers.request_id,
      served_from_cache: headers.served_from_cache,
      estimated_cost_usd:
        headers.estimated_cost_usd ?? (seller.provider === 'openrouter' ? decimalText(answer.cost) : undefined),
      attempt: attemptOf(request.headers),
    }
    this.recorder.record(call, context)
  }
}

/** As the SDK counts: AWS's its attempts, those of OpenAI and Anthropic the ones after the first. */
function attemptOf(headers: Headers): number | undefined {
  const [, stated] = /\battempt=(\d+)/.exec(headers.get('amz-sdk-request') ?? '') ?? []
  const attempt = Number(stated ?? Number(headers.get('x-stainless-retry-count')) + 1)
  return attempt > 1 ? attempt : undefined
}

const NO_HEADERS: HeaderFacts = {
  request_id: undefined,
  estimated_cost_usd: undefined,
  served_from_cache: undefined,
  provider: undefined,
}

const NOT_SENT: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

function codeOf(cause: unknown): unknown {
  const { code, cause: inner } = (cause ?? {}) as { code?: unknown; cause?: unknown }
  return typeof code === 'string' || inner === undefined ? code : codeOf(inner)
}

export const isAbort = (cause: unknown): boolean => /abort|timeout/i.test((cause as Error | undefined)?.name ?? '')
