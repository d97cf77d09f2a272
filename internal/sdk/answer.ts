import { type ModelCall, member, textIn } from './event.js'

/** Members of an answer, or of a part of a streamed one, by their names: its ids, its models and its usage. */
export type Stated = Readonly<Record<string, unknown>>

/** What an answer says about itself. */
export type AnswerFacts = Pick<
  ModelCall,
  'served_model' | 'provider_usage' | 'service_tier' | 'speed' | 'region' | 'response_id'
>

/** What is known of one call by the parts of its answer that have passed: a later one replaces an earlier one. */
export class Answer {
  private readonly stated: Record<string, unknown> = {}
  private usage: Stated | undefined
  private copied: ModelCall['provider_usage']

  add(stated: Stated): void {
    Object.assign(this.stated, stated)
    // Bedrock adds its own counts at the end of a stream: for models that state none.
    const usage = usageIn(stated) ?? (this.usage === undefined ? objectIn(stated, INVOCATION_METRICS) : undefined)
    if (usage === undefined) return
    this.usage = { ...this.usage, ...usage }
    this.copied = undefined
  }

  /** Copies the counts, for a caller that has the same objects and may change them before the record is written. */
  copyUsage(): void {
    if (this.usage !== undefined) this.copied = plainUsage(this.usage)
  }

  get hasUsage(): boolean {
    return this.usage !== undefined
  }

  /** As the last event of a stream says, also to a reader who leaves after it. */
  get outcome(): 'success' | 'error' | undefined {
    return Answer.isUsageOnly(this.stated) ? 'success' : OUTCOMES.get(this.stated['type'])
  }

  /**
   * Of what is created by one request and answered by later ones: a batch, a response in the background, a run. All of
   * these say the same.
   */
  get isDeferred(): boolean {
    return this.stated['background'] === true || DEFERRED.has(textIn(this.stated, 'object') ?? '')
  }

  /** Its usage is not the last word. */
  get isPending(): boolean {
    return this.isDeferred && PENDING.has(textIn(this.stated, 'status') ?? '')
  }

  /** Counts as the provider wrote them: how they are counted is for the service to know. */
  facts(): AnswerFacts {
    const { stated, usage } = this
    const tier = textIn(stated, 'object') === 'batch' ? 'batch' : textIn(usage, 'service_tier')
    return {
      served_model: nameIn(stated, 'model') ?? nameIn(stated, 'modelVersion'),
      provider_usage: this.copied ?? (usage && plainUsage(usage)),
      service_tier: TIERS.get(tier ?? textIn(stated, 'service_tier') ?? ''),
      speed: textIn(usage, 'speed') === 'fast' ? 'fast' : undefined,
      region: geographyIn(usage),
      response_id: nameIn(stated, 'id') ?? nameIn(stated, 'responseId'),
    }
  }

  /** What the provider says that the call cost: OpenRouter, unless it only passed on what another bills. */
  get cost(): unknown {
    return member(this.usage, 'is_byok') === true ? undefined : member(this.usage, 'cost')
  }

  /** Whose API this is, by its form. */
  get api(): 'openai' | 'anthropic' | 'gcp.gemini' | undefined {
    if ('usageMetadata' in this.stated || 'modelVersion' in this.stated) return 'gcp.gemini'
    const isMessage = textIn(this.stated, 'id')?.startsWith('msg_') === true
    return isMessage ? 'anthropic' : this.usage === undefined ? undefined : 'openai'
  }

  /** An event of a stream that only states what the client library asked for. */
  static isUsageOnly(stated: Stated): boolean {
    return Array.isArray(stated['choices']) && usageIn(stated) !== undefined
  }
}

const OUTCOMES: ReadonlyMap<unknown, 'success' | 'error'> = new Map([
  ['message_stop', 'success'],
  ['message-end', 'success'],
  ['response.completed', 'success'],
  ['response.incomplete', 'success'],
  ['response.failed', 'error'],
  ['error', 'error'],
])

const DEFERRED: ReadonlySet<string> = new Set(['batch', 'thread.run'])
const PENDING: ReadonlySet<string> = new Set([
  'queued',
  'validating',
  'in_progress',
  'finalizing',
  'cancelling',
  'requires_action',
])

/** As the service names them; one that it does not know would refuse the event. */
const TIERS: ReadonlyMap<string, NonNullable<ModelCall['service_tier']>> = new Map([
  ['standard', 'standard'],
  ['default', 'standard'],
  ['on_demand', 'standard'],
  ['batch', 'batch'],
  ['flex', 'flex'],
  ['priority', 'priority'],
  ['scale', 'scale'],
  ['priority_on_demand', 'priority_on_demand'],
  ['flex_discount', 'flex_discount'],
])

function usageIn(stated: Stated): Stated | undefined {
  for (const name of ['usage', 'usageMetadata', 'usage_info']) {
    const usage = objectIn(stated, name)
    if (usage !== undefined) return usage
  }
  // Groq's streams that are not asked for it.
  const ofGroq = objectIn((stated['x_groq'] ?? {}) as Stated, 'usage')
  if (ofGroq !== undefined) return ofGroq
  // Cohere's rerank, embeddings and its first version.
  const billed = member(stated['meta'], 'billed_units')
  return typeof billed === 'object' && billed !== null ? { billed_units: billed } : undefined
}

function objectIn(stated: Stated, name: string): Stated | undefined {
  const found = stated[name]
  return typeof found === 'object' && found !== null && !Array.isArray(found) ? (found as Stated) : undefined
}
const INVOCATION_METRICS = 'amazon-bedrock-invocationMetrics'

const NAME_LENGTH_MAX = 256
const nameIn = (stated: Stated, name: string): string | undefined => {
  const found = textIn(stated, name)
  return found !== undefined && found.length <= NAME_LENGTH_MAX ? found : undefined
}

/** Where Anthropic processed the call, which it charges for; `global` and `not_available` name no place. */
function geographyIn(usage: unknown): string | undefined {
  const geography = textIn(usage, 'inference_geo')
  return geography !== undefined && /^[a-z]{2}$/.test(geography) ? geography : undefined
}

/** Bounds of the service, which refuses an event beyond them. */
const DEPTH_MAX = 3
const MEMBERS_MAX = 32
const LIST_MAX = 256
const NAME = /^[\w.:/-]{1,64}$/
/** What a count is of. */
const WORDS: ReadonlySet<string> = new Set(['modality', 'ttl', 'type'])
/** Names under which the service expects what was said. */
const CONTENT_NAME = /^(?:prompt|completion|message|content|input|output|choice|generation|instruction)s?$/i

const plainUsage = (usage: Stated): ModelCall['provider_usage'] => plainObject(usage, 1) as ModelCall['provider_usage']

function plainObject(members: object, depth: number): Readonly<Record<string, unknown>> {
  const plain: Record<string, unknown> = {}
  let count = 0
  for (const [name, value] of Object.entries(members)) {
    const isWord = typeof value === 'string' && WORDS.has(name) && NAME.test(value)
    const found = !NAME.test(name) || CONTENT_NAME.test(name) ? undefined : isWord ? value : plainValue(value, depth)
    if (found === undefined) continue
    plain[name] = found
    if (++count === MEMBERS_MAX) break
  }
  return plain
}

function plainValue(value: unknown, depth: number): unknown {
  if (typeof value === 'number') return value >= 0 && value <= Number.MAX_SAFE_INTEGER ? value : undefined
  if (typeof value !== 'object' || value === null) return typeof value === 'boolean' ? value : undefined
  if (Array.isArray(value)) {
    if (depth > 1) return undefined
    return value
      .slice(0, LIST_MAX)
      .map((each) => (typeof each === 'object' && each !== null ? plainObject(each, 2) : {}))
  }
  return depth < DEPTH_MAX ? plainObject(value, depth + 1) : undefined
}
