/**
 * The client library: records the calls of clients of AI providers at the Attribution Service.
 *
 *     const attribution = new Attribution({ baseUrl, apiKey, context: { service: 'search' } })
 *     const openai = attribution.wrap(new OpenAI())
 *
 * Calls are sent in the background. Prompts and completions are neither kept nor sent.
 */
import { type AiMiddleware, aiMiddleware } from './ai-middleware.js'
import { type MiddlewareStack, wrapAws } from './aws-client.js'
import { currentScope, currentTrace, fieldsOf, isObserved, runIn, type Scope, withScope } from './context.js'
import { type CallContext, type Fetch, type ModelCall, quietly } from './event.js'
import { ObservedCall } from './observed-call.js'
import { type Observer, observationOf, observedFetch } from './observed-fetch.js'
import { Sender, type SenderCounts, type SenderOptions } from './sender.js'
import { observeSession, wrapLive } from './sessions.js'

export type { Scope } from './context.js'
export type { CallContext, ModelCall } from './event.js'
export type { SenderCounts, SenderProblem } from './sender.js'

export interface AttributionOptions extends SenderOptions {
  /** Of every call, unless a call states otherwise. */
  readonly context?: Scope | undefined
  /** Whether the provider is asked for the usage of streamed chats, which it does not state otherwise. Default: true. */
  readonly asksForUsage?: boolean | undefined
}

/** Of one client. */
export interface WrapOptions extends Scope {
  /** Who serves it, where host and headers do not say so. */
  readonly provider?: string | undefined
}

export class Attribution {
  private readonly sender: Sender
  private readonly scope: Scope
  private readonly asksForUsage: boolean

  constructor({ context = {}, asksForUsage = true, ...options }: AttributionOptions) {
    this.sender = new Sender(options)
    this.scope = context
    this.asksForUsage = asksForUsage
  }

  /** Records a call. It returns at once, and never throws. */
  record(call: ModelCall, context: Scope = {}): void {
    quietly(() => runIn(context, () => this.recorder({})(call)))
  }

  /**
   * Records every call of a client of OpenAI, Anthropic, Google or Bedrock, of any other that makes its requests with a
   * `fetch` of its own, or every answer of a realtime session.
   *
   * @returns the same client
   */
  wrap<T extends object>(client: T, options: WrapOptions = {}): T {
    quietly(() => {
      const parts = client as Record<'fetch' | 'apiClient' | 'live' | 'on' | 'middlewareStack', unknown>
      if (typeof parts.fetch === 'function') parts.fetch = this.fetch(options, parts.fetch as Fetch)
      else if (typeof parts.apiClient === 'object') this.wrapGoogle(parts, options)
      else if (typeof parts.middlewareStack === 'object')
        wrapAws(parts.middlewareStack as MiddlewareStack, this.beginnerOf(options))
      else if (typeof parts.on === 'function') observeSession(client, this.recorder(options))
    })
    return client
  }

  /** A `fetch` for clients that take one: every call that they make with it is recorded. */
  fetch(options: WrapOptions = {}, original: Fetch = (...args) => globalThis.fetch(...args)): Fetch {
    // A copy of a client has the `fetch` of the one that it was made from. The last `wrap` sets their context.
    const before = observationOf(original)
    const scope = withScope(before?.scope ?? {}, options)
    const observer: Observer = { begin: this.beginnerOf(scope), scope, asksForUsage: this.asksForUsage }
    return observedFetch(before?.original ?? original, observer)
  }

  /** For `wrapLanguageModel` and `wrapEmbeddingModel` of the AI SDK. */
  middleware(options: WrapOptions = {}): AiMiddleware {
    return aiMiddleware(() => this.recorder(options), this.sender)
  }

  /** Who and what causes the calls that are made within a function, also after it has waited. */
  context<R>(scope: Scope, callback: () => R): R {
    return runIn(scope, callback)
  }

  /** @deprecated Use `wrap`. */
  wrapOpenAi<T extends object>(client: T, context: CallContext = {}, provider?: string): T {
    return this.wrap(client, { ...context, provider })
  }

  /** @deprecated Use `wrap`. */
  wrapAnthropic<T extends object>(client: T, context: CallContext = {}, provider?: string): T {
    return this.wrap(client, { ...context, provider })
  }

  /** Sends what waits, for ten seconds at most. */
  flush(): Promise<void> {
    return this.sender.flush()
  }

  /** Sends what waits, for ten seconds at most, and records no more. The end of the process sends by itself. */
  close(): Promise<void> {
    return this.sender.close()
  }

  get counts(): SenderCounts {
    return this.sender.state
  }

  /** Begins calls of one client. What it states is read once: most calls have no scope of their own. */
  private beginnerOf(options: WrapOptions): Observer['begin'] {
    const stated = withScope(this.scope, options)
    const fields = fieldsOf(stated)
    return ({ method, url, headers, signal }, { model, isCall }) => {
      if (isObserved()) return undefined
      const running = currentScope()
      const scope: WrapOptions = running === undefined ? stated : withScope(stated, running)
      const { provider, waitUntil } = scope
      const trace = currentTrace(headers.get('traceparent') ?? undefined)
      const context = { ...trace, ...(running === undefined ? fields : fieldsOf(scope)) }
      const onEnd = waitUntil === undefined ? undefined : this.sentInTime(waitUntil)
      const request = { method, url, headers, signal }
      return new ObservedCall({ request, model, isCall, provider, context, onEnd }, this.sender)
    }
  }

  /** @returns what ends the wait for a call's end */
  private sentInTime(waitUntil: NonNullable<Scope['waitUntil']>): () => void {
    let onEnd = (): void => undefined
    const ended = new Promise<void>((resolve) => {
      onEnd = resolve
    })
    quietly(() => waitUntil(ended.then(() => this.sender.flush())))
    return onEnd
  }

  /** Records calls as of who and what causes them now, whenever they end. */
  private recorder(options: WrapOptions): (call: ModelCall) => void {
    const { provider, ...scope } = this.scopeOf(options)
    const context = { ...currentTrace(undefined), ...fieldsOf(scope) }
    return (call) => {
      this.sender.record(provider === undefined ? call : { ...call, provider }, context)
      if (scope.waitUntil !== undefined) quietly(() => scope.waitUntil?.(this.sender.flush()))
    }
  }

  private scopeOf(options: WrapOptions): WrapOptions {
    return withScope(withScope(this.scope, options), currentScope() ?? {})
  }

  /** Google's client makes its requests by one method, and those of its newer parts by a `fetch`. */
  private wrapGoogle(client: { apiClient?: unknown; live?: unknown }, options: WrapOptions): void {
    const api = client.apiClient as { getFetch?: () => Fetch | undefined; apiCall?: Fetch }
    const given = api.getFetch?.()
    if (api.apiCall === undefined || [api.apiCall, given].some((each) => each && observationOf(each))) return
    api.apiCall = this.fetch(options, api.apiCall.bind(api))
    const fetching = this.fetch(options, given)
    if (api.getFetch !== undefined) api.getFetch = () => fetching
    wrapLive(client.live, () => this.recorder(options))
  }
}
