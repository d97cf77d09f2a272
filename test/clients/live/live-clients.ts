/** A client that is driven unmodified. */
export interface LiveClient {
  readonly client: string
  /** The folder of its pins and drivers. */
  readonly set: 'npm' | 'python' | 'agents' | 'litellm' | 'zero-code'
  /** Program and arguments, in that folder. */
  readonly driver: readonly [program: string, ...args: readonly string[]]
  /** Whether it exports by gRPC, which no variable tells it: its default. */
  readonly isGrpc?: true
}

const npm = (client: string, ...driver: readonly string[]): LiveClient => ({
  client,
  set: 'npm',
  driver: [process.execPath, ...driver],
})
const own = (form: string, sdk: string): LiveClient => npm(`our client around ${sdk}`, 'own-client.mjs', form, sdk)
const inVenv =
  (set: 'python' | 'agents' | 'litellm') =>
  (client: string, ...driver: readonly string[]): LiveClient => ({
    client,
    set,
    driver: ['venv/bin/python', ...driver],
  })
/** `opentelemetry-instrument`, whose script names the folder that its environment was made in. */
const INSTRUMENT = 'from opentelemetry.instrumentation.auto_instrumentation import run; run()'
const python = inVenv('python')
const agents = inVenv('agents')
const litellm = inVenv('litellm')

export const LIVE_CLIENTS: readonly LiveClient[] = [
  npm('AI SDK 5', 'ai-sdk-5.mjs'),
  npm('AI SDK 6', 'ai-sdk-6.mjs'),
  npm('Anthropic SDK', 'anthropic-native.mjs'),
  npm('OpenInference JS', 'openinference.mjs'),
  npm('OpenLLMetry JS', 'openllmetry.mjs'),
  npm('OpenTelemetry JS contrib', 'opentelemetry-openai.mjs'),
  npm('Langfuse JS', 'langfuse.mjs'),
  ...['openai-7', 'openai', 'openai-5'].map((sdk) => own('openai', sdk)),
  ...['@anthropic-ai/sdk', 'anthropic-0'].map((sdk) => own('anthropic', sdk)),
  ...['genai-3', 'genai-2', 'genai-1'].map((sdk) => own('google', sdk)),
  npm('our client in AI SDK 7', 'own-middleware.mjs', 'ai-7', 'ai-7-openai', 'ai-7-anthropic'),
  npm('our client in AI SDK 6', 'own-middleware.mjs', 'ai', '@ai-sdk/openai', '@ai-sdk/anthropic'),
  npm('our client in AI SDK 5', 'own-middleware.mjs', 'ai-5', 'ai-5-openai', 'ai-5-anthropic'),
  python('Anthropic SDK, Python', 'anthropic_native.py'),
  python('OpenInference, Python', 'openinference_all.py'),
  python('OpenLLMetry, Python', 'openllmetry.py'),
  python('our client in Python', 'own_client.py'),
  {
    client: 'opentelemetry-instrument, gRPC',
    set: 'zero-code',
    driver: ['venv/bin/python', '-c', INSTRUMENT, 'venv/bin/python', 'app.py'],
    isGrpc: true,
  },
  agents('OpenAI Agents by OpenInference', 'agents_openinference.py'),
  agents('OpenAI Agents by OpenLLMetry', 'agents_openllmetry.py'),
  agents('LangChain with OpenInference', 'langchain_openinference.py'),
  litellm('LiteLLM proxy, callback', 'proxy.py', 'attribution'),
  litellm('LiteLLM proxy, otel', 'proxy.py', 'otel'),
  litellm('LiteLLM proxy, otel with request spans', 'proxy.py', 'otel', 'USE_OTEL_LITELLM_REQUEST_SPAN=true'),
  litellm('LiteLLM proxy, callback and otel', 'proxy.py', 'attribution,otel', 'USE_OTEL_LITELLM_REQUEST_SPAN=true'),
]
