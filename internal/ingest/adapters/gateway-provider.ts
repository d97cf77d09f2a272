import { canonicalProvider } from '../../records/provider-names.js'
import { modelName, resolveProvider } from '../../valuation/names/resolve-provider.js'
import { nameOf } from './fields.js'

/** Who served a call, and what was inferred to know it. */
export interface GatewayProvider {
  readonly provider: string
  readonly assumption: string | undefined
}

/**
 * As the gateway says; where it says nothing, or names OpenAI, whose API others speak, for a model of another, the
 * model
 * tells.
 */
export function providerOfGateway(stated: unknown, models: readonly (string | undefined)[]): GatewayProvider {
  const name = nameOf(stated)
  const known = name === undefined ? undefined : canonicalProvider(name) === undefined ? backendProvider(name) : name
  // Of a path, everything that may name a provider is read by now.
  const named = known ?? (name?.includes('/') ? undefined : name)
  const { provider, assumption } = resolveProvider({ providers: [named], models })
  if (known !== undefined && assumption !== 'provider_from_model') return { provider: known, assumption: undefined }
  return { provider: provider ?? name ?? 'unknown', assumption }
}

/** The first that names a model, as its provider knows it: callers write what they like. */
export function modelOf(...stated: readonly unknown[]): string | undefined {
  const name = nameOf(...stated)
  return name === undefined ? undefined : nameOf(modelName(name))
}

/** In paths of Envoy AI Gateway (`<namespace>/<backend>/route/<route>/rule/0/ref/0`), what follows names no backend. */
const BEHIND_BACKEND = new Set(['route', 'rule'])

/** The provider that the name of a backend is, or begins with; a namespace only where it is one as a whole. */
function backendProvider(name: string): string | undefined {
  const segments = name.split('/')
  const end = segments.findIndex((segment) => BEHIND_BACKEND.has(segment))
  const named = end < 0 ? segments : segments.slice(0, end)
  for (const segment of named.slice(named.length > 1 ? 1 : 0).reverse()) {
    const provider = leadingProvider(segment)
    if (provider !== undefined) return provider
  }
  return named.find((segment) => canonicalProvider(segment) !== undefined)
}

/** Whose vendors' models a cloud serves, which then bills for them: `vertexai-anthropic`. */
const CLOUDS = new Set(['azure', 'azure_ai', 'bedrock', 'vertex_ai'])
/** Whose API is spoken, not who is asked: `openai-compatible`. */
const LIKENESS = /^(?:compat|compatible|like|style|format|mock|fake)$/

/**
 * The provider whose name the first words are: `openai-eu`. A word further on is none, for `not-mistral-but-openai` is
 * anybody's, nor is one beside which another provider is named.
 */
function leadingProvider(segment: string): string | undefined {
  const words = segment.split(/[-_]/)
  const first = providerOfWords(words)
  if (first === undefined) return undefined
  const rest = words.slice(first.length)
  const isAnother = rest.some((word) => LIKENESS.test(word) || (canonicalProvider(word) ?? first.id) !== first.id)
  return isAnother && !CLOUDS.has(first.id) ? undefined : first.name
}

function providerOfWords(words: readonly string[]) {
  for (let length = words.length; length > 0; length--) {
    for (const separator of ['-', '.']) {
      const name = words.slice(0, length).join(separator)
      const id = canonicalProvider(name)
      if (id !== undefined) return { id, name, length }
    }
  }
  return undefined
}
