/**
 * A middleware of the AI SDK, in all its forms since version 5. It reads what the provider answered, where the model
 * passes that on, else what the AI SDK made of it.
 */
import { Answer } from './answer.js'
import { statedIn } from './answer-scanner.js'
import { runObserved } from './context.js'
import { type ModelCall, member, quietly, textIn } from './event.js'
import { factsOfHeaders, type HeaderFacts } from './gateway-headers.js'
import { isAbort, type Outcome, unread } from './observed-call.js'
import { passThrough } from './pass-through.js'
import type { Sender } from './sender.js'

/** Form of a middleware; the AI SDK names its version by a member that has another value in each. */
export interface AiMiddleware {
  readonly specificationVersion: never
  transformParams<P extends object>(options: { readonly type?: string; readonly params: P }): Promise<P>
  wrapGenerate<R>(options: { doGenerate(): PromiseLike<R>; readonly model: object }): Promise<R>
  wrapStream<R>(options: { doStream(): PromiseLike<R>; readonly params: object; readonly model: object }): Promise<R>
  wrapEmbed<R>(options: { doEmbed(): PromiseLike<R>; readonly model: object }): Promise<R>
}

type Record = (call: ModelCall) => void
type Calls = Pick<Sender, 'opened' | 'ended'>

/**
 * @param begin takes the scope of a call that begins
 * @param calls knows which calls have begun
 */
export function aiMiddleware(begin: () => Record, calls: Calls): AiMiddleware {
  /** Parameters of streams whose caller did not ask for the provider's own chunks. */
  const asking = new WeakSet<object>()
  const whole = async <R>(model: object, answer: () => PromiseLike<R>): Promise<R> => {
    const call = new AiCall(model, begin(), calls)
    const result = await call.answered(answer)
    call.end('success')
    return result
  }
  return {
    specificationVersion: undefined as never,
    async transformParams({ type, params }) {
      if (type !== 'stream' || member(params, 'includeRawChunks') === true) return params
      const more = { ...params, includeRawChunks: true }
      asking.add(more)
      return more
    },
    wrapGenerate: ({ doGenerate, model }) => whole(model, doGenerate),
    wrapEmbed: ({ doEmbed, model }) => whole(model, doEmbed),
    async wrapStream({ doStream, params, model }) {
      const call = new AiCall(model, begin(), calls, member(params, 'abortSignal') as AbortSignal | undefined)
      const result = await call.answered(doStream)
      const parts = member(result, 'stream') as ReadableStream<object>
      const stream = observedParts(parts, call, asking.has(params))
      unread?.register(stream, call)
      return { ...result, stream }
    },
  }
}

function observedParts(parts: ReadableStream<object>, call: AiCall, isAsked: boolean): ReadableStream<object> {
  return passThrough(() => parts, {
    see(part) {
      quietly(() => call.see(part))
      return isAsked && member(part, 'type') === 'raw' ? undefined : part
    },
    end: () => call.end('success'),
    fail: (cause) => call.end(isAbort(cause) ? 'cancelled' : 'error'),
    abandon: () => call.abandon(),
  })
}

class AiCall {
  private readonly model: object
  private readonly record: Record
  private readonly calls: Calls
  private readonly signal: AbortSignal | undefined
  private readonly startedAt = performance.now()
  private readonly timestamp = new Date().toISOString()
  private readonly answer = new Answer()
  private headers: HeaderFacts | undefined
  private isEnded = false
  private readonly onAbort = (): void => this.end('cancelled')

  /** @param signal of a stream, which the AI SDK does not cancel when it is aborted */
  constructor(model: object, record: Record, calls: Calls, signal?: AbortSignal) {
    this.model = model
    this.record = record
    this.calls = calls
    this.signal = signal
    calls.opened(this)
    signal?.addEventListener('abort', this.onAbort, { once: true })
  }

  /** What a failed request cost nothing for is not recorded. */
  async answered<R>(answer: () => PromiseLike<R>): Promise<R> {
    try {
      const result = await runObserved(answer)
      quietly(() => this.seeResult(result))
      return result
    } catch (cause) {
      if (isAbort(cause)) this.end('cancelled')
      this.close()
      throw cause
    }
  }

  /** A part of a stream: a chunk of the provider's, ids, or the end. */
  see(part: unknown): void {
    const type = member(part, 'type')
    if (type === 'raw') for (const stated of statedIn(member(part, 'rawValue'))) this.answer.add(stated)
    else if (type === 'response-metadata') this.seeIds(part)
    else if (type === 'finish') this.seeUsage(part)
  }

  abandon(): void {
    this.end('cancelled')
  }

  end(outcome: Outcome): void {
    if (this.isEnded) return
    quietly(() => {
      const { provider, ...ofHeaders } = this.headers ?? factsOfHeaders(new Headers())
      this.record({
        ingestion_timestamp: this.timestamp,
        provider: provider !== undefined && !provider.includes('.') ? provider : this.named('provider'),
        requested_model: this.named('modelId'),
        latency_ms: Math.round(performance.now() - this.startedAt),
        ...this.answer.facts(),
        ...ofHeaders,
        outcome: this.answer.outcome ?? outcome,
      })
    })
    this.close()
  }

  private close(): void {
    this.isEnded = true
    this.signal?.removeEventListener('abort', this.onAbort)
    this.calls.ended(this)
  }

  private seeResult(result: unknown): void {
    const response = member(result, 'response')
    const headers = member(response, 'headers') as ConstructorParameters<typeof Headers>[0]
    if (headers !== undefined) this.headers = factsOfHeaders(new Headers(headers))
    for (const stated of statedIn(member(response, 'body'))) this.answer.add(stated)
    this.seeIds(response)
    this.seeUsage(result)
  }

  private seeIds(response: unknown): void {
    const facts = this.answer.facts()
    const id = textIn(response, 'id')
    const model = textIn(response, 'modelId')
    if (facts.response_id === undefined && id !== undefined) this.answer.add({ id })
    if (facts.served_model === undefined && model !== undefined) this.answer.add({ model })
  }

  /** Version 6 and later pass on the provider's own. */
  private seeUsage(result: unknown): void {
    const usage = member(result, 'usage')
    if (!this.answer.hasUsage && usage !== undefined) this.answer.add({ usage: member(usage, 'raw') ?? usage })
  }

  private named(name: string): string {
    return textIn(this.model, name) ?? 'unknown'
  }
}
