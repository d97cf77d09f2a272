/**
 * The client library: records the calls of an OpenAI or Anthropic client, or any others, at the Attribution Service.
 *
 *     const attribution = new Attribution({ baseUrl, apiKey, context: { attributed_service: 'search' } })
 *     const openai = attribution.wrapOpenAi(new OpenAI())
 *
 * Calls are sent in the background. Prompts and completions are neither read nor sent.
 */
import type { CallContext, ModelCall } from './event.js'
import { member, textIn } from './event.js'
import { Sender, type SenderCounts, type SenderOptions } from './sender.js'
import { anthropicFacts, anthropicPartFacts, openAiFacts, openAiPartFacts } from './usage.js'
import { type Dialect, wrapClient } from './wrap.js'

export type { CallContext, ModelCall } from './event.js'
export type { SenderCounts, SenderProblem } from './sender.js'

export interface AttributionOptions extends SenderOptions {
  /** Of every call, unless a call states otherwise. */
  readonly context?: CallContext | undefined
}

export class Attribution {
  private readonly sender: Sender
  private readonly context: CallContext

  constructor({ context = {}, ...options }: AttributionOptions) {
    this.sender = new Sender(options)
    this.context = context
  }

  /** Records a call. It returns at once, and never throws. */
  record(call: ModelCall, context: CallContext = {}): void {
    this.sender.record(call, { ...this.context, ...context })
  }

  /**
   * Records every call of an OpenAI client, or one for an API like it.
   *
   * @param provider who serves it, such as `azure.ai.openai`
   * @returns the same client
   */
  wrapOpenAi<T extends object>(client: T, context: CallContext = {}, provider = OPENAI.provider): T {
    const where = { ...regionOfHost(client), ...context }
    return wrapClient(client, { ...OPENAI, provider }, (call) => this.record(call, where))
  }

  /** Records every call of an Anthropic client. @returns the same client */
  wrapAnthropic<T extends object>(client: T, context: CallContext = {}, provider = ANTHROPIC.provider): T {
    return wrapClient(client, { ...ANTHROPIC, provider }, (call) => this.record(call, context))
  }

  /** Sends what waits. Resolves when the service has answered. */
  flush(): Promise<void> {
    return this.sender.flush()
  }

  /** Sends what waits, for ten seconds at most; for the application's end. Otherwise `beforeExit` does so. */
  close(): Promise<void> {
    return this.sender.close()
  }

  get counts(): SenderCounts {
    return this.sender.state
  }
}

/** The region of a client for `https://eu.api.openai.com/v1`: OpenAI charges more there. */
function regionOfHost(client: object): CallContext {
  const region = /^https:\/\/([a-z]{2})\.api\.openai\.com(?:[:/]|$)/.exec(textIn(client, 'baseURL') ?? '')?.[1]
  return region === undefined ? {} : { region }
}

const OPENAI: Dialect = {
  provider: 'openai',
  methods: ['chat.completions.create', 'responses.create', 'embeddings.create', 'completions.create'],
  answerFacts: openAiFacts,
  partFacts: openAiPartFacts,
  // A streamed chat states its usage only when asked, in a last chunk without choices.
  askForUsage(parameters) {
    const options = member(parameters, 'stream_options')
    const isChat = member(parameters, 'messages') !== undefined || member(parameters, 'prompt') !== undefined
    if (!isChat || member(options, 'include_usage') !== undefined) return undefined
    return { ...parameters, stream_options: { ...(options as object | undefined), include_usage: true } }
  },
  isUsageOnly(part) {
    const choices = member(part, 'choices')
    return Array.isArray(choices) && choices.length === 0 && typeof member(part, 'usage') === 'object'
  },
}

const ANTHROPIC: Dialect = {
  provider: 'anthropic',
  methods: ['messages.create', 'beta.messages.create'],
  answerFacts: anthropicFacts,
  partFacts: anthropicPartFacts,
}
