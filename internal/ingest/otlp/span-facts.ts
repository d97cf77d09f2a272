import type { NumberTree } from '../../usage/printed-numbers.js'
import { JsonMembers, type MembersWanted } from './json-members.js'
import { UnreadKeys } from './unread-keys.js'

/**
 * What is read of a span, of a log record and of the resource that sent it. A key that is not listed here is not read:
 * its value is skipped as bytes, so that content never becomes a string.
 *
 * A fact has one key per convention and generation of it (OpenTelemetry GenAI now and earlier, OpenLLMetry,
 * OpenInference, Sentry, Langfuse, LiteLLM). The first key with a value that is not empty wins, in the order of the
 * list.
 */
export const KEYS_OF_FACTS = {
  operation: ['gen_ai.operation.name'],
  spanKind: ['openinference.span.kind'],
  requestType: ['llm.request.type', 'litellm.call_type'],
  observationType: ['langfuse.observation.type'],
  workflowKind: ['traceloop.span.kind'],
  aiSdkOperation: ['ai.operationId'],
  // LangSmith, MLflow (as a JSON text, in quotes), Alibaba's and Laminar's instrumentations, HoneyHive, Genkit.
  otherKind: [
    'langsmith.span.kind',
    'mlflow.spanType',
    'gen_ai.span.kind',
    'lmnr.span.type',
    'honeyhive_event_type',
    'genkit:metadata:subtype',
  ],
  logfireType: ['logfire.span_type'],

  // In four facts: where one names a framework or a gateway, another may name the provider.
  provider: ['gen_ai.provider.name'],
  system: ['gen_ai.system'],
  providerOfSdk: [
    'llm.provider',
    'ai.model.provider',
    'mlflow.llm.provider',
    'langsmith.metadata.ls_provider',
    'langfuse.observation.metadata.ls_provider',
  ],
  systemOfSdk: ['llm.system'],
  host: ['server.address', 'gen_ai.openai.api_base', 'url.full', 'http.url', 'net.peer.name'],
  requestedModel: [
    'gen_ai.original.model',
    'gen_ai.request.model',
    'llm.request.model',
    'llm.request.model_name',
    'llm.model_name',
    'embedding.model_name',
    'reranker.model_name',
    'langfuse.observation.model.name',
    'ai.model.id',
  ],
  servedModel: [
    'gen_ai.response.model',
    'llm.response.model',
    'llm.response.model_name',
    'ai.response.model',
    'mlflow.llm.model',
  ],
  /** LiteLLM's own name of the model behind a group: `bedrock/eu.anthropic.claude-opus-4-8`. */
  routedModel: ['litellm.provider.model'],
  /** The model as the request stated it, of instrumentations that state only one. */
  parameterModel: [],
  servedTier: [
    'openai.response.service_tier',
    'gen_ai.openai.response.service_tier',
    'anthropic.response.service_tier',
    'gen_ai.response.service_tier',
    'llm.openai.service_tier',
    'langfuse.observation.metadata.service_tier',
  ],
  requestedTier: ['openai.request.service_tier', 'gen_ai.openai.request.service_tier', 'gen_ai.request.service_tier'],
  speed: ['gen_ai.usage.speed', 'gen_ai.response.speed', 'anthropic.response.speed', 'speed'],
  inferenceGeo: ['gen_ai.response.inference_geo', 'anthropic.response.inference_geo', 'inference_geo'],

  responseId: [
    'gen_ai.response.id',
    'llm.response.id',
    'ai.response.id',
    // Vercel's AI Gateway and Eve, OpenRouter.
    'gen_ai.generation.id',
    'aws.request_id',
    'response_id',
  ],
  errorType: ['error.type'],

  inputTokens: [
    'gen_ai.usage.input_tokens',
    'gen_ai.usage.prompt_tokens',
    'llm.usage.prompt_tokens',
    'llm.token_count.prompt',
    'ai.usage.inputTokens',
    'ai.usage.promptTokens',
    'ai.usage.tokens',
  ],
  outputTokens: [
    'gen_ai.usage.output_tokens',
    'gen_ai.usage.completion_tokens',
    'llm.usage.completion_tokens',
    'llm.token_count.completion',
    'ai.usage.outputTokens',
    'ai.usage.completionTokens',
  ],
  totalTokens: [
    'gen_ai.usage.total_tokens',
    'llm.usage.total_tokens',
    'llm.token_count.total',
    'ai.usage.totalTokens',
    'codex.usage.total_tokens',
  ],
  noCacheTokens: ['ai.usage.inputTokenDetails.noCacheTokens'],
  cachedInputTokens: [
    'gen_ai.usage.cache_read.input_tokens',
    'gen_ai.usage.cache_read_input_tokens',
    'llm.token_count.prompt_details.cache_read',
    'gen_ai.usage.input_tokens.cached',
    'ai.usage.inputTokenDetails.cacheReadTokens',
    'ai.usage.cachedInputTokens',
    // Pydantic AI, and exporters for Langfuse.
    'gen_ai.usage.details.cache_read_tokens',
    'gen_ai.usage.details.cache_read_input_tokens',
    'gen_ai.usage.details.cached_content_tokens',
    'gen_ai.usage.details.cached_tokens',
    'gen_ai.usage.input_cached_tokens',
    'gen_ai.usage.input_cache_read',
    'gen_ai.usage.cached_input_tokens',
    'gen_ai.usage.cached_tokens',
    'gen_ai.usage.cache_read_tokens',
    'gen_ai.usage.prompt_tokens_details.cached_tokens',
    'gen_ai.usage.input_tokens_details.cached_tokens',
    'llm.usage.cache_read_input_tokens',
  ],
  cacheWriteTokens: [
    'gen_ai.usage.cache_write.input_tokens',
    'gen_ai.usage.cache_creation.input_tokens',
    'gen_ai.usage.cache_creation_input_tokens',
    'llm.token_count.prompt_details.cache_write',
    'gen_ai.usage.input_tokens.cache_write',
    'gen_ai.usage.cache_write_input_tokens',
    'ai.usage.inputTokenDetails.cacheWriteTokens',
    'gen_ai.usage.details.cache_write_tokens',
    'gen_ai.usage.details.cache_creation_input_tokens',
    'gen_ai.usage.input_cache_creation',
    'gen_ai.usage.cache_write_tokens',
    'gen_ai.usage.cache_creation_tokens',
    'gen_ai.usage.prompt_tokens_details.cache_write_tokens',
    'gen_ai.usage.input_tokens_details.cache_write_tokens',
    'llm.usage.cache_creation_input_tokens',
  ],
  cacheWrite5mTokens: [
    'anthropic.usage.cache_creation.ephemeral_5m_input_tokens',
    'gen_ai.usage.details.ephemeral_5m_input_tokens',
    'gen_ai.usage.cache_creation.ephemeral_5m_input_tokens',
    'gen_ai.usage.ephemeral_5m_input_tokens',
  ],
  cacheWrite1hTokens: [
    'anthropic.usage.cache_creation.ephemeral_1h_input_tokens',
    'gen_ai.usage.details.ephemeral_1h_input_tokens',
    'gen_ai.usage.cache_creation.ephemeral_1h_input_tokens',
    'gen_ai.usage.ephemeral_1h_input_tokens',
  ],
  reasoningTokens: [
    'gen_ai.usage.reasoning.output_tokens',
    'gen_ai.usage.details.reasoning_tokens',
    'gen_ai.usage.reasoning_tokens',
    'llm.usage.reasoning_tokens',
    'llm.token_count.completion_details.reasoning',
    'gen_ai.usage.output_tokens.reasoning',
    'ai.usage.outputTokenDetails.reasoningTokens',
    'ai.usage.reasoningTokens',
    'gen_ai.usage.details.thoughts_tokens',
    'gen_ai.usage.output_reasoning_tokens',
    'gen_ai.usage.output_reasoning',
    'gen_ai.usage.completion_tokens_details.reasoning_tokens',
    'gen_ai.usage.output_tokens_details.reasoning_tokens',
    'codex.usage.reasoning_output_tokens',
    'thoughts_token_count',
  ],
  toolUseTokens: [
    'llm.token_count.prompt_details.tool_use',
    'gen_ai.usage.tool_use.input_tokens',
    'gen_ai.usage.details.tool_use_prompt_tokens',
    'gen_ai.usage.tool_use_prompt_tokens',
  ],
  audioInputTokens: [
    'gen_ai.usage.audio.input_tokens',
    'llm.token_count.prompt_details.audio',
    'gen_ai.usage.details.input_audio_tokens',
    'gen_ai.usage.input_audio_tokens',
  ],
  audioOutputTokens: [
    'gen_ai.usage.audio.output_tokens',
    'llm.token_count.completion_details.audio',
    'gen_ai.usage.details.output_audio_tokens',
    'gen_ai.usage.output_audio_tokens',
  ],
  cachedAudioTokens: ['gen_ai.usage.cache_read.audio.input_tokens', 'gen_ai.usage.details.cache_audio_read_tokens'],
  imageInputTokens: ['gen_ai.usage.image.input_tokens', 'llm.token_count.prompt_details.image'],
  imageOutputTokens: ['gen_ai.usage.image.output_tokens', 'llm.token_count.completion_details.image'],
  isStreamed: ['gen_ai.request.stream', 'gen_ai.request.is_stream', 'gen_ai.is_streaming', 'llm.is_streaming'],
  // Objects, of which only numbers are read: the provider's own, the AI SDK's by provider, and those of senders.
  providerUsage: ['gen_ai.usage.raw'],
  providerMetadata: ['ai.response.providerMetadata'],
  senderUsage: ['metadata.usage_object', 'mlflow.chat.tokenUsage', 'langsmith.metadata.usage_metadata', 'usage'],
  inputDetails: [
    'gen_ai.usage.input_token_details',
    'gen_ai.usage.input_tokens_details',
    'gen_ai.usage.prompt_tokens_details',
  ],
  outputDetails: [
    'gen_ai.usage.output_token_details',
    'gen_ai.usage.output_tokens_details',
    'gen_ai.usage.completion_tokens_details',
  ],
  langfuseUsage: ['langfuse.observation.usage_details'],

  cost: [
    'gen_ai.usage.cost.amount',
    'llm.cost.total',
    'gen_ai.usage.cost',
    'gen_ai.usage.total_cost',
    'gen_ai.usage.cost_usd',
    'gen_ai.cost.total_cost',
    'litellm.cost.total',
  ],
  costCurrency: ['gen_ai.usage.cost.currency'],
  costMargin: ['gen_ai.cost.margin_total_amount', 'litellm.cost.margin_total_amount'],
  langfuseCost: ['langfuse.observation.cost_details'],

  identity: ['gen_ai.user', 'llm.user', 'user.id', 'langfuse.user.id', 'enduser.id', 'user.email'],
  session: ['gen_ai.conversation.id', 'session.id', 'langfuse.session.id', 'conversation.id'],
  service: ['service.name'],
  workflow: ['traceloop.workflow.name', 'gen_ai.workflow.name'],
  agent: ['agent.name', 'gen_ai.agent.name'],
  userAgent: ['user_agent.original', 'http.user_agent'],
  environment: ['deployment.environment.name', 'deployment.environment'],
  namespace: ['k8s.namespace.name'],
  workload: [
    'k8s.deployment.name',
    'k8s.statefulset.name',
    'k8s.daemonset.name',
    'k8s.cronjob.name',
    'k8s.job.name',
    'k8s.replicaset.name',
  ],
  labels: ['langfuse.trace.tags', 'tag.tags'],
  metadata: ['metadata'],

  // LiteLLM's own, on its spans only: of its first mode, of its second (`litellm.metadata.*`) and for Langfuse.
  callId: ['litellm.call_id'],
  cacheHit: ['litellm.cache_hit'],
  hiddenParams: ['hidden_params'],
  keyHash: ['metadata.user_api_key_hash', 'litellm.api_key.hash'],
  keyAlias: ['metadata.user_api_key_alias', 'litellm.metadata.user_api_key_alias', 'litellm.key_alias'],
  keyTeamAlias: [
    'metadata.user_api_key_team_alias',
    'litellm.team.alias',
    'litellm.metadata.user_api_key_team_alias',
    'litellm.team_alias',
  ],
  keyTeamId: [
    'metadata.user_api_key_team_id',
    'litellm.team.id',
    'litellm.metadata.user_api_key_team_id',
    'litellm.team_id',
  ],
  keyOrgAlias: ['metadata.user_api_key_org_alias', 'litellm.metadata.user_api_key_org_alias'],
  keyOrgId: ['metadata.user_api_key_org_id', 'litellm.metadata.user_api_key_org_id'],
  keyProjectAlias: ['metadata.user_api_key_project_alias', 'litellm.metadata.user_api_key_project_alias'],
  keyProjectId: ['metadata.user_api_key_project_id', 'litellm.metadata.user_api_key_project_id'],
  keyUserEmail: ['metadata.user_api_key_user_email', 'litellm.metadata.user_api_key_user_email'],
  keyUserId: ['metadata.user_api_key_user_id', 'litellm.metadata.user_api_key_user_id'],
  keyEndUser: ['metadata.user_api_key_end_user_id', 'litellm.metadata.user_api_key_end_user_id', 'litellm.end_user.id'],

  // Log events of coding agents: Claude Code (also on its spans), Gemini CLI, Qwen Code, Codex.
  eventName: ['event.name'],
  eventKind: ['event.kind'],
  eventTime: ['event.timestamp'],
  eventSequence: ['event.sequence'],
  model: ['model'],
  costUsd: ['cost_usd'],
  costUsdMicros: ['cost_usd_micros'],
  durationMs: ['duration_ms'],
  logTotal: ['total_token_count'],
  logInput: ['input_tokens', 'input_token_count'],
  logOutput: ['output_tokens', 'output_token_count'],
  logCacheRead: ['cache_read_tokens', 'cached_content_token_count', 'cached_token_count'],
  logCacheWrite: ['cache_creation_tokens', 'cache_write_token_count'],
  logCacheWrite5m: ['cache_creation_5m_tokens'],
  logCacheWrite1h: ['cache_creation_1h_tokens'],
  logReasoning: ['thoughts_token_count', 'reasoning_token_count'],
  logToolUse: ['tool_token_count'],
  requestId: ['request_id'],
  anthropicProvider: ['anthropic.provider'],
  authType: ['auth_type', 'auth_mode'],
  userEmail: ['user.email'],
  accountId: ['user.account_uuid', 'user.account_id'],

  // Access logs of Envoy, by the names that its gateways give to the fields; `log_name` is its own, of a resource.
  accessLog: ['log_name'],
  accessStart: ['start_time'],
  accessDuration: ['duration'],
  accessStatus: ['response_code'],
  accessFlags: ['response_flags'],
  accessId: ['x-request-id'],
  accessAgent: ['user-agent'],
  accessConnection: ['connection_id'],
  accessUpstreamId: ['upstream_request_id'],
  accessRoute: ['route_name'],
  accessCluster: ['upstream_cluster'],
  accessIdentity: ['attributed_identity'],
  accessService: ['attributed_service'],
} as const satisfies Readonly<Record<string, readonly string[]>>

export type FactName = keyof typeof KEYS_OF_FACTS

interface MemberFacts {
  readonly [member: string]: FactName | MemberFacts
}

const TIER_OF_ANTHROPIC = { service_tier: 'servedTier', speed: 'speed', inference_geo: 'inferenceGeo' } as const

/**
 * Attributes that are JSON texts, with the members that are read of them. The keys of a fact take precedence over
 * members.
 */
const MEMBERS_OF_KEYS: Readonly<Record<string, MemberFacts>> = {
  // OpenInference, and all that build on it
  'llm.invocation_parameters': {
    model: 'parameterModel',
    model_id: 'parameterModel',
    service_tier: 'requestedTier',
    speed: 'speed',
  },
  'langfuse.observation.model.parameters': { service_tier: 'requestedTier', speed: 'speed' },
  // Vercel AI SDK
  'ai.response.providerMetadata': {
    openai: { serviceTier: 'servedTier' },
    azure: { serviceTier: 'servedTier' },
    google: { serviceTier: 'servedTier' },
    vertex: { serviceTier: 'servedTier' },
    anthropic: { usage: TIER_OF_ANTHROPIC },
  },
  // Logfire: the provider's own usage
  'gen_ai.usage.raw': TIER_OF_ANTHROPIC,
  // LiteLLM
  hidden_params: { api_base: 'host', litellm_model_name: 'routedModel' },
  cost_breakdown: { service_tier: 'servedTier' },
  'metadata.cost_breakdown': { service_tier: 'servedTier' },
}
export type FactValue = string | number | boolean | readonly string[] | NumberTree

declare const isFact: unique symbol
/** The place of a fact: to look one up by its name would cost as much as to read it. */
export type Fact = number & { readonly [isFact]: true }

const FACTS = Object.keys(KEYS_OF_FACTS) as FactName[]
export const FACT = Object.fromEntries(FACTS.map((fact, index) => [fact, index])) as Readonly<Record<FactName, Fact>>

/** A key that is read: the facts that its value may become, and how much of it is read. */
export interface ListedKey {
  readonly facts: readonly { readonly index: Fact; readonly rank: number }[]
  /** The key of the tag that its value becomes. */
  readonly tag?: string
  /** A longer text is skipped. */
  readonly bytesMax: number
  /** Whether its value is the text of an object, of which only the numbers are read. */
  readonly hasNumbers?: boolean
  /** Of a JSON text, of which only these members are read. */
  readonly members?: JsonMembers
}

const NAME_BYTES_MAX = 256
/** Of values that are JSON texts: LiteLLM's `hidden_params` have the headers of a response. */
const JSON_BYTES_MAX = 16 * 1024
const JSON_FACTS: readonly FactName[] = ['metadata', 'langfuseCost', 'hiddenParams']
/** Of objects whose texts are skipped: the AI SDK's hold sources of an answer beside its usage. */
const NUMBERS_BYTES_MAX = 64 * 1024
const NUMBER_FACTS: readonly FactName[] = [
  'providerUsage',
  'providerMetadata',
  'senderUsage',
  'inputDetails',
  'outputDetails',
  'langfuseUsage',
]
/** Of ids: LiteLLM's have some 400. */
const ID_BYTES_MAX = 1024
const ID_FACTS: readonly FactName[] = ['responseId', 'requestId', 'accessId', 'accessUpstreamId']

function bytesMaxOf(fact: FactName): number {
  if (NUMBER_FACTS.includes(fact)) return NUMBERS_BYTES_MAX
  if (JSON_FACTS.includes(fact)) return JSON_BYTES_MAX
  return ID_FACTS.includes(fact) ? ID_BYTES_MAX : NAME_BYTES_MAX
}

/** The keys of all facts. */
export function listedKeys(): Map<string, ListedKey> {
  const listed = new Map<string, ListedKey>()
  for (const fact of FACTS) {
    const hasNumbers = NUMBER_FACTS.includes(fact)
    const bytesMax = bytesMaxOf(fact)
    for (const [rank, key] of KEYS_OF_FACTS[fact].entries()) {
      const facts = [...(listed.get(key)?.facts ?? []), { index: FACT[fact], rank }]
      listed.set(key, { facts, bytesMax, ...(hasNumbers && { hasNumbers }) })
    }
  }
  for (const [key, members] of Object.entries(MEMBERS_OF_KEYS)) {
    const known = listed.get(key) ?? { facts: [], bytesMax: NAME_BYTES_MAX }
    listed.set(key, { ...known, members: new JsonMembers(membersWanted(members)) })
  }
  return listed
}

const membersWanted = (members: MemberFacts): MembersWanted =>
  Object.fromEntries(
    Object.entries(members).map(([member, wanted]) => [
      member,
      typeof wanted === 'string' ? FACT[wanted] : membersWanted(wanted),
    ]),
  )
/** Behind all keys. */
const RANK_OF_MEMBERS = 255

/** A key whose value becomes a tag. */
export const tagKey = (tag: string, listed?: ListedKey): ListedKey => ({
  facts: [],
  bytesMax: NAME_BYTES_MAX,
  ...listed,
  tag,
})

/** What Envoy writes for a value that it does not have; a key behind it in the list may have one. */
const ABSENT = '-'

/** The values of listed keys of one span, log record or resource, and where its other keys are. */
export class Facts {
  private readonly values: (FactValue | undefined)[] = FACTS.map(() => undefined)
  private readonly ranks = new Uint8Array(FACTS.length)
  readonly tags = new Map<string, FactValue>()
  readonly unread = new UnreadKeys()

  clear(): void {
    for (let index = 0; index < this.values.length; index++) this.values[index] = undefined
    if (this.tags.size > 0) this.tags.clear()
    this.unread.clear()
  }

  set({ facts, tag }: ListedKey, value: FactValue): void {
    if (value === '' || value === ABSENT) return
    if (tag !== undefined) this.tags.set(tag, value)
    for (const { index, rank } of facts) this.setFact(index, rank, value)
  }

  /** A member of an attribute that is a JSON text. */
  setMember(fact: number, value: FactValue): void {
    if (value !== '') this.setFact(fact, RANK_OF_MEMBERS, value)
  }

  private setFact(fact: number, rank: number, value: FactValue): void {
    if (this.values[fact] !== undefined && (this.ranks[fact] as number) < rank) return
    this.values[fact] = value
    this.ranks[fact] = rank
  }

  get(fact: Fact): FactValue | undefined {
    return this.values[fact]
  }
}
