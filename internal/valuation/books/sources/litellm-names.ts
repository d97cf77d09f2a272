import { canonicalProvider } from '../../../records/provider-names.js'

/** A model of LiteLLM's map as our book names it. */
export interface LitellmName {
  readonly provider: string
  readonly model: string
  readonly region?: string
}

/** Providers that our names of providers do not have: parts of one, or another name of it. */
const PROVIDERS: Readonly<Record<string, string>> = { cohere_chat: 'cohere', azure_text: 'azure' }
/** Where a name of Azure states the scope of a deployment. `global` is the price without a scope. */
const AZURE_SCOPES: ReadonlySet<string> = new Set(['eu', 'us', 'apac', 'us-gov'])
const AZURE_GLOBAL: ReadonlySet<string> = new Set(['global', 'global-standard'])
const AWS_REGION = /^[a-z]{2}(?:-gov)?-[a-z]+-\d$/
/** A size, a quality, a committed price or a group of models (`together-ai-4.1b-8b`). */
const NO_MODEL =
  /(?:^|\/)(?:\d+-x-\d+|max-x-max|hd|low|medium|high|standard|\*|\d+-month-commitment|speech)\/|\/$|^together-ai-|^fireworks-ai-/

/** `vertex_ai-anthropic_models` is Vertex AI; a provider that we do not know has no name of ours. */
export function litellmProvider(stated: string): string | undefined {
  const family = stated.replace(/^(vertex_ai|fireworks_ai)-.*$/, '$1')
  return PROVIDERS[family] ?? canonicalProvider(family)
}

/** @returns undefined for a key that names no model: a size of an image, a committed price */
export function litellmName(key: string, provider: string): LitellmName | undefined {
  if (NO_MODEL.test(key)) return undefined
  const segments = key.split('/')
  // The map writes the provider in front, and Bedrock's API behind it.
  while (segments.length > 1 && canonicalProvider(segments[0] ?? '') === provider) segments.shift()
  const [first = ''] = segments
  if (segments.length > 1 && provider === 'azure') {
    if (AZURE_GLOBAL.has(first)) return { provider, model: segments.slice(1).join('/') }
    if (AZURE_SCOPES.has(first)) return { provider, model: segments.slice(1).join('/'), region: first }
  }
  if (segments.length > 1 && provider === 'bedrock') {
    if (!AWS_REGION.test(first)) return undefined
    return { provider, model: segments.slice(1).join('/'), region: first }
  }
  return { provider, model: segments.join('/') }
}
