/**
 * Who served a call and where, from what a sender says of it: the provider by its own or another's spelling, the host
 * that the request went to, the names of the models.
 *
 * Whole names, hosts and forms of names count, never a part of a word. What is inferred is named as an assumption.
 */
import { canonicalProvider, isFramework, isGateway, isUnspecified, providerName } from '../../records/provider-names.js'
import { siteOf } from '../../sdk/hosts.js'
import { isModelText, MODEL_TEXT } from '../../text/plain-text.js'
import { providerOfModels } from './model-vendors.js'

/** What a sender states of a call. */
export interface StatedNames {
  /** Names of the provider, the best first. */
  readonly providers: readonly (string | undefined)[]
  /** Names of the model: requested, served, and those in which a gateway states where it sends a request. */
  readonly models: readonly (string | undefined)[]
  /** The host that the request went to, or a URL. */
  readonly host?: string | undefined
}

export type NameAssumption =
  /** The host is another's than the stated provider's, or none is stated. */
  | 'provider_from_host'
  /** The name of the model is one that only this provider gives. */
  | 'provider_from_model'
  /** The stated name means several services of one company. */
  | 'provider_unspecified'

export interface ResolvedProvider {
  /** As reports name it; a stated name that nobody knows stays as it is; undefined where nothing tells. */
  readonly provider: string | undefined
  /** Where the provider processed the request, in lower case. */
  readonly region: string | undefined
  readonly assumption: NameAssumption | undefined
}

export function resolveProvider({ providers, models, host }: StatedNames): ResolvedProvider {
  const site = host === undefined ? undefined : siteOf(host)
  const named = namedProvider(providers)
  const region = site?.region
  const resolved = (id: string, assumption?: NameAssumption): ResolvedProvider => ({
    provider: providerName(id),
    region,
    assumption,
  })

  if (site?.provider !== undefined) return fromSite(site.provider, named, resolved)
  const ofModel = providerOfModels(models)
  if (named.id !== undefined) {
    if (ofModel !== undefined && isForwardedTo(named, ofModel)) return resolved(ofModel, 'provider_from_model')
    return resolved(named.id, named.isUnspecified ? 'provider_unspecified' : undefined)
  }
  if (named.unknown !== undefined) return { provider: named.unknown, region, assumption: undefined }
  if (ofModel !== undefined) return resolved(ofModel, 'provider_from_model')
  return { provider: named.gateway, region, assumption: undefined }
}

/** The model as its provider knows it: `[1m]`, by which Claude Code asks for a long context, is no part of the name. */
export function modelName(stated: string): string {
  if (isModelText(stated)) return stated
  const bare = stated.replace(/\s*\[[^[\]]*\]$/, '')
  return MODEL_TEXT.test(bare) && bare !== '' ? bare : bare.replace(/[^\p{L}\p{M}\p{Nd} ._\-/:@+]/gu, '_')
}

interface NamedProvider {
  readonly id?: string
  readonly isUnspecified?: boolean
  /** A gateway, where nothing better is stated. */
  readonly gateway?: string
  /** A name that nobody knows. */
  readonly unknown?: string
}

/**
 * The first name that is a provider's. Frameworks are passed over; gateways, and names that leave open which service
 * they mean, give way to a name beside them.
 */
function namedProvider(names: readonly (string | undefined)[]): NamedProvider {
  let unspecified: string | undefined
  let gateway: string | undefined
  for (const name of names) {
    if (name === undefined || name === '' || isFramework(name)) continue
    const id = canonicalProvider(name) ?? inPath(name)
    if (id === undefined) {
      if (isGateway(name)) gateway ??= name
      else if (!name.includes('/') && gateway === undefined && unspecified === undefined) return { unknown: name }
    } else if (isUnspecified(name)) unspecified ??= id
    else if (unspecified === undefined || GOOGLE.has(id)) return { id }
  }
  if (unspecified !== undefined) return { id: unspecified, isUnspecified: true }
  return gateway === undefined ? NOT_NAMED : { gateway }
}

const NOT_NAMED: NamedProvider = {}

/** `envoy-ai-gateway/anthropic/route/0`: one whole segment names the provider. A host names it, too. */
function inPath(name: string): string | undefined {
  if (!name.includes('/')) return name.includes('.') ? siteOf(name)?.provider : undefined
  return siteOf(name)?.provider ?? firstOf(name.split('/'), canonicalProvider)
}

function fromSite(
  site: string,
  { id }: NamedProvider,
  resolved: (id: string, assumption?: NameAssumption) => ResolvedProvider,
): ResolvedProvider {
  if (id === undefined || id === site) return resolved(site, id === undefined ? 'provider_from_host' : undefined)
  // Azure serves OpenAI's models and all others below the same hosts.
  if (AZURE.has(site) && AZURE.has(id)) return resolved(id)
  return resolved(site, 'provider_from_host')
}

/**
 * Whether the model is one that the named provider does not serve itself: clients state whose API they speak, and
 * clouds and gateways speak it, too.
 */
function isForwardedTo({ id, isUnspecified }: NamedProvider, ofModel: string): boolean {
  if (id === ofModel || id === undefined) return false
  if (ofModel === 'bedrock') return !CLOUDS.has(id)
  if (ofModel === 'vertex_ai') return id === 'gemini' || id === 'anthropic'
  // OpenAI's client is the one that all others are compatible with, and it serves no models of others.
  return id === 'openai' || (isUnspecified === true && GOOGLE.has(ofModel))
}

const firstOf = <T>(values: readonly (string | undefined)[], find: (value: string) => T | undefined): T | undefined => {
  for (const value of values) {
    const found = value === undefined ? undefined : find(value)
    if (found !== undefined) return found
  }
  return undefined
}

const AZURE: ReadonlySet<string> = new Set(['azure', 'azure_ai'])
const GOOGLE: ReadonlySet<string> = new Set(['gemini', 'vertex_ai'])
/** Those that serve, or resell, models of many vendors under names of their own. */
const CLOUDS: ReadonlySet<string> = new Set([
  ...AZURE,
  'vertex_ai',
  'openrouter',
  'together_ai',
  'fireworks_ai',
  'deepinfra',
  'huggingface',
])
