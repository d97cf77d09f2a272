import { canonicalProvider } from '../records/provider-names.js'
import type { UsageApi, UsageSender, UsageSurface } from './stated-usage.js'

/** Whether a count is part of the one beside it. LiteLLM once counted cache reads within the input, writes apart. */
export type CachePlace = 'inside' | 'apart' | 'reads_inside'
export type Place = 'inside' | 'apart'

/** What a sender's total sums up: all that is billed; only the input and output beside it; one of the two. */
export type TotalOf = 'all' | 'stated' | 'either'

/** Providers by how their own APIs count, which many instrumentations pass on as it is. */
export type Vendor = 'anthropic' | 'bedrock' | 'google' | 'voyage' | 'xai' | 'other'

/** How a sender counts. A place that is absent is not known: any may hold. */
export interface Convention {
  readonly cache?: CachePlace
  readonly reasoning?: Place
  readonly toolUse?: Place
  readonly total: TotalOf
  /** Where tokens belong that only the total has. */
  readonly remainder?: 'input' | 'output'
  /** What counts of a stream are that come without a word on the cache. */
  readonly streamWithoutCache?: 'estimated' | 'partial'
}

/** The first row that fits holds. */
interface Row extends Convention {
  readonly api?: UsageApi
  readonly surface?: UsageSurface
  readonly name?: RegExp
  readonly vendors?: readonly Vendor[]
  /** A document, an issue, or the client and version that was seen. */
  readonly source: string
  /** Recorded payloads of it, by client. */
  readonly recorded?: string
}

const ALL_INSIDE = { cache: 'inside', reasoning: 'inside', toolUse: 'inside' } as const
const PASSED_ON_ANTHROPIC = { cache: 'apart', reasoning: 'inside', toolUse: 'inside' } as const
const PASSED_ON_GEMINI = { cache: 'inside', reasoning: 'apart', toolUse: 'apart' } as const
const CACHE_APART: readonly Vendor[] = ['anthropic', 'bedrock']

const ROWS: readonly Row[] = [
  // A provider's own usage object.
  {
    api: 'anthropic',
    ...PASSED_ON_ANTHROPIC,
    total: 'either',
    source:
      'Anthropic, Messages API: total input is input_tokens + cache_read_input_tokens + cache_creation_input_tokens',
  },
  {
    api: 'gemini',
    ...PASSED_ON_GEMINI,
    total: 'all',
    source: 'Gemini API: the total is prompt + candidates + toolUsePrompt + thoughts, also of an interaction',
  },
  {
    api: 'bedrock_converse',
    ...PASSED_ON_ANTHROPIC,
    total: 'either',
    source: 'Amazon Bedrock, TokenUsage of Converse: inputTokens are those that no cache served',
  },
  {
    api: 'openai',
    vendors: ['xai'],
    cache: 'inside',
    toolUse: 'inside',
    total: 'all',
    source: 'xAI, chat completions: completion_tokens without reasoning_tokens; the total has both',
  },
  {
    api: 'openai',
    vendors: ['voyage'],
    ...ALL_INSIDE,
    total: 'all',
    remainder: 'input',
    source: 'Voyage AI, embeddings and rerankers: total_tokens alone, since nothing is generated',
  },
  { api: 'openai', ...ALL_INSIDE, total: 'all', source: 'OpenAI, usage of chat completions and responses' },
  {
    api: 'langfuse',
    cache: 'apart',
    reasoning: 'apart',
    toolUse: 'inside',
    total: 'all',
    source: 'Langfuse 5.0, usage_details: each kind of token once',
    recorded: 'langfuse-js-5',
  },

  // LiteLLM.
  {
    surface: 'litellm',
    vendors: CACHE_APART,
    reasoning: 'inside',
    toolUse: 'inside',
    total: 'all',
    source: 'BerriAI/litellm#15270: from April to October 2025 prompt_tokens had Bedrock reads but no writes',
    recorded: 'litellm-1.108',
  },
  {
    surface: 'litellm',
    ...ALL_INSIDE,
    total: 'all',
    source: 'LiteLLM 1.108: prompt_tokens have the cache, completion_tokens the reasoning',
    recorded: 'litellm-1.108',
  },

  // Other sources that are no telemetry.
  {
    surface: 'kong',
    ...ALL_INSIDE,
    total: 'either',
    source: 'Kong 3.6 and later write the usage of every provider in the form of OpenAI',
  },
  {
    surface: 'envoy',
    ...ALL_INSIDE,
    total: 'either',
    source: 'Envoy AI Gateway unifies the usage of providers: input has the cache, output the reasoning',
  },
  {
    surface: 'portkey',
    vendors: CACHE_APART,
    ...PASSED_ON_ANTHROPIC,
    total: 'all',
    source: 'Portkey 1.15: prompt_tokens are input_tokens of Anthropic, the total also has cache reads and writes',
  },
  {
    surface: 'portkey',
    vendors: ['google', 'xai'],
    cache: 'inside',
    total: 'all',
    source: 'Portkey 1.15: promptTokenCount and candidatesTokenCount under the names of OpenAI; the total is theirs',
  },
  { surface: 'portkey', ...ALL_INSIDE, total: 'all', source: 'Portkey 1.15: usage as OpenAI and its like state it' },
  {
    surface: 'apim',
    ...ALL_INSIDE,
    total: 'either',
    streamWithoutCache: 'estimated',
    source:
      'Azure API Management, ApiManagementGatewayLlmLog: PromptTokens have the cached ones; llm-emit-token-metric: ' +
      'token metrics of a streamed request are estimated',
  },
  { surface: 'bedrock-log', ...PASSED_ON_ANTHROPIC, total: 'either', source: 'Bedrock model invocation log' },
  {
    surface: 'agent',
    name: /^gemini/,
    ...PASSED_ON_GEMINI,
    total: 'all',
    source: 'Gemini CLI 0.61: total_token_count has thoughts beside output',
    recorded: 'gemini-cli-0.61',
  },
  {
    surface: 'agent',
    name: /^claude/,
    ...PASSED_ON_ANTHROPIC,
    total: 'either',
    source: 'Claude Code 2.1.332: input_tokens are those that no cache served',
    recorded: 'claude-code-2.1.332',
  },
  {
    surface: 'agent',
    name: /^codex/,
    ...ALL_INSIDE,
    total: 'all',
    source: 'Codex 0.171: cached_token_count and reasoning_token_count are parts',
    recorded: 'codex-0.171',
  },

  // Instrumentations by scope.
  {
    surface: 'otlp',
    name: /^ai$/,
    vendors: CACHE_APART,
    ...PASSED_ON_ANTHROPIC,
    total: 'either',
    source: 'AI SDK 5 passes on what the provider says; 6 and 7 also state inputTokenDetails.noCacheTokens',
    recorded: 'ai-sdk-5',
  },
  {
    surface: 'otlp',
    name: /^ai$/,
    vendors: ['google'],
    cache: 'inside',
    toolUse: 'apart',
    total: 'all',
    source: 'AI SDK 5 passes on thoughts beside the output, 6 and 7 count them within; the total has all',
    recorded: 'ai-sdk-5',
  },
  {
    surface: 'otlp',
    name: /^(?:@openlit\/|openlit)/,
    vendors: CACHE_APART,
    ...PASSED_ON_ANTHROPIC,
    total: 'stated',
    streamWithoutCache: 'partial',
    source: 'OpenLIT 1.45: totals of its own, without the cache; streams of Anthropic without cache counts',
    recorded: 'openlit-1.15',
  },
  {
    surface: 'otlp',
    name: /^(?:@openlit\/|openlit)/,
    vendors: ['google'],
    ...PASSED_ON_GEMINI,
    total: 'stated',
    source: 'OpenLIT 1.45: totals of its own, without thoughts',
    recorded: 'python/olit',
  },
  {
    surface: 'otlp',
    name: /^(?:@openlit\/|openlit)/,
    ...ALL_INSIDE,
    total: 'stated',
    streamWithoutCache: 'estimated',
    source: 'OpenLIT 1.45 and 1.15 (JavaScript) count the words of a stream that states no usage',
    recorded: 'openlit-1.15',
  },
  {
    surface: 'otlp',
    name: /^opentelemetry\.instrumentation\.(?:botocore|bedrock|genai\.bedrock)\b/,
    ...PASSED_ON_ANTHROPIC,
    total: 'either',
    source: 'botocore 0.66b2, OpenLLMetry 0.62.4, genai-bedrock 1.3b0: Converse without the cache in input or total',
    recorded: 'python/bedtl',
  },
  {
    surface: 'otlp',
    name: /^openinference\.instrumentation\.agno\b/,
    vendors: CACHE_APART,
    ...PASSED_ON_ANTHROPIC,
    total: 'either',
    source: 'OpenInference agno 1.0.15 passes on what Anthropic says',
    recorded: 'python/agno',
  },
  {
    surface: 'otlp',
    name: /^(?:openinference|@arizeai\/openinference)/,
    cache: 'inside',
    reasoning: 'inside',
    toolUse: 'apart',
    total: 'all',
    source: 'OpenInference 0.1.66, 3.1.0, 1.4.14; Arize-ai/openinference#2578 for what tools read',
    recorded: 'python/oinf',
  },
  {
    surface: 'otlp',
    name: /^opentelemetry\.instrumentation\.(?:google_generativeai|vertexai)\b/,
    ...ALL_INSIDE,
    total: 'all',
    remainder: 'output',
    source: 'OpenLLMetry 0.21.5 states no thoughts; its total has them',
    recorded: 'python/tl',
  },
  {
    surface: 'otlp',
    name: new RegExp(
      `^(?:${[
        // OpenTelemetry's own and OpenLLMetry's (Python and JavaScript).
        'opentelemetry\\.instrumentation\\.',
        '@opentelemetry/',
        '@traceloop/',
        'com\\.anthropic\\.sdk\\.',
        'logfire',
        'pydantic-ai',
        'gcp\\.vertex\\.agent',
        'agent_framework',
        'strands\\.',
        'langsmith',
        'mlflow',
        '@sentry/',
        'sentry',
        '@mastra/',
        'semantic_kernel',
        'microsoft\\.semantickernel',
        'experimental\\.microsoft\\.extensions\\.ai',
        'codex',
        'qwen-code',
        'litellm',
        'langfuse-sdk',
        'ai$',
      ].join('|')})`,
      'i',
    ),
    ...ALL_INSIDE,
    total: 'all',
    source: 'OpenTelemetry GenAI conventions: cache and reasoning are parts of input and output',
    recorded: 'python/genai',
  },

  // All others: OpenTelemetry says inside, and hand-written spans pass on what the provider said.
  {
    vendors: CACHE_APART,
    reasoning: 'inside',
    toolUse: 'inside',
    total: 'either',
    source: 'OpenTelemetry counts the cache within the input, Anthropic and Bedrock apart from it',
  },
  {
    vendors: ['google'],
    cache: 'inside',
    total: 'either',
    source: 'OpenTelemetry counts thoughts within the output, Gemini apart from it',
  },
  { vendors: ['xai'], cache: 'inside', toolUse: 'inside', total: 'either', source: 'As for Gemini' },
  { ...ALL_INSIDE, total: 'either', source: 'OpenTelemetry GenAI conventions, and OpenAI' },
]

/** How the numbers of a sender are counted. Most calls of one model come from one sender. */
export function conventionOf(api: UsageApi | undefined, sender: UsageSender): Convention {
  const { surface, name, provider, model = '' } = sender
  const known = foundByModel.get(model)
  const isSame =
    known !== undefined &&
    name === known.sender.name &&
    provider === known.sender.provider &&
    surface === known.sender.surface &&
    api === known.api
  if (isSame) return known.convention
  const convention = foundConvention(api, sender)
  if (foundByModel.size === KEYS_MAX) foundByModel.clear()
  foundByModel.set(model, { api, sender, convention })
  return convention
}

interface Found {
  readonly api: UsageApi | undefined
  readonly sender: UsageSender
  readonly convention: Convention
}

function foundConvention(api: UsageApi | undefined, sender: UsageSender): Convention {
  const vendor = vendorOf(sender)
  const row = rowsOf(api, sender).find(({ vendors }) => vendors === undefined || vendors.includes(vendor))
  if (row === undefined) throw new Error('The last row fits every sender.')
  return row
}

/** Rows that fit but for the vendor: a stream of spans has few senders. */
function rowsOf(api: UsageApi | undefined, { surface, name = '' }: UsageSender): readonly Row[] {
  const key = `${surface} ${api ?? ''} ${name}`
  let rows = rowsByKey.get(key)
  if (rows === undefined) {
    rows = ROWS.filter(
      (row) =>
        (row.api === undefined || row.api === api) &&
        (row.surface === undefined || row.surface === surface) &&
        (row.name === undefined || row.name.test(name)),
    )
    if (rowsByKey.size === KEYS_MAX) rowsByKey.clear()
    rowsByKey.set(key, rows)
  }
  return rows
}
/** Names of scopes and models come from senders. */
const KEYS_MAX = 256
const rowsByKey = new Map<string, readonly Row[]>()
/** The last sender of each model. */
const foundByModel = new Map<string, Found>()

/**
 * Whose API answered, by provider and model. A reseller with an API in OpenAI's form (OpenRouter) counts as OpenAI
 * does.
 */
export function vendorOf({ provider = '', model = '' }: UsageSender): Vendor {
  const id = canonicalProvider(provider)
  if (id === 'openrouter') return 'other'
  if (id === 'bedrock' || id === 'voyage') return id
  if (id === 'anthropic' || /claude/i.test(model)) return 'anthropic'
  if (id === 'gemini' || id === 'vertex_ai' || /^(?:models\/|google\/)?gemini/i.test(model)) return 'google'
  return id === 'xai' || /^(?:xai\/)?grok/i.test(model) ? 'xai' : 'other'
}
