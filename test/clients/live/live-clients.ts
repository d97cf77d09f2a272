/** A client that is driven unmodified. */
export interface LiveClient {
  readonly client: string
  /** The folder of its pins and drivers. */
  readonly set: 'npm' | 'python'
  /** Program and arguments, in that folder. */
  readonly driver: readonly [program: string, ...args: readonly string[]]
}

const npm = (client: string, file: string): LiveClient => ({ client, set: 'npm', driver: [process.execPath, file] })
const python = (client: string, file: string): LiveClient => ({
  client,
  set: 'python',
  driver: ['venv/bin/python', file],
})

export const LIVE_CLIENTS: readonly LiveClient[] = [
  npm('AI SDK 5', 'ai-sdk-5.mjs'),
  npm('AI SDK 6', 'ai-sdk-6.mjs'),
  npm('Anthropic SDK', 'anthropic-native.mjs'),
  npm('OpenInference JS', 'openinference.mjs'),
  npm('OpenLLMetry JS', 'openllmetry.mjs'),
  npm('OpenTelemetry JS contrib', 'opentelemetry-openai.mjs'),
  npm('Langfuse JS', 'langfuse.mjs'),
  python('Anthropic SDK, Python', 'anthropic_native.py'),
  python('OpenInference, Python', 'openinference_all.py'),
  python('OpenLLMetry, Python', 'openllmetry.py'),
]
